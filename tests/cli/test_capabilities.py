"""Commands on models without concepts, and on those whose scores cannot be explained."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from cli.conftest import call, write_triples

LEARNS_RELATIONS = {
    **{"distmult": True, "complex": True, "ntn": False, "rotate": True, "tucker": True, "tatec": False, "irn": True},
    **{"kg2e": True, "ctransr": False, "rescal": True},
    **{"stubs:TransH": False, "stubs:BilinearModel": True},
}
QUICK = ("training.epochs=1", "training.batch_size=8", "model.dim=4", "warm_start.epochs=0")
WORKING = {
    "evaluate": ("evaluate", "RUN"),
    "predict": ("predict", "RUN", "--head", "Lyon", "--relation", "city_in", "--more"),
    "predict --explain": ("predict", "RUN", "--head", "Lyon", "--relation", "city_in", "--more", "--explain"),
    "predict pairs": ("predict", "RUN", "--relation", "city_in", "--more"),
    "score": ("score", "RUN", "TRIPLES"),
    "export": ("export", "RUN", "--out", "NEW"),
    "report": ("report", "RUN", "--out", "NEW"),
    "info": ("info", "RUN"),
    "explain": ("explain", "RUN", "Lyon", "city_in", "France", "--parts"),
    "learn entity": ("learn", "RUN", "MENTIONS", "--entity", "Nantes", "--out", "NEW"),
}
REFUSED = {
    "relation": ("relation", "RUN", "near"),
    "concepts": ("concepts", "RUN"),
    "interpret": ("interpret", "RUN", "--no-ranking"),
    "edit": ("edit", "RUN", "--prune", "1", "--out", "NEW"),
}
EXPLAINED = ("distmult", "complex")
NEEDS_CONCEPTS = ("concepts", "edit")
LEARN = ("learn", "RUN", "PAIRS", "--relation", "twin", "--out", "NEW")


class Place(NamedTuple):
    """A trained model and the files beside it."""

    model: str
    folder: Path

    def call(self, words: tuple[str, ...], new: Path) -> tuple[int, str, str]:
        """Run a command, with the paths in place of the words in capitals."""
        paths = {
            "RUN": self.folder / "run",
            "TRIPLES": self.folder / "triples.tsv",
            "MENTIONS": self.folder / "mentions.tsv",
            "PAIRS": self.folder / "pairs.tsv",
            "NEW": new,
        }
        trusted = ("--plugin", self.model) if ":" in self.model else ()
        done = call(*(paths.get(word, word) for word in words), *trusted)
        return done.code, done.out, done.err


@pytest.fixture(scope="module", params=LEARNS_RELATIONS)
def place(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a run of one epoch and files to use it with."""
    folder = tmp_path_factory.mktemp("capabilities")
    settings = [f"--set={setting}" for setting in (f"model.name={request.param}", *QUICK)]
    done = call("train", data, "--out", folder / "run", *settings, "--device", "cpu", "--quiet")
    assert done.code == 0, done.err
    write_triples(folder / "triples.tsv", [("Lyon", "near", "Paris")])
    write_triples(folder / "mentions.tsv", [("Nantes", "city_in", "France")])
    (folder / "pairs.tsv").write_text("Lyon\tMilano\nParis\tMadrid\n", encoding="utf-8")
    return Place(request.param, folder)


def check_refusal(code: int, out: str, err: str, *words: str) -> None:
    """Check for one sentence on stderr that names the model and what can be used instead."""
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert all(word in err.lower() for word in words)


@pytest.mark.parametrize("command", WORKING)
def test_a_command_that_needs_only_scores_works(place: Place, command: str, tmp_path: Path) -> None:
    code, out, err = place.call(WORKING[command], tmp_path / "new.html")
    assert code == 0, err
    assert out
    assert (tmp_path / "new.html").exists() == ("NEW" in WORKING[command])


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_needs_concepts_or_parts_is_refused(place: Place, command: str, tmp_path: Path) -> None:
    outcome = place.call(REFUSED[command], tmp_path / "new.html")
    if place.model in EXPLAINED and command not in NEEDS_CONCEPTS:
        assert outcome[0] == 0, outcome
    else:
        check_refusal(*outcome, "model", place.model.rpartition(":")[2].lower(), "itransf")
    assert not (tmp_path / "new.html").exists()


def test_a_relation_is_learned_only_where_it_is_an_embedding(place: Place, tmp_path: Path) -> None:
    outcome = place.call(LEARN, tmp_path / "new.html")
    if LEARNS_RELATIONS[place.model]:
        assert outcome[0] == 0, outcome
    else:
        check_refusal(*outcome, f"model {place.model.lower()}", "parameters", "train again")
    assert (tmp_path / "new.html").exists() == LEARNS_RELATIONS[place.model]
