"""Learn a new relation from a few triples, with concepts, entities and other relations frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data.graph import Graph, Triples
from itransf.errors import DataError
from itransf.models import SIDES, ConceptModel, Model, ProjectingConcepts
from itransf.prediction.inputs import GivenTriple, list_names, locate_triple
from itransf.teaching.fit_rows import Effort, NewRows, check_new_name, extend_graph, extend_model, fit_rows, is_called
from itransf.training.assignment import Sample, choose_pairs, pair_costs
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import Corruption

RELATION_EFFORT = Effort(steps=30, rate=0.05, hold=10.0)
MOST_TRIPLES, RIVALS = 100, 512  # triples that pairs of concepts are compared on, and entities as negatives
FEWEST_RIVALS, FEWEST_TRIPLES = 64, 2  # with one triple, every pair fits it exactly
PAIR_WORK = 8_000_000_000  # differences of two numbers in one search for a pair: seconds on a CPU


@torch.inference_mode(mode=False)
@torch.enable_grad()
def learn_relation(
    model: Model,
    graph: Graph,
    config: Config,
    name: str,
    triples: Iterable[GivenTriple],
    locate: Callable[[int], str] | None = None,
    effort: Effort = RELATION_EFFORT,
) -> tuple[Model, Graph]:
    """Return a model and a graph with one more relation; all other parameters stay the same, bit for bit.

    Args:
        model: Trained model whose relations share concepts, or have an embedding and nothing else.
        graph: Its graph.
        config: Settings of the run, for the loss.
        name: Name of the new relation; surrounding blanks are dropped.
        triples: (head, tail) or (head, relation, tail), by names or labels.
        locate: Function from a triple's index to its place in messages.
        effort: Length of the fit.

    Raises:
        ConfigError: Relations of this model have more parameters than few triples can fit.
        DataError: The name is taken, or a triple has an unknown entity or another relation.
    """
    larger, extended, count = begin_relation(model, graph, config.name, name, triples, locate)
    start_relation(larger, extended.train[-count:], config)
    fit_rows(larger, extended, config, {"relation": NewRows(list_tables(larger), 1, effort)}, count)
    return larger, extended


def begin_relation(
    model: Model,
    graph: Graph,
    kind: str,
    name: str,
    triples: Iterable[GivenTriple],
    locate: Callable[[int], str] | None = None,
) -> tuple[Model, Graph, int]:
    """Return model and graph with one more relation, whose rows have their initial values, and its triple count."""
    name, locate = check_new_name(graph, "relation", name), locate or locate_triple
    named = []
    for row, names in enumerate(list_names(triples, locate, pairs=True)):
        if len(names) == 3 and not is_called(names[1], name):
            raise DataError(f"{locate(row)}: its relation is {names[1]!r}, but {name!r} is to be learned")
        named.append((names[0], name, names[-1]))
    extended = extend_graph(graph, "relation", name, named, locate)
    refusal = (
        f"the model {kind} cannot learn a relation from a few triples: its relations have no embedding or more "
        "parameters than one, and do not share concepts"
    )
    return extend_model(model, extended, list_tables, refusal), extended, len(extended.train) - len(graph.train)


def list_tables(model: Model) -> list[nn.Parameter]:
    """Return the tables with a row per relation that can be learned: embeddings of vectors, and attention scores."""
    scores: list[nn.Parameter] = []
    if isinstance(model, ConceptModel):
        scores = [model.concept_attention(part).scores for part in model.parts]
    table = model.embeddings().get("relations")
    if table is None:
        return scores
    return [table, *scores] if table.dim() == 2 else []


def start_relation(model: Model, triples: Triples, config: Config) -> None:
    """Start the last relation from its triples, (n, 3)."""
    rows = torch.as_tensor(triples, device=next(model.parameters()).device)
    if isinstance(model, ProjectingConcepts):
        start_attention(model, rows, config)
    model.start_relation(rows[:, 0], rows[:, 2])


@torch.no_grad()
def start_attention(model: ProjectingConcepts, triples: Tensor, config: Config) -> None:
    """Choose the supports of the last relation, and start its attention scores from the costs of the concepts."""
    costs = measure_pairs(model, triples, config)
    rules = {side: model.rules(side)[-1:] for side in SIDES}
    supports = choose_pairs(costs[None], model.supports("head").shape[1], rules)
    head, tail = divmod(int(costs.argmin()), len(costs))
    for side in SIDES:
        projection, own = model.concept_attention(side), costs[:, tail] if side == "head" else costs[head]
        projection.support[-1] = supports[side][0]
        if projection.kind != "l1":  # free weights keep their even start
            projection.scores[-1] = own.min() - own


@torch.no_grad()
def measure_pairs(model: ProjectingConcepts, triples: Tensor, config: Config) -> Tensor:
    """Return the mean loss of triples (n, 3) of one relation for each pair of a head and a tail concept, (m, m).

    Each triple is scored with the translation that fits the other triples best, by the run's own loss, against the
    same random entities on both sides. Given triples are not negatives.
    """
    generator = torch.Generator(triples.device).manual_seed(config.seed)
    _, m, d = model.project_alone(triples[:1, 0]).shape
    budget = PAIR_WORK // (len(SIDES) * m * m * d)  # triples times negatives
    most = max(FEWEST_TRIPLES, min(MOST_TRIPLES, budget // FEWEST_RIVALS))
    chosen = torch.randperm(len(triples), generator=generator, device=triples.device)[:most]
    heads, _, tails = triples[chosen].unbind(1)
    drawn = torch.randperm(model.sizes.entities, generator=generator, device=triples.device)
    rivals = drawn[: max(FEWEST_RIVALS, min(RIVALS, budget // len(heads)))]
    loss, costs = make_contrast_loss(config.loss), torch.zeros(m, m, dtype=torch.float64, device=triples.device)
    for anchors, answers in ((tails, heads), (heads, tails)):
        replaces_head = torch.full_like(heads, answers is heads, dtype=torch.bool)
        negatives = Corruption(replaces_head, rivals.expand(len(heads), -1))
        sample = Sample(heads, torch.zeros_like(heads), tails, negatives, mark_answers(anchors, answers, rivals))
        costs += pair_costs(model, sample, loss, leave_one_out=True, relations=1)[0]
    return costs / len(heads)


def mark_answers(anchors: Tensor, answers: Tensor, rivals: Tensor) -> Tensor:
    """Return which rivals answer the same query as a triple, in any of the triples, (b, n)."""
    same = (anchors[:, None] == anchors).float()  # (b, b)
    return same @ (answers[:, None] == rivals).float() > 0
