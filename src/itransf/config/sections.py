"""The sections of settings, and the whole they make: frozen dataclasses with a description of each setting."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

DEFAULT_MODEL = "icomplex"
CHOOSE = -1.0  # weight of the regularizer that is chosen on validation


def setting(default: Any, description: str, auto: str = "", **bounds: float) -> Any:
    """Declare a setting.

    Args:
        default: Value where nothing else is given.
        description: One or two sentences for the documentation.
        auto: How a training without a preset chooses the value, where it depends on the graph or the model.
        bounds: Of a number: `least` (by default 0), `above`, `most` and `below`.
    """
    return field(default=default, metadata={"description": description, "auto": auto, "bounds": bounds})


@dataclass(frozen=True)
class TrainingConfig:
    """Optimization."""

    epochs: int = setting(
        100,
        "Passes over the training triples.",
        "by the number of training triples and the device; 15 to 45 with the warm start for icomplex, 10 to 200 for "
        "most other models",
    )
    batch_size: int = setting(
        1024,
        "Triples per update.",
        "32 to 256 for icomplex and 32 to 512 for most other models under 20,000 triples, 1000 and 1024 from there on",
        above=0,
    )
    block_size: int = setting(
        128,
        "Triples of one relation that stay together when triples are shuffled. 1 shuffles freely. Larger blocks bring "
        "fewer relations into a batch, so fewer matrices are composed and matrix products are larger.",
        "1 for icomplex, complex, distmult and tucker, an eighth of the batch for most other models",
        above=0,
    )
    optimizer: str = setting(
        "adam",
        "Optimizer: sgd, adagrad or adam. All update only the rows a batch touches.",
        "adagrad for icomplex, complex, distmult, rescal, tatec, nodelink and randomwalk, else adam",
    )
    learning_rate: float = setting(
        0.015,
        "Learning rate. The loss is averaged over the batch, so with sgd the step per triple also depends on the batch "
        "size.",
        "0.05 for icomplex, 0.1 on a CPU from 20,000 triples on; by model and size of the graph",
    )
    lr_decay: Literal["none", "linear"] = setting(
        "linear", "Learning rate schedule: constant, or linear to zero.", "none where the optimizer is adagrad"
    )
    weight_averaging: float = setting(
        0.0,
        "Fraction of final epochs over which parameters are averaged (Polyak averaging). The average is validated and "
        "saved; optimization continues from the raw parameters. 0 switches it off.",
        most=1,
    )
    max_minutes: float = setting(
        0.0,
        "Time limit in minutes, checked after each epoch, for the warm start and for training separately. Validation "
        "and assignment steps do not count. 0 sets no limit.",
    )
    deterministic: bool = setting(False, "Use deterministic algorithms on a GPU.")
    tracker: str = setting("none", "Tracker that receives the results of every epoch: none, log, or one of your own.")


@dataclass(frozen=True)
class LossConfig:
    """Loss, averaged over the triples of a batch, with weights if they are subsampled."""

    name: str = setting(
        "cross_entropy",
        "Loss: hinge (the paper's Eq. 2), self_adversarial (logistic loss with self-adversarial negative sampling), or "
        "cross_entropy (of the right entity among all entities or sampled candidates, on both sides).",
        "self_adversarial for rotate; hinge for ptranse, pitransf, nodelink and randomwalk on a CPU from 20,000 "
        "triples on; else cross_entropy",
    )
    margin: float = setting(1.0, "Margin of hinge and self_adversarial.")
    adversarial_temperature: float = setting(1.0, "Temperature of the weights on hard negatives (self_adversarial).")
    subsampling: float = setting(
        0.0,
        "Exponent of the weights of triples: (n(h, r) + n(r, t) + 6)^-exponent, with n training triples of such pairs "
        "(0.5 in Sun et al., 2019). 0 weighs all triples alike.",
    )
    scale: float = setting(1.0, "Factor on scores inside the softmax (cross_entropy).")
    candidates: int = setting(
        0,
        "Number of random negative entities per batch for cross_entropy. 0 uses all entities (1-vs-all).",
        "all up to 2,500 entities, else 1024 for most models; icomplex: all under 20,000 triples and on a GPU as well",
    )
    relation_weight: float = setting(
        0.0,
        "Weight of an additional cross-entropy of the right relation between head and tail (cross_entropy; Chen et "
        "al., 2021). 0 switches it off.",
    )


@dataclass(frozen=True)
class RegularizerConfig:
    """Regularization of the embeddings of a batch's triples, averaged over the batch."""

    name: str = setting("n3", "Regularizer: n3 (Lacroix et al., 2018), l2 or l1.")
    weight: float = setting(
        0.0,
        "Weight of the regularizer. 0 switches it off. -1 chooses it before training: a small model is trained for a "
        "few epochs with each of 0.004, 0.015, 0.05 and 0.1, and the best on validation is taken; 0.015 beyond a "
        "million training triples.",
        "0.02 for icomplex under 20,000 triples, -1 from there on; by model and size of the graph",
    )


@dataclass(frozen=True)
class NegativesConfig:
    """Negative sampling, for losses against sampled negatives."""

    per_triple: int = setting(1, "Negatives per training triple.", above=0)
    sampler: str = setting(
        "bernoulli",
        "Which side of a triple is replaced: uniform (either side with probability 1/2) or bernoulli (by the "
        "relation's tails per head and heads per tail; Wang et al., 2014).",
    )
    domain: float = setting(
        0.0,
        "Domain sampling (the paper's lambda): a replacement is drawn from the relation's own domain with probability "
        "min(lambda |M_tail| |M_head| / |N_r|, 0.5). 0 switches it off.",
    )
    domain_stop: float = setting(1.0, "Fraction of epochs after which domain sampling ends. 1 never ends it.", most=1)
    filtered: bool = setting(
        False,
        "Avoid negatives that are training triples: draw again. With cross_entropy, mask other training answers.",
    )
    tries: int = setting(5, "How often a false negative is resampled before it is kept (filtered=true).")
    shared: bool = setting(
        False,
        "Share negatives among the triples of a relation in a batch; each is projected once. Negatives that are "
        "training triples are masked, not drawn again. Ignored by cross_entropy.",
    )


@dataclass(frozen=True)
class AssignmentConfig:
    """The block-iterative step that assigns concepts to relations (models with sparse attention)."""

    init: Literal["random", "mirrored"] = setting(
        "random",
        "Concepts that relations start with: random, or mirrored: a relation and its inverse start with the same "
        "concepts, head and tail swapped; duplicate relations with the same ones; symmetric relations with reflecting "
        "concepts on the head, where the others have none (model.concept_init=mixed).",
    )
    every: int = setting(5, "Epochs between two assignment steps. 0 never reassigns.")
    start: int = setting(5, "Epoch of the first assignment step.")
    stop: float = setting(0.3, "Fraction of epochs after which supports stay fixed.")
    search: Literal["single", "pairs"] = setting(
        "single",
        "single scores each concept alone on one side, as in the paper. pairs scores every pair of a head and a tail "
        "concept with its best translation; the cost grows with the square of the number of concepts.",
    )
    tolerance: float = setting(
        0.0,
        "Slack for reusing a concept pair of an earlier relation, possibly with sides swapped (search=pairs): "
        "accepted if cost <= best + tolerance * (median - best). 0 always takes the best pair.",
    )
    accept: Literal["always", "if_better"] = setting(
        "if_better", "always, or if_better: only if the loss on the same triples and negatives does not rise."
    )
    triples: int = setting(300, "Maximum number of triples per relation to score concepts on. 0 takes all.")
    negatives: int = setting(4, "Negatives per triple of this step.", above=0)


@dataclass(frozen=True)
class WarmStartConfig:
    """Initialization of entity and relation embeddings."""

    epochs: int = setting(
        0,
        "Epochs of a simpler model trained first, with the same loss and optimizer: of TransE for translation models "
        "and kg2e, of ComplEx for icomplex, of LineaRE for ilineare. 0: random initialization.",
        "two thirds of all epochs for icomplex and ilineare, half for ctransr, else 0",
    )
    learning_rate: float = setting(
        0.0, "Learning rate of these epochs. 0 uses training.learning_rate.", "0.1 for icomplex, else 0"
    )
    sampler: str = setting(
        "same", "Negative sampler of these epochs: same as in training, or a sampler's name without domain sampling."
    )
    run: str = setting(
        "",
        "Run folder of an already trained model of that kind, used instead of training one. Entities and relations "
        "that it lacks start at random.",
    )


@dataclass(frozen=True)
class ValidationConfig:
    """Validation and early stopping."""

    every: int = setting(
        10,
        "Epochs between two validations. 0 never validates and keeps the last weights.",
        "a third of training.epochs for icomplex and ilineare, a tenth for most other models",
    )
    metric: Literal["mrr", "mr", "hits@1", "hits@3", "hits@10"] = setting(
        "mrr", "Metric that decides which weights are kept."
    )
    patience: int = setting(0, "Validations without improvement before training stops early. 0 never stops early.")
    triples: int = setting(2000, "Maximum number of validation triples to rank (a fixed sample). 0 takes all.")


@dataclass(frozen=True)
class CheckpointConfig:
    """Checkpoints for resuming."""

    minutes: float = setting(5.0, "Minutes between two checkpoints. 0 writes none by time.")
    epochs: int = setting(0, "Epochs between two checkpoints. 0 writes none by epochs.")


@dataclass(frozen=True)
class Config:
    """All settings of a run.

    Attributes:
        name: Name of the model.
        model: The model's own settings.
    """

    name: str
    model: Any
    seed: int = setting(0, "Random seed.")
    training: TrainingConfig = field(default_factory=TrainingConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    regularizer: RegularizerConfig = field(default_factory=RegularizerConfig)
    negatives: NegativesConfig = field(default_factory=NegativesConfig)
    assignment: AssignmentConfig = field(default_factory=AssignmentConfig)
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    @property
    def has_assignment(self) -> bool:
        """Whether assignment steps choose the concepts of relations."""
        return getattr(self.model, "attention", "") == "sparse"

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries of plain values, as a TOML or JSON file holds them."""
        content = asdict(self)
        name = content.pop("name")
        content["model"] = {"name": name, **content["model"]}
        return content
