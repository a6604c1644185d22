"""Learning a new relation from a handful of triples, with concepts and entities as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import SIDES, ITransF, Model, TransE
from itransf.models.translation import Translation
from itransf.prediction.inputs import GivenTriple
from itransf.teaching.choosing import choose_supports, prepare_trial
from itransf.teaching.extending import add_relation, add_triples, complete_pairs, extend_model, name_places, tidy_name
from itransf.teaching.rows import Effort, fit_row

RELATION_EFFORT = Effort(steps=30, rate=0.05, hold=10.0)


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
    """Return a model and a graph that know one more relation; all else keeps its bits.

    Args:
        model: Its entities and concepts are used as they are.
        graph: What it knows.
        config: The run's settings: the loss is its own.
        name: What to call the relation; blanks around it are dropped.
        triples: (head, tail) or (head, relation, tail), names or labels, in this order or by these words.
        locate: Names the place of a triple (numbered from 0) in messages.
        effort: How long to fit.

    Raises:
        ConfigError: A relation of this model has matrices of its own.
        DataError: The name is taken, or a triple names an unknown entity.
    """
    larger, extended = begin_relation(model, graph, config.name, name, triples, locate)
    new = torch.as_tensor(extended.train[len(graph.train) :], device=next(larger.parameters()).device)
    if isinstance(larger, ITransF):
        start_attention(larger, new, config)
    start_translation(larger, new)
    fit_relation(larger, extended, config, len(new), effort)
    return larger, extended


def begin_relation(
    model: Model,
    graph: Graph,
    kind: str,
    name: str,
    triples: Iterable[GivenTriple],
    locate: Callable[[int], str] | None = None,
) -> tuple[Translation, Graph]:
    """Return model and graph with one more relation, whose row holds nothing of worth yet."""
    if not isinstance(model, ITransF | TransE):
        raise ConfigError(
            f"a relation of a {kind} model has matrices of its own, {model.config.dim} x {model.config.dim} numbers "
            "each, which a handful of triples cannot fit; use an itransf run, whose relations share concepts, or train "
            "again with the new triples"
        )
    place, called = name_places(locate), tidy_name(name, "relation")
    named = add_relation(graph, called)
    extended = add_triples(named, complete_pairs(called, triples, place), place, f"relation {called!r}")
    larger = extend_model(model, extended)
    assert isinstance(larger, Translation), "an extended model is of the same kind"
    return larger, extended


@torch.no_grad()
def start_attention(model: ITransF, triples: Tensor, config: Config) -> None:
    """Choose the last relation's supports, and start its attention from what each concept costs.

    Args:
        model: Changed in place, in the last relation's rows.
        triples: Those of the relation, (n, 3).
        config: Whose loss judges.
    """
    generator = torch.Generator(triples.device).manual_seed(config.seed)
    trial = prepare_trial(model, triples, config.loss, generator)
    supports, costs = choose_supports(trial, model.project_head.support.shape[1])
    for side in SIDES:
        projection = model.concept_projection(side)
        projection.support[-1] = supports[side]
        if projection.kind != "l1":  # free weights keep their even start
            projection.scores[-1] = (costs[side].min() - costs[side]) / trial.heads.shape[1]


@torch.no_grad()
def start_translation(model: Translation, triples: Tensor) -> None:
    """Start the last relation's translation where the triples (n, 3) have it on average."""
    rows = torch.full_like(triples[:, 0], model.sizes.relations - 1)
    wanted = model.project(triples[:, 2], rows, "tail") - model.project(triples[:, 0], rows, "head")
    model.relations[-1] = wanted.mean(0)


def fit_relation(model: Translation, graph: Graph, config: Config, count: int, effort: Effort) -> None:
    """Fit attention scores, where there are such, and translation of the last relation to the last `count` triples."""
    parameters = ["relations"]
    if isinstance(model, ITransF):
        parameters += [f"project_{side}.scores" for side in SIDES]
    fit_row(model, graph, config, parameters, model.sizes.relations - 1, count, effort)
