"""Printing concept cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from itransf.interpret.cards import ConceptCard, MovedEntity

MOST_USERS = 8
_LETTERS = {"head": "H", "tail": "T"}


def show_cards(cards: Sequence[ConceptCard], console: Console) -> None:
    """Print concept cards."""
    for card in cards:
        console.print(Text(f"Concept {card.concept}: {card.name}", "bold"), soft_wrap=True)
        for name, value in describe_card(card):
            console.print(Text(f"  {name:12} {value}"), soft_wrap=True)
        console.print()


def describe_card(card: ConceptCard) -> list[tuple[str, str]]:
    """Return a card as lines, each with what it tells."""
    lines = [
        ("suggested", card.suggestion if card.renamed else ""),
        ("used by", list_users(card)),
        ("without it", describe_loss(card)),
        ("moves", f"entities by {card.movement:.0%} of their length on average"),
        ("  most", list_entities(card.moved)),
        ("  least", list_entities(card.kept)),
        ("nearest", ", ".join(f"{near.concept} {near.name} ({near.similarity:.2f})" for near in card.nearest)),
    ]
    return [(name, value) for name, value in lines if value]


def list_users(card: ConceptCard) -> str:
    """Name the relation sides that use a concept."""
    told = ", ".join(f"{use.label} ({_LETTERS[use.side]}) {use.weight:.2f}" for use in card.users[:MOST_USERS])
    rest = len(card.users) - MOST_USERS
    more = [f"{rest} more"] if rest > 0 else []
    more += [f"{card.lighter_users} with less weight"] if card.lighter_users else []
    return f"{told}; {', '.join(more)}" if more else told or "nobody"


def list_entities(entities: Sequence[MovedEntity]) -> str:
    """Name entities and how far they are moved, in percent of their length."""
    return ", ".join(f"{entity.label} {entity.movement:.0%}" for entity in entities)


def describe_loss(card: ConceptCard) -> str:
    """Say what validation loses without a concept."""
    if card.loss is None:
        return "not known: its users have no validation triples"
    alone = f"; {len(card.alone)} of them use nothing else and leave entities where they are" if card.alone else ""
    return card.loss.describe() + alone
