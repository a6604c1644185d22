"""What single models do beyond the contract."""

from __future__ import annotations

import pytest
import torch

from contracts.cases import make_model, random_triples
from itransf.config import assignments_layer, build_config
from itransf.errors import ConfigError
from itransf.models import SIDES


def test_rotate_starts_a_relation_at_the_angles_of_its_triples() -> None:
    model = make_model("rotate", {"dim": 5})
    heads, tails = torch.tensor([0, 1, 2]), torch.tensor([3, 4, 5])
    with torch.no_grad():
        turned = model.rotate(model.entities[heads], torch.tensor([1, 1, 1]), "tail")
        model.entities[tails] = turned
    model.start_relation(heads, tails)
    last = torch.full_like(heads, model.sizes.relations - 1)
    assert float(model.score(heads, last, tails).detach().abs().max()) < 1e-9


def test_rotate_turns_back_what_it_turned() -> None:
    model = make_model("rotate", {"dim": 5})
    vectors, relations = model.entities[:4], torch.tensor([0, 1, 2, 3])
    back = model.rotate(model.rotate(vectors, relations, "tail"), relations, "head")
    torch.testing.assert_close(back, vectors)


def test_tatec_splits_a_score_into_its_terms() -> None:
    model = make_model("tatec", {"dim": 3, "pair_dim": 4})
    heads, _, tails = random_triples(6)
    triples = torch.stack([heads, torch.ones_like(heads), tails], 1)
    split = model.split_scores(triples)
    torch.testing.assert_close(split.totals, model.score(*triples.unbind(1)).detach())
    torch.testing.assert_close(split.values.sum(1), split.totals)
    swapped = model.split_scores(triples.flip(1))
    symmetric = [part.symmetry for part in split.parts].index("symmetric")
    torch.testing.assert_close(split.values[:, symmetric], swapped.values[:, symmetric])


def test_the_last_step_of_irn_takes_the_chance_that_is_left() -> None:
    """Where no step before is the last, the output is that of the last state; where the first is, of the first."""
    model = make_model("irn", {"dim": 3, "memory": 4, "steps": 3})
    vectors, relations = model.entities[:3], torch.tensor([0, 1, 2])
    with torch.no_grad():
        model.gate.weight.zero_()
        model.gate.bias.fill_(60.0)
        first = model.output(torch.cat([vectors, model.relations[relations]], dim=1))
        torch.testing.assert_close(model.infer(vectors, relations), first)
        model.gate.bias.fill_(-60.0)
        assert not torch.allclose(model.infer(vectors, relations), first)


@pytest.mark.parametrize(
    "setting",
    ["tucker:input_dropout=1", "tucker:output_dropout=1.5", "rotate:span=0", "irn:memory=0", "irn:steps=0"],
)
def test_settings_without_sense_are_refused(setting: str) -> None:
    name, _, given = setting.partition(":")
    with pytest.raises(ConfigError, match=given.partition("=")[0]):
        build_config([assignments_layer([f"model.name={name}", f"model.{given}"])])


def test_ntn_scores_candidates_on_both_sides_as_it_scores_triples() -> None:
    model = make_model("ntn", {"dim": 3, "slices": 2})
    anchors, relations = torch.tensor([1, 4]), torch.tensor([3, 0])
    pool = model.pool(torch.tensor([2, 6]))
    for side in SIDES:
        scores = model.score_pool(anchors, relations, side, pool)
        known, others = anchors.repeat_interleave(2), torch.tensor([2, 6, 2, 6])
        ends = (others, known) if side == "head" else (known, others)
        wanted = model.score(ends[0], relations.repeat_interleave(2), ends[1])
        torch.testing.assert_close(scores.flatten(), wanted)
