"""The sections of settings, and the whole they make: frozen dataclasses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class NegativesConfig:
    """How true triples are corrupted.

    Attributes:
        per_triple: Corrupted copies of each triple in each epoch.
        sampler: Which side is replaced: `uniform` (a coin) or `bernoulli` (by the relation's mapping, TransH).
        domain: The paper's lambda: a replacement comes from the relation's own domain with probability
            min(lambda |M_tail| |M_head| / |N_r|, 0.5). Zero switches domain sampling off.
        domain_stop: Share of all epochs after which replacements come from all entities again; one never does.
        filtered: Draw again where the corrupted triple is a training triple; with the `cross_entropy` loss, leave other
            training answers out.
        tries: How often, at most; what is still a training triple then is kept.
        shared: Whether the triples of a relation in a batch have their copies in common: the same side is replaced, by
            the same entities, each of which is projected once. Copies that are training triples are left out then, and
            not drawn again. Unused by the `cross_entropy` loss.
    """

    per_triple: int = 1
    sampler: Literal["uniform", "bernoulli"] = "bernoulli"
    domain: float = 0.0
    domain_stop: float = 1.0
    filtered: bool = True
    tries: int = 5
    shared: bool = False


@dataclass(frozen=True)
class LossConfig:
    """What is minimised, averaged over the triples of a batch.

    Attributes:
        name: `hinge` (the paper's Eq. 2), `self_adversarial` (self-adversarial logistic loss over many negatives) or
            `cross_entropy` (cross-entropy of the right entity among candidates that a whole batch shares).
        margin: The hinge's margin; the adversarial loss's fixed margin; unused by `cross_entropy`.
        adversarial_temperature: Of the weights on hard negatives (`self_adversarial`).
        scale: What scores are multiplied with inside the softmax (`cross_entropy`).
        candidates: How many random entities, shared by a batch, the softmax runs over; zero takes all
            (`cross_entropy`).
    """

    name: Literal["hinge", "self_adversarial", "cross_entropy"] = "hinge"
    margin: float = 1.0
    adversarial_temperature: float = 1.0
    scale: float = 1.0
    candidates: int = 0


@dataclass(frozen=True)
class AssignmentConfig:
    """The block-iterative step that chooses each relation's concepts anew.

    Attributes:
        init: What supports are before the first step: `random`, or `mirrored` by what train shows of relations:
            inverse ones have each other's sides, duplicates the same ones, and a symmetric one has concepts that
            reflect on its head, which are on no other side (`model.concept_init = "mixed"` has both kinds).
        every: Epochs between two steps; zero never re-chooses.
        start: Epochs before the first step.
        stop: Share of all epochs after which supports stay as they are.
        search: `single` (a side is offered each concept alone, the other side stays as it is: the paper's) or `pairs`
            (both sides are offered each pair of concepts, with the translation that suits it, which the relation then
            starts from; the work grows with the square of their number).
        tolerance: How much more than its best pair a relation accepts of one that an earlier relation has, as it is or
            turned around, as a share of how far the middle of all pairs is from the best (`pairs`): inverse relations
            share concepts then. Zero insists on the best.
        accept: `always`, or `if_better`: only where the loss on the same triples and negatives does not rise.
        triples: The most triples per relation to judge by; zero takes all.
        negatives: Corrupted copies of each of them.
    """

    init: Literal["random", "mirrored"] = "random"
    every: int = 5
    start: int = 5
    stop: float = 0.8
    search: Literal["single", "pairs"] = "single"
    tolerance: float = 0.0
    accept: Literal["always", "if_better"] = "if_better"
    triples: int = 0
    negatives: int = 1


@dataclass(frozen=True)
class WarmStartConfig:
    """Where entity and relation vectors come from.

    Attributes:
        epochs: Epochs of TransE trained first, with the same loss and optimiser; zero starts at random.
        learning_rate: Of those epochs; zero takes the training's own.
        sampler: How triples are corrupted in those epochs: the `same` as in training; or `uniform` or `bernoulli`,
            as `negatives.sampler` has it, from all entities.
        run: A finished run whose vectors are taken instead.
    """

    epochs: int = 0
    learning_rate: float = 0.0
    sampler: Literal["same", "uniform", "bernoulli"] = "same"
    run: str = ""


@dataclass(frozen=True)
class TrainingConfig:
    """The optimisation.

    Attributes:
        epochs: Passes over the training triples.
        batch_size: Triples per update.
        block_size: How many triples of one relation stay together when triples are shuffled. One shuffles triples
            freely; more bring fewer relations into a batch, so that fewer matrices are composed and products are
            larger.
        optimizer: `sgd`, `adagrad` or `adam`; all update only the rows a batch touches.
        learning_rate: Of the batch-averaged loss: a triple moves its vectors by learning_rate / batch_size, so a
            larger batch with the same quotient is nearly the same recipe.
        lr_decay: `none`, or `linear` to zero over all epochs.
        weight_averaging: Over which share of the epochs, the last ones, weights are averaged. The averages are looked
            at and kept; training itself goes on from the weights, as it does after a warm start. Zero averages nothing.
        max_minutes: Stop after so many minutes of epochs, in the warm start and in training each; zero has no limit.
        deterministic: Ask a GPU for the same bits every time.
    """

    epochs: int = 100
    batch_size: int = 1000
    block_size: int = 1
    optimizer: Literal["sgd", "adagrad", "adam"] = "sgd"
    learning_rate: float = 0.1
    lr_decay: Literal["none", "linear"] = "none"
    weight_averaging: float = 0.0
    max_minutes: float = 0.0
    deterministic: bool = False


@dataclass(frozen=True)
class ValidationConfig:
    """When to look, and when to stop.

    Attributes:
        every: Epochs between two looks; zero never looks and keeps the last weights.
        metric: What is watched; the weights with the best value are kept.
        patience: Looks without improvement before training stops; zero never stops early.
        triples: The most validation triples ranked at each look (a fixed sample); zero takes all.
    """

    every: int = 10
    metric: Literal["mrr", "mr", "hits@1", "hits@3", "hits@10"] = "mrr"
    patience: int = 0
    triples: int = 0


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
