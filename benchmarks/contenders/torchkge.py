"""TorchKGE's TransR, through the training loop its documentation shows and its own evaluator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torchkge.data_structures import KnowledgeGraph
from torchkge.evaluation import LinkPredictionEvaluator
from torchkge.models import TransRModel
from torchkge.sampling import BernoulliNegativeSampler
from torchkge.utils import DataLoader, MarginLoss

from benchmarks.contenders import Stopwatch, Task
from itransf import Graph
from itransf.data.graph import Triples


def make_triples(graph: Graph, triples: Triples, known: KnowledgeGraph | None = None) -> KnowledgeGraph:
    """Return triples as TorchKGE stores them; `known` provides the known triples for filtering."""
    heads, relations, tails = (torch.as_tensor(np.ascontiguousarray(column)) for column in triples.T)
    dictionaries = {name: getattr(known, name) for name in ("dict_of_heads", "dict_of_tails", "dict_of_rels") if known}
    return KnowledgeGraph(
        kg={"heads": heads, "tails": tails, "relations": relations},
        ent2ix={number: number for number in range(len(graph.entities))},
        rel2ix={number: number for number in range(len(graph.relations))},
        **dictionaries,
    )


def make_model(task: Task, graph: Graph) -> TransRModel:
    """Return a new TransR."""
    torch.manual_seed(task.seed)
    return TransRModel(task.dim, task.dim, len(graph.entities), len(graph.relations))


def train(task: Task, clock: Stopwatch) -> None:
    """Train until the clock stops it."""
    graph = task.load()
    model, triples = make_model(task, graph), make_triples(graph, graph.train)
    criterion, sampler = MarginLoss(task.margin), BernoulliNegativeSampler(triples)
    # Its loss is the sum over the batch; that of the others is the mean.
    optimizer = torch.optim.SGD(model.parameters(), lr=task.learning_rate / task.batch_size)
    while True:
        for heads, tails, relations in DataLoader(triples, batch_size=task.batch_size):
            other_heads, other_tails = sampler.corrupt_batch(heads, tails, relations)
            optimizer.zero_grad()
            positive, negative = model(heads, tails, relations, other_heads, other_tails)
            loss = criterion(positive, negative)
            loss.backward()
            optimizer.step()
            clock.count(len(heads))
        model.normalize_parameters()


def prepare_ranking(task: Task) -> Callable[[Triples], None]:
    """Return a function that ranks triples with a new model, filtered with all three splits."""
    graph = task.load()
    model = make_model(task, graph).eval()
    known = make_triples(graph, np.concatenate([graph.train, graph.valid, graph.test]))
    project_entities(model)

    def rank(triples: Triples) -> None:
        with torch.no_grad():
            evaluator = LinkPredictionEvaluator(model, make_triples(graph, triples, known))
            evaluator.evaluate(b_size=task.ranking_batch, verbose=False)

    return rank


@torch.no_grad()
def project_entities(model: TransRModel) -> None:
    """Fill the model's table of projected entities, which its evaluator reads.

    The model itself projects one entity at a time. The table is made before the clock starts, so computing the same
    values faster changes no result and saves minutes.
    """
    matrices = model.proj_mat.weight.view(model.n_rel, model.rel_emb_dim, model.ent_emb_dim)
    for relation, matrix in enumerate(matrices):
        model.projected_entities[relation] = model.ent_emb.weight @ matrix.t().contiguous()
    model.evaluated_projections = True
