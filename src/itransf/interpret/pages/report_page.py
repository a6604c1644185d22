"""The report: what a run learned, how well, and by which concepts, as one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from itransf.config import format_toml
from itransf.interpret.attention import Attention
from itransf.interpret.cards import ConceptCard
from itransf.interpret.measures import Finding
from itransf.interpret.pages.attention_map import show_heatmap
from itransf.interpret.pages.concept_cards import show_cards
from itransf.interpret.pages.figures import METRICS, draw_training, format_metric, show_metrics, show_tiles
from itransf.interpret.pages.finding_list import show_findings
from itransf.interpret.pages.markup import Content, Markup, element, join, make_page
from itransf.interpret.pages.relation_table import make_cell, make_table, show_rare, show_relations
from itransf.interpret.pages.sharing_circle import show_sharing
from itransf.interpret.sharing import SharingGraph

SCRIPTS = ("tables.js", "heatmap.js", "circle.js")

HOW_CARDS = (
    "Used by: relation sides (H head, T tail) and the weight each gives the concept, from 0.05 on.",
    "Falls by: the validation triples of its users are ranked again with the concept taken away and the weights of its "
    "users renormalised over the other concepts they may use; the triples of all other relations lose nothing. A side "
    "that uses nothing else leaves entities where they are.",
    "Moves: |D e - e| / |e| for the concept's matrix D and each entity e on the sides that use it; the average is over "
    "all of them, the names are from their more frequent half.",
    "Nearest: the cosine of the two matrices, each minus the identity.",
)
HOW_SHARING = (
    "A line is as strong as what two relations have in common: of each side's attention the part that rests on the "
    "same concepts, averaged over the two sides; heads are compared with heads or crosswise with tails, whichever "
    "gives more.",
    "Learned from others: a concept is taken to have learned from each relation in proportion to its training triples "
    "times the attention it gives the concept. A relation's own share and all donors' shares sum to one.",
)
HOW_FINDINGS = (
    "Attention vectors are compared by their cosine. Inverse pairs: average precision of (cos(head of r, tail of q) + "
    "cos(tail of r, head of q)) / 2 over all pairs of relations. Symmetric relations: area under the ROC curve of "
    "cos(head of r, tail of r).",
    "95 %: over resamplings of what is counted. By chance: the mean over permutations that give the labels to random "
    "relations; p is how often one of them does as well.",
)


@dataclass(frozen=True)
class Example:
    """A triple of the report: its explanation, the table of its split, and whether the model misses it."""

    sentence: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    missed: bool = False


@dataclass(frozen=True, eq=False)
class ReportContent:
    """Everything a report tells.

    Attributes:
        model: Name of the model's class.
        info: What the run is, as `Run.info` gives it.
        history: One entry per epoch.
        evaluation: What `Evaluation.to_dict` returns; None where there was nothing to rank.
        relations: What is known of each relation, most frequent first; with figures where it was ranked.
        attention: Of the model, if it has concepts; so with the rest.
        names: What people call some of the concepts.
        cards: The concepts, those missed most first.
        sharing: Who shares with whom.
        examples: Triples, told.
        findings: How far the model can be read, in figures.
        is_explained: Whether the model's score can be split into parts.
    """

    model: str
    info: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    evaluation: Mapping[str, Any] | None
    relations: Sequence[Mapping[str, Any]]
    attention: Attention | None = None
    names: Mapping[int, str] | None = None
    cards: Sequence[ConceptCard] = ()
    sharing: SharingGraph | None = None
    examples: Sequence[Example] = ()
    findings: Sequence[Finding] = ()
    is_explained: bool = True


def make_report(content: ReportContent) -> str:
    """Return the report as one HTML page that needs nothing else."""
    sections = {
        "metrics": ("Metrics", _show_metrics(content)),
        "relations": ("Relations", _show_relations(content)),
        "heatmap": ("Attention", _show_attention(content)),
        "concepts": ("Concepts", _show_concepts(content)),
        "sharing": ("Sharing", _show_sharing(content)),
        "findings": ("Findings", _show_findings(content)),
        "examples": ("Examples", _show_examples(content)),
        "settings": ("Training", _show_settings(content)),
    }
    told = {key: section for key, section in sections.items() if section[1] is not None}
    links = [element("a", title, href=f"#{key}") for key, (title, _) in told.items()]
    title = f"{content.info['graph']}: what {content.model} learned"
    main = element(
        "main", *(element("section", element("h2", name), body, id=key) for key, (name, body) in told.items())
    )
    foot = element("footer", "Made with itransf. This file holds everything it shows; it opens without a network.")
    body = join([_show_top(content), element("nav", element("div", *links), class_="jump"), main, foot])
    return make_page(title, body, SCRIPTS)


def _show_top(content: ReportContent) -> Markup:
    """Return the title, one sentence, and the key numbers."""
    info, evaluation = content.info, content.evaluation
    triples = info["triples"]
    lead = (
        f"A model that learned from {triples['train']:,} triples to find the missing ones, "
        "and the shared concepts it reads every relation with."
        if content.attention is not None
        else f"A model that learned from {triples['train']:,} triples to find the missing ones."
    )
    tiles = []
    if evaluation is not None:
        both = evaluation["filtered"]["both"]
        tiles += [
            (f"{name} on {evaluation['split']}", format_metric(name, both[METRICS[name]]))
            for name in METRICS
            if name != "Hits@3"
        ]
    tiles += [(name, f"{info[name]:,}") for name in ("entities", "relations")]
    tiles.append((f"training triples, {triples['valid']:,} valid, {triples['test']:,} test", f"{triples['train']:,}"))
    if content.attention is not None:
        used, concepts = int(content.attention.used.sum()), content.attention.weights.shape[2]
        tiles.append(("concepts used", f"{used} of {concepts}"))
    return element(
        "header",
        element("p", f"{content.model} on {info['graph']}", class_="kicker"),
        element("h1", f"What was learned from {info['graph']}"),
        element("p", lead, class_="lead"),
        show_tiles(tiles),
        class_="top",
    )


def _show_metrics(content: ReportContent) -> Markup:
    if content.evaluation is None:
        return element("p", "The graph has neither test nor validation triples, so nothing was measured.")
    split, ties = content.evaluation["split"], content.evaluation["ties"]
    lead = (
        f"Every {split} triple asks two questions: who is the head, who is the tail? The answer is ranked among all "
        f"entities; other known answers do not count against it (filtered; ties: {ties})."
    )
    return join([element("p", lead, class_="soft"), show_metrics(content.evaluation)])


def _show_relations(content: ReportContent) -> Markup:
    labels = {card.concept: card.name for card in content.cards}
    lead = "Tap a heading to sort. " + (
        "Concepts are listed with the weight each side gives them." if content.attention is not None else ""
    )
    table = show_relations(content.relations, content.attention, labels)
    return join([element("p", lead, class_="soft"), element("div", table, class_="panel")])


def _show_attention(content: ReportContent) -> Markup | None:
    if content.attention is None:
        note = f'{content.model} has no concepts to show: train a model with model.name = "itransf" to see some.'
        return element("p", note, class_="soft")
    lead = (
        "Rows are the two sides of each relation, columns concepts. Sides that share a column read their entities "
        "alike and learned from each other's triples; rows and columns are ordered so that these stand together."
    )
    suggestions = [""] * content.attention.weights.shape[2]
    for card in content.cards:
        suggestions[card.concept] = card.suggestion
    heat = show_heatmap(content.attention, content.names, suggestions)
    return join([element("p", lead, class_="soft"), element("div", heat, class_="panel")])


def _show_concepts(content: ReportContent) -> Markup | None:
    if not content.cards:
        return None
    lead = (
        "One card per concept, those that are missed most first. Names are suggested from the relations a concept "
        "serves, unless somebody gave it one."
    )
    return join([element("p", lead, class_="soft"), show_cards(content.cards), _show_more(*HOW_CARDS)])


def _show_sharing(content: ReportContent) -> Markup | None:
    if content.sharing is None:
        return None
    lead = (
        "Relations joined by the concepts they share. The rarest third is marked; relations with more triples lend "
        "them strength, because what a concept learned from one relation serves all that use it."
    )
    rare = element("div", show_rare(content.sharing), class_="panel") if content.sharing.rare else None
    return join([element("p", lead, class_="soft"), show_sharing(content.sharing), rare, _show_more(*HOW_SHARING)])


def _show_findings(content: ReportContent) -> Markup | None:
    told = show_findings(content.findings)
    if told is None:
        return None
    lead = (
        "How far the attention can be read. Which relations are inverse or symmetric is mined from train, "
        "at an overlap of 80 %, for this table alone; training never sees it."
    )
    return join([element("p", lead, class_="soft"), told, _show_more(*HOW_FINDINGS)])


def _show_more(*lines: str) -> Markup:
    """Return how figures are made, behind a line to open."""
    told = (element("p", line) for line in lines)
    return element("details", element("summary", "How these figures are made"), *told, class_="more")


def _show_examples(content: ReportContent) -> Markup | None:
    if not content.is_explained:
        return element(
            "p", f"The score of a {content.model} model cannot be split, so no example is explained.", class_="soft"
        )
    if not content.examples:
        return None
    lead = (
        "Triples the model was not trained on: some it finds, then some it misses. A score is a distance, and less is "
        "better; its split says what each concept adds to the distance of the answer and to that of its closest rival."
    )
    return join([element("p", lead, class_="soft"), *(_show_example(example) for example in content.examples)])


def _show_example(example: Example) -> Markup:
    columns = [(column, place > 0) for place, column in enumerate(example.columns)]
    rows = [[make_cell(cell, "n" if place else None) for place, cell in enumerate(row)] for row in example.rows]
    table: Content = None
    if rows:
        table = element(
            "details", element("summary", "The split"), make_table(None, columns, rows, live=False), class_="more"
        )
    kind = "panel example miss" if example.missed else "panel example"
    return element("div", element("p", example.sentence), table, class_=kind)


def _show_settings(content: ReportContent) -> Markup:
    info = content.info
    epochs = f"{info['epochs']:,} epoch{'s' * (info['epochs'] != 1)}"
    told = f"{info['parameters']:,} parameters, {epochs} in {info['seconds']:,.0f} s."
    notes = element("ul", *(element("li", note) for note in info["notes"])) if info["notes"] else None
    curve = draw_training(content.history, info["config"]["validation"]["metric"])
    toml = element("details", element("summary", "All settings"), element("pre", format_toml(info["config"])))
    return join([element("p", told, class_="soft"), element("div", curve, notes, toml, class_="panel")])
