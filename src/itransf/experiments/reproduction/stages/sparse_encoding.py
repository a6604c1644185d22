"""Table 4: sharing found after training, by sparse coding of STransE's matrices, against sharing that is trained."""

from __future__ import annotations

from collections.abc import Mapping

from itransf.experiments.reproduction import comparing, paper
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.paper import Published
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.attention import picture_attention, read_stored
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.experiments.reproduction.stages.sparseness import scale_rows
from itransf.experiments.reproduction.summaries import summarise
from itransf.interpret.heatmap import Words

COLUMNS = ("Method", "Matrices", *comparing.COMPARED)
SHARES = Words("Codes", "atom", "share")
CODED = "STransE, the one that is coded"
DETAILS = ("Graph", "Atoms", "Penalty", "Codes per matrix", "kept", "Error, %", "Library")
METHOD = (
    f"{comparing.METHOD} The matrices of a trained STransE are written as non-negative mixtures of as many atoms as "
    "ITransF has concepts. The penalty is set such that a matrix has about as many codes as ITransF may use; the rest "
    "is cut off, and what is kept is fitted again. Entity and relation vectors stay STransE's. One STransE is coded, "
    "that of seed 0, whose own figures are in the second row: against those one sees what coding costs."
)
CAPTION = "the codes of STransE's matrices; each row is a side, as shares of its largest code."
CODES = "*Error* is the square of what the atoms do not give back of the matrices, as a share of theirs."


def make_coding(scope: Scope, dataset: str) -> Job:
    """Return the coding of a graph's STransE, with as many atoms and codes as its ITransF has concepts and support."""
    model = make_row(scope, dataset, "itransf").resolve().model
    options = (f"atoms={model.concepts}", f"nonzeros={model.support_size}")
    row = make_row(scope, dataset, "stranse")
    return scope.make_job(row.preset, method="sparse-coding", options=options)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs."""
    rows = [make_row(scope, dataset, row) for row in ("stranse", "itransf") for dataset in DATASETS]
    return rows + [make_coding(scope, dataset) for dataset in DATASETS]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each graph, what was coded, and the codes as heat maps."""
    parts: list[str | Table | Picture] = [METHOD]
    details: list[tuple[str, ...]] = []
    pictures: list[Picture] = []
    for dataset in DATASETS:
        parts.append(make_table(COLUMNS, tabulate(results, scope, dataset), title=scope.title(dataset)))
        records = results.find_seeds(make_coding(scope, dataset))
        details.append((scope.title(dataset), *describe_coding(records)))
        attention = read_stored(records)
        if attention is not None:
            pictures.append(picture_attention(scale_rows(attention), "codes", CAPTION, scope, dataset, SHARES))
    parts += [CODES, make_table(DETAILS, details), *pictures]
    return Section("Sparse coding of trained matrices (Table 4)", tuple(parts))


def tabulate(results: Results, scope: Scope, dataset: str) -> list[tuple[str, ...]]:
    """Return rows for STransE as trained, that one of them that is coded, what coding makes of it, and ITransF."""
    coding = make_coding(scope, dataset)
    stranse, coded, itransf = (
        results.find_seeds(job)
        for job in (make_row(scope, dataset, "stranse"), coding, make_row(scope, dataset, "itransf"))
    )
    parent = [record for record in stranse if record["seed"] == coding.seed]
    rows: tuple[tuple[str, list[Record], Mapping[str, Published]], ...] = (
        ("STransE", stranse, paper.MAIN["stranse"]),
        (CODED, parent, {}),
        ("STransE, sparse coding", coded, paper.SPARSE_ENCODING["sparse-encoding"]),
        ("ITransF", itransf, paper.SPARSE_ENCODING["itransf"]),
    )
    found = []
    for title, records, published in rows:
        summary = summarise(records)
        matrices = f"{summary.records[0]['matrices']:,}" if summary else "–"
        printed = None if scope.quick else published.get(dataset)
        found.append((title, matrices, *comparing.compare_with_paper(summary, printed)))
    return found


def describe_coding(records: list[Record]) -> tuple[str, ...]:
    """Return how the coding went."""
    if not records:
        return (MISSING, *["–"] * (len(DETAILS) - 2))
    coding = records[0]["coding"]
    return (
        f"{records[0]['matrices']:,}",
        f"{coding['penalty']:.2g}",
        f"{coding['non_zeros']:.1f}",
        f"{coding['non_zeros_kept']:.1f}",
        f"{100 * coding['error']:.2g}",
        coding["library"],
    )


SPARSE_ENCODING = Stage("sparse-encoding", "Table 4", list_jobs, render)
