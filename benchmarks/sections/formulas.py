"""The words of docs/interpretation.md: how to measure a run, and what each measure computes."""

from __future__ import annotations

from itransf.data.leakage import THRESHOLD
from itransf.interpret.measures.faithfulness import LEAST_LOSS

OPENING = f"""# Interpretation: how far the model can be read

Written by `python -m benchmarks.interpretation --render` from the records in `results/`; change those by measuring,
not this page.

## Measuring a run of your own

```
itransf interpret runs/a                                   # one run: every measure that applies to its graph
itransf interpret runs/a runs/b runs/c                     # the same model with other seeds: means, and stability
itransf interpret runs/a --baseline runs/stranse --sparse-coding
itransf interpret runs/a --no-ranking --json               # only what needs no ranking, for a program to read
```

`itransf interpret` reads finished runs on one graph and trains nothing. The first run and those after it are taken for
one model that differs by its seed; runs whose other settings differ are named in a warning. Each `--baseline` is
measured beside it, and so is attention whose weights were moved to random concepts. `--sparse-coding` codes the
matrices of a STransE baseline as mixtures of m shared ones, k at a time, m and k being those of the model (it needs the
extra `reproduce`). Taking concepts away and ranking again takes longest: `--triples` bounds the triples of a relation
that are ranked, `--no-ranking` leaves it out. In Python the same is `itransf.interpret.interpret_runs`.

Gold labels come from the training triples alone: two relations are inverse where at least {100 * THRESHOLD:.0f} % of
either's triples stand reversed in the other, and a relation is symmetric where at least as many of its own do. A domain
is the first part of a relation's name where names look like paths. No training, start or choice of concepts reads any
of them, but for `assignment.init = "mirrored"`, which no model on this page has and which `itransf interpret` warns
of. When the models called dense + l1 were trained, their penalty was added to each batch as a whole and their weights
learned at the full rate; by now the penalty is a mean over triples, and the weights learn at the rate of matrices.
"""
COLUMNS = """## How to read the tables

*ITransF* is the mean over its seeds. The interval is the middle 95 % over resamplings of what is counted and of the
runs. *By chance* is the mean of the same value under random permutations, and *p* how often a permutation does as
well, the measured order counting as one of them. Baselines were trained once with the same recipe, except where the
recipe lists settings of a model's own; in parentheses stands what chance would give each. A dash means that a measure
does not apply: STransE has no weights, so its matrices are compared instead, the identity taken off, and grouped by
direction; random attention is not ranked; one run has no stability. "Higher" says nothing but that.
"""
FORMULAS = {
    "sparse attention": """The share of relation sides (each relation has a head side and a tail side) with at
most k weights that are not zero, none negative, summing to one. It is a property and no discovery: there is no
null.""",
    "inverse pairs": """For every unordered pair of relations r, q: mirror(r, q) = (cos(head[r], tail[q]) +
cos(tail[r], head[q])) / 2, head[r] and tail[r] being attention vectors; translations are left out. The value is
the average precision of the gold pairs when all pairs are ranked by it, ties taken in together. The null gives
the gold pairs to random relations.""",
    "symmetric relations": """alike(r) = cos(head[r], tail[r]); translations are left out. The value is the area
under the curve: the share of (symmetric, other) pairs of relations of which the symmetric one scores higher,
ties counting half. The null gives the labels to random relations.""",
    "domains by top concept": """Relation sides are grouped by their heaviest concept. Purity is the share of
sides whose domain is the commonest of their group; mutual information is I(group; domain) / ((H(group) +
H(domain)) / 2). The null gives the domains to random relations, both sides of a relation together. With more
groups purity is higher by chance too: compare it with its null.""",
    "stability over seeds": """Relation sides are grouped by their heaviest concept in each run. The value is the
adjusted Rand index of two groupings, (pairs together in both - expected) / (most - expected), averaged over all
pairs of runs. The null shuffles the sides of one of each two runs.""",
    "faithful weights": f"""Concept i is taken away from one side of a relation, the side's other weights are
scaled to the sum they had (free weights stay), and the relation's validation triples are ranked again; the loss is
how much smaller their MRR becomes. The first value is the mean loss with each side's heaviest concept over the
mean loss with its lightest, which counts as at least {LEAST_LOSS:g}: where it is that small, the ratio says no
more than that it is large. The second is Spearman's correlation of weight and loss over all sides and concepts.
The null permutes losses within each side. Relations that do not use a concept do not change at all when it is
taken away: that is a test, and not counted.""",
    "rare relations": """Rare is the rarest third of relations by training triples; relations count the same,
whatever their number of triples. *Gained*: Hits@10 on test minus the baseline's. *Lost without donors*: Hits@10
minus Hits@10 without the concepts of which other relations taught more than half, relation q having taught the
share n_q (head[q, i] + tail[q, i]) of concept i, n being training triples. The null swaps the two sides of the
comparison triple by triple.""",
    "planted supports": """Graphs are grown from known concepts, and a model with half as many concepts again as
the truth learns them. True concepts are matched one to one with learned ones so that the uses they have in
common, the hits, are most; F1 = 2 hits / (true uses + learned uses). The null shuffles the sides of the learned
supports and matches again.""",
    "faithful explanations": """The training triples that an explanation names as backing a right prediction are
taken out and the model is trained again with the same seed; the same with as many random triples about the same
entities, and with nothing taken out. loss(c) = mean of (1 / rank with nothing taken out - 1 / rank without the
triples of condition c); the value is loss(named) / loss(random). The interval is over groups of predictions that
share a training; the null swaps named and random triples, group by group.""",
}
