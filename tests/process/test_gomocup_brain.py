"""`playout-engine gomocup` under a manager that shares no code with it: every command."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import partial

import pytest

from support.commands import start_installed
from support.gomocup_manager import GomocupManager
from support.scale import repetitions

FREESTYLE, STANDARD, RENJU = "INFO rule 0", "INFO rule 1", "INFO rule 4"


@pytest.fixture(scope="module")
def shared() -> Iterator[GomocupManager]:
    manager = GomocupManager("rave(simulations=100,seed=1)")
    yield manager
    assert manager.finish() == (0, "")


@pytest.fixture
def brain(shared: GomocupManager) -> GomocupManager:
    """A brain with an empty board of 15 by 15."""
    assert shared.ask("INFO timeout_turn 1000", FREESTYLE, "START 15") == "OK"
    return shared


def test_lines_end_in_cr_lf() -> None:
    manager = GomocupManager("random")
    manager.send("ABOUT", "start 20\nBEGIN", "END")
    assert manager.process.stdout
    about, ok, move, rest = manager.process.stdout.buffer.read().split(b"\r\n")  # type: ignore[attr-defined]
    assert about.startswith(b'name="Playout random", version="')
    assert ok == b"OK"
    x, y = map(int, move.split(b","))
    assert 0 <= x < 20
    assert 0 <= y < 20
    assert rest == b""
    assert manager.finish()[0] == 0


def test_it_says_what_it_is(brain: GomocupManager) -> None:
    about = brain.ask("ABOUT")
    assert about.startswith('name="Playout rave", version="')
    assert about.endswith('"')


@pytest.mark.parametrize("size", [5, 20])
def test_it_plays_a_whole_match_against_itself(brain: GomocupManager, size: int) -> None:
    assert brain.ask(f"START {size}") == "OK"
    move = brain.move("BEGIN")
    taken = {move}
    free = [(x, y) for y in range(size) for x in range(size)]
    for _ in range(4):
        reply = next(cell for cell in free if cell not in taken)
        taken.add(reply)
        x, y = brain.move(f"TURN {reply[0]},{reply[1]}")
        assert (x, y) in free
        assert (x, y) not in taken
        taken.add((x, y))
    assert brain.ask("RESTART") == "OK"
    assert brain.move("BEGIN") in free


def test_the_first_number_is_the_column(brain: GomocupManager) -> None:
    assert brain.ask("RECTSTART 10,6") == "OK"
    assert "expected x,y from 0,0 to 9,5" in brain.ask("TURN 5,6")
    x, y = brain.move("TURN 9,5")
    assert x < 10
    assert y < 6


def row(y: int, *columns: int, owner: int) -> list[str]:
    """The lines of BOARD for stones in a row."""
    return [f"{x},{y},{owner}" for x in columns]


def test_a_position_is_set_up_and_the_winning_move_is_found(brain: GomocupManager) -> None:
    stones = [*row(3, 2, 3, 4, 5, owner=1), *row(9, 0, 4, 8, 12, owner=2)]
    assert brain.move("BOARD", *stones, "DONE") in ((1, 3), (6, 3))
    # The next move follows from there: the match is over.
    assert brain.ask("TURN 14,14") == "ERROR the game is over"


def test_the_second_player_is_to_move_with_a_stone_less(brain: GomocupManager) -> None:
    own, other = row(3, 2, 3, 4, 5, owner=1), row(9, 0, 4, 8, 12, 14, owner=2)
    assert brain.move("BOARD", *own, *other, "DONE") in ((1, 3), (6, 3))


def test_six_in_a_row_do_not_win_under_the_standard_rule(brain: GomocupManager) -> None:
    """The only cell beside the own five of six is one that makes six."""
    stones = [*row(0, 0, 1, 2, 4, 5, owner=1), *row(9, 0, 4, 8, 12, 14, owner=2)]
    assert brain.move(FREESTYLE, "BOARD", *stones, "DONE") == (3, 0)
    four = [*row(7, 6, 7, 8, 9, owner=1), *row(9, 0, 4, 8, 12, owner=2), "11,7,1", "14,14,2"]
    assert brain.move(STANDARD, "BOARD", *four, "DONE") == (5, 7)
    assert brain.ask(FREESTYLE, "RESTART") == "OK"


def test_a_stone_is_taken_back(brain: GomocupManager) -> None:
    stones = [*row(3, 2, 3, 4, 5, owner=1), *row(9, 0, 4, 8, 12, owner=2)]
    x, y = brain.move("BOARD", *stones, "DONE")
    assert brain.ask(f"TAKEBACK {x},{y}") == "OK"
    assert brain.ask("TAKEBACK 12,9") == "OK"
    assert brain.ask(f"TAKEBACK {x},{y}") == f"ERROR there is no stone at {x},{y}"
    assert brain.move("TURN 13,13") in ((1, 3), (6, 3))


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["FOO"], "UNKNOWN command 'FOO'"),
        (["SWAP2BOARD"], "UNKNOWN"),
        (["START"], "ERROR expected START SIZE, not ''"),
        (["START 4"], "ERROR unsupported size: expected 5 to 20 rows and columns"),
        (["START 21"], "ERROR unsupported size"),
        (["START many"], "ERROR expected START SIZE, not 'many'"),
        (["RECTSTART 15"], "ERROR expected RECTSTART WIDTH,HEIGHT"),
        (["TURN"], "ERROR '' is no cell of this board: expected x,y from 0,0 to 14,14"),
        (["TURN 15,0"], "ERROR '15,0' is no cell"),
        (["TURN a1"], "ERROR 'a1' is no cell"),
        (["BOARD", "1,1,1", "2,2,1", "DONE"], "ERROR with 2 own stones and 0 of the opponent"),
        (["BOARD", "1,1,1", "1,1,2", "DONE"], "ERROR there are two stones at 1,1"),
        (["BOARD", "1,1,3", "DONE"], "ERROR expected x,y,1 or x,y,2 or DONE"),
        (["BOARD", "1,x,1", "DONE"], "ERROR '1,x' is no cell"),
        (["TAKEBACK 3,3"], "ERROR there is no stone at 3,3"),
        ([RENJU, "START 15"], "ERROR the rules of renju are not supported"),
        (["INFO rule 8", "START 15"], "ERROR the rules of caro are not supported"),
        (["INFO max_memory 1000000", "START 15"], "ERROR 1000000 bytes are too little"),
    ],
)
def test_an_error_says_what_was_wrong(brain: GomocupManager, lines: list[str], told: str) -> None:
    assert brain.ask(*lines).startswith(told)
    assert brain.ask("INFO max_memory 0", FREESTYLE, "START 15") == "OK"


def test_a_stone_on_another_is_refused(brain: GomocupManager) -> None:
    x, y = brain.move("BEGIN")
    assert brain.ask(f"TURN {x},{y}") == f"ERROR there is a stone at {x},{y} already"
    assert brain.ask("BEGIN") == "ERROR BEGIN needs an empty board"


@pytest.mark.parametrize("refused", ["INFO rule 4", "INFO rule 8", "INFO max_memory 1000000"])
@pytest.mark.parametrize("command", ["TURN 0,0", "START 9", "RESTART"])
def test_settings_that_are_refused_leave_the_match(
    brain: GomocupManager, refused: str, command: str
) -> None:
    x, y = brain.move("BEGIN")
    assert brain.ask(refused, command).startswith("ERROR")
    told = brain.ask("INFO max_memory 0", FREESTYLE, f"TURN {x},{y}")
    assert told == f"ERROR there is a stone at {x},{y} already"


def test_a_full_board_has_no_move(brain: GomocupManager) -> None:
    """Pairs of stones whose colours alternate by row make no five."""
    owner = {(x, y): 1 + (x // 2 + y) % 2 for x in range(6) for y in range(6)}
    assert brain.ask("RECTSTART 6,6") == "OK"
    stones = [f"{x},{y},{value}" for (x, y), value in owner.items()]
    assert brain.ask("BOARD", *stones, "DONE") == "ERROR the game is over"


def test_before_start_there_is_no_board() -> None:
    brain = GomocupManager("random")
    for lines in (["BEGIN"], ["TURN 1,1"], ["RESTART"], ["BOARD", "1,1,2", "DONE"]):
        assert brain.ask(*lines) == "ERROR there is no board: START comes first"
    assert brain.finish() == (0, "")


def test_a_move_comes_with_a_message(brain: GomocupManager) -> None:
    brain.messages.clear()
    brain.move("BEGIN")
    (message,) = brain.messages
    assert message.startswith("100 simulations in ")
    assert "win rate " in message


def test_info_that_means_nothing_here_has_no_answer(brain: GomocupManager) -> None:
    brain.send("INFO", "INFO folder /tmp/x", "INFO evaluate 3,3", "INFO timeout_turn soon", "", " ")
    assert brain.ask("ABOUT").startswith("name=")


def test_end_stops_a_search() -> None:
    brain = GomocupManager("rave")
    assert brain.ask("INFO timeout_turn 1000000", "START 15") == "OK"
    brain.send("BEGIN")
    code, said = brain.finish()
    assert code == 0
    assert re.fullmatch(r"(MESSAGE .+\n)*\d+,\d+\n", said)  # the best move so far


def test_the_end_of_the_input_stops_a_search() -> None:
    brain = GomocupManager("rave")
    assert brain.ask("INFO timeout_turn 1000000", "START 15") == "OK"
    brain.send("BEGIN")
    assert brain.process.stdin
    brain.process.stdin.close()
    assert brain.process.wait(60) == 0


@pytest.mark.parametrize("size", [15, 20])
def test_the_process_stays_within_the_memory_of_gomocup(size: int) -> None:
    """`rave` takes 405 MB by default; `--slow` searches long enough to fill what it has here."""
    limit = 350 * 10**6
    # A copy of this process would have the memory of the tests.
    brain = GomocupManager("rave", partial(start_installed, stderr=subprocess.DEVNULL))
    turn_ms = repetitions(8000, short=300)
    start = f"INFO max_memory {limit}", f"INFO timeout_turn {turn_ms}", f"START {size}"
    assert brain.ask(*start) == "OK"
    taken = {brain.move("BEGIN")}
    for _ in range(repetitions(3, short=1)):
        x = next(x for x in range(size) if (x, 0) not in taken)
        taken |= {(x, 0), brain.move(f"TURN {x},0")}
    with open(f"/proc/{brain.process.pid}/status") as status:
        (highest,) = (line for line in status if line.startswith("VmHWM:"))
    assert int(highest.split()[1]) * 1024 < limit
    assert brain.finish() == (0, "")
