"""`playout-server puzzles`, which finds puzzles and stores them."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

from playout.server.cli.database_commands import opened
from playout.server.storage.queries import Reader
from support.commands import finish, invoke, running_server, start
from support.stored_game import PlayedGame
from support.waiting import wait_until

#: A game without puzzles in a new database.
GAME = "mnk(m=3,n=3,k=3)"
#: A match of it with a puzzle: the third move of the first player alone wins.
ACTIONS = (8, 0, 6, 7, 2, 3, 4)


def counts(url: str) -> dict[str, int]:
    with contextlib.closing(Reader(url)) as reader:
        return reader.puzzle_counts()


def find(url: str, *options: str) -> tuple[int, str]:
    code, output = invoke("playout-server", "puzzles", "--database", url, *options)
    return code, output.splitlines()[-1]


def test_the_puzzles_of_stored_matches_are_found_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    with opened(url, create=True) as stored:
        rolled = PlayedGame("pig(winscore=9)", match="m2").play_anything(1)
        stored.add([PlayedGame(GAME).play(*ACTIONS).stored, rolled.stored])
    code, output = invoke("playout-server", "puzzles", "--database", url)
    assert (code, output.splitlines()[-1]) == (0, f"1 new puzzle in 1 match: {GAME} 1")
    assert "pig(winscore=9) cannot be searched" not in output  # it may be in a line of progress
    assert find(url) == (0, "0 new puzzles in 1 match")
    assert find(url, "--game", "mnk(k=3,m=3,n=3)") == (0, "0 new puzzles in 1 match")
    assert find(url, "--game", "nim") == (0, "0 new puzzles in 0 matches")
    assert find(url, "--since", "2999-01-01") == (0, "0 new puzzles in 0 matches")
    assert counts(url)[GAME] == 1


def test_the_search_ends_after_a_number_of_puzzles(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    code, said = find(url, "--random", "1000", "--game", GAME, "--count", "2")
    assert code == 0
    assert said.startswith("2 new puzzles in")
    assert counts(url)[GAME] == 2


def test_a_game_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    words = ("--database", url, "--random", "2", "--game", "chomp")
    code, output = invoke("playout-server", "puzzles", *words)
    assert code == 0
    assert output.count("chomp cannot be searched: unknown game 'chomp'") <= 1
    assert output.splitlines()[-1] == "0 new puzzles in 2 matches"
    code, output = invoke("playout-server", "puzzles", *words[:-1], "pig")
    assert output.count("pig cannot be searched: nothing is proven in games with chance") == 1
    assert output.splitlines()[-1] == "0 new puzzles in 0 matches"
    code, said = find(url, "--random", "2", "--since", "2026-01-01")
    assert (code, said) == (2, "Error: --since is for stored matches: not with --random")


def test_after_ctrl_c_the_puzzles_so_far_are_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    words = ("--database", url, "--random", "100000", "--game", GAME)
    with opened(url, create=True):
        pass
    process = start("playout-server", "puzzles", *words)
    wait_until(lambda: GAME in counts(url), "a puzzle is stored")
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130, output
    assert "Interrupted." in output
    assert f"{GAME} {counts(url)[GAME]}" in output.splitlines()[-1]
    assert "Traceback" not in output


def test_a_server_finds_puzzles_while_nobody_plays(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'database.db'}"
    played = PlayedGame(GAME).play(*ACTIONS).stored
    with opened(url, create=True) as stored:
        stored.add([played])
    with running_server("--database", url, "--find-puzzles") as server:
        wait_until(lambda: GAME in counts(url), "the puzzle is found")
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log
