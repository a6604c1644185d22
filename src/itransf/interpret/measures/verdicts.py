"""Verdicts: what a finding means, and whether it is good, at chance or worse than chance."""

from __future__ import annotations

from itransf.interpret.measures.statistics import Finding

LEVEL = 0.05
"""The p-value from which a finding is not distinguished from chance."""
CLAIMS = {
    "sparse attention": "every relation uses few concepts",
    "inverse pairs, average precision": "the concepts of two relations tell whether they are inverse",
    "inverse pairs, concepts in common": "inverse relations share their concepts",
    "symmetric relations": "the concepts of a relation tell whether it holds in both directions",
    "domains by top concept": "relations with the same main concept are about the same domain",
    "stability over seeds": "training with other seeds groups relations by concepts in the same way",
    "faithful weights, heaviest": "a relation's heaviest concept matters more to its predictions than its lightest",
    "faithful weights, Spearman": "the larger the weight of a concept, the more predictions lose without it",
    "rare relations, Hits@10 gained": "rare relations are predicted better than by the other model",
    "rare relations, Hits@10 lost": "rare relations use what was learned from other relations",
}
"""What a good value of each measure shows, by how its name begins."""
VERDICTS = {
    "good": "Good: {claim} ({value:,.2f}, by chance {null:,.2f}).",
    "at chance": "At chance: it is not shown that {claim} ({value:,.2f}, by chance {null:,.2f}; {counted}).",
    "worse": "Worse than chance: it is not so that {claim} ({value:,.2f}, by chance {null:,.2f}).",
    "built in": "Good, because it is built in: {claim}.",
    "broken": "Not good: it is not so that {claim} ({value:.0%} do).",
}
"""The sentence of each judgement."""


def judge(finding: Finding) -> str:
    """Return "good", "at chance" or "worse"; "built in" or "broken" without a null, and nothing without a value.

    A finding is good or worse if its interval does not contain the value by chance and, if good, its p-value is small.
    """
    if finding.value is None or finding.low is None or finding.high is None:
        return ""
    if finding.null is None:
        return "built in" if finding.value >= 1.0 else "broken"
    if finding.low > finding.null and (finding.p is None or finding.p < LEVEL):
        return "good"
    return "worse" if finding.high < finding.null else "at chance"


def write_verdict(finding: Finding) -> str:
    """Return a sentence: the judgement, and what it means; nothing for what was not measured."""
    claim = next((claim for start, claim in CLAIMS.items() if finding.name.startswith(start)), finding.name)
    judgement, counted = judge(finding), f"{finding.n:,} {finding.counted}"
    figures = {"value": finding.value, "null": finding.null, "counted": counted}
    return VERDICTS[judgement].format(claim=claim, **figures) if judgement else ""
