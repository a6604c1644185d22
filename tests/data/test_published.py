"""What is known about the published datasets, checked where they are at hand."""

from __future__ import annotations

import os

import numpy as np
import pytest

from itransf.data import DATASETS, SPLITS, Dataset, Graph, load, locate, measure_leakage, mine_structure

PUBLISHED = [name for name, dataset in DATASETS.items() if dataset.checksums]

pytestmark = pytest.mark.skipif(not os.environ.get("ITRANSF_DATA"), reason="ITRANSF_DATA is not set")


def load_or_skip(name: str) -> Graph:
    if locate(DATASETS[name]) is None:
        pytest.skip(f"{name} is not in ITRANSF_DATA")
    return load(name)


@pytest.mark.parametrize("dataset", [DATASETS[name] for name in PUBLISHED], ids=PUBLISHED)
def test_counts(dataset: Dataset) -> None:
    graph = load_or_skip(dataset.name)
    sizes = {"entities": len(graph.entities), "relations": len(graph.relations)}
    assert {
        **sizes,
        **{split: len(graph.split(split)) for split in ("train", "valid", "test")},
    } == dataset.counts
    assert not any("duplicate" in note or "overlap" in note for note in graph.notes)


def test_wn18_is_full_of_inverses() -> None:
    graph = load_or_skip("wn18")
    for structure in (mine_structure(graph), mine_structure(graph, splits=SPLITS)):
        assert len(structure.inverse) == 7
        assert len(structure.symmetric) == 3
        assert structure.one_way_inverse == ()
    assert len(mine_structure(graph, 0.5).symmetric) == 4
    assert measure_leakage(graph).reversed_pair == pytest.approx(0.940, abs=0.0005)
    assert "00260881" in graph.entities.names


def test_fb15k_237_has_symmetric_relations_and_unseen_entities() -> None:
    graph = load_or_skip("fb15k-237")
    assert len(mine_structure(graph).symmetric) == 24
    assert len(mine_structure(graph, splits=SPLITS).symmetric) == 24
    assert any("36 entities" in note and "9 valid and 28 test" in note for note in graph.notes)


def test_wn18rr_keeps_its_unseen_entities() -> None:
    graph = load_or_skip("wn18rr")
    assert any("384 entities" in note and "210 valid and 210 test" in note for note in graph.notes)
    assert len(np.unique(graph.train[:, (0, 2)])) == 40943 - 384


def test_fb15k_has_complete_relations() -> None:
    statistics = load_or_skip("fb15k").statistics
    complete = statistics.domain_sizes("head") * statistics.domain_sizes("tail") == statistics.counts
    assert int((complete & (statistics.counts > 0)).sum()) == 281
