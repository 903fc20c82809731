"""playout.players.engine: engines of others as players, well-behaved and not."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from playout import games, players
from playout.games import Game, Position, SpecError
from playout.players import Cancelled, Limit, MatchClock, Player, PlayerError, TimeLeft, engine
from playout.players.engines import client, process
from playout.players.engines.uci_games import uci_game
from support.engines import TinyEngine
from support.waiting import PATIENCE_S, wait_until

GAME = games.load("mnk(m=5,n=5,k=5)")
#: The games of UCI and of XBoard.
BREAKTHROUGH, CHESS = games.load("breakthrough"), games.load("chess")
#: The first moves of the tiny engine against itself.
_PAWNS = "a2a3", "a7a6", "b2b3", "b7b6"
MOVES = {
    "gtp": [0, 1, 2, 3],
    "gomocup": [0, 1, 2, 3],
    "uci": list(uci_game(BREAKTHROUGH).line(BREAKTHROUGH.initial_state(), _PAWNS)),
    "xboard": list(uci_game(CHESS).line(CHESS.initial_state(), _PAWNS)),
}
LIMIT = Limit(seconds=5.0)
#: No time for a move, so that the engine hangs as soon as the margin is over.
NO_TIME = Limit(
    seconds=0.001, clock=MatchClock(TimeLeft(0.001), 0.0, (TimeLeft(0.001), TimeLeft(0.001)))
)

Make = Callable[..., tuple[Player, TinyEngine]]


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(process, "QUIT_S", 0.2)
    monkeypatch.setattr(process, "EXIT_S", PATIENCE_S)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes a player; when the test is over, none of its processes runs any longer."""
    made: list[Player] = []
    started: list[TinyEngine] = []

    def player(
        fault: str = "none", protocol: str = "gtp", game: Game | None = None, **keys: str
    ) -> tuple[Player, TinyEngine]:
        game = game or {"uci": BREAKTHROUGH, "xboard": CHESS}.get(protocol, GAME)
        started.append(TinyEngine(tmp_path, protocol, fault, **keys))
        made.append(players.load(f"engine(name=tiny,file={started[-1].file})", game))
        return made[-1], started[-1]

    yield player
    for each in made:
        each.close()
    for tiny in started:
        tiny.require_gone()


def after(*moves: int, game: Game = GAME) -> Position:
    """The position of a match after these moves."""
    return Position(game, moves)


def played(player: Player, plies: int, limit: Limit = LIMIT) -> list[int]:
    """The moves of a match that the player plays against itself."""
    position = Position(player.game)
    for _ in range(plies):
        position = position.play(player.choose(position, limit).action)
    return [*position.moves]


@pytest.mark.parametrize("protocol", MOVES)
def test_an_engine_plays_both_sides(make: Make, protocol: str) -> None:
    player, _ = make(protocol=protocol)
    assert played(player, 4) == MOVES[protocol]
    assert player.version.startswith("Tiny 1.0 ")


@pytest.mark.parametrize("protocol", ["gtp", "gomocup"])
def test_an_engine_takes_up_a_match_in_its_middle(make: Make, protocol: str) -> None:
    player, _ = make(protocol=protocol)
    position = after(0, 7, 1)
    assert player.choose(position, LIMIT).action == 2
    assert player.choose(position.at(1), LIMIT).action == 1  # out of step: another match
    assert player.choose(position, LIMIT).action == 2


@pytest.mark.parametrize("protocol", MOVES)
def test_a_new_match_starts_from_the_first_position(make: Make, protocol: str) -> None:
    player, tiny = make(protocol=protocol)
    for _ in range(2):
        player.started(1, "Bob", Position(player.game))
        assert played(player, 3) == MOVES[protocol][:3]
    assert len(tiny.pids) == 1


READY = {"gtp": "clear_board", "gomocup": "START 5", "uci": "ucinewgame", "xboard": "new"}


@pytest.mark.parametrize("protocol", READY)
def test_an_engine_is_ready_for_a_match_before_its_clock_runs(make: Make, protocol: str) -> None:
    player, tiny = make(protocol=protocol)
    for number in (1, 2):
        read = [line.split(maxsplit=1)[-1] if protocol == "gtp" else line for line in tiny.read]
        assert read.count(READY[protocol]) == number
        player.started(1, "Bob", Position(player.game))
        assert played(player, 3) == MOVES[protocol][:3]
        assert "".join(tiny.read).count(READY[protocol]) == number, "not on the clock"
        player.ended(0, "over")
        player.prepare()
    assert len(tiny.pids) == 1


def test_an_engine_is_told_its_time_less_a_margin(make: Make) -> None:
    player, tiny = make(protocol="gomocup", margin_s="2")
    played(player, 1, Limit(5.0))
    told = [line.split()[2] for line in tiny.read if line.startswith("INFO timeout_turn")]
    assert 1000 < int(told[0]) <= 3000


def test_an_engine_that_sends_its_move_before_it_reads_loses_no_command(make: Make) -> None:
    player, tiny = make("hasty", "gomocup")
    assert played(player, 8) == list(range(8))
    assert len(tiny.pids) == 1


def test_an_engine_completes_a_move_of_amazons_that_others_have_begun(make: Make) -> None:
    """An opening of one action, the choice of a queen, is a third of a move in UCI."""
    game = games.load("amazons")
    player, tiny = make(protocol="uci", game=game)
    position = after(game.legal_actions(game.initial_state())[2], game=game)
    for _ in range(2):
        position = position.play(player.choose(position, LIMIT).action)
    assert position.to_move == 2
    (line,) = (line for line in tiny.read if line.startswith("go "))
    restricted = line.partition(" searchmoves ")[2].split()
    assert len(restricted) > 100
    assert len({name[:2] for name in restricted}) == 1, "of one queen"
    assert [line for line in tiny.read if line.startswith("position")] == ["position startpos"]


@pytest.mark.parametrize("protocol", ["gomocup", "uci", "xboard"])
def test_search_info_of_an_engine_becomes_its_analysis(make: Make, protocol: str) -> None:
    player, _ = make(protocol=protocol)
    info = player.choose(Position(player.game), LIMIT).info
    assert info is not None
    assert (info.depth, info.simulations) == (3, 2000)
    assert 0.6 < info.win_rate < 0.7


def test_an_engine_that_refuses_a_move_gets_the_position_again(make: Make) -> None:
    player, tiny = make("refuse once")
    assert player.choose(after(), LIMIT).action == 0
    assert player.choose(after(0, 7), LIMIT).action == 1
    assert len(tiny.pids) == 1


def test_an_engine_that_refuses_a_move_twice_is_given_up(make: Make) -> None:
    player, _ = make("refuse")
    with pytest.raises(PlayerError, match=r"has answered '\? illegal move', given '\d+ play b A5'"):
        player.choose(after(0, 7), LIMIT)


# Faults.


@pytest.mark.parametrize(
    ("fault", "start_s", "told"),
    [
        ("hang", "0.5", "has not answered in time, given '1 protocol_version'"),
        ("silent exit", "60", "has exited with code 5"),
        ("deaf", "0.5", "has not answered in time"),
    ],
)
def test_an_engine_that_does_not_start_is_explained(
    make: Make, fault: str, start_s: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "deaf":  # such an engine does not exit
        monkeypatch.setattr(process, "EXIT_S", 0.2)
    with pytest.raises(SpecError) as error:
        make(fault, start_s=start_s)
    assert told in str(error.value)


@pytest.mark.parametrize("protocol", MOVES)
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("hang 3", "has not answered in time"),
        ("die 3", "was ended by a signal (Segmentation fault)"),
        ("exit 3", "its last error, in "),
        ("close 3", "has closed its output"),
        ("illegal 3", "not legal; legal are"),
        ("flood 3", "has written more than "),
    ],
)
def test_a_fault_names_the_command_and_the_engine_is_started_again(
    make: Make, protocol: str, fault: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MARGIN_S", 0.5)
    monkeypatch.setattr(process, "MAX_ANSWER", 2**18)
    if fault.startswith("close"):  # such an engine does not exit
        monkeypatch.setattr(process, "EXIT_S", 0.2)
    player, tiny = make(fault, protocol)
    position = after(*played(player, 2), game=player.game)
    limit = NO_TIME if fault.startswith("hang") else LIMIT
    with pytest.raises(PlayerError) as error:
        player.choose(position, limit)
    assert told in str(error.value)
    assert "given '" in str(error.value)
    tiny.require_gone()
    assert player.choose(position, LIMIT).action == MOVES[protocol][2]
    assert len(tiny.pids) == 2


def test_an_engine_that_was_killed_resigns_one_match_only(make: Make) -> None:
    player, tiny = make()
    played(player, 1)
    os.kill(tiny.pids[0], signal.SIGKILL)
    with pytest.raises(PlayerError, match=r"ended by a signal \(Killed\)"):
        player.choose(Position(GAME), LIMIT)
    assert played(player, 2) == [0, 1]


@pytest.mark.parametrize(
    ("protocol", "fault"),
    [
        *(("gtp", fault) for fault in ("errors", "chatter", "children", "no quit")),
        *(("uci", fault) for fault in ("errors", "no quit", "crash at quit")),
    ],
)
def test_an_engine_that_is_only_untidy_plays(make: Make, protocol: str, fault: str) -> None:
    player, tiny = make(fault, protocol)
    assert played(player, 3) == MOVES[protocol][:3]
    if fault == "children":
        wait_until(lambda: len(tiny.pids) == 3)


@pytest.mark.parametrize("protocol", ["gtp", "uci", "xboard"])
def test_bytes_that_are_no_text_are_an_illegal_answer(make: Make, protocol: str) -> None:
    player, _ = make("binary", protocol)
    with pytest.raises(PlayerError) as error:
        played(player, 1)
    assert "not legal" in str(error.value)
    assert str(error.value).isprintable()


def test_a_late_answer_is_not_taken_for_the_next(make: Make) -> None:
    player, tiny = make("hang 1")
    thinking = threading.Thread(target=cancel_when_asked, args=(player, tiny))
    thinking.start()
    with pytest.raises(Cancelled):
        player.choose(Position(GAME), LIMIT)
    thinking.join()


def test_a_move_after_the_end_of_its_match_is_not_one_of_the_next(make: Make) -> None:
    player, tiny = make("late 2", "uci")
    position = after(*MOVES["uci"][:2], game=player.game)
    played(player, 1)
    thinking = threading.Thread(target=cancel_when_asked, args=(player, tiny, 2))
    thinking.start()
    with pytest.raises(Cancelled):
        player.choose(position, LIMIT)
    thinking.join()
    player.ready()
    player.started(1, "Bob", position.at(0))
    assert played(player, 2) == MOVES["uci"][:2]
    assert len(tiny.pids) == 1


@pytest.mark.parametrize("protocol", MOVES)
def test_an_engine_that_thinks_on_after_its_match_is_killed(
    make: Make, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setattr(engine, "_STOP_S", 0.2)
    player, tiny = make("hang 1", protocol)
    choose_until_the_end(player)
    tiny.require_gone()


def test_an_engine_that_stops_after_its_match_plays_the_next(make: Make) -> None:
    player, tiny = make("late 1", "uci")
    choose_until_the_end(player)
    player.ready()
    player.started(1, "Bob", Position(player.game))
    assert played(player, 2) == MOVES["uci"][:2]
    assert len(tiny.pids) == 1


def choose_until_the_end(player: Player) -> None:
    """The match of a player is over while it thinks."""
    position = Position(player.game)
    player.started(1, "Bob", position)
    ending = threading.Thread(target=end_when_asked, args=(player,))
    ending.start()
    with pytest.raises(Cancelled):
        player.choose(position, LIMIT)
    ending.join()


def end_when_asked(player: Player) -> None:
    assert isinstance(player, engine.Engine)
    assert player._client
    running = player._client.process
    wait_until(lambda: re.search(r"genmove|BEGIN|go\b", running._command))
    player.ended(2, "time")
    player.cancel()


def cancel_when_asked(player: Player, tiny: TinyEngine, searches: int = 0) -> None:
    """Cancel the player when the engine was started, and asked for so many searches."""
    wait_until(lambda: tiny.pids)
    wait_until(lambda: sum(each.startswith("go ") for each in tiny.read) >= searches)
    player.cancel()


# The file.


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"protcol": '"gtp"'}, "engines.toml:4: unknown key of the engine tiny 'protcol'; did you"),
        ({"games": '["otello"]'}, "engines.toml:4: games: unknown game 'otello'; did you mean"),
        ({"games": '["othello"]'}, "is for othello, not for mnk(m=5,n=5)"),
        ({"start_s": "-1"}, "engines.toml:4: start_s: must be a number from 0.1 to 3600, not -1"),
        ({"folder": '"nowhere"'}, "there is no folder"),
        ({"variant": '"chess"'}, "engines.toml:4: variant is for protocol = 'uci', not for 'gtp'"),
        ({"options": "{ lvel = 3 }"}, "unknown command 'lvel'; did you mean 'level'?"),
        ({"options": '{ level = "3\\n4" }'}, "options: level must be one line"),
    ],
)
def test_faults_of_the_file_are_told_with_their_lines(
    make: Make, keys: dict[str, str], told: str
) -> None:
    with pytest.raises(SpecError) as error:
        make(**keys)
    assert told in str(error.value)


def test_the_user_is_warned_of_moves_too_short_to_limit_the_engine(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    player, _ = make()
    assert played(player, 2, Limit(seconds=0.5)) == [0, 1]
    assert capsys.readouterr().err.count("less than 1 s for a move, and may lose on time") == 1
    limited, _ = make(short="{ level = 3 }")
    assert played(limited, 2, Limit(seconds=0.5)) == [0, 1]
    assert capsys.readouterr().err == ""


def test_an_unknown_engine_is_told_with_the_nearest(tmp_path: Path) -> None:
    tiny = TinyEngine(tmp_path)
    with pytest.raises(SpecError, match="unknown engine 'tinny'; did you mean 'tiny'"):
        players.load(f"engine(name=tinny,file={tiny.file})", GAME)
