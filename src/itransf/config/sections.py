"""The sections of settings, and the whole they make: frozen dataclasses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from itransf.errors import ConfigError


@dataclass(frozen=True)
class NegativesConfig:
    """How true facts are corrupted.

    Attributes:
        per_fact: Corrupted copies of each fact in each epoch.
        corrupt: Which side is replaced: `uniform` (a coin) or `bernoulli` (by the relation's mapping, TransH).
        domain: The paper's lambda: a replacement comes from the relation's own domain with probability
            min(lambda |M_tail| |M_head| / |N_r|, 0.5). Zero switches domain sampling off.
        domain_stop: Share of all epochs after which replacements come from all entities again; one never does.
        avoid_known: Draw again where the corrupted fact is a training fact; with the `softmax` loss, leave other
            training answers out.
        tries: How often, at most; what is still a training fact then is kept.
        shared: Whether the facts of a relation in a batch have their copies in common: the same side is replaced, by
            the same entities, each of which is projected once. Copies that are training facts are left out then, and
            not drawn again. Unused by the `softmax` loss.
    """

    per_fact: int = 1
    corrupt: Literal["uniform", "bernoulli"] = "bernoulli"
    domain: float = 0.0
    domain_stop: float = 1.0
    avoid_known: bool = True
    tries: int = 5
    shared: bool = False


@dataclass(frozen=True)
class LossConfig:
    """What is minimised, averaged over the facts of a batch.

    Attributes:
        kind: `hinge` (the paper's Eq. 2), `adversarial` (self-adversarial logistic loss over many negatives) or
            `softmax` (cross-entropy of the right entity among candidates that a whole batch shares).
        margin: The hinge's margin; the adversarial loss's fixed margin; unused by `softmax`.
        temperature: Of the weights on hard negatives (`adversarial`).
        scale: What scores are multiplied with inside the softmax (`softmax`).
        candidates: How many random entities, shared by a batch, the softmax runs over; zero takes all (`softmax`).
    """

    kind: Literal["hinge", "adversarial", "softmax"] = "hinge"
    margin: float = 1.0
    temperature: float = 1.0
    scale: float = 1.0
    candidates: int = 0


@dataclass(frozen=True)
class AssignmentConfig:
    """The block-iterative step that chooses each relation's concepts anew.

    Attributes:
        first: What supports are before the first step: `random`, or `mirrored` by what train shows of relations:
            inverse ones have each other's sides, duplicates the same ones, and a symmetric one has concepts that
            reflect on its head, which are on no other side (`model.concept_start = "mixed"` has both kinds).
        every: Epochs between two steps; zero never re-chooses.
        start: Epochs before the first step.
        stop: Share of all epochs after which supports stay as they are.
        search: `single` (a side is offered each concept alone, the other side stays as it is: the paper's) or `pairs`
            (both sides are offered each pair of concepts, with the translation that suits it, which the relation then
            starts from; the work grows with the square of their number).
        tolerance: How much more than its best pair a relation accepts of one that an earlier relation has, as it is or
            turned around, as a share of how far the middle of all pairs is from the best (`pairs`): inverse relations
            share concepts then. Zero insists on the best.
        sides: `together` (both sides from the same parameters, as the paper reads) or `in_turn` (the tail sees the
            head's new choice); unused by `pairs`.
        accept: `always`, or `if_better`: only where the loss on the same facts and negatives does not rise.
        facts: The most facts per relation to judge by; zero takes all.
        negatives: Corrupted copies of each of them.
    """

    first: Literal["random", "mirrored"] = "random"
    every: int = 5
    start: int = 5
    stop: float = 0.8
    search: Literal["single", "pairs"] = "single"
    tolerance: float = 0.0
    sides: Literal["together", "in_turn"] = "together"
    accept: Literal["always", "if_better"] = "if_better"
    facts: int = 0
    negatives: int = 1


@dataclass(frozen=True)
class WarmStartConfig:
    """Where entity and relation vectors come from.

    Attributes:
        epochs: Epochs of another model trained first, with the same loss and optimiser; zero starts at random.
        model: Which: `transe` (as in the paper), or `stranse`, from whose matrices ITransF with sparse attention also
            takes concepts and supports: as few concepts as the matrices are mixtures of, at most `model.concepts`.
        learning_rate: Of those epochs; zero takes the training's own.
        batch_size: Facts per update in those epochs; zero takes the training's own.
        negatives: How facts are corrupted in those epochs: the `same` as in training; or `uniform` or `bernoulli`,
            as `negatives.corrupt` has it, from all entities.
        run: A finished run whose vectors are taken instead.
    """

    epochs: int = 0
    model: Literal["transe", "stranse"] = "transe"
    learning_rate: float = 0.0
    batch_size: int = 0
    negatives: Literal["same", "uniform", "bernoulli"] = "same"
    run: str = ""


@dataclass(frozen=True)
class TrainingConfig:
    """The optimisation.

    Attributes:
        epochs: Passes over the training facts.
        batch_size: Facts per update.
        block_size: How many facts of one relation stay together when facts are shuffled. One shuffles facts freely;
            more bring fewer relations into a batch, so that fewer matrices are composed and products are larger.
        optimizer: `sgd`, `adagrad` or `adam`; all update only the rows a batch touches.
        learning_rate: Of the batch-averaged loss: a fact moves its vectors by learning_rate / batch_size, so a
            larger batch with the same quotient is nearly the same recipe.
        decay: `none`, or `linear` to zero over all epochs.
        average: Over which share of the epochs, the last ones, weights are averaged. The averages are looked at and
            kept; training itself goes on from the weights, as it does after a warm start. Zero averages nothing.
        max_minutes: Stop after so many minutes of epochs, in the warm start and in training each; zero has no limit.
        deterministic: Ask a GPU for the same bits every time.
    """

    epochs: int = 100
    batch_size: int = 1000
    block_size: int = 1
    optimizer: Literal["sgd", "adagrad", "adam"] = "sgd"
    learning_rate: float = 0.1
    decay: Literal["none", "linear"] = "none"
    average: float = 0.0
    max_minutes: float = 0.0
    deterministic: bool = False


@dataclass(frozen=True)
class ValidationConfig:
    """When to look, and when to stop.

    Attributes:
        every: Epochs between two looks; zero never looks and keeps the last weights.
        metric: What is watched; the weights with the best value are kept.
        patience: Looks without improvement before training stops; zero never stops early.
        facts: The most validation facts ranked at each look (a fixed sample); zero takes all.
    """

    every: int = 10
    metric: Literal["mrr", "mr", "hits@1", "hits@3", "hits@10"] = "mrr"
    patience: int = 0
    facts: int = 0


@dataclass(frozen=True)
class CheckpointConfig:
    """How much a crash may cost.

    Attributes:
        minutes: A checkpoint is due after so many; zero writes none by time.
        epochs: And after so many epochs; zero writes none by epochs.
    """

    minutes: float = 5.0
    epochs: int = 0


@dataclass(frozen=True)
class Config:
    """Everything a run depends on, beside the graph."""

    name: str
    model: Any
    seed: int = 0
    training: TrainingConfig = field(default_factory=TrainingConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    negatives: NegativesConfig = field(default_factory=NegativesConfig)
    assignment: AssignmentConfig = field(default_factory=AssignmentConfig)
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def __post_init__(self) -> None:
        """Refuse two ways to choose the first supports at once."""
        if self.assignment.first == "mirrored" and self.warm_start.model == "stranse" and self.warm_start.epochs:
            raise ConfigError(
                'assignment.first = "mirrored" and warm_start.model = "stranse" both choose the first supports; '
                "leave one of them out"
            )

    @property
    def has_supports(self) -> bool:
        """Whether relations use a few of the concepts, which they choose."""
        return getattr(self.model, "attention", "") == "sparse"

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries, as a TOML or JSON file would hold them."""
        content = asdict(self)
        name = content.pop("name")
        content["model"] = {"name": name, **content["model"]}
        return content
