"""Learn a new relation or entity from a few triples, with all other parameters frozen."""

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data import Graph, RelationStatistics, Triples
from itransf.errors import DataError
from itransf.models import SIDES, ConceptModel, Model, ProjectingConcepts
from itransf.prediction.inputs import GivenTriple, list_names, locate_triple
from itransf.teaching.fit_rows import Effort, NewRows, check_new_name, extend_graph, extend_model, fit_rows, is_called
from itransf.training.assignment import Sample, choose_pairs, pair_costs
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import Corruption

RELATION_EFFORT = Effort(steps=30, rate=0.05, hold=10.0)
ENTITY_EFFORT = Effort(steps=60, rate=0.05, hold=3.0)  # longer: the start of an entity is further from the result
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
    fit_rows(larger, extended, config, {"relation": NewRows(list_relation_tables(larger), 1, effort)}, count)
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
    larger = extend_model(model, extended, list_relation_tables, refusal)
    return larger, extended, len(extended.train) - len(graph.train)


def list_relation_tables(model: Model) -> list[nn.Parameter]:
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
        attention, own = model.concept_attention(side), costs[:, tail] if side == "head" else costs[head]
        attention.support[-1] = supports[side][0]
        if attention.kind != "l1":  # free weights keep their even start
            attention.scores[-1] = own.min() - own


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


@torch.inference_mode(mode=False)
@torch.enable_grad()
def learn_entity(
    model: Model,
    graph: Graph,
    config: Config,
    name: str,
    triples: Iterable[GivenTriple],
    locate: Callable[[int], str] | None = None,
    effort: Effort = ENTITY_EFFORT,
) -> tuple[Model, Graph]:
    """Return a model and a graph with one more entity; all other parameters stay the same, bit for bit.

    Args:
        model: Trained model with an embedding per entity.
        graph: Its graph.
        config: Settings of the run, for the loss.
        name: Name of the new entity; surrounding blanks are dropped.
        triples: (head, relation, tail) by names or labels; each contains the entity.
        locate: Function from a triple's index to its place in messages.
        effort: Length of the fit.

    Raises:
        ConfigError: The model has more parameters per entity than an embedding, or none.
        DataError: The name is taken, a triple lacks the entity or has an unknown name.
    """
    name, locate = check_new_name(graph, "entity", name), locate or locate_triple
    named = []
    for row, names in enumerate(list_names(triples, locate)):
        head, relation, tail = names
        head, tail = (name if is_called(end, name) else end for end in (head, tail))
        if name not in (head, tail):
            raise DataError(f"{locate(row)}: does not contain {name!r}; give triples with it as head or tail")
        named.append((head, relation, tail))
    extended = extend_graph(graph, "entity", name, named, locate)
    refusal = f"the model {config.name} cannot learn an entity: its entities have no embedding, or more than one"
    larger = extend_model(model, extended, list_entity_tables, refusal)
    (table,) = list_entity_tables(larger)
    new = extended.train[len(graph.train) :]
    start_entities(table, graph.statistics, new, 1)
    fit_rows(larger, extended, config, {"entity": NewRows([table], 1, effort)}, len(new))
    return larger, extended


def list_entity_tables(model: Model) -> list[nn.Parameter]:
    """Return the table of entity embeddings, if there is one."""
    return [table for kind, table in model.embeddings().items() if kind == "entities"]


@torch.no_grad()
def start_entities(table: Tensor, statistics: RelationStatistics, triples: Triples, count: int) -> None:
    """Start the last entities at the mean of those with the same roles, once per triple; of all, if there are none.

    Args:
        table: Embeddings, whose last rows are changed.
        statistics: Statistics of the graph without the new entities.
        triples: Triples with them, (n, 3).
        count: Number of new entities.
    """
    first = len(table) - count
    sums, counts = torch.zeros_like(table[first:]), table.new_zeros(count)
    for column, side in ((0, "head"), (2, "tail")):
        own = triples[triples[:, column] >= first]
        for relation in np.unique(own[:, 1]).tolist():
            alike = table[torch.as_tensor(statistics.domain(relation, side), device=table.device)]
            rows = torch.as_tensor(own[own[:, 1] == relation, column] - first, device=table.device)
            sums.index_add_(0, rows, alike.sum(0).expand(len(rows), *alike.shape[1:]))
            counts.index_add_(0, rows, counts.new_full((len(rows),), len(alike)))
    means = sums / counts.clamp_min(1).view(-1, *[1] * (table.dim() - 1))
    table[first:] = torch.where(counts.view(-1, *[1] * (table.dim() - 1)) > 0, means, table[:first].mean(0))


@torch.no_grad()
def find_closest(model: Model, graph: Graph, entity: int, top: int = 5) -> list[tuple[str, float]]:
    """Return the labels of the entities with the most similar embeddings, if the model has some, and the cosines."""
    if "entities" not in model.embeddings():
        return []
    vectors = torch.nn.functional.normalize(model.entity_vectors(), dim=1)
    cosines = vectors @ vectors[entity]
    cosines[entity] = -torch.inf
    found = cosines.topk(min(top, len(cosines) - 1))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [(graph.entities.label(number), value) for number, value in pairs]
