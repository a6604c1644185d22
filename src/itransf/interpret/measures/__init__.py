"""How interpretable a model is: measures with intervals and permutation nulls, next to those of baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from itransf.errors import check_count
from itransf.interpret.measures.faithfulness import MOST_TRIPLES, measure_faithfulness, measure_gain, measure_transfer
from itransf.interpret.measures.statistics import DRAWS, FEWEST_DRAWS, MOST_DRAWS, Finding
from itransf.interpret.measures.structure import (
    Reading,
    check_same_graph,
    draw_random,
    find_scale,
    measure_attention,
    measure_stability,
    mine_gold,
)
from itransf.interpret.measures.verdicts import judge, write_verdict


@dataclass(frozen=True)
class Interpretation:
    """The findings about one model: its name, the number of runs, and the findings."""

    name: str
    runs: int
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        found = [{**each.to_dict(), "judgement": judge(each), "verdict": write_verdict(each)} for each in self.findings]
        return {**asdict(self), "findings": found}


def interpret_runs(
    readings: Sequence[Reading],
    baselines: Sequence[Reading] = (),
    *,
    ranked: bool = True,
    most_triples: int = MOST_TRIPLES,
    draws: int = DRAWS,
    progress: bool = False,
) -> list[Interpretation]:
    """Measure a model, its baselines and random attention.

    Args:
        readings: Runs of one model that differ by their seed.
        baselines: Other models on the same graph, one run each.
        ranked: Whether to run the measures that rank triples (faithfulness, rare relations), which take longest.
        most_triples: Maximum number of triples of a relation to rank for faithfulness; 0 ranks all.
        draws: Resamplings and permutations.
        progress: Whether to show progress.

    Returns:
        One interpretation of the model, then one of each baseline, then that of random attention.

    Raises:
        ConfigError: The runs are not on the same graph, or `draws` is out of range.
    """
    check_same_graph([*readings, *baselines])
    draws = check_count("draws", draws, least=FEWEST_DRAWS, most=MOST_DRAWS)
    gold, scale = mine_gold(readings[0].graph), find_scale(readings[0])
    plain = next((other for other in baselines if other.weights is None), None)
    found = []
    for group in (list(readings), *([other] for other in baselines), [draw_random(readings[0])]):
        findings = [*measure_attention(group, gold, scale, draws), measure_stability(group, scale[0], draws)]
        if ranked and group[0].name != "random":
            findings += measure_faithfulness(group, most_triples, draws, progress)
            findings += [measure_gain(group, plain, draws)] if plain not in (None, group[0]) else []
            findings.append(measure_transfer(group, draws))
        found.append(Interpretation(group[0].name, len(group), tuple(findings)))
    return found
