"""What the organizer prints: a line for a match, the standings, tables."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rich.console import Console

from playout.laboratory.trial import display as trial_display
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import Sprt
from playout.server.organizer.console import LineDisplay, LiveDisplay, result, tables
from support.fixtures import KEY, fixture
from support.organizer import new_progress


def test_a_match_on_a_line() -> None:
    assert result(fixture(KEY, 1, 2, plies=7)) == "nim: Bob beat Ann (rules), 7 plies"
    assert result(fixture(KEY, 2, -1, plies=1)) == "nim: Bob and Ann tied (rules), 1 ply"
    late = fixture(KEY, 1, 1, plies=7, reason=Reason.ILLEGAL_MOVES, repeated=True)
    assert result(late) == "nim: Ann beat Bob (illegal moves), 7 plies, as before"
    assert "made no first move in time" in result(fixture(KEY, 1, 0))


def test_lines_now_and_then_have_the_standings(capsys: pytest.CaptureFixture[str]) -> None:
    progress, lines = new_progress(), LineDisplay()
    lines.refresh(progress, 100.0)
    assert capsys.readouterr().out == "Waiting for the entrants ...\n"
    progress.ledger.put(fixture(KEY, 1, 1))
    lines.match_ended(progress, fixture(KEY, 1, 1, plies=7))
    progress.ledger.put(fixture(KEY, 2, 2))
    lines.refresh(progress, 130.0)
    assert capsys.readouterr().out == "1 of 2  nim: Ann beat Bob (rules), 7 plies\n"
    lines.refresh(progress, 161.0)
    assert capsys.readouterr().out.splitlines() == [
        "2 of 2 matches · 0:01:01 so far · Ann Elo > -291",
        "  1  Ann  2  2  2  0  0  100.0%",
        "  2  Bob  0  2  0  0  2  0.0%",
    ]
    lines.refresh(progress, 261.0)
    assert capsys.readouterr().out == "", "they are what they were"


def test_a_wait_for_the_players_of_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    progress, lines = new_progress(), trial_display(100)
    lines.refresh(progress, 100.0)
    lines.refresh(progress, 101.0)
    lines.refresh(progress, 103.0)
    waits = ["Waiting for the players ...", "Waiting for the players ... 3 s"]
    assert capsys.readouterr().out.splitlines() == waits
    progress.ledger.put(fixture(KEY, 1, None))
    lines.refresh(progress, 110.0)
    assert "Waiting" not in capsys.readouterr().out


def test_lines_about_a_wait_are_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineDisplay()
    for now in (100.0, 101.9, 102.0, 103.0, 104.5, 160.0, 163.0, 220.0):
        lines.wait("Starting ...", now)
    lines.wait("Logging in ...", 221.0)
    assert capsys.readouterr().out.splitlines() == [
        "Starting ...",
        "Starting ... 2 s",
        "Starting ... 4 s",
        "Starting ... 60 s",
        "Starting ... 120 s",
        "Logging in ...",
    ]


def test_a_tournament_whose_lines_nobody_reads_any_more_is_interrupted() -> None:
    code = (
        "import signal, sys; from playout.server.organizer.console import LineDisplay;"
        "signal.signal(signal.SIGTERM, lambda *_: print('terminated', file=sys.stderr));"
        "lines = LineDisplay(); lines.show('first'); input();"
        "lines.show('second'); lines.show('third')"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "first\n"
        process.stdout.close()
        _, said = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert said == "terminated\n"


def test_a_wait_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineDisplay()
    for now in (1.0, 2.0):
        lines.wait("Starting the server ...", now)
    assert capsys.readouterr().out == "Starting the server ...\n"


def test_a_terminal_shows_for_how_long_something_is_waited_for() -> None:
    console = Console(width=80, force_terminal=True)
    shown = LiveDisplay(console)
    with console.capture() as capture:
        for now in (1.0, 1.1, 63.0):
            shown.wait("Starting the server ...", now)
        shown.close()
    drawn = re.sub("\x1b\\[[0-9;]*m", "", capture.get())
    assert "Starting the server ... 0:00:00" in drawn
    assert "Starting the server ... 0:01:02" in drawn


def test_standings_of_many_have_their_ratings() -> None:
    progress = new_progress(format_="round_robin", entrants=3)
    for leg in (1, 2):
        progress.ledger.put(fixture(KEY, leg, leg))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(tables(progress, 160.0))
    assert "Elo" in capture.get()
    assert " ± " in capture.get()


def test_tables_show_all_at_once() -> None:
    progress = new_progress(format_="sprt", rounds=0, sprt=Sprt())
    progress.ledger.put(fixture(KEY, 1, None, players=("Ann", "Bob[/]")))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(tables(progress, 160.0))
    shown = capture.get()
    assert "a test: sprt of nim" in shown
    assert "0:01:00 so far · LLR 0.00 (-2.94 to 2.94)" in shown
    assert "Ann against Bob[/]" in shown
    assert "points" in shown
