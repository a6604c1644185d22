"""The list of findings, as a page shows it: figures, what chance would give, and what each is about."""

from __future__ import annotations

from collections.abc import Sequence

from itransf.interpret.measures import Finding
from itransf.interpret.pages.markup import Markup, element, join

ABOUT = {
    "sparse attention": "Relation sides that keep to the concepts they may use, with weights that sum to one.",
    "inverse pairs": "Relations that hold each other's triples reversed: are these the pairs whose head and tail "
    "attention are most alike crosswise? 1 if they come before all other pairs.",
    "symmetric relations": "Relations whose triples hold both ways: are these the ones whose head and tail attention "
    "are most alike? 1 if all come before the others, 0.5 if attention does not tell.",
    "domains by top concept": "Do relation sides with the same heaviest concept come from the same domain, the first "
    "part of a name such as /film/film/genre?",
}
"""What each measure that a report shows is about."""


def show_findings(findings: Sequence[Finding]) -> Markup | None:
    """Return the list of what was measured; None where nothing was."""
    told = [finding for finding in findings if finding.value is not None and finding.measure in ABOUT]
    return join([_show_finding(finding) for finding in told]) if told else None


def _show_finding(finding: Finding) -> Markup:
    figures = [f"{finding.n:,} {finding.counted}", f"95 %: {finding.low:.2f} to {finding.high:.2f}"]
    if finding.null is not None:
        figures.append(f"by chance {finding.null:.3f}, p = {finding.p:.4f}")
    title = join([element("b", f"{finding.value:.3f}"), f" {finding.measure}, {finding.statistic}"])
    return element(
        "div",
        element("p", title),
        element("p", ABOUT[finding.measure], class_="soft"),
        element("p", "; ".join(figures), class_="soft"),
        class_="panel",
    )
