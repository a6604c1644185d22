"""Concept cards, as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence

from itransf.interpret.cards import ConceptCard, MovedEntity
from itransf.interpret.naming import LETTERS
from itransf.interpret.pages.markup import Markup, element, join, soften
from itransf.interpret.sharing import Use

OPEN_CARDS = 12
"""How many cards are shown before the rest is asked for."""
MOST_USERS = 8


def show_cards(cards: Sequence[ConceptCard]) -> Markup:
    """Return the cards, the first few in sight and the others behind a line to open."""
    first, rest = [show_card(card) for card in cards[:OPEN_CARDS]], [show_card(card) for card in cards[OPEN_CARDS:]]
    shown = element("div", *first, class_="cards")
    if not rest:
        return shown
    more = element("details", element("summary", f"{len(rest)} more concepts"), element("div", *rest, class_="cards"))
    return join([shown, more])


def show_card(card: ConceptCard) -> Markup:
    """Return one card."""
    users = [_show_use(use) for use in card.users[:MOST_USERS]]
    surplus = len(card.users) - len(users) + card.lighter_users
    more = element("p", f"and {surplus} more sides, with less weight", class_="soft small") if surplus else None
    near = [
        join([element("a", f"{near.concept} {near.name}", href=f"#concept-{near.concept}"), f" {near.similarity:.2f}"])
        for near in card.nearest
    ]
    return element(
        "article",
        element("h3", soften(card.name), " ", element("span", f"concept {card.concept}", class_="badge")),
        element("p", f"suggested: {card.suggestion}", class_="soft small") if card.renamed else None,
        element("p", describe_loss(card)),
        element("h4", "Used by"),
        element("ul", *users, class_="bars"),
        more,
        element("h4", f"Moves entities by {card.movement:.0%} of their length"),
        element("p", element("b", "most "), _list_entities(card.moved)) if card.moved else None,
        element("p", element("b", "least "), _list_entities(card.kept)) if card.kept else None,
        element("h4", "Nearest concepts") if near else None,
        element("p", join(near, " · ")) if near else None,
        class_="card",
        id=f"concept-{card.concept}",
    )


def describe_loss(card: ConceptCard) -> str:
    """Say what validation loses without the concept."""
    if card.loss is None:
        return "Its users have no validation triples, so what is lost without it is not known."
    alone = f" {len(card.alone)} of them use nothing else and then leave entities where they are." if card.alone else ""
    return f"Without it {card.loss.describe()}.{alone}"


def _show_use(use: Use) -> Markup:
    width = min(1.0, abs(use.weight))
    return element(
        "li",
        element("i", style=f"width:{width:.1%}", class_="minus" if use.weight < 0 else None),
        element("span", soften(f"{use.label} ({LETTERS[use.side]})")),
        element("span", f"{use.weight:.2f}", class_="num"),
    )


def _list_entities(entities: Sequence[MovedEntity]) -> str:
    return ", ".join(f"{entity.label} {entity.movement:.0%}" for entity in entities)
