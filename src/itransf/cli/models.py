"""`itransf models`: the models there are, and what each can do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

import itransf
from itransf.cli.options import AsJson
from itransf.cli.output import Screen, tell, warn
from itransf.errors import ConfigError
from itransf.registry import MODELS, TRUSTED

if TYPE_CHECKING:
    from itransf.models import Model

SMALL = (("a", "r", "b"), ("b", "s", "c"))
NEW_ENTITY, NEW_RELATION = ("c", "r", "d"), ("c", "t", "a")


def list_models(
    data: Annotated[str | None, Argument(metavar="[DATA]", help="Graph to count the parameters on.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the models: formula, paper and capabilities.

    Models of installed packages (entry points in the group itransf.models) and those named by --plugin are included.
    """
    graph = None if data is None else itransf.load(data)
    found = []
    for name in (*MODELS, *sorted(TRUSTED)):
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
    """Return the capabilities of a kind of model, tried on a small graph."""
    graph, with_entity, with_relation = (
        itransf.Graph.from_names("small", [*SMALL, *more]) for more in ((), (NEW_ENTITY,), (NEW_RELATION,))
    )
    model, teaching = kind.build(graph, kind.Config()), itransf.teaching
    return {
        "fast ranking": isinstance(model, itransf.models.QueryModel),
        "concepts": isinstance(model, itransf.models.ConceptModel),
        "explanations": itransf.models.is_explainable(model),
        "fast training": bool(vars(kind).get("fused", False)),
        "new entities": can_learn(model, with_entity, teaching.entity.list_tables),
        "new relations": can_learn(model, with_relation, teaching.relation.list_tables),
    }


def can_learn(model: Model, graph: itransf.Graph, tables: Callable[[Model], Iterable[Any]]) -> bool:
    """Return whether only these tables are larger for a graph with one more entity or relation."""
    try:
        itransf.teaching.fit_rows.extend_model(model, graph, tables, "")
    except ConfigError:
        return False
    return True


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
