"""`itransf evaluate`: rank the triples of a split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

import itransf
from itransf.cli.options import AsJson, Device, Explain, Out, RunFolder, open_run, parse_memory
from itransf.cli.output import Columns, Screen, add_reasons, format_number, format_share, tell_rows
from itransf.errors import ConfigError

if TYPE_CHECKING:
    from itransf.evaluation import Evaluation

MAIN = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
SHORT = ("mr", "mrr", "hits@1", "hits@10")
POINT = 0.01  # least difference of MRR or Hits@k for which both rules are shown
MARKS = {"no better than popularity": "no better", "too few triples to tell": "too few"}


def evaluate_run(
    run: RunFolder,
    *,
    split: Annotated[Literal["train", "valid", "test"], Option(help="Triples to rank.")] = "test",
    ties: Annotated[
        Literal["realistic", "optimistic", "pessimistic"], Option(help="How tied scores are ranked.")
    ] = "realistic",
    memory: Annotated[str, Option(metavar="SIZE", help="Memory for scores, such as 512MB or 2GB.")] = "512MB",
    buckets: Annotated[int, Option(metavar="N", help="Number of frequency buckets.")] = 3,
    bucket_edges: Annotated[Literal["count", "log"], Option(help="Buckets of equal size or log width.")] = "count",
    bucket_weighting: Annotated[Literal["relation", "query"], Option(help="Unit of means in a bucket.")] = "relation",
    relations: Annotated[bool, Option("--relations", help="Add a table of all relations.")] = False,
    weighted: Annotated[bool, Option("--weighted", help="Count each triple by its weight.")] = False,
    triples: Annotated[int | None, Option(metavar="N", help="Random sample of N triples to rank; 0: all.")] = None,
    calibration: Annotated[bool, Option("--calibration", help="Evaluate the probabilities instead.")] = False,
    plot: Annotated[Path | None, Option(metavar="FILE", help="Reliability plot of --calibration: .png, .svg.")] = None,
    explain: Explain = False,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Rank the triples of a split: MR, MRR, Hits@k.

    --calibration evaluates the probabilities of answers instead. A file has the triples with their ranks; with
    --relations the relations, with --calibration the bins of probability.
    """
    if plot is not None and not calibration:
        raise ConfigError("--plot draws what --calibration measures; give both")
    if explain and (out is None or relations or calibration):
        raise ConfigError("--explain is for the triples in a file; give --out without --relations and --calibration")
    if plot is not None:
        itransf.interpret.plot.check_picture(plot)
    others = {
        "--weighted": weighted,
        "--relations": relations,
        "--triples": triples is not None,
        "--ties": ties != "realistic",
        "--buckets": buckets != 3,
        "--bucket-edges": bucket_edges != "count",
        "--bucket-weighting": bucket_weighting != "relation",
    }
    given = ", ".join(name for name, is_given in others.items() if is_given)
    if calibration and given:
        raise ConfigError(f"--calibration judges probabilities, not ranks; leave out {given}")
    opened = open_run(run, device)
    if calibration:
        judged = opened.assess_calibration(split, memory=parse_memory(memory))
        if plot is not None:
            itransf.interpret.write_reliability(judged["bins"], plot)
        tell_rows(judged, judged["bins"], out, as_json, lambda screen: show_calibration(judged, screen))
        return
    evaluation = opened.evaluate(
        split,
        ties=ties,
        memory=parse_memory(memory),
        buckets=buckets,
        bucket_edges=bucket_edges,
        bucket_weighting=bucket_weighting,
        progress=True,
        weighted=weighted,
        triples=triples,
    )
    found = evaluation.to_dict()
    rows = found["relations"] if relations or out is None else list_ranks(opened, evaluation)
    add_reasons(opened, rows, explain)
    tell_rows(found, rows, out, as_json, lambda screen: show_evaluation(found, screen, relations))


def list_ranks(run: itransf.Run, evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the ranked triples as `itransf score` does, with their filtered ranks among all entities."""
    ranks, name_triple = evaluation.ranks, itransf.prediction.inputs.name_triple
    triples = [name_triple(run.graph, triple)[:3] for triple in ranks.triples.tolist()]
    rows = [each.to_dict() for each in run.score(triples, progress=True)]
    for side in ("tail", "head"):
        for row, rank in zip(rows, ranks.ranks(side, ties=evaluation.ties).tolist(), strict=True):
            row[f"standard_{side}_rank"] = rank
    return rows


def show_evaluation(evaluation: Mapping[str, Any], screen: Screen, relations: bool = False) -> None:
    """Print what `Evaluation.to_dict` returns, with a table of all relations if wanted."""
    metrics = itransf.evaluation.METRICS
    rows: list[tuple[str, ...]] = []
    for protocol in ("filtered", "raw"):
        for side in ("both", "head", "tail"):
            rows.append((protocol * (side == "both"), side, *format_metrics(evaluation[protocol][side], metrics)))
    columns = ("", "", *metrics.values(), "Queries")
    ranked = f"{evaluation['split']}, counted by weights" if evaluation.get("weighted") else evaluation["split"]
    title = f"Ranks on {ranked} (Hits in percent). Standard protocol: all entities are candidates."
    best = evaluation["typed"]["both"]
    shares = [itransf.evaluation.format_metric(name, best[name]) for name in ("hits@1", "hits@10")]
    asked = f"{best['queries']:,} queries (a {evaluation['split']} triple without its head, or without its tail)"
    told = f"In {asked}, predict ranks the answer first in {shares[0]} % and among its ten best in {shares[1]} %.\n"
    screen.say(told, wrap=True)
    if "sampled_from" in evaluation:
        ranked = f"{best['queries'] // 2:,} of {evaluation['sampled_from']:,} {evaluation['split']} triples"
        screen.say(f"A random sample of {ranked} was ranked; itransf evaluate RUN --triples 0 ranks all.\n", wrap=True)
    if shared := evaluation.get("also_in_train"):
        ranked = f"{shared:,} of {best['queries'] // 2:,} ranked {evaluation['split']} triples"
        told = "also in train, so the model was shown them; results on them mean little"
        screen.say(f"Note: {ranked} {'is' if shared == 1 else 'are'} {told}.\n", wrap=True)
    screen.tabulate(columns, rows, names=2, title=title)
    bounds = (evaluation[name]["both"]["mrr"] for name in ("optimistic", "pessimistic"))
    mrr = [itransf.evaluation.format_metric("mrr", bound) for bound in bounds]
    if mrr[0] != mrr[1]:
        screen.say(f"Ties: {evaluation['ties']}. Filtered MRR would be {mrr[0]} optimistic, {mrr[1]} pessimistic.")
    screen.say()
    if differ(evaluation["typed"], evaluation["filtered"]):
        rows = [("", side, *format_metrics(found, metrics)) for side, found in evaluation["typed"].items()]
        title = "Type-constrained, as in itransf predict: only entities that fit the relation are candidates"
        title += "" if evaluation["ties"] == "realistic" else "; ties count half"
        screen.tabulate(columns, rows, names=2, title=title)
        screen.say()
    show_buckets(evaluation["buckets"], screen)
    show_categories(evaluation["categories"], screen)
    if relations:
        rows = [
            (entry["label"], f"{entry['train_triples']:,}", entry["category"], *format_metrics(entry["both"], SHORT))
            for entry in evaluation["relations"]
        ]
        screen.say()
        screen.tabulate(("Relation", "Train", "Map", *name_metrics(SHORT)), rows, title="By relation, filtered")
        screen.say()
        show_skill(evaluation["relations"], screen)


def differ(typed: Mapping[str, Mapping[str, float]], standard: Mapping[str, Mapping[str, float]]) -> bool:
    """Return whether the two rules differ by more than a point in the MRR or a Hits@k of both sides or of one."""
    pairs = ((found, standard[side]) for side, found in typed.items())
    return any(abs(found[name] - other[name]) > POINT for found, other in pairs for name in MAIN if name != "mr")


def show_skill(relations: Iterable[Mapping[str, Any]], screen: Screen) -> None:
    """Print a table of relations ranked as predictions are, compared with the frequency of answers in train."""
    rows = []
    for entry in relations:
        skill = entry["skill"]
        *metrics, queries = format_metrics(entry["typed"], ("hits@1", "mrr"))
        cells = (f"{skill['popularity']:.3f}", f"{skill['gain']:+.2f}", f"{skill['low']:+.2f} to {skill['high']:+.2f}")
        rows.append((entry["label"], MARKS.get(skill["verdict"], ""), *metrics, *cells, queries))
    columns = ("Relation", "", "Hits@1", "MRR", "Popular", "Skill", "95 %", "Queries")
    screen.tabulate(columns, rows, names=2, title="By relation, type-constrained")
    screen.say(
        "Popular: MRR of ranking by how often an entity is an answer in the training set. Skill: MRR minus Popular, "
        "with its 95 % interval. No better: no better than Popular. Too few: too few triples to tell.",
        wrap=True,
    )


def show_calibration(judged: Mapping[str, Any], screen: Screen) -> None:
    """Print what `assess_calibration` returns."""
    size = f"{judged['questions']:,} queries of {judged['split']}"
    total = judged["hits"][0]
    agree = "agree with" if total["agree"] else "differ from"
    told = f"{total['expected']:,.0f} true candidates are expected, {total['observed']:,} are observed"
    screen.say(f"The probabilities {agree} {judged['split']}: {told}.\n")
    guesses: Columns = {
        "": str,
        "Brier": lambda name: format_number(judged["brier"][name], 4),
        "Log loss": lambda name: format_number(judged["log_loss"][name], 4),
    }
    screen.tabulate_each(judged["brier"], guesses, title=f"The ten best candidates of {size}; lower is better")
    screen.say()
    hits: Columns = {
        "Relations": lambda entry: entry["relations"],
        "Queries": lambda entry: f"{entry['questions']:,}",
        "Expected": lambda entry: format_number(entry["expected"], 0),
        "95 % interval": lambda entry: f"{max(entry['low'], 0):,.0f} to {entry['high']:,.0f}",
        "Observed": lambda entry: f"{entry['observed']:,}",
        "Agree": lambda entry: ("yes" if entry["agree"] else "no") if entry["questions"] else "–",
    }
    screen.tabulate_each(judged["hits"], hits, title="True candidates, by the frequency of relations in train")
    screen.say()
    bins: Columns = {
        "Probability, %": lambda entry: format_share(entry["probability"]),
        "True, %": lambda entry: format_share(entry["true"]),
        "95 % interval": lambda entry: f"{format_share(entry['low'])} to {format_share(entry['high'])}",
        "Candidates": lambda entry: f"{entry['candidates']:,}",
    }
    screen.tabulate_each(judged["bins"], bins, names=0, title="Reliability")


def show_buckets(buckets: Iterable[Mapping[str, Any]], screen: Screen) -> None:
    """Print the table of frequency buckets."""
    rows, weighting = [], "relation"
    for bucket in buckets:
        (least, most), weighting = bucket["train_triples"], bucket["weighting"]
        bounds = f"{least:,} to {most:,}" if least < most else f"{least:,}"
        rows.append((bounds, f"{bucket['relations']:,}", *format_metrics(bucket, MAIN)))
    title = f"By frequency, filtered (each {weighting} counts the same)"
    screen.tabulate(("Train triples", "Relations", *name_metrics(MAIN)), rows, title=title)
    screen.say()


def show_categories(categories: Iterable[Mapping[str, Any]], screen: Screen) -> None:
    """Print the table of mapping categories, with Hits@10 of each side."""
    rows = []
    for category in (each for each in categories if each["both"]["queries"]):
        *metrics, queries = format_metrics(category["both"], SHORT)
        sides = [itransf.evaluation.format_metric("hits@10", category[side]["hits@10"]) for side in ("head", "tail")]
        rows.append((category["category"], *metrics, *sides, queries))
    *headings, queries = name_metrics(SHORT)
    columns = ("Mapping", *headings, "Hits@10 head", "Hits@10 tail", queries)
    screen.tabulate(columns, rows, title="By mapping category, filtered")


def name_metrics(names: Iterable[str]) -> list[str]:
    """Return the headings of metrics, and of the number of queries."""
    return [*(itransf.evaluation.METRICS[name] for name in names), "Queries"]


def format_metrics(metrics: Mapping[str, float], names: Iterable[str]) -> tuple[str, ...]:
    """Return metrics as text, and the number of queries."""
    return *(itransf.evaluation.format_metric(name, metrics[name]) for name in names), f"{metrics['queries']:,}"
