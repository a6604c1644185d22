"""Explanations made by hand: an answer that is ahead, one that is behind, one of a model without concepts."""

from __future__ import annotations

from dataclasses import replace

from golden.attentions import make_attention
from itransf.interpret.evidence import Evidence
from itransf.interpret.explanation import Contribution, Explanation, Removal, RunnerUp
from itransf.interpret.naming import Use, name_concepts
from itransf.interpret.paths import Path
from itransf.interpret.sharing import SharedConcept, concepts_behind


def make_part(side: str, concept: int | None, weight: float | None, value: float, rival: float) -> Contribution:
    return Contribution(side, concept, weight, value, rival, rival - value)


def make_explanation() -> Explanation:
    """Return why Paris is the capital of France, of a model with concepts."""
    nearest = Evidence("Q2807", "capital_of", "Q29", "Madrid", "capital_of", "Spain", 1.5)
    backing = Evidence("Q142", "has_capital", "Q90", "France [state]", "has_capital", "Paris", 2.25)
    sharing = {
        side: tuple(found) for side, found in concepts_behind(make_attention(), "capital_of", {4: "lies in"}).items()
    }
    return Explanation(
        *("Q90", "capital_of", "Q142", "Paris", "capital_of", "France [state]"),
        "tail",
        None,
        -1.25,
        1.25,
        {"head": 3.0, "tail": 1.0},
        {"head": 1234, "tail": 1200},
        (
            make_part("head", 1, 1.0, 2.0, 2.5),
            make_part("translation", None, None, -0.5, -0.75),
            make_part("tail", 0, 0.75, -0.125, 0.125),
            make_part("tail", 4, 0.24, -0.1, 0.1),
            make_part("tail", 2, 0.01, -0.025, 0.025),
        ),
        RunnerUp("Q31", "Belgium", -2.0, 2.0),
        sharing,
        (nearest,),
        (backing, nearest),
        (
            Removal("tail", 0, 0.75, -4.5, 17.0),
            Removal("tail", 4, 0.24, -1.5, 1.0),
            Removal("tail", 2, 0.01, -1.25, 1.0),
        ),
        name_concepts(make_attention(), {4: "lies in"}),
        paths=(Path(1, 11, 9, text="France [state] – has_capital – Paris", triples=(backing,)),),
    )


def make_loser() -> Explanation:
    """Return the same for an answer that is behind, a training triple, asked for its head."""
    explanation = make_explanation()
    parts = tuple(
        Contribution(part.side, part.concept, part.weight, part.rival or 0.0, part.value, -(part.favour or 0.0))
        for part in explanation.contributions
    )
    return replace(
        explanation,
        side="head",
        known="train",
        score=-2.0,
        distance=2.0,
        contributions=parts,
        runner_up=RunnerUp("Q90", "Lyon", -1.25, 1.25),
        supporting=explanation.nearest,
        paths=(),
    )


def make_plain() -> Explanation:
    """Return the same for a model without concepts, and an answer without a rival."""
    explanation = make_explanation()
    parts = (
        Contribution("head", None, None, 2.0, None, None),
        Contribution("translation", None, None, 0.5, None, None),
        Contribution("tail", None, None, -1.25, None, None),
    )
    return replace(
        explanation,
        known="test",
        contributions=parts,
        runner_up=None,
        sharing=None,
        nearest=(),
        supporting=(),
        removals=(),
        paths=(),
    )


def make_product() -> Explanation:
    """Return the same for a model whose score is a sum of concepts with signs."""
    explanation = make_explanation()
    parts = (
        Contribution("relation", 1, 0.7, 3.0, 1.0, 2.0, symmetry="antisymmetric"),
        Contribution("relation", 0, -0.3, -0.5, 0.0, -0.5, symmetry="symmetric"),
    )
    users = (Use("has_capital", "has_capital", "relation", -0.6), Use("city_in", "city in", "relation", 0.5))
    return replace(
        explanation,
        score=2.5,
        distance=None,
        contributions=parts,
        runner_up=RunnerUp("Q31", "Belgium", 1.0, None),
        sharing={"relation": (SharedConcept(1, 0.7, users), SharedConcept(0, -0.3, ()))},
        removals=(Removal("relation", 1, 0.7, -0.5, 17.0),),
    )
