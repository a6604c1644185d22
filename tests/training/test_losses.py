from __future__ import annotations

import math

import pytest
import torch

from itransf.config import LossConfig
from itransf.training.losses import cross_entropy, hinge, make_contrast_loss, self_adversarial

POSITIVE = torch.tensor([-1.0, -4.0])
NEGATIVE = torch.tensor([[-1.5, -3.0], [-2.0, -9.0]])


def log_sigmoid(value: float) -> float:
    return -math.log(1 + math.exp(-value))


def test_hinge_by_hand() -> None:
    # [1 + 1 - 1.5]_+ = 0.5, [1 + 1 - 3]_+ = 0;  [1 + 4 - 2]_+ = 3, [1 + 4 - 9]_+ = 0
    assert hinge(POSITIVE, NEGATIVE, LossConfig(margin=1.0)).tolist() == pytest.approx([0.25, 1.5])


def test_hinge_of_well_separated_triples_has_no_gradient() -> None:
    positive = torch.tensor([-1.0], requires_grad=True)
    hinge(positive, torch.tensor([[-5.0]]), LossConfig(margin=1.0)).sum().backward()
    assert positive.grad is not None
    assert positive.grad.tolist() == [0.0]


def test_self_adversarial_by_hand() -> None:
    margin, temperature = 3.0, 0.5
    raised = [math.exp(-1.5 * temperature), math.exp(-3.0 * temperature)]
    shares = [value / sum(raised) for value in raised]
    wanted = log_sigmoid(margin - 1.0)
    wanted += sum(s * log_sigmoid(d - margin) for s, d in zip(shares, (1.5, 3.0), strict=True))
    found = self_adversarial(POSITIVE, NEGATIVE, LossConfig(margin=margin, adversarial_temperature=temperature))
    assert float(found[0]) == pytest.approx(-wanted / 2)


def test_self_adversarial_weights_are_not_learned_through() -> None:
    negative = NEGATIVE.clone().requires_grad_()
    self_adversarial(POSITIVE, negative, LossConfig(margin=3.0)).sum().backward()
    shares = torch.softmax(NEGATIVE, dim=1)
    wanted = shares * torch.sigmoid(3.0 + NEGATIVE) / 2  # derivative of -log sigmoid(-margin - s) alone
    torch.testing.assert_close(negative.grad, wanted)


def test_cross_entropy_by_hand() -> None:
    scores = [math.exp(2 * -1.0), math.exp(2 * -1.5), math.exp(2 * -3.0)]
    found = cross_entropy(POSITIVE, NEGATIVE, LossConfig(scale=2.0))
    assert float(found[0]) == pytest.approx(-math.log(scores[0] / sum(scores)))


def test_cross_entropy_leaves_out_what_is_minus_infinity() -> None:
    negative = torch.tensor([[float("-inf"), -2.0]], requires_grad=True)
    loss = cross_entropy(torch.tensor([-1.0]), negative, LossConfig(scale=1.0))
    assert float(loss.detach()) == pytest.approx(math.log(1 + math.exp(-1.0)))
    loss.sum().backward()
    assert negative.grad is not None
    assert float(negative.grad[0, 0]) == 0.0


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (LossConfig(name="hinge", margin=2.0), hinge(POSITIVE, NEGATIVE, LossConfig(margin=2.0))),
        (
            LossConfig(name="self_adversarial", margin=2.0, adversarial_temperature=0.5),
            self_adversarial(POSITIVE, NEGATIVE, LossConfig(margin=2.0, adversarial_temperature=0.5)),
        ),
        (LossConfig(name="cross_entropy", scale=3.0), cross_entropy(POSITIVE, NEGATIVE, LossConfig(scale=3.0))),
    ],
)
def test_the_configured_loss_is_the_one_made(config: LossConfig, wanted: torch.Tensor) -> None:
    assert torch.equal(make_contrast_loss(config)(POSITIVE, NEGATIVE), wanted)
