"""Words that several pages use: a triple, a list, a rank, a probability."""

from collections.abc import Sequence

from itransf.prediction.inputs import LabelledTriple

PROBABILITY = (
    "estimated chance that the triple is a missing answer, if its query has one; too high for relations whose triples "
    "are complete"
)
NO_PROBABILITY = "No probability is shown: the run has none, or fewer than 50 validation queries to fit it on."
_TEENS = (11, 12, 13)


def write_triple(triple: LabelledTriple) -> str:
    """Return the labels of a triple, such as "Lyon – city in – France"."""
    return f"{triple.head_label} – {triple.relation_label} – {triple.tail_label}"


def list_words(words: Sequence[str], most: int) -> str:
    """Return "a, b and c", or "a, b and 3 more"."""
    shown = list(words) if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def name_rank(rank: float) -> str:
    """Return "first", "2nd", "23rd"; for a rank between two because of ties, "about 4.5th"."""
    if rank != int(rank):
        return f"about {rank:,g}th"
    number = int(rank)
    if number == 1:
        return "first"
    ending = "th" if number % 100 in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def format_probability(chance: float) -> str:
    """Return a probability in percent without false precision: "<1 %", "3 %", "97 %", ">99 %"."""
    return "<1 %" if chance < 0.01 else ">99 %" if chance > 0.99 else f"{100.0 * chance:.0f} %"
