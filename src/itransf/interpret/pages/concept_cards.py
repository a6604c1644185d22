"""Concept cards, as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence

from itransf.interpret.cards import MOST_USERS, ConceptCard, list_entities
from itransf.interpret.naming import LETTERS
from itransf.interpret.pages.markup import Markup, element, join, soften
from itransf.interpret.sharing import Use

OPEN_CARDS = 12
"""How many cards are shown before the rest is asked for."""


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
        element("p", f"Without it: {card.describe_ablation()}."),
        element("h4", "Used by"),
        element("ul", *users, class_="bars"),
        more,
        element("h4", f"Moves entities by {card.movement:.0%} of their length"),
        element("p", element("b", "most "), list_entities(card.moved)) if card.moved else None,
        element("p", element("b", "least "), list_entities(card.kept)) if card.kept else None,
        element("h4", "Nearest concepts") if near else None,
        element("p", join(near, " · ")) if near else None,
        class_="card",
        id=f"concept-{card.concept}",
    )


def _show_use(use: Use) -> Markup:
    width = min(1.0, abs(use.weight))
    return element(
        "li",
        element("i", style=f"width:{width:.1%}", class_="minus" if use.weight < 0 else None),
        element("span", soften(f"{use.label} ({LETTERS[use.side]})")),
        element("span", f"{use.weight:.2f}", class_="num"),
    )
