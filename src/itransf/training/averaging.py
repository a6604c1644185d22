"""The mean of weights over epochs (Polyak and Juditsky, 1992): what the last batches happened to do weighs little."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor


class Average:
    """A running mean of tensors by name.

    Attributes:
        means: The means so far; of whole numbers, such as supports, the latest.
        count: Of how many.
    """

    def __init__(self) -> None:
        self.means: dict[str, Tensor] = {}
        self.count = 0

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Take the tensors of an epoch in; means that were handed out before stay as they are."""
        self.count += 1
        for name, tensor in tensors.items():
            if self.count == 1 or not tensor.is_floating_point():
                self.means[name] = tensor.clone()
            else:
                self.means[name] = self.means[name].lerp(tensor, 1 / self.count)

    def forget(self) -> None:
        """Begin anew."""
        self.means, self.count = {}, 0
