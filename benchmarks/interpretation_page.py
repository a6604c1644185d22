"""Tables of docs/interpretation.md from the stored records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from benchmarks.markdown import ABSENT, describe_setting, format_value, make_table
from benchmarks.recipes import PLANTED, RECIPES, TITLES
from benchmarks.records import Record

COMMANDS = {
    "fb15k-icomplex": "python -m benchmarks.interpretation --dataset fb15k-icomplex --device cuda",
    "fb15k-237-icomplex": "python -m benchmarks.interpretation --dataset fb15k-237-icomplex --device cuda",
    "wn18-icomplex": "python -m benchmarks.interpretation --dataset wn18-icomplex --device cuda",
    "wn18rr-icomplex": "python -m benchmarks.interpretation --dataset wn18rr-icomplex --device cuda",
    "codex-s-icomplex": "python -m benchmarks.interpretation --dataset codex-s-icomplex --device cuda",
    "world-icomplex": "python -m benchmarks.interpretation --dataset world-icomplex",
    "world-ilineare": "python -m benchmarks.interpretation --dataset world-ilineare",
    "fb15k-ilineare": "python -m benchmarks.interpretation --dataset fb15k-ilineare --models ilineare --device cuda",
    "wn18": "python -m benchmarks.interpretation --dataset wn18 --device cuda --jobs 7",
    "fb15k-237": "python -m benchmarks.interpretation --dataset fb15k-237 --seeds 6 7 8 9 10",
    "world": "python -m benchmarks.interpretation --dataset world",
    "world-reading": "python -m benchmarks.interpretation --dataset world-reading",
    PLANTED: "python -m benchmarks.interpretation --dataset planted --seeds 5 6 7 8 9",
    "named-triples": "python -m benchmarks.named_triples --dataset world",
}
"""The records of the page, and the commands that measure them."""
HEADINGS = {
    "fb15k-icomplex": "IComplEx on FB15k",
    "fb15k-237-icomplex": "IComplEx on FB15k-237",
    "wn18-icomplex": "IComplEx on WN18",
    "wn18rr-icomplex": "IComplEx on WN18RR",
    "codex-s-icomplex": "IComplEx on CoDEx-S",
    "world-icomplex": "IComplEx on world",
    "world-ilineare": "ILineaRE on world",
    "fb15k-ilineare": "ILineaRE on FB15k",
    "wn18": "ITransF on WN18",
    "fb15k-237": "ITransF on FB15k-237",
    "world": "ITransF on world",
    "world-reading": "ITransF on world, trained for interpretability",
    PLANTED: "ITransF on planted graphs",
    "named-triples": "Explanations of ITransF, verified by retraining",
}
CITED = {"fb15k-237-icomplex-earlier-preset", "world-icomplex-full-rate"}
"""Records without a section, whose values are in the text."""
BASELINES = ("random", "ComplEx", "LineaRE", "STransE", "dense attention", "dense + l1")
OUTDATED = "- The recipe has changed since; these results are of the commit above."
UNLIKELY = 0.05  # the largest p of a finding that is distinguished from chance
Found = Mapping[str, Any]


def render(records: Mapping[str, Record]) -> str:
    """Return a section for each record, and the command for what is not measured."""
    names = [*COMMANDS, *(name for name in records if name not in {*COMMANDS, *CITED})]
    return "\n".join(_render_section(name, records.get(name)) for name in names)


def _render_section(name: str, record: Record | None) -> str:
    heading = f"## {HEADINGS.get(name, name)}\n"
    if record is None:
        return f"{heading}\nNot measured yet: `{COMMANDS[name]}`.\n"
    if "finding" in record:
        table = make_table(_begin_titles("ITransF"), [_begin_row(record["finding"])])
        parts = [*describe_setting(record), "", table, *_list_remarks([record["finding"]])]
    else:
        parts = [*describe_setting(record), *_describe_recipe(name, record), "", *_describe_models(record)]
    going_on = "." if OUTDATED in parts else "; the same command continues."
    unfinished = [] if record.get("complete") else ["", f"Not everything is measured{going_on}"]
    return "\n".join([heading, *parts, *unfinished, ""])


def _describe_recipe(name: str, record: Record) -> list[str]:
    """Return how the models were trained; settings of the command override those of the recipe."""
    recipe = record["recipe"]
    version = record["versions"].get("itransf", "")
    earlier = f" of version {version}" if version.startswith("0.1") else ""
    start = f"preset `{recipe['preset']}`" if "preset" in recipe else f"defaults{earlier}"
    given = [*recipe.get("settings", ()), *record["config"].get("settings", ())]
    settings = " ".join({setting.partition("=")[0]: setting for setting in given}.values())
    lines = [] if recipe == RECIPES.get(name, {}) else [OUTDATED]
    lines.append(f"- Recipe: {start}, with `{settings}`" if settings else f"- Recipe: {start}")
    lines += [f"- {recipe['remark']}"] if "remark" in recipe else []
    for model, config in record["settings"].items():
        done = [run["epochs"] for run in record["runs"] if run["model"] == model and "error" not in run]
        if done and min(done) < config["training"]["epochs"]:
            lines.append(f"- {TITLES[model]} stopped after {min(done)} of {config['training']['epochs']} epochs")
    return lines


def _describe_models(record: Record) -> list[str]:
    """Return accuracy and findings, for each support size of planted graphs separately."""
    parts = []
    for size in dict.fromkeys(entry.get("support size") for entry in record["runs"]):
        runs, models = ([one for one in record[key] if one.get("support size") == size] for key in ("runs", "models"))
        if size is not None:
            parts.append(f"### At most {size} concept{'' if size == 1 else 's'} on a side\n")
        parts += [_tabulate_accuracy(runs, record["settings"]), *_tabulate_findings(models)]
    return parts


def _tabulate_accuracy(runs: Sequence[Found], settings: Mapping[str, Any]) -> str:
    """Return the filtered accuracy of each model, with the standard deviation over seeds."""
    rows = []
    for model in dict.fromkeys(run["model"] for run in runs):
        done = [run for run in runs if run["model"] == model and "error" not in run]
        if not done:
            reason = next(run["error"] for run in runs if run["model"] == model).splitlines()[0]
            rows.append([TITLES[model], f"failed: {reason}", *[ABSENT] * 6])
            continue
        cells = []
        for values in ([run[split][key] for run in done] for split in ("valid", "test") for key in ("mrr", "hits@10")):
            cells.append(f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else ""))
        epochs, seconds = (f"{mean(run[key] for run in done):.0f}" for key in ("epochs", "seconds"))
        warm = settings.get(model, {}).get("warm_start", {}).get("epochs", 0)
        epochs = f"{warm} + {epochs}" if warm else epochs
        rows.append([TITLES[model], str(len(done)), *cells, epochs, seconds])
    titles = ["model", "seeds", "valid MRR", "valid Hits@10", "test MRR", "test Hits@10", "epochs", "training, s"]
    return make_table(titles, rows)


def _tabulate_findings(models: Sequence[Found]) -> list[str]:
    """Return the findings about ITransF and the other models, and a summary."""
    if not models:
        return []
    main, *others = models
    others.sort(key=lambda other: BASELINES.index(other["name"]) if other["name"] in BASELINES else len(BASELINES))
    columns = [{_name(finding): finding for finding in other["findings"]} for other in others]
    measured = [finding for finding in main["findings"] if finding["value"] is not None]
    rows = [[*_begin_row(one), *(_format_other(column.get(_name(one))) for column in columns)] for one in measured]
    seeds = f"{main['runs']} seed{'' if main['runs'] == 1 else 's'}"
    titles = [*_begin_titles(f"{main['name']}, {seeds}"), *(other["name"] for other in others)]
    return [make_table(titles, rows), *_list_remarks(main["findings"]), *_judge(measured), *_compare(main, others)]


def _judge(findings: Iterable[Found]) -> list[str]:
    """Return which findings are losses, worse than chance, or not distinguished from chance."""
    lists: dict[str, list[str]] = {
        "A loss (the whole 95 % interval is below zero)": [],
        "Worse than chance (the whole 95 % interval is below the null)": [],
        f"Not distinguished from chance (p of {UNLIKELY} or more)": [],
    }
    losses, worse, chance = lists.values()
    for finding in findings:
        if finding["high"] is not None and finding["high"] < 0:
            losses.append(_name(finding))
        elif finding["p"] is not None and finding["p"] >= UNLIKELY:
            is_worse = finding["high"] is not None and finding["high"] < finding["null"]
            (worse if is_worse else chance).append(_name(finding))
    return [f"- {title}: {'; '.join(names)}." for title, names in lists.items() if names]


def _compare(main: Found, others: Sequence[Found]) -> list[str]:
    """Return in which measures the model has the highest value, and which models have higher ones.

    Random attention alone is nothing to compare with.
    """
    if all(other["name"] == "random" for other in others):
        return []
    ahead, behind = [], []
    for finding in main["findings"]:
        values = {
            other["name"]: found["value"]
            for other in others
            for found in other["findings"]
            if _name(found) == _name(finding) and None not in (found["value"], finding["value"])
        }
        better = [name for name, value in values.items() if value > finding["value"]]
        if better:
            behind.append(f"{_name(finding)} ({', '.join(better)})")
        elif values and all(value < finding["value"] for value in values.values()):
            ahead.append(_name(finding))
    lines = [f"- {main['name']} has the highest value in: {'; '.join(ahead)}."] if ahead else []
    return lines + ([f"- Others are higher in: {'; '.join(behind)}."] if behind else [])


def _begin_titles(name: str) -> list[str]:
    return ["measure", name, "95 %", "by chance", "p", "of"]


def _begin_row(finding: Found) -> list[str]:
    interval = f"{format_value(finding['low'])} to {format_value(finding['high'])}"
    p = ABSENT if finding["p"] is None else f"{finding['p']:.3g}"
    counted = f"{finding['n']:,} {finding['counted']}"
    return [_name(finding), format_value(finding["value"]), interval, format_value(finding["null"]), p, counted]


def _list_remarks(findings: Iterable[Found]) -> list[str]:
    """Return remarks about findings, and why some were not measured."""
    return [
        f"- {_name(finding)}: {'not measured: ' if finding['value'] is None else ''}{finding['remark']}."
        for finding in findings
        if finding["remark"]
    ]


def _name(finding: Found) -> str:
    statistic = finding["statistic"].replace("without donors", "without concepts of others")  # as it was called
    return f"{finding['measure']}, {statistic}"


def _format_other(finding: Found | None) -> str:
    """Return a baseline's value, with its null in parentheses."""
    if finding is None:
        return ABSENT
    if finding["null"] is None:
        return format_value(finding["value"])
    return f"{format_value(finding['value'])} ({format_value(finding['null'])})"
