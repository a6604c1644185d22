"""How IComplEx learns its concepts, and how many it needs: variants, on validation.

The default trains ComplEx, codes its relation vectors sparsely once, and trains entities, concepts and weights further.
Each variant changes one thing. Their accuracy on valid and the measures of structure of `itransf interpret` are stored.

    python -m benchmarks.concepts --dataset world --seeds 3
    python -m benchmarks.concepts --dataset codex-s --seeds 2 --set model.dim=64 regularizer.weight=0.004 \
        warm_start.epochs=20 training.epochs=10 training.learning_rate=0.05
    python -m benchmarks.concepts --dataset fb15k --preset fb15k/icomplex --seeds 3 --device cuda
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import mean, median
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

import itransf
from benchmarks.markdown import describe_setting, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from itransf.config import Config
from itransf.data import Graph
from itransf.evaluation import rank_triples
from itransf.fitting import build_model, warm_config
from itransf.interpret.measures import interpret_runs
from itransf.interpret.measures.reading import read_model
from itransf.models import IComplEx, Model
from itransf.models.complex import ComplEx
from itransf.models.concepts import IMPORTANCE
from itransf.ops.coding import learn_codes
from itransf.run import choose_device
from itransf.run.settings import resolve_config
from itransf.training import Trainer

ROUNDS = 3  # of coding, where it is done in turn, with two thirds of the last epochs in addition
EXPONENT = 0.5  # of a relation's number of triples, as its weight where frequent relations are coded more closely
MEMBERS = 3  # ComplEx with seeds of their own, where supports suit all of them
FREE = 0.6  # share of epochs in which joint training chooses supports
MEASURES = {
    "inverse AP": "inverse pairs, average precision",
    "in common": "inverse pairs, concepts in common",
    "symmetric AUC": "symmetric relations, area under the curve",
    "ARI": "stability over seeds, adjusted Rand index",
    "ARI, all weights": "stability over seeds, adjusted Rand index, all weights",
}
Training = Callable[[Graph, Config, torch.device], Model]


class JointIComplEx(IComplEx):
    """IComplEx whose supports are the k largest weights at any time; the others get the same gradient."""

    fused: ClassVar[bool] = True

    def relation_table(self) -> Tensor:
        """Return the vectors that relations compose of concepts, (r, 2 d)."""
        scores, attention = self.attention.scores, self.attention
        if self.training:
            sizes = scores.detach().abs() * self.concepts.detach().norm(dim=1)
            attention.support.copy_(sizes.topk(attention.support.shape[1], dim=1).indices.sort(dim=1).values)
        others = (scores - scores.detach()).masked_fill(self.is_supported("relation"), 0.0)  # zero, with a gradient
        return self.compose(scores.masked_fill(~self.is_supported("relation"), 0.0) + others)


def train_phase(model: Model, graph: Graph, config: Config, epochs: int) -> None:
    """Train a model for some epochs, with an optimizer of its own."""
    section = replace(config.training, epochs=epochs)
    for _ in Trainer(model, graph, replace(config, training=section)).epochs():
        pass


def train_complex(graph: Graph, config: Config, device: torch.device, epochs: int) -> ComplEx:
    """Return ComplEx trained as in the warm start."""
    model = build_model(graph, warm_config(config), device)
    assert isinstance(model, ComplEx)
    train_phase(model, graph, warm_config(config), epochs)
    return model


def count_triples(graph: Graph, device: torch.device) -> Tensor:
    """Return the number of training triples of each relation, (r,)."""
    return torch.bincount(torch.as_tensor(graph.train)[:, 1], minlength=len(graph.relations)).to(device)


def train_coded(graph: Graph, config: Config, device: torch.device, rounds: int = 1, tuned: bool = True) -> Model:
    """Return IComplEx whose relation vectors were coded `rounds` times, with ComplEx trained further in between."""
    warm, last = config.warm_start.epochs, config.training.epochs if tuned else 0
    full = train_complex(graph, config, device, warm - warm // 3 if rounds > 1 else warm)
    model, counts = build_model(graph, config, device), count_triples(graph, device)
    assert isinstance(model, IComplEx)
    for left in reversed(range(rounds)):
        model.start_from(full, counts)
        if last:
            train_phase(model, graph, config, last if not left else max(last // 3, 1))
        if left:
            with torch.no_grad():
                full.entities.copy_(model.entities)
                full.relations.copy_(model.relation_table())
            train_phase(full, graph, warm_config(config), max(warm // 3 // (rounds - 1), 1))
    return model


def train_weighted(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return IComplEx whose concepts are fitted with more weight on the vectors of frequent relations."""
    full, model = train_complex(graph, config, device, config.warm_start.epochs), build_model(graph, config, device)
    assert isinstance(model, IComplEx)
    counts = count_triples(graph, device).clamp_min(1).float()
    scale = counts ** (EXPONENT / 2)  # longer vectors count more in least squares; pursuit does not depend on length
    with torch.no_grad():
        model.entities.copy_(full.entities)
        model.start_codes((scale[:, None] * full.relation_table())[None], counts / scale)
        model.attention.scores /= scale[:, None]
    train_phase(model, graph, config, config.training.epochs)
    return model


def train_faster(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return IComplEx trained at twice the learning rate after coding."""
    faster = replace(config.training, learning_rate=2 * config.training.learning_rate)
    return train_coded(graph, replace(config, training=faster), device)


@torch.no_grad()
def start_from_all(model: IComplEx, others: list[ComplEx], counts: Tensor) -> None:
    """Start as from the first of several ComplEx, with supports that suit the relation vectors of all."""
    model.entities.copy_(others[0].entities)
    halves = zip(*(other.relation_table().chunk(2, dim=1) for other in others), strict=True)
    vectors = torch.cat([torch.cat(parts, dim=1) for parts in halves], dim=1)  # all real parts, all imaginary ones
    attention, size = model.attention, model.attention.support.shape[1]
    codes = learn_codes(vectors, counts.to(vectors) ** IMPORTANCE, model.blocks, size)
    model.concepts.copy_(codes.atoms[:, : model.concepts.shape[1]])
    attention.support.copy_(codes.support)
    attention.scores.zero_().scatter_(1, codes.support, codes.weights)


def train_consensus(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return IComplEx whose supports are those of several ComplEx, which no other seed uses."""
    seeds = range(MEMBERS * config.seed, MEMBERS * (config.seed + 1))
    others = [train_complex(graph, replace(config, seed=s), device, config.warm_start.epochs) for s in seeds]
    model = build_model(graph, config, device)
    assert isinstance(model, IComplEx)
    start_from_all(model, others, count_triples(graph, device))
    train_phase(model, graph, config, config.training.epochs)
    return model


def train_random(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return IComplEx with random supports, trained for all epochs."""
    model = build_model(graph, config, device)
    train_phase(model, graph, warm_config(config), config.warm_start.epochs)
    train_phase(model, graph, config, config.training.epochs)
    return model


def train_joint(graph: Graph, config: Config, device: torch.device) -> Model:
    """Return IComplEx that chose its supports while it was trained."""
    plain = build_model(graph, config, device)
    torch.manual_seed(config.seed)
    joint = JointIComplEx(plain.sizes, config.model)
    nn.init.normal_(joint.attention.scores, std=joint.attention.support.shape[1] ** -0.5)
    epochs = config.warm_start.epochs + config.training.epochs
    train_phase(joint.to(device), graph, warm_config(config), round(FREE * epochs))
    plain.load_state_dict(joint.state_dict())
    train_phase(plain, graph, config, epochs - round(FREE * epochs))
    return plain


def list_variants(config: Config) -> dict[str, tuple[dict[str, Any], Training]]:
    """Return the settings of the model that each variant changes, and how it is trained."""
    m, k = config.model.concepts, config.model.support_size
    default = f"default: m = {m}, k = {k}"
    found: dict[str, tuple[dict[str, Any], Training]] = {
        default: ({}, train_coded),
        "twice the learning rate after coding": ({}, train_faster),
        "frequent relations coded more closely": ({}, train_weighted),
        "not trained after coding": ({}, partial(train_coded, tuned=False)),
        f"coded {ROUNDS} times, ComplEx trained in between": ({}, partial(train_coded, rounds=ROUNDS)),
        f"supports that suit {MEMBERS} ComplEx with other seeds": ({}, train_consensus),
        "supports chosen in training, straight-through": ({}, train_joint),
        "random supports": ({}, train_random),
    }
    factor, rate = (1.0, "the full") if config.model.attention_lr_factor < 1 else (0.1, "a tenth of the")
    found[f"attention at {rate} learning rate"] = {"attention_lr_factor": factor}, train_coded
    found |= {f"m = {n}": ({"concepts": n}, train_coded) for n in (m // 4, m // 2, 2 * m) if n >= max(k, 2)}
    return found | {f"k = {n}": ({"support_size": n}, train_coded) for n in (1, 2, 3, 8) if n <= m and n != k}


def measure_variant(graph: Graph, config: Config, train: Training, seeds: int, device: torch.device) -> Record:
    """Train a variant with several seeds; return its accuracy on valid and the measures of its structure."""
    readings, metrics, known, started = [], [], graph.known_in("train", "valid"), time.perf_counter()
    for seed in range(seeds):
        model = train(graph, replace(config, seed=seed), device).eval()
        ranks = rank_triples(model, graph.valid, known)
        found = np.concatenate([ranks.ranks("head"), ranks.ranks("tail")])
        metrics.append({"mrr": float((1 / found).mean()), "hits@10": float((found <= 10).mean())})
        readings.append(read_model(model, graph, "icomplex"))
    seconds = (time.perf_counter() - started) / seeds
    findings = {each.name: each for each in interpret_runs(readings, ranked=False, draws=100)[0].findings}
    measures = {title: findings[name].value for title, name in MEASURES.items() if name in findings}
    return {"valid": metrics, "seconds": seconds, "measures": measures}


def measure(options: argparse.Namespace, record: dict[str, Any]) -> None:
    """Measure all variants and store each as it ends."""
    graph, device = itransf.load(options.dataset, progress=False), choose_device(options.device)
    preset = None if options.preset.lower() == "none" else options.preset
    settings = [*options.set, *([] if preset else ["model.name=icomplex"])]
    config = resolve_config(graph, preset=preset, settings=settings, device=str(device))
    record |= {"settings": config.to_dict(), "variants": {}}
    for name, (changes, train) in list_variants(config).items():
        changed = replace(config, model=replace(config.model, **changes))
        record["variants"][name] = measure_variant(graph, changed, train, options.seeds, device)
        write_record(record, RESULTS / f"benchmark-concepts-{options.dataset}.json")
        print(name, record["variants"][name], flush=True)


def render(record: Record) -> str:
    """Return the section of a dataset."""
    rows = []
    for name, found in record["variants"].items():
        cells = [f"{median(each[key] for each in found['valid']):.3f}" for key in ("mrr", "hits@10")]
        values = (found["measures"].get(title) for title in MEASURES)
        cells += ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([name, *cells, f"{found['seconds']:.0f}"])
    spread = mean(max(v) - min(v) for v in ([each["mrr"] for each in f["valid"]] for f in record["variants"].values()))
    table = make_table(["", "MRR", "Hits@10", *MEASURES, "s"], rows)
    seeds = record["config"]["seeds"]
    note = f"Medians of {seeds} seeds on the validation set, whose MRRs are {spread:.3f} apart on average.\n"
    return "\n".join([f"### {record['config']['dataset']}\n", *describe_setting(record), "", note, table])


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--preset", default="none", help="settings to start from; none takes those of the graph")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="*", default=[], help="overrides in every variant")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, from 0")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    record: dict[str, Any] = start_record("concepts", 0, vars(options), ["torch", "numpy"])
    measure(options, record)


if __name__ == "__main__":
    main()
