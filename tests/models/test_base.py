from __future__ import annotations

import pytest
import torch
from torch import Tensor

from itransf.errors import ConfigError
from itransf.models.base import Compare, Sizes, compare_all, compare_grouped, compare_rows, has_query_form
from itransf.models.distmult import DistMult, DistMultConfig
from itransf.ops.distance import MODULI_AT_ONCE
from itransf.ops.grouped import group_rows
from stubs import TableModel


def test_a_model_needs_only_a_score() -> None:
    model = TableModel(torch.randn(5, 2, 5))
    heads, relations = torch.tensor([3, 0, 4]), torch.tensor([1, 0, 1])
    assert torch.equal(model.score_tails(heads, relations), model.table[heads, relations])
    assert torch.equal(model.score_heads(relations, heads), model.table[:, relations, heads].T)
    anchors, chosen = torch.tensor([3, 0]), torch.tensor([4, 4, 1])
    assert torch.equal(model.scorer(1, "tail")(anchors), model.table[anchors, 1])
    assert torch.equal(model.scorer(1, "head")(anchors), model.table[:, 1, anchors].T)
    assert torch.equal(model.scorer(0, "tail", model.pool())(anchors), model.table[anchors, 0])
    assert torch.equal(model.scorer(0, "head", model.pool(chosen))(anchors), model.table[:, 0, anchors].T[:, chosen])


def test_the_generic_contrast_replaces_the_side_it_is_told_to() -> None:
    model = TableModel(torch.randn(5, 2, 5))
    heads, relations, tails = torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([2, 3])
    positive, negative = model.score_contrast(
        heads, relations, tails, torch.tensor([True, False]), torch.tensor([[4, 3], [2, 0]])
    )
    t = model.table
    assert torch.equal(positive, torch.stack([t[0, 1, 2], t[1, 0, 3]]))
    wanted = torch.stack([torch.stack([t[4, 1, 2], t[3, 1, 2]]), torch.stack([t[1, 0, 2], t[1, 0, 0]])])
    assert torch.equal(negative, wanted)


def test_hooks_do_nothing_unless_a_model_needs_them() -> None:
    model = TableModel(torch.randn(5, 2, 5))
    before = model.table.detach().clone()
    model.constrain(None, None)
    assert torch.equal(model.table, before)
    triple = torch.tensor([0])
    assert model.penalty(triple, triple, triple) is None
    assert model.learning_rate_factor("table") == 1.0
    assert model.embeddings() == {}
    with pytest.raises(ConfigError, match="TableModel"):
        model.factors(triple, triple, triple)


class Biased(DistMult):
    """DistMult with a score of its own."""

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return super().score(heads, relations, tails) + tails


def test_a_score_of_its_own_is_ranked_and_pooled_as_it_is_trained() -> None:
    model = Biased(Sizes(5, 2), DistMultConfig(dim=3))
    heads, relations, answers = torch.tensor([3, 0, 4]), torch.tensor([1, 0, 1]), torch.tensor([4, 4, 1])
    wanted = model.score(heads.repeat_interleave(3), relations.repeat_interleave(3), answers.repeat(3)).view(3, 3)
    torch.testing.assert_close(model.score_pool(heads, relations, "tail", model.pool(answers)), wanted)
    torch.testing.assert_close(model.scorer(1, "tail", model.pool(answers))(heads[::2]), wanted[::2])
    torch.testing.assert_close(model.score_tails(heads, relations)[:, answers], wanted)
    chosen = model.score_relations(heads, answers).gather(1, relations[:, None]).squeeze(1)
    torch.testing.assert_close(chosen, wanted.diagonal())
    assert has_query_form(DistMult(Sizes(5, 2), DistMultConfig(dim=3)))
    assert not has_query_form(model)


def test_every_comparison_scores_nearer_or_more_alike_candidates_higher() -> None:
    query, table = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 2.0], [0.0, 2.0], [-2.0, -2.0]])
    assert compare_all(query, table, "dot").tolist() == [[5.0, 4.0, -6.0]]
    assert compare_all(query, table, "l1").tolist() == [[0.0, -1.0, -7.0]]
    assert compare_all(torch.tensor([[1.0, 2.0, 3.0]]), table, "affine").tolist() == [[8.0, 7.0, -3.0]]
    assert compare_all(query, table, "modulus").tolist() == [[0.0, -1.0, -5.0]]  # |1 + 2i - c|
    assert compare_all(query, table, "l2").tolist()[0] == pytest.approx([0.0, -1.0, -5.0], abs=1e-5)


@pytest.mark.parametrize("compare", ["dot", "l1", "l2", "affine", "modulus"])
def test_comparing_by_groups_equals_comparing_one_by_one(compare: Compare) -> None:
    torch.manual_seed(0)
    queries, tables = torch.randn(5, 5 if compare == "affine" else 4), torch.randn(2, 4, 4)
    found = compare_grouped(queries, tables, group_rows(torch.tensor([1, 1, 1, 6, 6])), compare)
    wanted = [compare_all(queries[:3], tables[0], compare), compare_all(queries[3:], tables[1], compare)]
    torch.testing.assert_close(found, torch.cat(wanted))


@pytest.mark.parametrize("at_once", [1, 20, 1000])
def test_moduli_computed_a_few_at_a_time_have_the_gradients_of_all_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MODULI_AT_ONCE, "cpu", at_once)
    torch.manual_seed(0)
    queries, tables = torch.randn(5, 6, dtype=torch.float64), torch.randn(2, 4, 6, dtype=torch.float64)
    tables[0, 0] = queries[0]  # a distance of zero
    weights = torch.rand(5, 4, dtype=torch.float64)
    outcomes = []
    for is_plain in (True, False):
        leaves = queries.clone().requires_grad_(), tables.clone().requires_grad_()
        if is_plain:
            rows = leaves[1][torch.tensor([0, 0, 0, 1, 1])]
            found = compare_rows(leaves[0][:, None], rows, "modulus")
        else:
            found = compare_grouped(*leaves, group_rows(torch.tensor([1, 1, 1, 6, 6])), "modulus")
        (found * weights).sum().backward()
        outcomes.append((found.detach(), *(leaf.grad for leaf in leaves)))
    for plain, grouped in zip(*outcomes, strict=True):
        torch.testing.assert_close(plain, grouped)
