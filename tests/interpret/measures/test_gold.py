from __future__ import annotations

from collections.abc import Callable

import numpy as np

from itransf.data.graph import Graph
from itransf.interpret.measures.gold import mine_gold


def test_gold_is_mined_from_train_alone(number_graph: Callable[..., Graph]) -> None:
    ahead = [(i, 0, i + 1) for i in range(0, 10, 2)]
    back = [(t, 1, h) for h, _, t in ahead]
    both = [(0, 2, 5), (5, 2, 0), (1, 2, 7), (7, 2, 1)]
    single = [(0, 3, 9)]
    gold = mine_gold(number_graph([*ahead, *back, *both, *single], test=[(9, 3, 0)]))
    assert gold.inverse.tolist() == [[0, 1]]
    assert gold.symmetric.tolist() == [False, False, True, False]
    assert gold.domains is None
    split = mine_gold(number_graph([*ahead, *both], valid=back, relations=4))
    assert split.inverse.tolist() == []


def test_the_domain_is_the_first_part_of_the_name() -> None:
    names = ["/film/film/genre", "/people/person/spouse", "/film/actor/film./film/performance/film"]
    gold = mine_gold(Graph.from_names("g", [("a", name, "b") for name in names]))
    assert gold.domains is not None
    np.testing.assert_array_equal(gold.domains, [0, 1, 0])
    mixed = mine_gold(Graph.from_names("g", [("a", name, "b") for name in [*names, "borders", "/x"]]))
    assert mixed.domains is None
