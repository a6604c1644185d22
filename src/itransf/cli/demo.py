"""`itransf demo`: train three models on the bundled graph and show the results of the best."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import itransf
from itransf.cli.options import AsJson, Device, Settings
from itransf.cli.output import PARTS, Screen, format_number, remark, tell

_TITLES = {"distmult": "DistMult", "complex": "ComplEx", "icomplex": "IComplEx"}


def show_demo(
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for the heat map and the run.")] = Path("demo"),
    seed: Annotated[int, Option(metavar="N", help="Random seed.")] = 0,
    settings: Settings = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Train three models on a bundled graph and predict.

    DistMult, ComplEx and IComplEx are trained on triples about the world; it takes about a minute.
    """
    if not as_json:
        remark("Training three models on 'world', a bundled graph of countries, cities, languages,")
        remark("currencies and organizations. This takes about a minute.\n")
    found, run, missing = itransf.demo.run_demo(out, seed, settings=settings or (), device=device)
    text = "" if found["heatmap"] else itransf.interpret.format_heatmap(run.concepts())
    tell(found, as_json, lambda screen: show_result(found, text, missing, screen))


def show_result(found: Mapping[str, Any], text: str, missing: str, screen: Screen) -> None:
    """Print the results of the demo.

    Args:
        found: Results of `run_demo`.
        text: Heat map as text, if there is no picture.
        missing: What to install for a picture.
        screen: Screen to print on.
    """
    show_metrics(found["models"], found["rare_relations"], screen)
    show_recovered(found["recovered"], found["hidden"], screen)
    show_discoveries(found["discoveries"], screen)
    screen.say("Which relations share which concepts", "bold")
    if found["heatmap"] is None:
        screen.say(f"{text}\nFor a picture: {missing}\n")
    else:
        screen.say(f"The heat map is in {found['heatmap']}")
        screen.say("Rows that are dark in the same column share a concept.\n")
    place = shlex.quote(found["run"])
    screen.say("What next:")
    screen.say(f"  itransf predict {place} --head Portugal --relation member_of")
    screen.say(f"  itransf explain {place} Portugal member_of NATO")
    screen.say(f"  itransf concepts {place} --relation capital_of")
    screen.say(f"  itransf evaluate {place} --relations")
    screen.say("  itransf train FILE.tsv        your own triples: head, relation, tail")


def show_metrics(models: Sequence[Mapping[str, Any]], rare: int, screen: Screen) -> None:
    """Print the table of the models."""
    keys = {**{key: itransf.evaluation.METRICS[key] for key in itransf.demo.METRICS}, "hits@10_rare": "Rare"}
    rows = (
        (
            _TITLES[model["model"]],
            *(itransf.evaluation.format_metric(key, model[key]) for key in keys),
            format_number(model["seconds"], 0),
        )
        for model in models
    )
    screen.say()
    screen.tabulate(("Model", *keys.values(), "Seconds"), rows, title="Link prediction on test triples")
    screen.say(
        "\nEach model ranks the true answer among all entities. MR is the mean rank (lower is better), MRR the mean of "
        "1 / rank, Hits@k the share of answers among the first k (in percent), Rare the Hits@10 on the rarest third of "
        f"the relations ({rare} of them, each counting the same).\n",
        wrap=True,
    )


def show_recovered(recovered: Sequence[Mapping[str, Any]], hidden: Mapping[str, float], screen: Screen) -> None:
    """Print test triples that the model ranks first, and how often it does."""
    shares = [itransf.evaluation.format_metric(name, hidden[name]) for name in ("hits@1", "hits@10")]
    screen.say("Triples that were hidden from IComplEx", "bold")
    screen.say(
        f"Of all entities that fit and are not known as answers, it ranks the hidden one first in {shares[0]} % of the "
        f"test queries, and among the first ten in {shares[1]} %. Some that it ranks first:\n",
        wrap=True,
    )
    rows = [
        (f"{each['head_label']} – {each['relation_label']} – ?", each["tail_label"], f"1 of {each['candidates']:,}")
        for each in recovered
    ]
    screen.tabulate(("Query", "Answer", "Rank"), rows, names=2)
    screen.say()


def show_discoveries(discoveries: Sequence[Mapping[str, Any]], screen: Screen) -> None:
    """Print new triples and the reasons for them."""
    if not discoveries:
        return
    screen.say("Triples that are not in the graph, but probable to IComplEx", "bold")
    screen.say("Of relations that have an answer for some, but not all of the entities that fit.\n", wrap=True)
    for number, each in enumerate(discoveries, start=1):
        triple = " – ".join(each[f"{part}_label"] for part in PARTS)
        screen.say(f"{number:2}. {triple}")
        screen.itemize(each["reason"], indent=4)
    screen.say()
