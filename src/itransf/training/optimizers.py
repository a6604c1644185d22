"""Optimizers that update only the rows of a batch, so that the cost of a step does not grow with the tables."""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from itransf.config import TrainingConfig
from itransf.models.base import Model
from itransf.registry import OPTIMIZERS

EPSILON = 1e-8
MOMENTS = (0.9, 0.999)


class RowOptimizer:
    """Base class: gives each touched row and its gradient to `change`."""

    slots: tuple[str, ...] = ()
    sums_rows = True  # whether `change` needs each row once, with its summed gradient
    accumulates = False  # whether the state is a sum over all steps, so that steps become shorter

    def __init__(
        self,
        parameters: Iterable[tuple[str, nn.Parameter]],
        learning_rate: float,
        factor: Callable[[str], float] = lambda name: 1.0,
    ) -> None:
        self.parameters = dict(parameters)
        self.learning_rate = learning_rate
        self.factors = {name: factor(name) for name in self.parameters}
        self.steps = 0
        self.state: dict[str, Tensor] = {
            f"{name}.{slot}": torch.zeros_like(parameter)
            for name, parameter in self.parameters.items()
            for slot in self.slots
        }

    @torch.no_grad()
    def step(self) -> None:
        """Apply the gradients and clear them."""
        self.steps += 1
        for name, parameter in self.parameters.items():
            gradient, parameter.grad = parameter.grad, None
            if gradient is None:
                continue
            rate = self.learning_rate * self.factors[name]
            slots = [self.state[f"{name}.{slot}"] for slot in self.slots]
            if gradient.is_sparse:
                rows, values = sum_rows(gradient) if self.sums_rows else (gradient._indices()[0], gradient._values())
                touched = [slot[rows] for slot in slots]
                change = self.change(values, touched)
                for slot, kept in zip(slots, touched, strict=True):
                    slot.index_copy_(0, rows, kept)
                parameter.index_add_(0, rows, change, alpha=-rate)
            else:
                parameter.add_(self.change(gradient, slots), alpha=-rate)

    def change(self, gradient: Tensor, slots: list[Tensor]) -> Tensor:
        """Return the direction of descent, updating the slots in place."""
        raise NotImplementedError

    def extrapolate(self, factor: float, rows: Mapping[str, int]) -> None:
        """Multiply the state of the first rows of each parameter, and clear that of the others.

        Raises:
            NotImplementedError: The state is not a sum over steps.
        """
        raise NotImplementedError


def sum_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct rows of a sparse gradient and the summed gradient of each."""
    rows, values = gradient._indices()[0], gradient._values()
    distinct, place = torch.unique(rows, return_inverse=True)
    if len(distinct) == len(rows):
        return rows, values
    return distinct, values.new_zeros(len(distinct), *values.shape[1:]).index_add_(0, place, values)


class SGD(RowOptimizer):
    """Plain stochastic gradient descent."""

    sums_rows = False  # adding a row's gradients one by one comes to the same

    def change(self, gradient: Tensor, slots: list[Tensor]) -> Tensor:
        """Return the gradient."""
        return gradient


class Adagrad(RowOptimizer):
    """Adagrad (Duchi et al., 2011)."""

    slots = ("squares",)
    accumulates = True

    def change(self, gradient: Tensor, slots: list[Tensor]) -> Tensor:
        """Return the gradient over the root of its accumulated square."""
        slots[0].addcmul_(gradient, gradient)
        return gradient / slots[0].sqrt().add_(EPSILON)

    def extrapolate(self, factor: float, rows: Mapping[str, int]) -> None:
        """Multiply the sums of squares of the first rows of each parameter, and clear those of the others."""
        for name in self.parameters:
            squares = self.state[f"{name}.squares"]
            squares = squares if squares.ndim else squares[None]
            squares[: rows[name]] *= factor
            squares[rows[name] :] = 0


class Adam(RowOptimizer):
    """Adam (Kingma and Ba, 2015); untouched rows keep their moments."""

    slots = ("mean", "square")

    def change(self, gradient: Tensor, slots: list[Tensor]) -> Tensor:
        """Return the corrected mean over the root of the corrected square."""
        mean, square = slots
        mean.lerp_(gradient, 1 - MOMENTS[0])
        square.mul_(MOMENTS[1]).addcmul_(gradient, gradient, value=1 - MOMENTS[1])
        root = (square / (1 - MOMENTS[1] ** self.steps)).sqrt_().add_(EPSILON)
        return mean / (1 - MOMENTS[0] ** self.steps) / root


def make_optimizer(model: Model, config: TrainingConfig) -> RowOptimizer:
    """Return the configured optimizer over the model's parameters."""
    kind: type[RowOptimizer] = OPTIMIZERS[config.optimizer]
    return kind(model.named_parameters(), config.learning_rate, model.learning_rate_factor)
