from __future__ import annotations

import pytest
import torch

from itransf.ops.dropout import dropout_mask, find_threshold, mix, mix_seeds

CPU = torch.device("cpu")


def mix_by_hand(number: int) -> int:
    """The hash in whole numbers of any size, cut to 32 bits."""
    number = ((number ^ (number >> 16)) * 0x7FEB352D) % 2**32
    number = ((number ^ (number >> 15)) * 0x846CA68B) % 2**32
    return number ^ (number >> 16)


def test_the_hash_is_that_of_whole_numbers_and_maps_no_two_to_one() -> None:
    numbers = [*range(1000), 2**31 - 1, 2**31, 2**32 - 1]
    hashed = (mix(torch.tensor(numbers).int()).long() % 2**32).tolist()
    assert hashed == [mix_by_hand(number) for number in numbers]
    assert len(set(hashed)) == len(numbers)


@pytest.mark.parametrize("seed", [0, 7, -1, 2**40])
def test_a_mask_follows_from_seed_and_place(seed: int) -> None:
    mask = dropout_mask(seed, 5, 3, 4, 0.25, CPU)
    own = mix_by_hand(seed % 2**32)
    for row in range(3):
        for column in range(4):
            kept = (mix_by_hand(((5 + row) * 4 + column) ^ own) >> 8) >= find_threshold(0.25)
            assert float(mask[row, column]) == pytest.approx(4 / 3 if kept else 0.0)
    assert torch.equal(dropout_mask(seed, 6, 2, 4, 0.25, CPU), mask[1:])
    assert mix_seeds(torch.tensor([seed])).tolist() == [own]


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_masks_drop_the_share_everywhere_alike_and_differ_between_steps(share: float) -> None:
    first, second = (dropout_mask(seed, 0, 1000, 400, share, CPU) for seed in (0, 1))
    dropped = [(mask == 0).double() for mask in (first, second)]
    deviation = (share * (1 - share)) ** 0.5
    for mask in dropped:
        assert float(mask.mean()) == pytest.approx(share, abs=6 * deviation / 400_000**0.5)
        for dim, others in ((0, 1000), (1, 400)):
            assert float((mask.mean(dim) - share).abs().max()) < 6 * deviation / others**0.5
    for left, right in (
        (dropped[0], dropped[1]),
        (dropped[0][1:], dropped[0][:-1]),
        (dropped[0][:, 1:], dropped[0][:, :-1]),
    ):
        together = float(((left - share) * (right - share)).mean()) / deviation**2
        assert abs(together) < 6 / left.numel() ** 0.5
    assert float(first.mean()) == pytest.approx(1.0, abs=0.01)
