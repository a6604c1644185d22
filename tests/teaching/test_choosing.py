from __future__ import annotations

import pytest
import torch
from torch import Tensor

from itransf.config import LossConfig
from itransf.models import ITransF, Sizes
from itransf.teaching import choosing
from itransf.teaching.choosing import Trial, choose_supports, leave_one_out, mark_answers, prepare_trial

LOSS = LossConfig(name="cross_entropy", scale=1.5)
TRIPLES = torch.tensor([[0, 0, 5], [1, 0, 6], [1, 0, 7], [3, 0, 5]])


def make_model(norm: int = 2, projected: str = "none", concepts: int = 6) -> ITransF:
    torch.manual_seed(3)
    config = ITransF.Config(dim=4, p_norm=norm, projected_constraint=projected, concepts=concepts, support_size=2)
    model = ITransF(Sizes(12, 2), config).double()
    with torch.no_grad():
        model.entities.normal_()
        model.concepts.add_(torch.randn_like(model.concepts) * 0.5)
    return model


def make_trial(model: ITransF, triples: Tensor = TRIPLES) -> Trial:
    return prepare_trial(model, triples, LOSS, torch.Generator().manual_seed(0))


def cost_slowly(model: ITransF, triples: Tensor, head: int, tail: int, norm: int) -> float:
    """One pair of concepts, triple by triple, rival by rival."""

    def see(entity: int, concept: int) -> Tensor:
        seen = model.concepts[concept] @ model.entities[entity]
        return seen / seen.norm() if model.config.projected_constraint == "unit" else seen

    rows = triples.tolist()
    total = 0.0
    for place, (h, _, t) in enumerate(rows):
        others = [see(b, tail) - see(a, head) for i, (a, _, b) in enumerate(rows) if i != place]
        v = torch.stack(others).mean(0)

        def score(a: int, b: int, shift: Tensor = v) -> float:
            return float(-torch.linalg.vector_norm(see(a, head) + shift - see(b, tail), ord=norm))

        tails = [e for e in range(12) if [h, 0, e] not in rows]
        heads = [e for e in range(12) if [e, 0, t] not in rows]
        for rivals in ([score(h, e) for e in tails], [score(e, t) for e in heads]):
            scores = 1.5 * torch.tensor([score(h, t), *rivals], dtype=torch.float64)
            total += float(torch.logsumexp(scores, 0) - scores[0])
    return total


@pytest.mark.parametrize(("norm", "projected"), [(1, "none"), (2, "none"), (2, "unit")])
def test_costs_are_those_of_a_slow_count(norm: int, projected: str) -> None:
    model = make_model(norm, projected)
    trial = make_trial(model)
    with torch.no_grad():
        table = torch.stack([trial.cost_of_tails(head) for head in range(6)])
        turned = torch.stack([trial.reverse().cost_of_tails(tail) for tail in range(6)], dim=1)
        torch.testing.assert_close(table, turned)
        for head, tail in ((0, 0), (2, 5), (4, 1)):
            slow = cost_slowly(model, TRIPLES, head, tail, norm)
            assert float(table[head, tail]) == pytest.approx(slow, rel=1e-5)


def test_the_best_pair_is_found_and_the_cheapest_beside_it() -> None:
    trial = make_trial(make_model())
    table = torch.stack([trial.cost_of_tails(head) for head in range(6)])
    head, tail = divmod(int(table.argmin()), 6)
    supports, costs = choose_supports(trial, 2)
    assert supports["head"].tolist() == sorted(table[:, tail].argsort()[:2].tolist())
    assert supports["tail"].tolist() == sorted(table[head].argsort()[:2].tolist())
    torch.testing.assert_close(costs["head"], table[:, tail])


def test_in_turn_neither_side_can_do_better_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST_PAIRS", 1)
    monkeypatch.setattr(choosing, "ROUNDS", 20)
    trial = make_trial(make_model(concepts=20))
    table = torch.stack([trial.cost_of_tails(head) for head in range(20)])
    supports, costs = choose_supports(trial, 3)
    head, tail = int(costs["head"].argmin()), int(costs["tail"].argmin())
    assert int(table[head].argmin()) == tail
    assert int(table[:, tail].argmin()) == head
    assert all(len(support) == 3 for support in supports.values())


def test_a_planted_pair_is_recovered() -> None:
    model = make_model(concepts=8)
    with torch.no_grad():
        wanted = model.entities[:6] @ model.concepts[3].T + 0.3  # D_3 h + v = D_5 t
        model.entities[6:12] = torch.linalg.solve(model.concepts[5], wanted.T).T
    triples = torch.tensor([[number, 0, number + 6] for number in range(6)])
    supports, costs = choose_supports(make_trial(model, triples), 1)
    assert (supports["head"].tolist(), supports["tail"].tolist()) == ([3], [5])
    assert (int(costs["head"].argmin()), int(costs["tail"].argmin())) == (3, 5)


def test_the_others_mean() -> None:
    rows = torch.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 6.0]])
    assert leave_one_out(rows).tolist() == [[4.0, 3.0], [3.0, 3.0], [2.0, 0.0]]
    assert leave_one_out(rows[:1]).tolist() == [[1.0, 0.0]]


def test_every_answer_to_a_question_is_marked() -> None:
    marks = mark_answers(torch.tensor([1, 1, 2]), torch.tensor([5, 6, 7]), torch.tensor([5, 6, 7, 8]))
    assert marks.int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]]
