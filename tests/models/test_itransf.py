from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from itransf.config import Layer, build_config
from itransf.errors import ConfigError
from itransf.models import SIDES, ITransF, Side, Sizes, STransE
from itransf.models.itransf import start_concepts

SIZES = Sizes(entities=9, relations=4)


def make_itransf(seed: int = 0, sizes: Sizes = SIZES, **settings: Any) -> ITransF:
    """Return ITransF with small sizes and, so that weights differ, random pre-softmax scores."""
    torch.manual_seed(seed)
    chosen = {"dim": 5, "p_norm": 1, "concepts": 7, "support_size": 3, "temperature": 0.25, **settings}
    model = ITransF(sizes, ITransF.Config(**chosen))
    with torch.no_grad():
        for side in SIDES:
            model.concept_attention(side).scores.normal_(0.0, 0.3)
        model.concepts.add_(torch.randn_like(model.concepts), alpha=0.3)
    return model


def every_triple() -> tuple[Tensor, Tensor, Tensor]:
    cells = torch.cartesian_prod(torch.arange(9), torch.arange(4), torch.arange(9))
    heads, relations, tails = cells.unbind(1)
    return heads, relations, tails


class TestStart:
    def test_concepts_start_as_identity_with_the_papers_noise(self) -> None:
        torch.manual_seed(0)
        noise = start_concepts(300, 20, "identity") - torch.eye(20)
        diagonal = noise.diagonal(dim1=1, dim2=2)
        assert float(noise.std()) == pytest.approx(0.005, rel=0.02)
        assert float(diagonal.std()) == pytest.approx(0.005, rel=0.05)
        assert abs(float(noise.mean())) < 5e-5
        assert abs(float(diagonal.mean())) < 3e-4
        assert float(noise.abs().max()) < 0.005 * 6

    def test_a_fresh_model_has_such_concepts(self) -> None:
        torch.manual_seed(0)
        config = ITransF.Config(dim=10, concepts=40, concept_init="identity")
        noise = ITransF(SIZES, config).concepts.detach() - torch.eye(10)
        assert float(noise.std()) == pytest.approx(0.005, rel=0.05)

    def test_reflecting_concepts_start_as_signs_on_the_diagonal(self) -> None:
        torch.manual_seed(0)
        concepts = start_concepts(100, 10, "reflect")
        signs = concepts.diagonal(dim1=1, dim2=2).round()
        assert set(signs.unique().tolist()) == {-1.0, 1.0}
        assert float(signs.mean()) == pytest.approx(0.0, abs=0.15)
        noise = concepts - torch.diag_embed(signs)
        assert float(noise.std()) == pytest.approx(0.005, rel=0.05)

    def test_half_of_mixed_concepts_are_one_reflection(self) -> None:
        torch.manual_seed(0)
        signs = start_concepts(11, 30, "mixed").diagonal(dim1=1, dim2=2).round()
        reflecting = (signs < 0).any(1)
        assert int(reflecting.sum()) == 5
        assert len(signs[reflecting].unique(dim=0)) == 1

    def test_one_seed_gives_one_start(self) -> None:
        assert torch.equal(make_itransf(3).concepts, make_itransf(3).concepts)
        assert not torch.equal(make_itransf(3).concepts, make_itransf(4).concepts)


class TestAttention:
    @pytest.mark.parametrize("size", [1, 3, 7])
    def test_at_most_k_weights_are_not_zero_and_they_sum_to_one(self, size: int) -> None:
        model = make_itransf(support_size=size)
        for side in SIDES:
            attention = model.concept_attention(side).attention().detach()
            assert attention.shape == (4, 7)
            assert ((attention != 0).sum(1) == min(size, 7)).all()
            torch.testing.assert_close(attention.sum(1), torch.ones(4))

    def test_unsupported_weights_are_exactly_zero(self) -> None:
        model = make_itransf()
        for side in SIDES:
            support = model.supports(side)
            assert support is not None
            supported = torch.zeros(4, 7, dtype=torch.bool).scatter_(1, support, value=True)
            attention = model.concept_attention(side).attention()
            assert bool((attention[~supported] == 0.0).all())
            assert bool((attention[supported] > 0.0).all())

    def test_supports_start_distinct_and_unlike_one_another(self) -> None:
        model = make_itransf(sizes=Sizes(9, 40))
        for side in SIDES:
            support = model.supports(side)
            assert support is not None
            assert bool((support.diff(dim=1) > 0).all())
            assert len(support.unique(dim=0)) > 10

    def test_the_temperature_is_the_configs_and_not_learned(self) -> None:
        sharp, flat = make_itransf(temperature=0.25), make_itransf(temperature=4.0)
        assert not any("temperature" in name for name in sharp.state_dict())
        for side in SIDES:
            projection = sharp.concept_attention(side)
            scores = projection.scores.gather(1, projection.support)
            wanted = torch.softmax(scores / 0.25, dim=1)
            torch.testing.assert_close(projection.weights(torch.arange(4)), wanted)
            assert flat.concept_attention(side).attention().max() < projection.attention().max()

    def test_dense_attention_uses_every_concept(self) -> None:
        model = make_itransf(attention="dense", support_size=2)
        for side in SIDES:
            attention = model.concept_attention(side).attention()
            assert bool((attention > 0).all())
            torch.testing.assert_close(attention.sum(1), torch.ones(4))
            assert model.supports(side).shape[1] == len(model.concepts)
        assert model.penalty(*every_triple()) is None

    def test_l1_attention_has_no_softmax_and_a_penalty(self) -> None:
        model = make_itransf(attention="l1", support_size=2, l1_weight=0.001)
        for side in SIDES:
            projection = model.concept_attention(side)
            torch.testing.assert_close(projection.attention(), projection.scores)
            assert bool((projection.attention() < 0).any())
            assert model.supports(side).shape[1] == len(model.concepts)
        assert model.penalty(*every_triple()) is not None

    def test_the_l1_penalty_is_a_mean_over_triples(self) -> None:
        model = make_itransf(attention="l1", l1_weight=0.5)
        relations = [3, 1, 3, 3]
        triples = torch.tensor([0, 1, 2, 3]), torch.tensor(relations), torch.tensor([1, 2, 0, 1])
        scores = {side: model.concept_attention(side).scores for side in SIDES}
        total = sum(float(rows[relation].detach().abs().sum()) for rows in scores.values() for relation in relations)
        penalty = model.penalty(*triples)
        assert float(penalty.detach()) == pytest.approx(0.5 * total / 4)
        penalty.backward()
        for rows in scores.values():
            share = torch.tensor([0.0, 0.25, 0.0, 0.75])[:, None]
            torch.testing.assert_close(rows.grad.to_dense(), 0.5 * share * rows.detach().sign())

    def test_sparse_attention_has_no_penalty(self) -> None:
        assert make_itransf().penalty(*every_triple()) is None


class TestSharing:
    def test_both_sides_share_one_concept_tensor(self) -> None:
        model = make_itransf()
        assert model.project_head.concepts is model.concepts
        assert model.project_tail.concepts is model.concepts
        assert [name for name, _ in model.named_parameters() if "concepts" in name] == ["concepts"]
        assert model.project_head.scores is not model.project_tail.scores

    @pytest.mark.parametrize("norm", [1, 2])
    @pytest.mark.parametrize("projected", ["unit", "ball", "none"])
    def test_stranse_is_the_special_case_of_disjoint_one_hot_attention(self, norm: int, projected: str) -> None:
        torch.manual_seed(0)
        shared = {"dim": 5, "p_norm": norm, "projected_constraint": projected}
        special = ITransF(SIZES, ITransF.Config(**shared, concepts=2 * 4, support_size=1))
        stranse = STransE(SIZES, STransE.Config(**shared))
        with torch.no_grad():
            for parameter in stranse.parameters():
                parameter.normal_()
            special.entities.copy_(stranse.entities)
            special.relations.copy_(stranse.relations)
            special.concepts[:4] = stranse.project_head.matrices(torch.arange(4))
            special.concepts[4:] = stranse.project_tail.matrices(torch.arange(4))
            special.project_head.support.copy_(torch.arange(4)[:, None])
            special.project_tail.support.copy_(4 + torch.arange(4)[:, None])
        triples = every_triple()
        assert torch.equal(special.score(*triples), stranse.score(*triples))
        assert torch.equal(special.score_tails(*triples[:2]), stranse.score_tails(*triples[:2]))
        assert torch.equal(special.score_heads(*triples[1:]), stranse.score_heads(*triples[1:]))


class TestSingleConceptScores:
    @pytest.mark.parametrize("side", SIDES)
    @pytest.mark.parametrize("norm", [1, 2])
    @pytest.mark.parametrize("projected", ["unit", "ball", "none"])
    def test_equal_scores_with_one_hot_attention(self, side: Side, norm: int, projected: str) -> None:
        model = make_itransf(p_norm=norm, projected_constraint=projected).double()
        triples = every_triple()
        found = model.single_concept_scores(*triples, side)
        support = model.supports(side)
        assert support is not None
        for concept in range(7):
            support.fill_(concept)  # every place of the support is this concept: all weight falls on it
            torch.testing.assert_close(found[:, concept], model.score(*triples).detach())

    def test_leave_the_model_as_it_was(self) -> None:
        model = make_itransf()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        assert not model.single_concept_scores(*every_triple(), "head").requires_grad
        assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("setting", ["concepts", "support_size", "temperature"])
def test_sizes_that_mean_nothing_are_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.{setting} .*above zero, not 0"):
        build_config([Layer("test", {"model": {"name": "itransf", setting: 0}})])


def test_more_concepts_on_a_side_than_there_are_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"from 1 to model\.concepts = 3, not 4"):
        ITransF.Config(concepts=3, support_size=4)
    assert ITransF.Config(concepts=3, support_size=4, attention="dense").support_size == 4
