from __future__ import annotations

import os
import re
import signal

import pytest

from itransf import progress
from itransf.progress import current_tracker, noticing_interrupts, track


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def test_plain_lines_come_now_and_then(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with track("training", 1000, "epochs") as tracker:
        for _ in range(8):
            clock[0] += 4.0
            tracker.advance(100, note="loss 0.5")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "training: 300/1,000 epochs, 25.0/s, 28 s left  loss 0.5",
        "training: 600/1,000 epochs, 25.0/s, 16 s left  loss 0.5",
        "training: 800/1,000 epochs in 32.0 s  loss 0.5",
    ]


def test_loading_and_compiling_before_the_first_result_are_not_counted(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with track("training", 100, "epochs") as tracker:
        clock[0] += 500.0
        tracker.advance()
        assert tracker.rate() is None
        clock[0] += 10.0
        tracker.advance()
    assert capsys.readouterr().err.splitlines()[:2] == [
        "training: 1/100 epochs",
        "training: 2/100 epochs, 10.0 s each, 16 min left",
    ]


def test_work_of_an_earlier_process_does_not_make_this_one_faster(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with track("training", 100, "epochs", done=90) as tracker:
        for _ in range(3):
            clock[0] += 10.0
            tracker.advance()
        assert tracker.rate() == pytest.approx(0.1)
    assert "93/100 epochs, 10.0 s each, 70 s left" in capsys.readouterr().err


def test_the_last_line_tells_how_long_it_took(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with track("reading", 2, "files") as tracker:
        clock[0] += 1.0
        tracker.advance()
        tracker.advance()
    assert capsys.readouterr().err == "reading: 2/2 files in 1.0 s\n"


def test_a_note_stays_until_another_comes(clock: list[float]) -> None:
    with track("x", 3, shown=False) as tracker:
        tracker.advance(note="first")
        tracker.advance()
        assert (tracker.done, tracker.note) == (2, "first")


def test_silence_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with track("x", 5, shown=False) as tracker:
        tracker.advance(5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    with track("ranking", 2000, "queries") as tracker:
        tracker.advance(1500, note="nearly there")
        tracker.advance(500)
    out, shown = capsys.readouterr()
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert out == ""
    assert "ranking" in plain
    assert "100%" in plain
    assert "2,000/2,000 queries" in plain
    assert "nearly there" in plain


def test_a_line_stays_above_the_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with track("ranking", 2000, "queries"):
        current_tracker().say("a [red] word")
    out, shown = capsys.readouterr()
    assert out == ""
    assert "a [red] word\n" in shown


def test_what_is_said_goes_to_the_innermost_work_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    before = current_tracker()
    before.say("to nobody")
    with track("outer", 1) as outer, track("hidden", 1, shown=False):
        assert current_tracker() is outer
        with track("inner", 1) as inner:
            assert current_tracker() is inner
        with pytest.raises(ValueError, match="no"), track("failing", 1):
            raise ValueError("no")
        capsys.readouterr()
        current_tracker().say("to somebody")
        assert capsys.readouterr().err == "to somebody\n"
    assert current_tracker() is before


def test_the_bar_ends_when_the_block_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    for _ in range(2):  # a bar that was left open would refuse a second one
        with pytest.raises(ValueError, match="no"), track("x", 5):
            raise ValueError("no")


def test_everything_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with track("x", 1) as tracker:
        tracker.advance()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noticed_and_the_second_stops(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with noticing_interrupts() as event:
        assert not event.is_set()
        os.kill(os.getpid(), number)
        assert event.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
