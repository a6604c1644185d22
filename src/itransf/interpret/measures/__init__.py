"""How interpretable a model is: measures with intervals and permutation nulls, next to those of baselines."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from itransf.errors import check_count
from itransf.interpret.measures.faithfulness import MOST_TRIPLES, measure_faithfulness, measure_gain, measure_transfer
from itransf.interpret.measures.reading import Reading, check_same_graph, draw_random, find_scale
from itransf.interpret.measures.structure import (
    DRAWS,
    FEWEST_DRAWS,
    MOST_DRAWS,
    Finding,
    measure_attention,
    measure_stability,
    mine_gold,
)

LEVEL = 0.05
"""The p-value from which a finding is not distinguished from chance."""
CLAIMS = {
    "sparse attention": "every relation uses few concepts",
    "inverse pairs, average precision": "the concepts of two relations tell whether they are inverse",
    "inverse pairs, concepts in common": "inverse relations share their concepts",
    "symmetric relations": "the concepts of a relation tell whether it holds in both directions",
    "domains by top concept": "relations with the same main concept are about the same domain",
    "stability over seeds, adjusted Rand index, all": "relations with similar attention have it with other seeds, too",
    "stability over seeds": "relations with the same main concept share one with other seeds, too",
    "faithful weights, heaviest": "a relation's heaviest concept matters more to its predictions than its lightest",
    "faithful weights, Spearman": "the larger the weight of a concept, the more predictions lose without it",
    "rare relations, Hits@10 gained": "rare relations are predicted better than by the other model",
    "rare relations, Hits@10 lost": "rare relations use what was learned from other relations",
}
"""What a good value of each measure shows, by how its name begins."""
VERDICTS = {
    "good": "Good: {claim} ({value:,.2f}, by chance {null:,.2f}).",
    "too few": "Too few to tell; not shown: {claim} ({value:,.2f}, by chance {null:,.2f}; {counted}).",
    "at chance": "At chance; not shown: {claim} ({value:,.2f}, by chance {null:,.2f}; {counted}).",
    "worse": "Worse than chance; not supported: {claim} ({value:,.2f}, by chance {null:,.2f}).",
    "built in": "Good, because it is built in: {claim}.",
    "broken": "Not supported: {claim} ({value:.0%} do).",
}
"""The sentence of each judgement."""


def judge(finding: Finding) -> str:
    """Return "good", "too few", "at chance" or "worse"; without a null "built in" or "broken", without a value nothing.

    A finding is good or worse if its interval does not contain the value by chance. If its p-value is large even so,
    too few items were counted: many of the permutations do as well, however good the value is.
    """
    if finding.value is None or finding.low is None:
        return ""
    if finding.null is None:
        return "built in" if finding.value >= 1.0 else "broken"
    if finding.low > finding.null:
        return "good" if finding.p is None or finding.p < LEVEL else "too few"
    return "worse" if finding.high is not None and finding.high < finding.null else "at chance"


def write_verdict(finding: Finding) -> str:
    """Return a sentence: the judgement, and what it means; nothing for what was not measured."""
    claim = next((claim for start, claim in CLAIMS.items() if finding.name.startswith(start)), finding.name)
    judgement, counted = judge(finding), f"{finding.n:,} {finding.counted}"
    figures = {"value": finding.value, "null": finding.null, "counted": counted}
    return VERDICTS[judgement].format(claim=claim, **figures) if judgement else ""


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
        findings = [*measure_attention(group, gold, scale, draws), *measure_stability(group, scale[0], draws)]
        if ranked and group[0].name != "random":
            findings += measure_faithfulness(group, most_triples, draws, progress)
            findings += [measure_gain(group, plain, draws)] if plain not in (None, group[0]) else []
            findings.append(measure_transfer(group, draws))
        found.append(Interpretation(group[0].name, len(group), tuple(findings)))
    return found
