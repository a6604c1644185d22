from __future__ import annotations

import json

from itransf.data import Graph, describe

TRAIN = [
    ("Paris", "capital_of", "France"),
    ("Madrid", "capital_of", "Spain"),
    ("France", "has_capital", "Paris"),
    ("Spain", "has_capital", "Madrid"),
    ("France", "borders", "Spain"),
    ("Spain", "borders", "France"),
    ("Spain", "borders", "Portugal"),
    ("Portugal", "borders", "Spain"),
    ("France", "borders", "Italy"),
]


def test_description_is_complete_and_ready_for_json() -> None:
    graph = Graph.from_names("g", TRAIN, [], [("Italy", "borders", "France"), ("Portugal", "near", "Italy")])
    description = describe(graph.labelled({"borders": "is next to"}))
    assert json.loads(json.dumps(description)) == description
    assert description["entities"] == 6
    assert description["triples"] == {"train": 9, "valid": 0, "test": 2}
    assert description["relation_table"][0] == {
        "name": "borders",
        "label": "is next to",
        "train": 5,
        "valid": 0,
        "test": 1,
        "tails_per_head": 5 / 3,
        "heads_per_tail": 5 / 4,
        "category": "1-N",
        "head_domain": 3,
        "tail_domain": 4,
    }
    assert [row["name"] for row in description["relation_table"]] == [
        "borders",
        "capital_of",
        "has_capital",
        "near",
    ]
    assert description["categories"] == {
        "1-1": {"relations": 3, "train": 4},
        "1-N": {"relations": 1, "train": 5},
        "N-1": {"relations": 0, "train": 0},
        "N-N": {"relations": 0, "train": 0},
    }
    assert description["leakage"]["test"]["symmetric"] == 0.5
    assert description["leakage"]["valid"]["any"] == 0
    assert description["structure"]["inverse"] == [{"relations": ["capital_of", "has_capital"], "overlap": 1.0}]
    assert description["structure"]["symmetric"] == [{"relation": "borders", "share": 1.0}]
    assert description["notes"] == list(graph.notes)
    assert len(description["notes"]) == 2
