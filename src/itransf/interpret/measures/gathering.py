"""All measures of a model beside its baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from itransf.errors import ConfigError, check_count
from itransf.interpret.measures.domains import measure_domains
from itransf.interpret.measures.faithfulness import MOST_TRIPLES, measure_faithfulness
from itransf.interpret.measures.findings import DRAWS, FEWEST_DRAWS, MOST_DRAWS, Finding
from itransf.interpret.measures.gold import Gold, mine_gold
from itransf.interpret.measures.inverses import measure_inverses
from itransf.interpret.measures.rarity import measure_borrowing, measure_gain
from itransf.interpret.measures.readings import Reading, check_same_graph, draw_random, read_model
from itransf.interpret.measures.sparsity import measure_sparsity
from itransf.interpret.measures.stability import measure_stability
from itransf.interpret.measures.symmetry import measure_symmetry
from itransf.interpret.sparse_coding import encode_matrices
from itransf.models import ITransF, STransE


@dataclass(frozen=True)
class Interpretation:
    """The findings about one model: its name, how many runs of it, and what was found."""

    name: str
    runs: int
    findings: tuple[Finding, ...]

    def find(self, key: tuple[str, str]) -> Finding | None:
        """Return the finding with this key, if there is one."""
        return next((finding for finding in self.findings if finding.key == key), None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {
            "name": self.name,
            "runs": self.runs,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def interpret_runs(
    readings: Sequence[Reading],
    baselines: Sequence[Reading] = (),
    *,
    coded: bool = False,
    ranked: bool = True,
    most_triples: int = MOST_TRIPLES,
    draws: int = DRAWS,
    progress: bool = False,
) -> list[Interpretation]:
    """Measure a model, its baselines and a random one.

    Args:
        readings: Runs of one model that differ by their seed.
        baselines: Other models on the same graph, one run each.
        coded: Whether to put the sparse coding of each STransE among the baselines, of the model's own m and k.
        ranked: Whether to measure what needs ranking (faithfulness, rare relations), which takes most of the time.
        most_triples: The most triples of a relation that are ranked for faithfulness; zero takes all.
        draws: Resamplings and permutations.
        progress: Whether to show it.

    Returns:
        One interpretation for the model, then one for each baseline, then that of random attention.

    Raises:
        ConfigError: The runs are not on the same graph, there are too few draws or too many, or there is no STransE
            to code.
        MissingExtraError: Sparse coding was asked for, and scikit-learn is not installed.
    """
    check_same_graph([*readings, *baselines])
    draws = check_count("draws", draws, least=FEWEST_DRAWS, most=MOST_DRAWS)
    if coded and not any(is_codable(each) for each in baselines):
        raise ConfigError("sparse coding is of the matrices of a STransE: give a run of one as a baseline")
    gold, scale = mine_gold(readings[0].graph), find_scale(readings[0])
    beside = [*baselines, *(code_sparsely(each, scale) for each in baselines if coded and is_codable(each))]
    plain = next((other for other in baselines if other.weights is None), None)
    found = []
    for group in (list(readings), *([baseline] for baseline in beside), [draw_random(readings[0])]):
        findings = [*measure_attention(group, gold, scale, draws), measure_stability(group, scale.concepts, draws)]
        if ranked and group[0].name != "random":
            findings += measure_faithfulness(group, most_triples=most_triples, draws=draws, progress=progress)
            findings += [measure_gain(group, plain, draws=draws)] if plain not in (None, group[0]) else []
            findings.append(measure_borrowing(group, draws=draws))
        found.append(Interpretation(group[0].name, len(group), tuple(findings)))
    return found


def measure_attention(readings: Sequence[Reading], gold: Gold, scale: Scale, draws: int = DRAWS) -> list[Finding]:
    """Return what can be measured without ranking a triple."""
    return [
        measure_sparsity(readings, scale.support, draws),
        measure_inverses(readings, gold, draws),
        measure_symmetry(readings, gold, draws),
        *measure_domains(readings, gold, scale.concepts, draws),
    ]


@dataclass(frozen=True)
class Scale:
    """Sizes that baselines are compared at: concepts m and support size k of the model they stand beside."""

    concepts: int
    support: int


def is_codable(reading: Reading) -> bool:
    """Return whether a reading is of a model with matrices of its own for each relation side."""
    return isinstance(reading.model, STransE) and reading.weights is None


def code_sparsely(reading: Reading, scale: Scale) -> Reading:
    """Return the reading of a STransE whose matrices are coded as mixtures of m atoms, k at a time."""
    assert isinstance(reading.model, STransE), "others have no matrices to code"
    atoms = min(scale.concepts, 2 * len(reading.graph.relations))
    coding = encode_matrices(reading.model, atoms, min(scale.support, atoms))
    return read_model(coding.model, reading.graph, f"sparse coding of {reading.name}")


def find_scale(reading: Reading) -> Scale:
    """Return a model's own m and k; for one without concepts a matrix for each relation side."""
    if reading.weights is None:
        return Scale(2 * len(reading.graph.relations), 1)
    concepts, model = reading.weights.shape[2], reading.model
    if isinstance(model, ITransF) and model.config.attention == "sparse":
        return Scale(concepts, model.config.support_size)
    return Scale(concepts, concepts)
