"""`itransf concepts`, `explain` and `relation`: shared concepts, reasons for a rank, relatives of a relation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

import itransf
from itransf.cli import output
from itransf.cli.options import AsJson, Device, Out, RunFolder, Triples, check_out, open_run
from itransf.errors import ConfigError

if TYPE_CHECKING:
    from itransf.interpret import Attention, ConceptCard, Explanation, SharingGraph
    from itransf.interpret.evidence import Evidence
    from itransf.models import Side

MOST_ROWS = 60  # relations that are listed
TITLES = {"head": "Head concepts", "tail": "Tail concepts", "concepts": "Concepts"}
MOST_USES = {1: 3, 2: 2}  # concepts of a part that are listed, by the number of parts
MOST_SHARING = 12  # relations whose sharing is listed
MOST_RARE, MOST_LINKS, MOST_DONORS = 30, 30, 3


def show_concepts(
    run: RunFolder,
    *,
    relation: Annotated[list[str] | None, Option(metavar="R", help="Relation, or pattern such as '*capital*'.")] = None,
    top: Annotated[int | None, Option(metavar="N", help="Only the N most frequent relations.")] = None,
    plot: Annotated[Path | None, Option(metavar="FILE", help="Draw a heat map: .png, .svg or .html.")] = None,
    table: Annotated[
        Path | None,
        Option(metavar="FILE", callback=check_out, help="Write the weights: .csv, .tsv, .parquet or .jsonl."),
    ] = None,
    card: Annotated[list[int] | None, Option(metavar="N", help="Describe this concept.")] = None,
    cards: Annotated[bool, Option("--cards", help="Describe every concept, most important first.")] = False,
    triples: Triples = 1000,
    sharing: Annotated[bool, Option("--sharing", help="Show which relations the rare ones learn from.")] = False,
    rename: Annotated[list[str] | None, Option(metavar="N=NAME", help="Name a concept, or unname it (N=).")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show which relations share which concepts.

    Without options: the concepts of each relation and a heat map. --card describes a concept: the relations that use
    it, the entities that it moves or the triples whose scores it raises, and the loss of MRR without it.
    """
    if bool(card) + cards + sharing > 1:
        raise ConfigError("--card, --cards and --sharing exclude each other")
    if plot is not None:
        itransf.interpret.plot.check_heatmap(plot)
    opened = open_run(run, device)
    attention = opened.concepts()
    if rename:
        opened.name_concepts(parse_names(rename), run)
    given, chosen, is_part = opened.concept_names, attention, bool(relation) or top is not None
    names = itransf.interpret.name_concepts(attention, given)
    if is_part:
        chosen = attention.choose(itransf.interpret.choose_relations(attention, relation or (), top))
    files = write_files(chosen, names, plot, table, top)
    if card or cards:
        wanted = card or (chosen.used.nonzero()[0].tolist() if is_part else None)
        found = opened.cards(wanted, most_triples=triples, progress=not as_json)
        output.tell({"cards": [each.to_dict() for each in found]}, as_json, lambda screen: show_cards(found, screen))
    elif sharing:
        graph = opened.sharing()
        linked = graph.choose(chosen.relations.names) if is_part else graph
        output.tell(linked.to_dict(), as_json, lambda screen: show_sharing_graph(linked, screen, names))
    elif rename and not is_part and not files and not as_json:
        listed = ", ".join(f"{concept} {given[concept]}" for concept in sorted(given))
        output.make_screen().say(f"Named concepts: {listed or 'none'}")
    else:
        called = {"names": dict(sorted(given.items())), "suggested_names": dict(sorted(names.items()))}
        shown = {**chosen.to_dict(), **called, "plot": None, **files}
        shared = chosen.relations.names[:MOST_SHARING] if relation else ()

        def show(screen: output.Screen) -> None:
            show_attention(chosen.to_dict(), screen, names)
            if opened.members:
                screen.say(f"These are the concepts of {opened.info()['shown']}.")
                screen.say(describe_found(chosen, names) + "\n")
            show_sharing(attention, shared, screen, names)
            for what, path in files.items():
                screen.say(f"The {'heat map' if what == 'plot' else 'table of weights'} is in {path}")
            if not files:
                screen.say(itransf.interpret.format_heatmap(chosen, names))

        output.tell(shown, as_json, show)


def parse_names(texts: Sequence[str]) -> dict[int, str]:
    """Turn strings such as "3=lies in" into names by number."""
    names = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\d+)\s*=(.*)", text, re.DOTALL)
        if match is None:
            raise ConfigError(f'--rename {text!r}: write it as number=name, for example 3="lies in"')
        names[int(match[1])] = match[2]
    return names


def write_files(
    attention: Attention, names: Mapping[int, str], plot: Path | None, table: Path | None, top: int | None
) -> dict[str, str]:
    """Write the heat map and the table, and return their paths."""
    if plot is not None:
        options = {} if top is None else {"most_relations": top}
        itransf.interpret.write_heatmap(attention, plot, names, **options)
        missing = itransf.interpret.find_missing_letters(attention, names) if plot.suffix.lower() == ".png" else ""
        if missing:
            shown = missing if len(missing) <= 12 else f"{missing[:12]} and {len(missing) - 12} more"
            output.remark(
                f"No font here has {shown}: {plot} shows boxes. As .svg or .html the viewer's fonts are used."
            )
    if table is not None:
        itransf.prediction.write_table(itransf.interpret.tabulate_attention(attention, names), table)
    return {what: str(path) for what, path in (("plot", plot), ("table", table)) if path is not None}


def show_attention(attention: Mapping[str, Any], screen: output.Screen, names: Mapping[int, str]) -> None:
    """Print what `Attention.to_dict` returns as a table of relations and their concepts, strongest first."""
    relations = attention["relations"]
    parts = {part: title for part, title in TITLES.items() if part in relations[0]}
    rows = (
        (
            relation["label"],
            *(output.format_uses(relation[part], names, MOST_USES[len(parts)]) for part in parts),
            f"{relation['train_triples']:,}",
        )
        for relation in relations[:MOST_ROWS]
    )
    title = f"Concepts of each relation (with number and weight, at least {output.LEAST})"
    screen.tabulate(("Relation", *parts.values(), "Train"), rows, names=1 + len(parts), title=title)
    screen.say()
    output.count_rest(len(relations) - MOST_ROWS, "relations", screen)


def describe_found(attention: Attention, names: Mapping[int, str]) -> str:
    """Return in how many members of an ensemble the used concepts are found, most first."""
    lines = []
    for times in range(attention.seeds, 0, -1):
        concepts = [i for i, found in enumerate(attention.found) if found == times and attention.used[i]]
        listed = ", ".join(itransf.interpret.call_concept(concept, names) for concept in concepts)
        lines += [f"Found in {times} of {attention.seeds} seeds: {listed}"] if concepts else []
    return "\n".join(lines)


def show_sharing(
    attention: Attention, relations: Sequence[str], screen: output.Screen, names: Mapping[int, str] | None = None
) -> None:
    """Print the other users of the concepts of these relations."""
    for relation in relations:
        label = attention.relations.label(attention.relations.index(relation))
        screen.say(f"Who shares the concepts of {label}", "bold")
        output.show_shared(itransf.interpret.concepts_behind(attention, relation, names), screen)
        screen.say()


def show_cards(cards: Sequence[ConceptCard], screen: output.Screen) -> None:
    """Print concept cards."""
    for card in cards:
        screen.say(f"Concept {card.concept}: {card.name}", "bold")
        for name, value in card.describe():
            screen.itemize(value, f"{name:12} ")
        screen.say()


def show_sharing_graph(graph: SharingGraph, screen: output.Screen, names: Mapping[int, str]) -> None:
    """Print rare relations with their source relations, then the strongest links."""
    shown = graph.rare or graph.members
    donors: output.Columns = {
        "Relation": lambda member: member.label,
        "Sources (share of what its concepts learned)": lambda member: ", ".join(
            f"{donor.label} {donor.share:.0%}" for donor in member.donors[:MOST_DONORS]
        ),
        "Train": lambda member: f"{member.train_triples:,}",
        "From others": lambda member: f"{1 - member.own:.0%}",
    }
    title = f"{'Rare relations' if graph.rare else 'Relations'} and their source relations"
    screen.tabulate_each(shown[:MOST_RARE], donors, names=2, title=title)
    output.count_rest(len(shown) - MOST_RARE, "relations", screen)
    labels = {member.relation: member.label for member in graph.members}
    links = [
        (
            labels[link.left],
            labels[link.right],
            "with sides swapped" if link.crossed else "",
            ", ".join(itransf.interpret.call_concept(concept, names) for concept in link.concepts),
            f"{link.weight:.2f}",
        )
        for link in graph.links[:MOST_LINKS]
    ]
    screen.say()
    title = "Relations that share most (1: the same concepts)"
    screen.tabulate(("Relation", "Relation", "", "Concepts", "Shared"), links, names=4, title=title)
    output.count_rest(len(graph.links) - MOST_LINKS, "links", screen)


SIDES: tuple[Side, Side] = ("tail", "head")  # in the order of their ranks
MOST_REMOVALS = 3
LONGEST = 24  # letters of an entity's label in a heading

Found = Mapping[str, Any]


def explain_triple(
    run: RunFolder,
    head: Annotated[str, Argument(metavar="HEAD", help="Head: name or label.")],
    relation: Annotated[str, Argument(metavar="RELATION", help="Relation: name or label.")],
    tail: Annotated[str, Argument(metavar="TAIL", help="Tail: name or label.")],
    side: Annotated[Literal["head", "tail"], Option(help="Side of the answer, compared with competitors.")] = "tail",
    triples: Annotated[int, Option(metavar="N", help="Number of paths and of training triples to name.")] = 3,
    parts: Annotated[bool, Option("--parts", help="Show how the score adds up, and ranks without concepts.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Explain the rank of a triple.

    Shown are the rank, paths in the training set that connect head and tail and how often such paths hold, similar
    triples, and the concepts of the relation. The triple may be in the graph or not.
    """
    found = open_run(run, device).explain(head, relation, tail, side=side, evidence=triples)
    output.tell(found.to_dict(), as_json, lambda screen: show_explanation(found, screen, parts))


def show_explanation(found: Explanation, screen: output.Screen, parts: bool = False) -> None:
    """Print the sentences of an explanation, then what they are taken from; the parts of the score if asked for."""
    screen.say(found.sentence, wrap=True)
    if found.paths:
        screen.say("\nReasons in train, and how often they hold", "bold")
        for path in found.paths:
            screen.itemize(path.describe(found.relation_label))
    has_distance = found.distance is not None
    measured = "distance of both entities, as the relation projects them"
    summed = "cosine of what each dimension adds to the score" if found.contributions else "cosine of both embeddings"
    compared = measured if has_distance else summed
    nearest = f"Most similar training triples ({compared})"
    show_evidence(found.nearest, "Distance" if has_distance else "Cosine", nearest, screen)
    supporting = "Most supporting training triples (how much the lead depends on each, estimated)"
    show_evidence(found.supporting, "Influence", supporting, screen)
    if found.sharing is not None:
        screen.say(f"\nConcepts of {found.relation_label}, and the relations that share them", "bold")
        output.show_shared(found.sharing, screen, output.MOST_SHARED)
    if parts:
        show_parts(found, screen)


def show_parts(found: Explanation, screen: output.Screen) -> None:
    """Print the score as a sum of parts, and the rank without each concept."""
    ranks = ", ".join(f"{side} {found.ranks[side]:,g} of {found.candidates[side]:,}" for side in SIDES)
    screen.say(f"\nScore {found.score:,.3f}; rank: {ranks} candidates whose triple is not known\n", wrap=True)
    columns, rows = itransf.interpret.tabulate_split(found)
    headings = [itransf.interpret.heatmap.shorten(column, LONGEST) for column in columns]
    split = "score" if found.distance is None else "distance (-score)"
    screen.tabulate(headings, rows, names=2, title=f"The {split} as a sum of parts")
    changes = list_changes(found)
    if changes:
        screen.say("\nThe rank without each concept", "bold")
        for change in changes:
            screen.itemize(change)


def show_evidence(evidence: Sequence[Evidence], column: str, title: str, screen: output.Screen) -> None:
    """Print training triples with their values."""
    if evidence:
        screen.say()
        columns: output.Columns = {**output.TRIPLE, column: lambda each: f"{each['value']:,.3f}"}
        screen.tabulate_each(map(asdict, evidence), columns, names=3, title=title)


def list_changes(found: Explanation) -> list[str]:
    """Return what the removal of each of the first concepts changes."""
    lines = []
    for removal in [removal for removal in found.removals if abs(removal.weight) >= output.LEAST][:MOST_REMOVALS]:
        called = itransf.interpret.call_concept(removal.concept, found.concept_names)
        is_same = removal.rank == found.rank
        moved = f"stays at rank {found.rank:,g}" if is_same else f"goes from rank {found.rank:,g} to {removal.rank:,g}"
        scores = f"score {found.score:,.3f} to {removal.score:,.3f}"
        where = f" on the {removal.side} side" if removal.side in SIDES else ""
        lines.append(f"without {called}{where}, {found.answer} {moved} ({scores})")
    return lines


ROLES = {"inverse": "inverse of", "equivalent": "same as", "broader": "sub-relation of", "narrower": "contains"}
KINDS = {"triples": "Triples", "matrices": "Matrices", "translation": "Vectors", "attention": "Attention"}
"""Headings of shares and similarities, where there are any."""
MOST_CONCEPTS = 5


def show_relation(
    run: RunFolder,
    name: Annotated[str, Argument(metavar="NAME", help="Relation: name or label.")],
    top: Annotated[int, Option(metavar="N", help="Number of candidates for each role.")] = 3,
    out: Out = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show the concepts of a relation and similar relations.

    Candidates for its inverse, equivalent and sub-relations are listed. Scores are computed from the parameters of the
    model; the share of the relation's triples that fit is next to them.
    """
    opened = open_run(run, device)
    profile = opened.relation(name, top).to_dict()
    names = itransf.interpret.name_concepts(opened.concepts(), opened.concept_names) if opened.has_concepts else {}
    rows = [{"role": role, **found} for role in ROLES for found in profile[role]]
    content = {**profile, "concept_names": names}
    columns = ["role", *itransf.interpret.similarity.RelatedRelation.__annotations__]
    output.tell_rows(content, rows, out, as_json, lambda screen: show_profile(profile, names, screen), columns)


def show_profile(profile: Found, names: Mapping[int, str], screen: output.Screen) -> None:
    """Print what `RelationProfile.to_dict` returns, with the names of concepts."""
    screen.say(f"{profile['sentence']}\n", wrap=True)
    for key, heading in TITLES.items():
        for place, use in enumerate(
            each for each in profile[key][:MOST_CONCEPTS] if abs(each["weight"]) >= output.LEAST
        ):
            called = itransf.interpret.call_concept(use["concept"], names)
            screen.say(f"{'' if place else heading:15}{called}, weight {use['weight']:.2f}")
    screen.say(f"Symmetric      {output.format_number(profile['symmetric'], 3)}\n")
    candidates = [found for key in ROLES for found in profile[key]]
    kinds = ["score", *(kind for kind in KINDS if any(found[kind] is not None for found in candidates))]
    rows = []
    for key, role in ROLES.items():
        for place, found in enumerate(profile[key]):
            values = ("" if found[kind] is None else output.format_number(found[kind], 3) for kind in kinds)
            rows.append(("" if place else role, found["label"], *values))
    screen.tabulate(("Closest to", "Relation", "Score", *(KINDS[kind] for kind in kinds[1:])), rows, names=2)
    used = "compare matrices and vectors of relations" if "matrices" in kinds else "are cosines of relation vectors"
    compared = "; the attention is shown for comparison" if "attention" in kinds else ""
    shares = " Triples: the share of triples that fit, in train, valid and test." if "triples" in kinds else ""
    screen.say(f"Scores are at most 1 and {used}{compared}.{shares}", wrap=True)
