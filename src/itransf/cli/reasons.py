"""Telling which concepts a prediction rests on, and who shares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from itransf.cli.output import format_number

MOST_CONCEPTS = 3  # told of each side; weaker ones say little
_LETTERS = {"head": "H", "tail": "T"}


def describe_reasons(reasons: Mapping[str, Sequence[Mapping[str, Any]]], most: int = 4) -> Text:
    """Return a line for each concept behind a relation.

    Args:
        reasons: For each side its shared concepts, as `SharedConcept.to_dict` gives them.
        most: How many other users of a concept to name.
    """
    lines = [Text(), Text("Concepts behind these answers", "bold")]
    for side, concepts in reasons.items():
        for place, shared in enumerate(concepts[:MOST_CONCEPTS]):
            name = f"  {side if place == 0 else '':4}  "
            lines.append(Text(f"{name}{describe_concept(shared)}: {describe_users(shared['others'], most)}"))
    return Text("\n").join(lines)


def describe_concept(shared: Mapping[str, Any]) -> str:
    """Return a concept, its name if it has one, and its weight, such as "concept 6, lies in (0.98)"."""
    name = f", {shared['name']}" if shared.get("name") else ""
    return f"concept {shared['concept']}{name} ({format_number(shared['weight'], 2)})"


def describe_users(others: Sequence[Mapping[str, Any]], most: int = 4) -> str:
    """Say who else uses a concept, such as "shared with capital_of (H), city_in (H) and 3 more"."""
    if not others:
        return "used by nothing else"
    named = ", ".join(f"{use['label']} ({_LETTERS[use['side']]})" for use in others[:most])
    rest = len(others) - most
    return f"shared with {named}" + (f" and {rest} more" if rest > 0 else "")
