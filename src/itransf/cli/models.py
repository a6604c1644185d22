"""`itransf models`, `settings` and `presets`: available models, their settings, and named settings."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from rich.padding import Padding
from rich.text import Text
from typer import Argument, Option

import itransf
from itransf.cli.options import AsJson
from itransf.cli.output import Screen, tell, warn
from itransf.config import DEFAULT_MODEL, Setting, describe_settings
from itransf.errors import ConfigError, did_you_mean
from itransf.presets import list_presets, read_preset, read_text
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
        "uses": kind.uses,
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
        "fast ranking": itransf.models.base.has_query_form(model),
        "concepts": isinstance(model, itransf.models.ConceptModel),
        "parts of scores": model.is_explainable,
        "fast training": bool(vars(kind).get("fused", False)),
        "new entities": can_learn(model, with_entity, teaching.learn.list_entity_tables),
        "new relations": can_learn(model, with_relation, teaching.learn.list_relation_tables),
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
        screen.say(f"{model['name']:12} {model['formula']}", "bold")
        paper = model["paper"]
        lines = {
            "Paper": paper and f"{paper['title']} ({paper['authors']}, {paper['venue']})",
            "Link": paper and paper["link"],
            "Uses": model["uses"],
            "Can": ", ".join(name for name, has_it in model["capabilities"].items() if has_it),
            "From": model["source"],
            "Size": model["parameters"] and f"{model['parameters']:,} parameters on {graph}",
        }
        for name, value in lines.items():
            if value:
                screen.itemize(value, f"{name:6}", indent=10)


def show_settings(
    text: Annotated[str, Argument(metavar="[TEXT]", help="List only keys that contain this.")] = "",
    model: Annotated[str, Option(help="Model whose own settings are listed.")] = DEFAULT_MODEL,
    as_json: AsJson = False,
) -> None:
    """List all settings, with defaults and descriptions."""
    everything = describe_settings(model)
    found = [setting for setting in everything if text.casefold() in setting.key]
    if not found:
        hint = did_you_mean(text, [setting.key for setting in everything])
        raise ConfigError(f"no setting has {text!r} in its key.{hint or ' Without it all are listed.'}")
    tell([setting._asdict() for setting in found], as_json, lambda screen: show_list(found, screen))


def show_list(settings: Sequence[Setting], screen: Screen) -> None:
    """Print settings one below the other."""
    for setting in settings:
        default = f" = {json.dumps(setting.default)}  "
        screen.print(Text.assemble((setting.key, "bold"), default, (setting.values, "dim")), soft_wrap=True)
        auto = f" Without a preset: {setting.auto}" if setting.auto else ""
        screen.print(Padding(Text((setting.description + auto).replace("`", "")), (0, 0, 0, 4)))


def show_presets(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="Print the settings of this preset.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets, or print one as TOML.

    The printed settings can be saved, changed and given to 'itransf train --config'.
    """
    if name is not None:
        content = read_preset(name).content
        tell(content, as_json, lambda screen: screen.say(read_text(name).rstrip("\n")))
        return
    titles = {preset: find_title(read_text(preset)) for preset in list_presets()}
    tell(list(titles), as_json, lambda screen: screen.tabulate(("Preset", "Description"), titles.items(), names=2))


def find_title(text: str) -> str:
    """Return the comment in the first line of a preset, if there is one."""
    first = text.partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
