"""`playout-tournament openings`: a book, and one that goes on after the command was killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from playout import games
from playout.games import Position
from playout.players.comparison.openings_command import BookTerms, first_image, search
from playout.players.comparison.openings_command import SearchTask as Task
from support.commands import finish, invoke, run, start
from support.waiting import wait_until

GAME = "mnk(m=5,n=4,k=4)"
WORDS = ("playout-tournament", "openings", GAME, "--number", "30", "--simulations", "300",
         "--player", "uct(seed=1,threads=1)")  # fmt: skip


def openings_in(path: Path) -> list[list[int]]:
    lines = path.read_text().splitlines()
    return [list(map(int, each[1:-1].split(","))) for each in lines if each.startswith("[")]


def test_a_killed_command_goes_on_to_the_same_book(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.txt", tmp_path / "killed.txt"
    code, output = run(*WORDS, "--output", str(whole))
    assert code == 0, output
    assert output.splitlines()[-1].endswith("openings of 120 searched ones")
    process = start(*WORDS, "--output", str(killed))
    partial = killed.with_name("killed.txt.partial")
    wait_until(
        lambda: (
            (partial.exists() and partial.read_bytes().count(b"\n") > 5)
            or process.poll() is not None
        )
    )
    process.send_signal(signal.SIGKILL)
    finish(process)
    code, output = run(*WORDS, "--seed", "3", "--output", str(killed))
    if partial.exists():
        assert code == 1
        assert "a book with other options" in output
    code, output = run(*WORDS, "--output", str(killed))
    assert code in (0, 2), output  # 2: it had ended before the signal
    assert killed.read_bytes() == whole.read_bytes()
    assert not partial.exists()
    game = games.load(GAME)
    found = openings_in(whole)
    assert 10 < len(found) <= 30
    assert len({first_image(game, tuple(each)) for each in found}) == len(found)
    terms = BookTerms(GAME, "uct(seed=1,threads=1)", 300)
    for each in found[:3]:
        value = search(Task(0, tuple(each), terms))
        assert value is not None
        assert abs(value - 0.5) <= 0.15
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'name = "x"\ngames = ["{GAME}"]\nformat = "match"\nrounds = 1\n'
        'openings = { file = "whole.txt" }\n'
        '[[entrants]]\nname = "a"\nplayer = "random"\n[[entrants]]\nname = "b"\nplayer = "greedy"\n'
    )
    code, output = run("playout-tournament", "validate", str(spec))
    assert code == 0, output


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("nim", "--number", "5"), "none has a win rate that differs from 0.5 by 0 to 0.15: use a"),
        (("nim", "--output", "none/b.txt"), "none/b.txt cannot be written: No such file"),
        (("nim", "--beyond", "0.3"), "--beyond is larger than --within: lower it"),
        (("nim", "--shortest", "9"), "--shortest is larger than --longest: lower it"),
        (("nimm",), "unknown game 'nimm'"),
        (("pig",), "there are no books of openings of games with chance, such as pig"),
        (("nim", "--player", "no_one"), "unknown player 'no_one'"),
        (("nim", "--player", "random", "--number", "1"), "reports no win rate"),
    ],
)
def test_faults_are_said(
    words: tuple[str, ...], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = run("playout-tournament", "openings", *words)
    assert code != 0
    assert fault in " ".join(output.split()), output
    assert "Traceback" not in output
    (tmp_path / "nim-openings.txt").write_text("mine")
    code, output = invoke("playout-tournament", "openings", "nim")
    assert (code, "exists: remove it" in output) == (2, True)


def test_unbalanced_openings(tmp_path: Path) -> None:
    path = tmp_path / "u.txt"
    words = ("--number", "10", "--beyond", "0.15", "--within", "0.4", "--simulations", "200")
    code, output = run("playout-tournament", "openings", GAME, *words, "--output", str(path))
    assert code == 0, output
    assert "differs from 0.5 by 0.15 to 0.4" in path.read_text().replace("\n# ", " ")
    assert not Position(games.load(GAME), openings_in(path)[0]).winner
