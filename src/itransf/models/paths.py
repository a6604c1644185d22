"""Paths of one or two links between entities: mined from the training triples, and what models that use them share.

A step is a relation read forwards (2 r + 2) or backwards (2 r + 3). Two more steps make all paths equally long: STAY
leads from every entity to itself, and NOWHERE, with which an empty slot begins, from none. Triples whose head is their
tail are no links, and no path leads from an entity to itself. So a path between h and t passes the triple (h, r, t)
only if it is the path of the single link r; that path is never one of r's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.config import setting
from itransf.models.base import SMALL, Model, Part, Pool, QueryModel, Side, Sizes, Split, TrainingGraph
from itransf.models.translation import Translation
from itransf.ops.grouped import occurrence_numbers

Integers = npt.NDArray[np.int64]
STAY, NOWHERE = 0, 1
MINED = 256  # training triples of a relation whose paths are counted
MOST_LINKS = 512  # links of a head that are followed there
MOST_WALKS = {"cpu": 1 << 18, "cuda": 1 << 23}  # paths that are followed at once


@dataclass(frozen=True)
class PathConfig:
    """Settings of models that use paths."""

    paths: int = setting(
        20, "Maximum number of paths of a relation: those that connect its training pairs best.", least=1
    )
    fan_out: int = setting(
        100,
        "Paths do not follow a relation from an entity with more neighbors than this by it, in the same direction.",
        least=1,
    )
    binary: bool = setting(False, "Use 0/1 path features instead of path reliabilities (PCRA; Lin et al., 2015).")


class Links(NamedTuple):
    """The training triples as links in both directions, and a link of the step STAY for each entity.

    Attributes:
        keys: (source * steps + step) * entities + target of each link, ascending, (l,).
        fans: Links with the same source and step as this one and, in the second row, as its inverse, (2, l).
    """

    keys: Tensor
    fans: Tensor

    @classmethod
    def of(cls, triples: Integers, sizes: Sizes) -> Links:
        """Return the links of training triples (n, 3)."""
        heads, relations, tails = triples[triples[:, 0] != triples[:, 2]].T
        itself, steps = np.arange(sizes.entities), 2 * sizes.relations + 2
        sources, targets = np.concatenate([heads, tails, itself]), np.concatenate([tails, heads, itself])
        kinds = np.concatenate([2 * relations + 2, 2 * relations + 3, np.full_like(itself, STAY)])
        keys = np.unique((sources * steps + kinds) * sizes.entities + targets)
        starts, targets = np.divmod(keys, sizes.entities)
        distinct, places, counts = np.unique(starts, return_inverse=True, return_counts=True)
        inverse = np.searchsorted(distinct, targets * steps + invert(starts % steps))
        return cls(torch.from_numpy(keys), torch.from_numpy(np.stack([counts[places.reshape(-1)], counts[inverse]])))


class Entries(NamedTuple):
    """Paths between pairs of entities.

    Attributes:
        rows: Query or triple of each path, (n,).
        slots: Number of the path among those of its relation, (n,).
        heads: (n,)
        tails: (n,)
        weights: Share of the head's resource that arrives at the tail over this path, (n,).
    """

    rows: Tensor
    slots: Tensor
    heads: Tensor
    tails: Tensor
    weights: Tensor


class MinedPaths(Model):
    """A model that knows the paths of each relation.

    The reliability R(p | h, t) of a path is that of path-constraint resource allocation (Lin et al., 2015): the head's
    resource of one is divided equally among the links of each step; what arrives at the tail counts.

    Attributes:
        length: Maximum number of links of a path.
        paths: The steps of each relation's paths, (r, p, 2).
        confidence: Pr(r | p): of the resource that p brings from all heads to other entities, the share that arrives at
            tails of r's training pairs, (r, p).
    """

    uses: ClassVar[str] = "paths"
    length: ClassVar[int] = 2
    paths: Tensor
    confidence: Tensor

    def __init__(self, sizes: Sizes, config: Any) -> None:
        super().__init__(sizes, config)
        shape = (sizes.relations, config.paths)
        self.register_buffer("paths", torch.full((*shape, 2), NOWHERE, device="cpu"))
        self.register_buffer("confidence", torch.zeros(shape, device="cpu"))
        self.links = Links.of(np.empty((0, 3), dtype=np.int64), sizes)

    @classmethod
    def build(cls, graph: TrainingGraph, config: Any) -> Model:
        """Return a new model whose paths are mined from the training triples."""
        model = super().build(graph, config)
        assert isinstance(model, MinedPaths), "a class builds its own models"
        if not model.paths.is_meta:  # else only its shapes are wanted
            model.links = Links.of(np.asarray(graph.train), model.sizes)
            mine_paths(model, torch.as_tensor(graph.train, device="cpu"))
        return model

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move the links together with the parameters."""
        self.links = Links(*map(fn, self.links))
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def connect(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Entries:
        """Return the paths of triples' relations that lead from their heads to their tails.

        Each path is followed from the end with fewer links of its step there; most pairs have none.
        """
        slots, first, second = self._list_slots(relations)
        heads, tails = (each[slots // self.paths.shape[1]] for each in (heads, tails))
        (of_head, ahead), (of_tail, behind) = self.bounds(heads, first), self.bounds(tails, invert(second))
        is_back = ahead > behind
        way = is_back.long()
        ends, last = torch.where(is_back, heads, tails), torch.where(is_back, invert(first), second)
        rows, places = expand(torch.where(is_back, of_tail, of_head), torch.minimum(ahead, behind))
        wanted = (self.find_targets(places) * self.steps + last[rows]) * self.sizes.entities + ends[rows]
        found = torch.searchsorted(self.links.keys, wanted).clamp_max(len(self.links.keys) - 1)
        kept = (self.links.keys[found] == wanted) & (heads != tails)[rows]
        kept &= self.is_followed(places, way[rows]) & self.is_followed(found, way[rows])
        rows, places, found = rows[kept], places[kept], found[kept]
        return self._enter(slots[rows], heads[rows], tails[rows], places, found, way[rows])

    def reach(self, anchors: Tensor, relations: Tensor, side: Side) -> Entries | None:
        """Return the paths of queries' relations from or to their anchors; None if they are too many queries at once.

        Where heads are asked for, paths are followed backwards; their weights are those of the way forwards.
        """
        slots, first, second = self._list_slots(relations)
        way = 0 if side == "tail" else 1
        if way:
            first, second = invert(second), invert(first)
        starts = anchors[slots // self.paths.shape[1]]
        rows, places = self.follow(starts, first, way)
        middles, seconds = self.find_targets(places), second[rows]
        most = MOST_WALKS[anchors.device.type]
        if len(anchors) > 1 and int(self.bounds(middles, seconds)[1].sum()) > most:
            return None
        walks, found = self.follow(middles, seconds, way)
        ends = self.find_targets(found)
        kept = ends != starts[rows[walks]]
        walks, found, ends = walks[kept], found[kept], ends[kept]
        rows, places = rows[walks], places[walks]
        pairs = (starts[rows], ends) if way == 0 else (ends, starts[rows])
        return self._enter(slots[rows], *pairs, places, found, way)

    def _list_slots(self, relations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the numbers of the filled slots of relations among their slots (b p), and their two steps."""
        steps = self.paths[relations].flatten(0, 1)  # (b p, 2)
        slots = torch.ne(steps[:, 0], NOWHERE).nonzero().squeeze(1)
        return slots, steps[slots, 0], steps[slots, 1]

    def follow(self, entities: Tensor, steps: Tensor, way: int) -> tuple[Tensor, Tensor]:
        """Return the links of a step of each entity (n,): the number of the entity and the place of the link.

        Args:
            entities: (n,)
            steps: (n,)
            way: Whether links are followed forwards (0) or backwards (1), which decides whose fan-out is limited.
        """
        rows, places = expand(*self.bounds(entities, steps))
        kept = self.is_followed(places, way)
        return rows[kept], places[kept]

    @property
    def steps(self) -> int:
        """Number of steps, with STAY and the one that leads nowhere."""
        return 2 * self.sizes.relations + 2

    def bounds(self, entities: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Return the place of the first link of each entity and step, and the number of links."""
        wanted = (entities * self.steps + steps) * self.sizes.entities
        first = torch.searchsorted(self.links.keys, wanted)
        return first, torch.searchsorted(self.links.keys, wanted + self.sizes.entities) - first

    def find_targets(self, places: Tensor) -> Tensor:
        """Return the targets of links."""
        return torch.remainder(self.links.keys[places], self.sizes.entities)

    def find_steps(self, places: Tensor) -> Tensor:
        """Return the steps of links."""
        return torch.remainder(self.links.keys[places] // self.sizes.entities, self.steps)

    def is_followed(self, places: Tensor, way: int | Tensor) -> Tensor:
        """Return which links have no more than the allowed number beside them."""
        return torch.le(self.links.fans[way, places], self.config.fan_out)

    def weigh(self, first: Tensor, second: Tensor, way: int | Tensor) -> Tensor:
        """Return the share of resource that arrives over each path, given the places of its links, (n,)."""
        fans = self.links.fans[way, first] * self.links.fans[way, second]
        return (torch.ones_like(fans) if self.config.binary else 1 / fans.double()).to(self.confidence.dtype)

    def _enter(
        self, slots: Tensor, heads: Tensor, tails: Tensor, first: Tensor, second: Tensor, way: int | Tensor
    ) -> Entries:
        """Return paths by their slots (b p) and the places of their links."""
        count = self.paths.shape[1]
        return Entries(slots // count, slots % count, heads, tails, self.weigh(first, second, way))


class PathModel(MinedPaths):
    """A model that adds the weighted values of paths to a score of its own.

    score(h, r, t) = direct(h, r, t) + sum over paths p of r from h to t of R(p | h, t) value(h, r, p, t)
    """

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph; paths are followed for few negatives where following takes long."""
        found = super().defaults(graph, device)
        is_quick = len(graph.train) < SMALL or device != "cpu"
        return found if is_quick else found | {"loss": {"name": "hinge"}, "negatives": {"per_triple": 4}}

    @abstractmethod
    def path_values(self, relations: Tensor, entries: Entries) -> Tensor:
        """Return the value of each path, (n,), given the relation of each row, (b,)."""

    @abstractmethod
    def direct(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the scores of triples without paths, (b,)."""

    @abstractmethod
    def direct_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores of the pool's entities without paths, (b, n)."""

    @abstractmethod
    def split_direct(self, triples: Tensor) -> Split:
        """Split the scores of triples (n, 3) of one relation without paths."""

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the direct scores and what paths add to them, (b,)."""
        return self.direct(heads, relations, tails) + self.score_paths(heads, relations, tails)

    def score_paths(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return what paths add to the scores of triples, (b,)."""
        entries = self.connect(heads, relations, tails)
        added = entries.weights * self.path_values(relations, entries)
        return added.new_zeros(len(heads)).index_add(0, entries.rows, added)

    def score_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the scores (b, n) of the pool; only entities that paths reach get more than the direct score."""
        entries = self.reach(anchors, relations, side)
        if entries is None:
            parts = zip(anchors.chunk(2), relations.chunk(2), strict=True)
            return torch.cat([self.score_pool(*part, side, pool) for part in parts])
        direct = self.direct_pool(anchors, relations, side, pool)
        added = entries.weights * self.path_values(relations, entries)
        rows, columns = entries.rows, entries.tails if side == "tail" else entries.heads
        if pool.entities is None:
            return direct.flatten().index_add(0, rows * direct.shape[1] + columns, added).view_as(direct)
        distinct, copies = torch.unique(pool.entities, return_inverse=True)
        kept = torch.isin(columns, distinct)
        cells = rows[kept] * len(distinct) + torch.searchsorted(distinct, columns[kept])
        spread = direct.new_zeros(len(anchors) * len(distinct)).index_add(0, cells, added[kept])
        return direct + spread.view(-1, len(distinct))[:, copies]

    @property
    def is_explainable(self) -> bool:
        """Whether the direct score can be split; paths are one more part."""
        return True

    @torch.no_grad()
    def split_scores(self, triples: Tensor) -> Split:
        """Split the scores of triples (n, 3) of one relation into the parts of the direct score, and paths."""
        direct, added = self.split_direct(triples), self.score_paths(*triples.unbind(1)).double()[:, None]
        added = -added if direct.is_distance else added
        values = torch.cat([direct.values, added], dim=1)
        parts = (*direct.parts, Part("path", None, None))
        return Split(parts, values, values.sum(1), direct.is_distance)


class StepVectors(MinedPaths, Translation):
    """A translation model in which a path's vector is the sum of the vectors of its steps."""

    def path_vectors(self, relations: Tensor) -> Tensor:
        """Return the sums of the vectors of the steps of each relation's paths, (b, p, d).

        A step backwards has the opposite vector; STAY and empty slots have zero.
        """
        steps = self.paths[relations]  # (b, p, 2)
        signs = torch.where(steps > NOWHERE, 1 - 2 * (steps % 2), 0).to(self.relations.dtype)
        vectors = self.translate(find_relations(steps))
        return (vectors * signs[..., None]).sum(-2)

    def slot_vectors(self, relations: Tensor, slots: Tensor) -> Tensor:
        """Return the vector of the path in a slot of each relation (n,), (n, d)."""
        distinct, places = torch.unique(relations, return_inverse=True)
        return self.path_vectors(distinct)[places, slots]

    def mean_of_paths(self, losses: Tensor, entries: Entries, count: int) -> Tensor:
        """Return the mean over `count` triples of the losses of their paths (n,), weighted by R(p | h, t)."""
        totals = entries.weights.new_zeros(count).index_add(0, entries.rows, entries.weights)
        return (losses * entries.weights / totals[entries.rows]).sum() / count


class PathTranslation(PathModel, StepVectors):
    """A translation model that scores by paths, too."""

    direct = Translation.score
    direct_pool = QueryModel.compare_pool
    split_direct = Translation.split_scores


def invert(steps: Any) -> Any:
    """Return the steps in the other direction; STAY and NOWHERE are their own."""
    return steps ^ (steps > NOWHERE)


def find_relations(steps: Tensor) -> Tensor:
    """Return the relations of steps; the first for STAY and NOWHERE."""
    return (steps // 2 - 1).clamp_min(0)


def expand(first: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the elements of ranges, given by their first element and length: their range and the element."""
    rows = torch.repeat_interleave(counts)
    return rows, torch.arange(len(rows), device=rows.device) + (first - counts.cumsum(0) + counts)[rows]


def mine_paths(model: MinedPaths, triples: Tensor) -> None:
    """Choose the paths of each relation: those over which most resource arrives at the tails of its training pairs.

    Args:
        model: Model, whose paths and their confidence are set.
        triples: Training triples, (n, 3); of each relation at most MINED are looked at.
    """
    stride = -(-torch.bincount(triples[:, 1], minlength=model.sizes.relations) // MINED)
    sample = triples[occurrence_numbers(triples[:, 1]) % stride[triples[:, 1]] == 0]
    keys, entities = model.links.keys, model.sizes.entities
    pairs, order = torch.sort(keys // (model.steps * entities) * entities + keys % entities, stable=True)
    parts = torch.split(sample, MOST_WALKS["cpu"] // MOST_LINKS)
    found = [count_paths(model, part, stride, pairs, order) for part in parts]
    codes, sums = sum_alike(*(torch.cat(column) for column in zip(*found, strict=True)))
    relations, paths = codes // model.steps**2, codes % model.steps**2
    is_own = paths == (2 * relations + 2) * model.steps + STAY
    best = torch.argsort(sums.masked_fill(is_own, 0.0), descending=True, stable=True)
    best = best[~is_own[best]]
    slots = occurrence_numbers(relations[best])
    best, slots = best[slots < model.config.paths], slots[slots < model.config.paths]
    distinct, places = torch.unique(paths[best], return_inverse=True)
    shares = sums[best] / count_resource(model, distinct)[places]
    model.paths[relations[best], slots] = torch.stack([paths[best] // model.steps, paths[best] % model.steps], dim=1)
    model.confidence[relations[best], slots] = shares.clamp_max(1).to(model.confidence.dtype)  # sums are of a sample


def count_resource(model: MinedPaths, paths: Tensor) -> Tensor:
    """Return the resource that paths (p,), each first step * steps + second, bring to other entities, (p,)."""
    keys, entities, steps = model.links.keys, model.sizes.entities, model.steps
    by_step = torch.argsort(model.find_steps(torch.arange(len(keys), device=keys.device)), stable=True)
    counts = torch.bincount(model.find_steps(by_step), minlength=steps)
    begin, totals = counts.cumsum(0) - counts, torch.zeros_like(paths, dtype=torch.float64)
    at_once = MOST_WALKS["cpu"] * len(paths) // max(int(counts[paths // steps].sum()), 1)
    for part in torch.split(torch.arange(len(paths), device=paths.device), max(at_once, 1)):
        first, second = paths[part] // steps, paths[part] % steps
        rows, places = expand(begin[first], counts[first])
        links = by_step[places]
        middles, heads = model.find_targets(links), keys[links] // (steps * entities)
        onward, fans = model.bounds(middles, second[rows])
        back = (middles * steps + second[rows]) * entities + heads
        returns = keys[torch.searchsorted(keys, back).clamp_max(len(keys) - 1)] == back
        kept = model.is_followed(links, 0) & (fans > 0) & (fans <= model.config.fan_out)
        arriving = model.weigh(links[kept], onward[kept], 0).double() * (fans - returns.long())[kept]
        totals.index_add_(0, part[rows[kept]], arriving)
    return totals


def count_paths(model: MinedPaths, triples: Tensor, stride: Tensor, pairs: Tensor, order: Tensor) -> list[Tensor]:
    """Return the codes of paths between the ends of triples (n, 3), (c,), and the resource that they bring, (c,).

    Args:
        model: Model with links.
        triples: Training triples; of a head with many links, MOST_LINKS are followed.
        stride: Number of training triples that one of each relation stands for, (r,).
        pairs: source * entities + target of each link, ascending, (l,).
        order: Place of each of them among the links, (l,).
    """
    (heads, relations, tails), entities = triples.unbind(1), model.sizes.entities
    begin = torch.searchsorted(model.links.keys, heads * (model.steps * entities))
    counts = torch.searchsorted(model.links.keys, (heads + 1) * (model.steps * entities)) - begin
    taken = counts.clamp_max(MOST_LINKS)
    rows, numbers = expand(torch.zeros_like(taken), taken)
    first = begin[rows] + numbers * counts[rows] // taken[rows]
    kept = model.is_followed(first, 0) & (model.find_steps(first) != STAY)
    first, rows = first[kept], rows[kept]
    wanted = model.find_targets(first) * entities + tails[rows]
    begin = torch.searchsorted(pairs, wanted)
    walks, places = expand(begin, torch.searchsorted(pairs, wanted, right=True) - begin)
    first, second, rows = first[walks], order[places], rows[walks]
    kept = model.is_followed(second, 0) & (heads != tails)[rows]
    if model.length == 1:
        kept &= model.find_steps(second) == STAY
    first, second, rows = first[kept], second[kept], rows[kept]
    weights = model.weigh(first, second, 0).double() * stride[relations[rows]]
    codes = (relations[rows] * model.steps + model.find_steps(first)) * model.steps + model.find_steps(second)
    return list(sum_alike(codes, weights))


def sum_alike(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct keys, ascending, and the sum of the values (n,) of each."""
    distinct, places = torch.unique(keys, return_inverse=True)
    return distinct, values.new_zeros(len(distinct)).index_add(0, places, values)
