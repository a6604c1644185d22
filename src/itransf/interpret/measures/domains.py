"""Domains: whether relations of one domain share their top concept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from itransf.data.sorting import Integers
from itransf.interpret.measures.findings import DRAWS, Finding, find_error, find_nothing, make_finding
from itransf.interpret.measures.gold import Gold
from itransf.interpret.measures.readings import Reading, find_top
from itransf.interpret.measures.statistics import measure_purity, share_information

MEASURE = "domains by top concept"
STATISTICS: dict[str, Callable[[Integers, Integers], float]] = {
    "purity": measure_purity,
    "mutual information": share_information,
}


def measure_domains(
    readings: Sequence[Reading], gold: Gold, groups: int, draws: int = DRAWS
) -> tuple[Finding, Finding]:
    """Return how far the heaviest concept of a relation side tells its domain.

    Sides are grouped by their heaviest concept. Purity = sum over groups of the sides of the commonest domain / all
    sides; NMI = I(group; domain) / ((H(group) + H(domain)) / 2). The domain of a side is that of its relation. A model
    without concepts has its matrices grouped into `groups` groups by direction instead. The interval is over relations
    and runs (by the jackknife: relations drawn twice would make groups look purer than they are); the null gives the
    domains to random relations, both sides of a relation together.
    """
    first, second = (_measure(readings, gold, groups, draws, statistic) for statistic in STATISTICS)
    return first, second


def _measure(readings: Sequence[Reading], gold: Gold, groups: int, draws: int, statistic: str) -> Finding:
    domains, compute = gold.domains, STATISTICS[statistic]
    if domains is None:
        return find_nothing(MEASURE, statistic, "names of relations tell no domain")
    rng = np.random.default_rng(0)
    tops = [find_top(reading, groups) for reading in readings]
    shuffled = rng.permuted(np.tile(domains, (draws, 1)), axis=1)

    def look(top: Integers, labels: Integers) -> float:
        return compute(top.reshape(-1), np.tile(labels, 2))

    values = [look(top, domains) for top in tops]
    without = [np.delete(np.arange(len(domains)), relation) for relation in range(len(domains))]
    errors = [find_error(np.array([look(top[:, rows], domains[rows]) for rows in without])) for top in tops]
    resampled = np.array(values) + rng.standard_normal((draws, 1)) * np.array(errors)  # (draws, runs)
    null = np.array([np.mean([look(top, labels) for top in tops]) for labels in shuffled])
    found = len(np.unique(domains))
    counted = (2 * len(domains), f"relation sides in {found} domains")
    return make_finding(MEASURE, statistic, values, resampled, null, counted)
