from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from contracts.cases import MODEL_CASES, SIZES, all_triples, make_model, random_triples
from itransf.models import SIDES, Ensemble, Model
from itransf.models.ensemble import SAMPLED

CLOSE = {"rtol": 1e-6, "atol": 2e-6}


def score_naively(members: list[Model], head: int, relation: int, tail: int) -> float:
    """The mean of the normalised scores, one triple and one number at a time."""
    generator = torch.Generator().manual_seed(0)
    columns = [
        torch.randint(size, (SAMPLED,), generator=generator).tolist()
        for size in (SIZES.entities, SIZES.relations, SIZES.entities)
    ]
    total = 0.0
    for member in members:
        table = member.score(*all_triples()).detach().numpy().reshape(SIZES.entities, SIZES.relations, SIZES.entities)
        sample = [table[h, r, t] for h, r, t in zip(*columns, strict=True)]
        total += (table[head, relation, tail] - np.mean(sample)) / np.std(sample, ddof=1)
    return total / len(members)


@pytest.mark.parametrize(("name", "case"), MODEL_CASES)
class TestContract:
    def make(self, name: str, case: dict[str, Any]) -> Ensemble:
        return Ensemble([make_model(name, case, seed) for seed in range(3)])

    @torch.no_grad()
    def test_a_score_is_the_mean_of_normalised_scores(self, name: str, case: dict[str, Any]) -> None:
        model = self.make(name, case)
        heads, relations, tails = random_triples(5)
        triples = zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True)
        wanted = torch.tensor([score_naively(list(model.members), *triple) for triple in triples], dtype=torch.float64)
        torch.testing.assert_close(model.score(heads, relations, tails), wanted, **CLOSE)

    @torch.no_grad()
    def test_all_ways_of_scoring_agree(self, name: str, case: dict[str, Any]) -> None:
        model = self.make(name, case)
        scores = model.score(*all_triples()).view(SIZES.entities, SIZES.relations, SIZES.entities)
        heads, relations, tails = random_triples(11)
        torch.testing.assert_close(model.score_tails(heads, relations), scores[heads, relations], **CLOSE)
        torch.testing.assert_close(model.score_heads(relations, tails), scores[:, relations, tails].T, **CLOSE)
        torch.testing.assert_close(model.score_relations(heads, tails), scores[heads, :, tails], **CLOSE)
        entities, everyone = torch.tensor([4, 0, 4, 6]), torch.arange(SIZES.entities)
        for relation in range(SIZES.relations):
            for side, wanted in zip(SIDES, (scores[:, relation].T, scores[:, relation]), strict=True):
                torch.testing.assert_close(model.scorer(relation, side)(everyone), wanted, **CLOSE)
                pooled = model.scorer(relation, side, model.pool(entities))(everyone)
                torch.testing.assert_close(pooled, wanted[:, entities], **CLOSE)
                asked = torch.full_like(everyone, relation)
                pooled = model.score_pool(everyone, asked, side, model.pool(entities))
                torch.testing.assert_close(pooled, wanted[:, entities], **CLOSE)


@torch.no_grad()
def test_the_unit_of_a_members_scores_does_not_matter() -> None:
    class Scaled(Model):
        """Another model's scores in another unit."""

        def __init__(self, model: Model, factor: float, offset: float) -> None:
            super().__init__(model.sizes, model.config)
            self.model, self.factor, self.offset = model, factor, offset

        def score(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
            return self.factor * self.model.score(heads, relations, tails) + self.offset

    first, second = (make_model("transe", {"dim": 4}, seed) for seed in range(2))
    plain, scaled = Ensemble([first, second]), Ensemble([Scaled(first, 100.0, -7.0), second])
    torch.testing.assert_close(plain.score(*all_triples()), scaled.score(*all_triples()), **CLOSE)
    constant = Ensemble([Scaled(first, 0.0, 5.0), second])
    torch.testing.assert_close(
        constant.score(*all_triples()),
        plain.score(*all_triples()) - (Ensemble([first]).score(*all_triples()) / 2),
        **CLOSE,
    )
