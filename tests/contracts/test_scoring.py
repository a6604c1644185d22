from __future__ import annotations

from typing import Any

import pytest
import torch

from contracts.cases import CASES, REFERENCES, SIZES, all_triples, make_model, numpy_weights, random_triples
from itransf.models import MODELS, SIDES, Model

EXACT = {"rtol": 1e-9, "atol": 1e-9}
# Under l2, tables of scores come from squares, whose floor is 1e-12: below a distance of 1e-6 they differ.
CLOSE = {"rtol": 1e-6, "atol": 2e-6}


def test_every_model_has_a_naive_reference() -> None:
    assert set(REFERENCES) == set(MODELS.names)


@pytest.mark.parametrize(("name", "case"), CASES)
class TestScores:
    def test_score_equals_the_naive_reference(self, name: str, case: dict[str, Any]) -> None:
        model = make_model(name, case)
        heads, relations, tails = random_triples(20)
        weights = numpy_weights(model)
        wanted = [
            REFERENCES[name].score(weights, model.config, *triple)
            for triple in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
        ]
        torch.testing.assert_close(
            model.score(heads, relations, tails), torch.tensor(wanted, dtype=torch.float64), **EXACT
        )

    def test_all_ways_of_scoring_agree(self, name: str, case: dict[str, Any]) -> None:
        model = make_model(name, case)
        shape = (SIZES.entities, SIZES.relations, SIZES.entities)
        scores = model.score(*all_triples()).view(shape)  # (heads, relations, tails)
        heads, relations, tails = random_triples(11)
        torch.testing.assert_close(model.score_tails(heads, relations), scores[heads, relations], **CLOSE)
        torch.testing.assert_close(model.score_heads(relations, tails), scores[:, relations, tails].T, **CLOSE)
        entities = torch.tensor([4, 0, 4, 6])  # in no order, one of them twice
        everyone = torch.arange(SIZES.entities)
        for relation in range(SIZES.relations):
            by_tail, by_head = scores[:, relation], scores[:, relation].T
            for side, wanted in zip(SIDES, (by_head, by_tail), strict=True):
                torch.testing.assert_close(model.scorer(relation, side)(everyone), wanted, **CLOSE)
                pooled = model.scorer(relation, side, model.pool(entities))(everyone)
                torch.testing.assert_close(pooled, wanted[:, entities], **CLOSE)
                pooled = model.scorer(relation, side, model.pool())(everyone[2:3])
                torch.testing.assert_close(pooled, wanted[2:3], **CLOSE)

    def test_score_pool_agrees_for_questions_in_any_order(self, name: str, case: dict[str, Any]) -> None:
        model = make_model(name, case)
        heads, relations, tails = random_triples(11)
        for pool in (model.pool(), model.pool(torch.tensor([4, 0, 4, 6]))):
            chosen = torch.arange(SIZES.entities) if pool.entities is None else pool.entities
            for order in (torch.arange(11), relations.argsort(stable=True)):
                h, r, t = heads[order], relations[order], tails[order]
                as_tails = torch.stack([model.score(h, r, torch.full_like(t, e)) for e in chosen.tolist()], 1)
                as_heads = torch.stack([model.score(torch.full_like(h, e), r, t) for e in chosen.tolist()], 1)
                torch.testing.assert_close(model.score_pool(h, r, "tail", pool), as_tails, **CLOSE)
                torch.testing.assert_close(model.score_pool(t, r, "head", pool), as_heads, **CLOSE)

    @pytest.mark.parametrize("replaced", [("some", 3), ("some", 1), ("heads", 2), ("tails", 2)])
    def test_score_contrast_equals_the_generic_way(
        self, name: str, case: dict[str, Any], replaced: tuple[str, int]
    ) -> None:
        model = make_model(name, case)
        triples = random_triples(9)
        generator = torch.Generator().manual_seed(3)
        replaces_head = {
            "some": torch.rand(9, generator=generator) < 0.5,
            "heads": torch.ones(9, dtype=torch.bool),
            "tails": torch.zeros(9, dtype=torch.bool),
        }[replaced[0]]
        replacements = torch.randint(SIZES.entities, (9, replaced[1]), generator=generator)
        positive, negative = model.score_contrast(*triples, replaces_head, replacements)
        wanted = Model.score_shared(model, *triples, torch.arange(9), replaces_head, replacements)
        torch.testing.assert_close(positive, wanted[0], **EXACT)
        torch.testing.assert_close(negative, wanted[1], **EXACT)

    @pytest.mark.parametrize("replaced", ["some", "heads", "tails"])
    def test_score_shared_equals_each_triple_with_copies_of_its_own(
        self, name: str, case: dict[str, Any], replaced: str
    ) -> None:
        model = make_model(name, case)
        heads, _, tails = random_triples(9)
        owners = torch.tensor([0, 0, 0, 1, 2, 2, 3, 3, 3])
        relations = torch.tensor([0, 1, 1, 2])[owners]  # two groups may have one relation
        replaces_head = {"some": [True, False, True, False], "heads": [True] * 4, "tails": [False] * 4}[replaced]
        replacements = torch.randint(SIZES.entities, (4, 5), generator=torch.Generator().manual_seed(3))
        shared = owners, torch.tensor(replaces_head), replacements
        positive, negative = model.score_shared(heads, relations, tails, *shared)
        wanted = Model.score_shared(model, heads, relations, tails, *shared)
        torch.testing.assert_close(positive, wanted[0], **EXACT)
        torch.testing.assert_close(negative, wanted[1], **CLOSE)

    def test_a_score_does_not_depend_on_its_batch(self, name: str, case: dict[str, Any]) -> None:
        model = make_model(name, case)
        heads, relations, tails = random_triples(16)
        together = model.score(heads, relations, tails)
        alone = [model.score(heads[i : i + 1], relations[i : i + 1], tails[i : i + 1]) for i in range(16)]
        torch.testing.assert_close(together, torch.cat(alone), **EXACT)
        order = torch.randperm(16, generator=torch.Generator().manual_seed(0))
        mixed = model.score(heads[order], relations[order], tails[order])
        torch.testing.assert_close(mixed, together[order], **EXACT)
        rows = [model.score_tails(heads[i : i + 1], relations[i : i + 1]) for i in range(16)]
        torch.testing.assert_close(model.score_tails(heads, relations), torch.cat(rows), **CLOSE)
