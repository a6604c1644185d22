"""docs/interpretation.md from what was stored: no figure there is typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from benchmarks.recipes import PLANTED, TITLES, write_recipe
from benchmarks.sections.formulas import COLUMNS, FORMULAS, OPENING
from benchmarks.sections.markdown import Record, describe_setting, make_table

EXPECTED = {
    "wn18": "python -m benchmarks.interpretation --dataset wn18 --device cuda --jobs 7",
    "fb15k-237": "python -m benchmarks.interpretation --dataset fb15k-237 --seeds 6 7 8 9 10",
    "world": "python -m benchmarks.interpretation --dataset world",
    "world-reading": "python -m benchmarks.interpretation --dataset world-reading",
    PLANTED: "python -m benchmarks.interpretation --dataset planted --seeds 5 6 7 8 9",
    "named-triples": "python -m benchmarks.named_triples --dataset world",
}
"""The records that the page is made of, and what measures each."""
HEADINGS = {
    "world-reading": "world, trained to be read",
    PLANTED: "planted graphs",
    "named-triples": "explanations, by training again",
}
OTHERS = ("random", "STransE", "sparse coding of STransE", "dense attention", "dense + l1")
OUTDATED = "- The recipe is another by now; these figures are of the commit above, and to be measured again."
ABSENT = "-"
Found = Mapping[str, Any]


def render(records: Mapping[str, Record]) -> str:
    """Return the page for these records, by data set; of what is missing it says so."""
    names = [*EXPECTED, *(name for name in records if name not in EXPECTED)]
    formulas = "\n\n".join(f"**{measure[0].upper()}{measure[1:]}.** {text}" for measure, text in FORMULAS.items())
    parts = [OPENING, f"## What is measured\n\n{formulas}\n", COLUMNS]
    parts += [_render_section(name, records.get(name)) for name in names]
    return "\n".join(parts)


def _render_section(name: str, record: Record | None) -> str:
    heading = f"## {HEADINGS.get(name, name)}\n"
    if record is None:
        return f"{heading}\nNot measured yet: `{EXPECTED[name]}`.\n"
    if "finding" in record:
        return "\n".join([heading, *describe_setting(record), "", _describe_single(record)])
    opening = [heading, *describe_setting(record), *_describe_recipe(name, record), ""]
    return "\n".join([*opening, *_describe_models(record)])


def _describe_single(record: Record) -> str:
    """Return the table of a record with one finding about one model."""
    finding = record["finding"]
    rows = [_begin_row(finding)]
    unfinished = [] if record.get("complete", True) else ["Not all trainings are stored yet."]
    return "\n".join([make_table(_begin_titles("ITransF"), rows), *_list_remarks([finding]), *unfinished, ""])


def _describe_recipe(name: str, record: Record) -> list[str]:
    """Say how the models were trained; settings given with the command have the last word."""
    recipe, given = record["recipe"], record["config"].get("settings", [])
    start = f"preset `{recipe['preset']}`" if recipe["preset"] else "defaults for the graph's size"
    lines = [] if recipe == write_recipe(name) else [OUTDATED]
    lines.append(f"- Recipe: {start}{_list_settings([*recipe['settings'], *given])}")
    keys = {_key_of(setting) for setting in given}
    for model, own in recipe["own"].items():
        kept = [setting for setting in own if _key_of(setting) not in keys]
        lines += [f"- {TITLES[model]} alone{_list_settings(kept)}"] if kept else []
    lines += [f"- {recipe['remark'][0].upper()}{recipe['remark'][1:]}."] if recipe["remark"] else []
    return lines + _list_stopped(record)


def _list_stopped(record: Record) -> list[str]:
    """Name the models whose training ended before its last epoch."""
    lines = []
    for model, settings in record["settings"].items():
        done = [run["epochs"] for run in record["runs"] if run["model"] == model and "error" not in run]
        wanted = settings["training"]["epochs"]
        if done and min(done) < wanted:
            lines.append(f"- {TITLES[model]} was stopped after {min(done)} of {wanted} epochs: read it as unfinished.")
    return lines


def _key_of(setting: str) -> str:
    return setting.partition("=")[0]


def _list_settings(given: Sequence[str]) -> str:
    settings = {_key_of(setting): setting for setting in given}.values()  # the last word on each
    return f", with `{' '.join(settings)}`" if settings else ""


def _describe_models(record: Record) -> list[str]:
    """Return the tables of a record: accuracy, then findings, once for each support size that was planted."""
    sizes = list(dict.fromkeys(entry.get("support size") for entry in record["runs"]))
    parts = []
    for size in sizes:
        runs = [run for run in record["runs"] if run.get("support size") == size]
        models = [model for model in record["models"] if model.get("support size") == size]
        if size is not None:
            parts.append(f"### At most {size} concept{'' if size == 1 else 's'} on a side\n")
        parts += [_tabulate_accuracy(runs), *_tabulate_findings(models)]
    unfinished = not record.get("complete") or any(not model["final"] for model in record["models"])
    return parts + (["Not everything is measured yet; the same command goes on.\n"] if unfinished else [])


def _tabulate_accuracy(runs: Sequence[Found]) -> str:
    """Return the accuracy of each model, filtered, with its spread over seeds."""
    rows = []
    for model in dict.fromkeys(run["model"] for run in runs):
        done = [run for run in runs if run["model"] == model and "error" not in run]
        failed = [run["error"] for run in runs if run["model"] == model and "error" in run]
        if not done:
            rows.append([TITLES[model], "failed: " + failed[0].splitlines()[0], *[ABSENT] * 6])
            continue
        figures = [(split, key) for split in ("valid", "test") for key in ("mrr", "hits@10")]
        cells = [_spread([run[split][key] for run in done]) for split, key in figures]
        epochs, seconds = (f"{mean(run[key] for run in done):.0f}" for key in ("epochs", "seconds"))
        rows.append([TITLES[model], str(len(done)), *cells, epochs, seconds])
    titles = ["model", "seeds", "valid MRR", "valid Hits@10", "test MRR", "test Hits@10", "epochs", "training, s"]
    return make_table(titles, rows)


def _spread(values: Sequence[float]) -> str:
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    return f"{mean(values):.3f}{spread}"


def _tabulate_findings(models: Sequence[Found]) -> list[str]:
    """Return the findings about ITransF with the other models beside it, and what they amount to."""
    if not models:
        return []
    main, *others = models
    others = sorted(others, key=lambda other: OTHERS.index(other["name"]) if other["name"] in OTHERS else len(OTHERS))
    columns = [{_key(finding): finding for finding in other["findings"]} for other in others]
    rows = []
    for finding in main["findings"]:
        if finding["value"] is not None:
            beside = [_format_beside(column.get(_key(finding))) for column in columns]
            rows.append([*_begin_row(finding), *beside])
    titles = [*_begin_titles(f"{main['name']}, {_count(main['runs'], 'seed')}"), *(other["name"] for other in others)]
    return [make_table(titles, rows), *_list_remarks(main["findings"]), *_compare(main, others), ""]


def _begin_titles(name: str) -> list[str]:
    return ["measure", name, "95 %", "by chance", "p", "of"]


def _begin_row(finding: Found) -> list[str]:
    interval = f"{_format(finding['low'])} to {_format(finding['high'])}"
    p = ABSENT if finding["p"] is None else f"{finding['p']:.3g}"
    counted = f"{finding['n']:,} {finding['counted']}"
    return [_name(finding), _format(finding["value"]), interval, _format(finding["null"]), p, counted]


def _list_remarks(findings: Iterable[Found]) -> list[str]:
    """Return what a reader should know about single findings, and what was not measured."""
    kinds = {True: "", False: "not measured: "}
    return [
        f"- {_name(finding)}: {kinds[finding['value'] is not None]}{finding['remark']}."
        for finding in findings
        if finding["remark"]
    ]


def _compare(main: Found, others: Sequence[Found]) -> list[str]:
    """Say in which measures the model is ahead of all others, and who is ahead of it in which."""
    own = {_key(finding): finding for finding in main["findings"] if finding["value"] is not None}
    ahead, behind = [], []
    for key, finding in own.items():
        rivals = {
            other["name"]: found["value"]
            for other in others
            for found in other["findings"]
            if _key(found) == key and found["value"] is not None
        }
        better = [name for name, value in rivals.items() if value > finding["value"]]
        if better:
            behind.append(f"{_name(finding)} ({', '.join(better)})")
        elif rivals and all(value < finding["value"] for value in rivals.values()):
            ahead.append(_name(finding))
    chance = [_name(finding) for finding in own.values() if finding["p"] is not None and finding["p"] >= 0.05]
    lines = [f"- {main['name']} is highest of all in: {'; '.join(ahead)}."] if ahead else []
    lines += [f"- Not told from chance (p of 0.05 or more): {'; '.join(chance)}."] if chance else []
    return lines + ([f"- Others are higher in: {'; '.join(behind)}."] if behind else [])


def _key(finding: Found) -> tuple[str, str]:
    return finding["measure"], finding["statistic"]


def _name(finding: Found) -> str:
    return f"{finding['measure']}, {finding['statistic']}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _format_beside(finding: Found | None) -> str:
    """Return a baseline's value, with what chance would give it."""
    if finding is None or finding["null"] is None:
        return _format(finding and finding["value"])
    return f"{_format(finding['value'])} ({_format(finding['null'])})"


def _format(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"
