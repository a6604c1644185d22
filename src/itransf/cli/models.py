"""`itransf models`: the models there are, and what each can do."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

import itransf
from itransf.cli.options import AsJson
from itransf.cli.output import Screen, tell, warn
from itransf.errors import ConfigError
from itransf.registry import MODELS

if TYPE_CHECKING:
    from itransf.models import Model

SMALL = (("a", "r", "b"), ("b", "s", "c"))
NEW_ENTITY, NEW_RELATION = ("c", "r", "d"), ("c", "t", "a")


def list_models(
    data: Annotated[str | None, Argument(metavar="[DATA]", help="Graph to count the parameters on.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models: formula, paper and capabilities.

    Models of installed packages (entry points in the group itransf.models) are included.
    """
    graph = None if data is None else itransf.load(data)
    found = []
    for name in MODELS:
        try:
            found.append(describe_model(name, graph))
        except ConfigError as error:  # an installed package that cannot be imported
            warn([str(error)])
    tell(found, as_json, lambda screen: show_models(found, "" if graph is None else graph.name, screen))


def describe_model(name: str, graph: itransf.Graph | None) -> dict[str, Any]:
    """Return the formula, paper, capabilities and number of parameters of a model."""
    kind = MODELS[name]
    formula, *_ = inspect.cleandoc(kind.__doc__ or "").splitlines() or [""]
    number = None
    if graph is not None:
        config = itransf.run.resolve_config(graph, settings=[f"model.name={name}"])
        number = sum(parameter.numel() for parameter in kind.build(graph, config.model).parameters())
    return {
        "name": name,
        "source": MODELS.source(name),
        "formula": formula.rstrip("."),
        "paper": kind.paper and kind.paper._asdict(),
        "capabilities": find_capabilities(kind),
        "parameters": number,
    }


def find_capabilities(kind: type[Model]) -> dict[str, bool]:
    """Return what a kind of model can do, found out on a small graph."""
    model, with_entity, with_relation = (
        kind.build(itransf.Graph.from_names("small", [*SMALL, *more]), kind.Config())
        for more in ((), (NEW_ENTITY,), (NEW_RELATION,))
    )
    tables, scores = model.embeddings(), list[Any]()
    if isinstance(model, itransf.models.ConceptModel):
        scores = [model.concept_projection(side).scores for side in itransf.models.SIDES]
    return {
        "fast ranking": isinstance(model, itransf.models.QueryModel),
        "concepts": bool(scores),
        "explanations": isinstance(model, itransf.models.Translation) and model.is_explainable,
        "fused steps": bool(vars(kind).get("fused", False)),
        "new entities": can_grow(model, with_entity, [tables.get("entities")]),
        "new relations": can_grow(model, with_relation, [tables.get("relations"), *scores]),
    }


def can_grow(model: Model, larger: Model, tables: Sequence[Any]) -> bool:
    """Return whether only these parameters are larger in a model with one more entity or relation."""
    allowed = {id(table) for table in tables}
    grown = [table for name, table in model.named_parameters() if table.shape != larger.get_parameter(name).shape]
    return bool(grown) and all(id(table) in allowed for table in grown)


def show_models(models: Sequence[Mapping[str, Any]], graph: str, screen: Screen) -> None:
    """Print models one below the other."""
    for model in models:
        screen.say(f"{model['name']:9} {model['formula']}", "bold")
        paper = model["paper"]
        lines = {
            "Paper": paper and f"{paper['title']} ({paper['authors']}, {paper['venue']})",
            "Link": paper and paper["link"],
            "Can": ", ".join(name for name, has_it in model["capabilities"].items() if has_it),
            "From": model["source"],
            "Size": model["parameters"] and f"{model['parameters']:,} parameters on {graph}",
        }
        for name, value in lines.items():
            if value:
                screen.say(f"{'':10}{name:6}{value}")
