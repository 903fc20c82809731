"""GNU Backgammon as an engine: boards of FIBS, moves of whole turns, and the program itself."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Position, SpecError, State
from playout.games.backgammon import AFTER_CRAWFORD, DOUBLE, ROLL, Backgammon
from playout.players import Limit, Player
from playout.players.engine import Engine
from playout.players.engines import config
from playout.players.engines.gnubg_client import fibs_board
from playout.players.engines.process import EngineError
from support.engines import scripted
from support.requirements import skip_without
from support.scale import repetitions

GAME = games.load("backgammon")
assert isinstance(GAME, Backgammon)
LIMIT = Limit(seconds=20)
#: The options of gnubg without looking ahead.
TABLE = """
[gnubg]
command = "gnubg -t -q -r"
protocol = "gnubg"
games = ["backgammon"]
options = { "evaluation chequerplay evaluation plies" = 0 }
"""


@pytest.fixture(autouse=True)
def _log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def rolled(draw: random.Random, plies: int) -> Position:
    """Return a position of a random match in which a player has several moves."""
    position = Position(GAME).rolled(draw.randrange)
    while position.ply < plies or len(position.legal_actions) < 2:
        if position.winner:
            position = Position(GAME)
        elif position.to_move:
            position = position.play(draw.choice(position.legal_actions))
        position = position.rolled(draw.randrange)
    return position


def test_a_board_has_the_checkers_and_the_dice_of_the_player_to_move() -> None:
    after_opening = Position(GAME, (1,))  # player 2 begins with 2 and 1
    assert fibs_board(GAME, after_opening.state) == (
        "board:You:Opponent:1:0:0:0:-2:0:0:0:0:5:0:3:0:0:0:-5:5:0:0:0:-3:0:-5:0:0:0:0:2:0:"
        "1:2:1:0:0:1:1:1:0:1:-1:0:25:0:0:0:0:0:0:0:0"
    )


def test_a_board_of_a_match_has_the_score_the_cube_and_the_double() -> None:
    """Before a roll it is of the player who decides, and after a double of the one who doubled."""
    game = games.load("backgammon(points=5)")
    assert isinstance(game, Backgammon)
    position = Position(game, (3,))  # player 2 begins
    state = position.play(position.legal_actions[0]).state
    state = (*state[:35], 1, 3, 2, 1, AFTER_CRAWFORD, state[40])
    assert state[0] == 1
    assert game.legal_actions(state) == (ROLL, DOUBLE)
    fields = fibs_board(game, state).split(":")
    assert fields[3:6] == ["5", "3", "1"]
    assert fields[33:41] == ["0", "0", "0", "0", "2", "1", "0", "0"]
    assert fields[-2:] == ["1", "0"]
    doubled = fibs_board(game, game.next_state(state, DOUBLE)).split(":")
    assert doubled == [*fields[:4], "1", "3", *fields[6:40], "1", *fields[41:]]


def test_an_answer_that_is_no_legal_move_names_the_legal_ones(tmp_path: Path) -> None:
    with closing(Engine(GAME, **scripted(tmp_path, "gnubg", ("board", ["24/13\n"])))) as engine:
        with pytest.raises(EngineError, match=r"'24/13': not legal; legal are: .*24/22") as caught:
            engine.choose(Position(GAME, (0,)), LIMIT)
        assert "board:You" in str(caught.value)


def test_a_program_that_opens_no_socket_is_an_error_with_its_reason(tmp_path: Path) -> None:
    table = '[tiny]\ncommand = "sh -c \'echo no dice >&2; exit 3\'"\nprotocol = "gnubg"\n'
    (tmp_path / "engines.toml").write_text(table)
    with pytest.raises(SpecError, match=r"exited with code 3.*no dice"):
        players.load(f"engine(name=tiny,file={tmp_path / 'engines.toml'})", GAME)


@pytest.mark.parametrize(
    ("chance", "reason"), [("0.2", "score of a match in another order"), ("?", "no evaluation")]
)
def test_a_version_that_reads_boards_otherwise_plays_no_matches(
    chance: str, reason: str, tmp_path: Path
) -> None:
    answers = ("evaluation", [f"0.5 0 0 0 0 {chance}\n"])
    with pytest.raises(SpecError, match=reason):
        Engine(games.load("backgammon(points=3)"), **scripted(tmp_path, "gnubg", answers))


def test_it_plays_no_other_game(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="plays backgammon, not pig"):
        Engine(games.load("pig"), **scripted(tmp_path, "gnubg"))


@pytest.mark.parametrize(("key", "value"), [("sandbox", "{}"), ("short", "{ a = 1 }")])
def test_keys_that_it_cannot_use_are_faults(key: str, value: str, tmp_path: Path) -> None:
    file = tmp_path / "engines.toml"
    file.write_text(f"{TABLE}{key} = {value}\n")
    with pytest.raises(SpecError, match=f"engines.toml:7: {key}"):
        config.read(file)


@pytest.fixture
def program() -> str:
    """Return the path of gnubg."""
    found = shutil.which("gnubg", path=config.search_path())
    if found is None:
        skip_without("gnubg (apt install gnubg)")
    return found


@pytest.fixture
def gnubg(tmp_path: Path, program: str) -> Player:
    (tmp_path / "engines.toml").write_text(TABLE)
    return players.load(f"engine(name=gnubg,file={tmp_path / 'engines.toml'})", GAME)


def test_gnubg_beats_random_moves(gnubg: Player) -> None:
    draw, chosen, doubles = random.Random(3), 0, 0
    rates = []
    with closing(gnubg):
        assert gnubg.version.startswith("GNU Backgammon 1.")
        for seat in (1, 2):
            position = Position(GAME).rolled(draw.randrange)
            gnubg.started(seat, "random", position)
            while not position.winner:
                action = draw.choice(position.legal_actions)
                if position.to_move == seat:
                    result = gnubg.choose(position, LIMIT)
                    action = result.action
                    chosen += 1
                    rates += [result.info.win_rate] if result.info else []
                    doubles += position.state[5]
                position = position.play(action).rolled(draw.randrange)
            assert position.winner == seat
            gnubg.ended(position.winner, "")
    assert chosen > 50
    # Its analysis of the first move, and of the last one that did not end the match.
    assert 0.4 < rates[0] < 0.7
    assert 0.9 < rates[-1] <= 1
    assert doubles > 2


def test_gnubg_continues_at_the_second_half_of_a_double(gnubg: Player) -> None:
    """Without the answer to the first half, it is the half with the best evaluation."""
    position = Position(GAME, (0, 0, 30))
    with closing(gnubg):
        first = gnubg.choose(position, LIMIT).action
        middle = position.play(first)
        planned = gnubg.choose(middle, LIMIT).action
        gnubg.started(2, "other", middle)
        alone = gnubg.choose(middle, LIMIT).action
    wanted = middle.play(planned).state
    assert GAME.next_state(middle.state, alone)[6:34] == wanted[6:34]


#: The checkers of the player to move and of the opponent, by their distances.
Rows = tuple[tuple[int, ...], tuple[int, ...]]
#: A part of a move, such as `bar/24*/18*(2)`: its places, and how many checkers make it.
PART = re.compile(r"((?:bar|\d+)\*?(?:/(?:off|\d+)\*?)+)(?:\((\d)\))?")


def rows_of(state: State, player: int) -> Rows:
    return GAME.checkers(state, player), GAME.checkers(state, 3 - player)


def rows_after(state: State, text: str) -> Rows:
    """Return the checkers after a move of a whole turn, as gnubg writes it."""
    own, theirs = map(list, rows_of(state, state[0]))
    for word in text.split():
        found = PART.fullmatch(word)
        assert found, text
        names = found[1].replace("*", "").replace("bar", "25").replace("off", "0").split("/")
        first, *goals = map(int, names)
        own[first] -= int(found[2] or 1)
        own[goals[-1]] += int(found[2] or 1)
        for goal in goals:
            if goal and theirs[25 - goal] == 1:
                theirs[25 - goal] = 0
                theirs[25] += 1
    return tuple(own), tuple(theirs)


def ends_of_turn(position: Position) -> Iterator[Position]:
    """Yield the positions after each way to play a turn."""
    for first in position.legal_actions:
        after = position.play(first)
        if after.to_move != position.to_move or after.winner:
            yield after
        else:
            yield from map(after.play, after.legal_actions)


def listed_turns(program: str, positions: list[Position]) -> list[list[str]]:
    """Return the moves of a whole turn that gnubg lists in each position."""
    lines = ["set player 0 human", "set automatic game off", "set automatic roll off"]
    lines += ["set evaluation chequerplay evaluation plies 0", "new match 1", "set turn 1"]
    for each in positions:
        theirs, *points, own = fibs_board(GAME, each.state).split(":")[6:32]
        lines.append(f"set board simple {own} {' '.join(points)} {theirs.lstrip('-')}")
        dice = " ".join(map(str, each.state[3:5]))
        lines += ["set turn 1", f"set dice {dice}", "show pipcount", "hint 1000"]
    shown = subprocess.run(
        (program, "-t", "-q"),
        input="\n".join([*lines, ""]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("The pip counts are")[1:]
    return [re.findall(r"^ *\d+\. Cube.*?-ply +(\S.*?) +Eq\.", each, re.M) for each in shown]


def test_moves_of_a_turn_are_those_of_gnubg(program: str) -> None:
    """In positions of random matches: 20,000 with --slow."""
    draw, begun = random.Random(1), range(repetitions(24_000, short=40))
    positions = [rolled(draw, draw.randrange(80)) for _ in begun]
    whole = [each for each in positions if not each.state[5]]
    found = listed_turns(program, whole)
    assert len(found) == len(whole) > 0.8 * len(positions)
    for position, names in zip(whole, found, strict=True):
        wanted = [rows_after(position.state, each) for each in names]
        assert len(set(wanted)) == len(wanted)
        ends = {rows_of(each.state, position.to_move) for each in ends_of_turn(position)}
        assert set(wanted) == ends, position.state
