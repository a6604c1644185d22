"""Update a trained model: new triples, entities and relations, and removals, without training from the beginning."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from itransf.config import Config
from itransf.data import SPLITS, Booleans, Graph, KnownIndex, Triples, Vocabulary
from itransf.data.frames import NamedTriples, gather_triples
from itransf.data.layout import DETECTED, EXTRA, Form, Request, Table
from itransf.data.literals import treat_literals
from itransf.data.reading import read_columns
from itransf.data.splits import Weights, encode, gather_weights, keep_distinct
from itransf.errors import ConfigError, DataError, check_count
from itransf.fitting import Fit
from itransf.models import Model
from itransf.models.base import SMALL
from itransf.prediction.inputs import resolve_each
from itransf.teaching import learn
from itransf.teaching.edit import shorten
from itransf.teaching.fit_rows import Kind, M, NewRows, fit_rows, rebuild
from itransf.training.trainer import weights

UPDATE = "update"  # phase of an update in the history
EPOCHS = {True: 5, False: 2}  # of an update, on a small graph and on another
RATES = {"adagrad": 2.0}  # learning rate of an update, relative to that of training, by optimizer
OTHER_RATE = 0.3
FOLDING = 20  # steps in which new rows are fitted before everything is trained
SHOWN = 5  # removals listed that are not in the graph

Given = str | Path | NamedTriples
"""Triples: a file, rows of three names, or a data frame."""


@dataclass(frozen=True)
class Growth:
    """A graph after an update, and what changed.

    Attributes:
        graph: The graph; names keep their numbers, and new triples are the last ones of their split.
        counts: Numbers of triples that are "added", were "known" already or given twice, are "removed", or were to be
            removed and "absent"; of new "entities" and "relations".
        trained: Number of new triples in train.
        unseen: Number of those, the last ones, that have a new entity or relation.
        notes: Remarks on what was given.
    """

    graph: Graph
    counts: Mapping[str, int]
    trained: int
    unseen: int
    notes: tuple[str, ...] = ()


def read_given(given: Given, source: str, form: Form = DETECTED) -> Table:
    """Return given triples as a table; it may be empty."""
    request = Request(extra=EXTRA, form=form)
    return read_columns(given, request) if isinstance(given, str | Path) else gather_triples(given, source, request)


def grow_graph(graph: Graph, new: Given, remove: Given = (), form: Form = DETECTED, literals: str = "drop") -> Growth:
    """Return the graph without some triples and with new ones.

    Removals come first, so that a triple in both is there afterwards. Names stay, even without triples. New triples go
    to train or, if a rule made the splits, where it puts them.

    Args:
        graph: Graph of a run, which is not changed.
        new: Triples by names or labels; unknown names become new entities and relations.
        remove: Triples to remove; those that are not there are noted.
        form: Form of the files; what it does not say is detected.
        literals: Whether to "drop" or "keep" numbers, dates and long texts under relations that are new; as entities.

    Raises:
        ConfigError: Literals are neither to be dropped nor kept.
        DataError: A file cannot be read, a label belongs to several names, or no training triples would be left.
    """
    given, unwanted = treat_new(graph, read_given(new, "new", form), literals), read_given(remove, "remove", form)
    left, absent = remove_triples(graph, unwanted)
    rows, *names = number_triples(graph, given)
    vocabularies = list(zip((graph.entities, graph.relations), names, strict=True))
    entities, relations = (Vocabulary([*old.names, *more], old.labels, old.kind) for old, more in vocabularies)
    told = [note for old, more in vocabularies for note in old.note_new(more)]
    grown = replace(left, entities=entities, relations=relations)
    added = keep_distinct(rows)
    added = added[~grown.known.contains(added)]
    parts = np.zeros(len(added), dtype=np.int64)
    if graph.rule is not None:
        before = (len(graph.entities), len(graph.relations))
        parts = graph.rule.assign(added, entities.names, relations.names, before)
    is_new = ~is_numbered(graph, added)
    order = np.argsort(is_new, kind="stable")  # triples with new names come last
    splits = [added[order][parts[order] == part] for part in range(len(SPLITS))]
    train, valid, test = map(np.concatenate, zip(list_splits(left), splits, strict=True))
    if not len(train):
        raise DataError(f"{unwanted.source}: no training triples would be left; remove fewer")
    weights = join_weights(left.weights, gather_weights([given], [rows]) if len(rows) else None, added)
    grown = replace(grown, train=train, valid=valid, test=test, weights=weights)
    counts = {
        "added": len(added),
        "known": len(rows) - len(added),
        "removed": sum(map(len, list_splits(graph))) - sum(map(len, list_splits(left))),
        "absent": len(absent),
        **{kind: len(more) for kind, more in zip(("entities", "relations"), names, strict=True)},
    }
    notes = (*given.notes, *unwanted.notes, *note_absent(unwanted, absent), *told)
    return Growth(grown, counts, len(splits[0]), int((is_new & (parts == 0)).sum()), notes)


def remove_triples(graph: Graph, table: Table) -> tuple[Graph, list[int]]:
    """Return the graph without the triples of a table, and the rows of the table that are not in the graph."""
    gone, *_ = number_triples(graph, table)
    is_there = is_numbered(graph, gone)
    is_there[is_there] = graph.known.contains(gone[is_there])
    index = KnownIndex(gone[is_there], len(graph.entities), len(graph.relations))
    train, valid, test = (triples[~index.contains(triples)] for triples in list_splits(graph))
    weights = graph.weights and graph.weights.without(gone[is_there])
    return replace(graph, train=train, valid=valid, test=test, weights=weights), np.flatnonzero(~is_there).tolist()


def is_numbered(graph: Graph, triples: Triples) -> Booleans:
    """Return whether the graph has all three names of each triple."""
    return np.asarray((triples < [len(graph.entities), len(graph.relations), len(graph.entities)]).all(axis=1))


def treat_new(graph: Graph, table: Table, literals: str) -> Table:
    """Return the table without literals under relations that the graph does not have, or with them.

    Values of a relation whose values are in bins are put into these.
    """
    if literals not in ("drop", "keep"):
        raise ConfigError(f"literals must be drop or keep, not {literals!r}; bins belong to the run that made them")
    pairs = zip(*(table.data.column(name).to_pylist() for name in ("relation", "tail")), strict=True)

    def find_tail(pair: tuple[str, str]) -> str:
        return pair[1] if graph.entities.has_name(pair[1]) else graph.find_bin(*pair) or pair[1]

    tails = resolve_each(pairs, find_tail, table.locate)
    table = replace(table, data=table.data.set_column(2, "tail", pa.array(tails, pa.string())))
    rows = np.arange(len(table))
    is_new = np.array([name not in graph.relations for name in table.data.column("relation").to_pylist()], dtype=bool)
    if literals == "keep" or not is_new.any():
        return table
    part = table.take(rows[is_new], table.data.append_column("row", pa.array(rows)).take(rows[is_new]))
    try:
        (kept,) = treat_literals([part], others=["keep"])
    except DataError:  # nothing else is there
        kept = part.take(rows[:0], part.data[:0], [f"{len(part):,} tails are literals (--literals keep)."])
    chosen = np.sort(np.concatenate([rows[~is_new], kept.data.column("row").to_numpy()]))
    return replace(table.take(chosen), notes=kept.notes)


def join_weights(old: Weights | None, new: Weights | None, added: Triples) -> Weights | None:
    """Return the weights of old triples, and those of new ones, if they have some."""
    old = old and old.without(added)  # an update may have removed them before
    if new is None or not len(added):
        return old
    found = [*([old] if old else []), Weights(added, new.of(added))]
    return Weights(np.concatenate([each.triples for each in found]), np.concatenate([each.values for each in found]))


def note_absent(table: Table, rows: list[int]) -> list[str]:
    """Return a remark on removals that are not in the graph, if there are any."""
    if not rows:
        return []
    listed = "; ".join(f"{table.locate(row)}: {' '.join(table.rows()[row][:3])}" for row in rows[:SHOWN])
    more = f"; and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return [f"{len(rows):,} of {len(table):,} triples to remove are not in the graph: {listed}{more}."]


def list_splits(graph: Graph) -> list[Triples]:
    """Return train, valid and test."""
    return [graph.split(split) for split in SPLITS]


def number_triples(graph: Graph, table: Table) -> tuple[Triples, list[str], list[str]]:
    """Return the triples of a table as numbers; unknown entities and relations, which are returned, get the next."""
    encoded, new = encode([table.data]), []
    (triples,) = encoded.splits
    found = np.empty_like(triples)
    for columns, names, vocabulary in (
        ([0, 2], encoded.entities, graph.entities),
        ([1], encoded.relations, graph.relations),
    ):
        numbers, unknown = [], list[str]()
        for place, name in enumerate(names):
            try:
                number = vocabulary.find(name)
            except DataError as error:
                row = int(np.argmax((triples[:, columns] == place).any(1)))
                raise DataError(f"{table.locate(row)}: {error}") from None
            numbers.append(len(vocabulary) + len(unknown) if number is None else number)
            unknown += [name] if number is None else []
        found[:, columns] = np.array(numbers, dtype=np.int64)[triples[:, columns]]
        new.append(unknown)
    return found, new[0], new[1]


@torch.inference_mode(mode=False)
@torch.enable_grad()
def update_model(
    model: Model, growth: Growth, config: Config, epochs: int | None = None, progress: bool = False
) -> tuple[Model, list[dict[str, Any]]]:
    """Return the model for the grown graph, and the history of its training.

    The rows of new entities and relations are fitted with all else fixed; then everything is trained for a few epochs,
    on old triples as well: without them, their scores would fall.

    Args:
        model: Trained model, which is not changed.
        growth: The grown graph.
        config: Settings of the run.
        epochs: Number of epochs; by default chosen by the size of the graph.
        progress: Whether to show a progress bar.

    Raises:
        ConfigError: The number of epochs is not valid, or the model cannot grow.
    """
    wanted = EPOCHS[len(growth.graph.train) < SMALL] if epochs is None else check_count("epochs", epochs)
    folded = fold_in(model, growth, config, FOLDING if wanted else None)
    if not wanted or not (growth.trained or growth.counts["removed"]):
        return folded, []
    device = next(model.parameters()).device
    rows = {name: len(tensor) if tensor.ndim else 1 for name, tensor in weights(model).items()}
    settings, start = shorten_more(config, wanted), weights(folded)
    fit = Fit(growth.graph, settings, device, progress=progress, start=start, trained_rows=rows)
    return fit.run(), [{**line, "phase": UPDATE} for line in fit.history]


def fold_in(model: M, growth: Growth, config: Config, steps: int | None = None) -> M:
    """Return the model with rows for the new entities and relations, fitted to their triples with all else fixed.

    Args:
        model: Trained model, which is not changed.
        growth: The grown graph.
        config: Settings of the run.
        steps: Most steps of the fit; by default as many as when one name is learned.
    """
    graph, sizes = growth.graph, model.sizes
    before = replace(graph, train=graph.train[: len(graph.train) - growth.trained])
    triples = graph.train[len(graph.train) - growth.unseen :]
    larger = extend(model, graph, sizes.relations, config.name)
    for table in learn.list_entity_tables(larger) if growth.counts["entities"] else ():
        learn.start_entities(table, before.statistics, triples, growth.counts["entities"])
    for number in range(sizes.relations, len(graph.relations)):
        larger = extend(larger, graph, number + 1, config.name)
        if "relations" in larger.embeddings() or type(larger).start_relation is not Model.start_relation:
            learn.start_relation(larger, triples[triples[:, 1] == number], config)
    found: dict[Kind, NewRows] = {
        "entity": NewRows(learn.list_entity_tables(larger), growth.counts["entities"], learn.ENTITY_EFFORT),
        "relation": NewRows(learn.list_relation_tables(larger), growth.counts["relations"], learn.RELATION_EFFORT),
    }
    rows = {kind: new for kind, new in found.items() if new.count}
    if steps is not None:
        rows = {kind: replace(new, effort=replace(new.effort, steps=steps)) for kind, new in rows.items()}
    fit_rows(larger, graph, config, rows, growth.unseen)
    return larger


def extend(model: M, graph: Graph, relations: int, name: str) -> M:
    """Return the model with a row for each entity and for the first relations of a graph.

    Raises:
        ConfigError: Parameters depend on the number of names otherwise than by a row each.
    """
    names, train = graph.relations.names[:relations], graph.train[graph.train[:, 1] < relations]
    larger = rebuild(model, replace(graph, relations=Vocabulary(names), train=train), model.config)
    old = weights(model)
    sizes = set(zip(vars(model.sizes).values(), vars(larger.sizes).values(), strict=True))
    odd = [
        name
        for name, tensor in weights(larger).items()
        if tensor.shape != old[name].shape
        and ((len(old[name]), len(tensor)) not in sizes or tensor.shape[1:] != old[name].shape[1:])
    ]
    if odd:
        raise ConfigError(
            f"the model {name} cannot be updated with new names: {', '.join(odd)} depend on them otherwise than by a "
            "row each; train again with the new triples"
        )
    return larger


def shorten_more(config: Config, epochs: int) -> Config:
    """Return the settings of an update: as those of a re-fit at another rate, but supports stay."""
    settings = shorten(config, epochs)
    rate = RATES.get(config.training.optimizer, OTHER_RATE) * config.training.learning_rate
    return replace(
        settings,
        training=replace(settings.training, learning_rate=rate, lr_decay="linear"),
        assignment=replace(settings.assignment, every=0),
        validation=replace(settings.validation, every=epochs),
    )
