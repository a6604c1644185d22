"""Printing concept cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from itransf.interpret.cards import ConceptCard


def show_cards(cards: Sequence[ConceptCard], console: Console) -> None:
    """Print concept cards."""
    for card in cards:
        console.print(Text(f"Concept {card.concept}: {card.name}", "bold"), soft_wrap=True)
        for name, value in card.describe():
            console.print(Text(f"  {name:12} {value}"), soft_wrap=True)
        console.print()
