"""Training, ranking and the choice of concepts on one GPU, beside the bars."""

from __future__ import annotations

from benchmarks.sections.markdown import Record, describe_setting, format_verdict, make_table

FEW, MANY = "epoch: FB15k, m 15, batch 1000", "epoch: FB15k, m 300, batch 1000"
FLATNESS = 1.2  # the most that m = 15 and m = 300 may differ
TEXT = (
    "Seconds, the median with the lowest and highest beside it. One epoch is every training triple once: shuffling, "
    "Bernoulli corruption that avoids known triples, all updates and constraints; the choice of concepts is timed "
    "apart, over all training triples with one negative each. Ranking is filtered, of both sides of all test triples, "
    "from parameters on the device. The paper's recipe (hinge, SGD, l1, k 5, one negative, vectors of unit length) but "
    "for the row with 128 negatives, drawn for each triple (self-adversarial loss, Adam, no lengths held)."
)


def render_engine(record: Record) -> str:
    """Return the section on the engine."""
    measures = record["measures"]
    rows = []
    for name, found in measures.items():
        seconds, bar = found["seconds"], found["bar"]
        judged = [f"at most {bar:g} s", format_verdict(found["met"])] if bar is not None else ["", ""]
        rows.append([name, f"{seconds['median']:.4f}", f"{seconds['low']:.4f} to {seconds['high']:.4f}", *judged])
    if FEW in measures and MANY in measures:
        medians = [measures[name]["seconds"]["median"] for name in (FEW, MANY)]
        ratio = max(medians) / min(medians)
        verdict = format_verdict(ratio <= FLATNESS)
        rows.append(["m 15 against m 300, FB15k", f"{ratio:.2f}x", "", f"within {FLATNESS:g}x", verdict])
    setting = "\n".join(describe_setting(record))
    table = make_table(["what", "median (s)", "low to high (s)", "bar", ""], rows)
    return f"## On a GPU\n\n{setting}\n\n{TEXT}\n\n{table}"
