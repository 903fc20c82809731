"""Clients of the original system as engines: one that behaves as they do, and some with a fault."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playout import games, players
from playout.games import Game, Position, SpecError
from playout.players import Cancelled, Limit, MatchClock, Player, PlayerError, TimeLeft
from playout.players.engines import client, process
from playout.players.engines.original_client import move_seconds
from playout.players.engines.original_json import rules_named
from support.engines import TinyEngine
from support.original_boards import BOARDS
from support.waiting import PATIENCE_S, wait_until

LIMIT = Limit(seconds=50.0)
NO_TIME = Limit(clock=MatchClock(TimeLeft(0.001), 0.0, (TimeLeft(0.001), TimeLeft(0.001))))

Make = Callable[..., tuple[Player, TinyEngine]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes a player; when the test is over, none of its processes runs any longer, or has spun."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made: list[tuple[Player, TinyEngine]] = []

    def player(fault: str = "none", game: str = "connect_four", **keys: str) -> Any:
        tiny = TinyEngine(tmp_path, "json", fault, **keys)
        rules = games.load(rules_named(game).game.spec)
        made.append((players.load(f"engine(name=tiny,file={tiny.file})", rules), tiny))
        return made[-1]

    yield player
    for each, tiny in made:
        each.close()
        tiny.require_gone()
        assert "spins" not in tiny.said


def messages(tiny: TinyEngine) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tiny.said if line.startswith("{")]


def played(player: Player, game: Game, seat: int, plies: int = 1000) -> Position:
    """The last position of a match against an opponent that plays the last legal action."""
    position = Position(game)
    player.started(seat, "Bob", position)
    while not position.winner and position.ply < plies:
        mover, action = position.to_move, position.legal_actions[-1]
        if mover == seat:
            chosen = player.choose(position, LIMIT)
            action = chosen.action
            if chosen.info:
                assert chosen.info.simulations == 12
                assert (chosen.info.depth, chosen.info.win_rate) == (3, 0.625)
        position = position.play(action)
        player.moved(mover, position)
    return position


@pytest.mark.parametrize(("name", "seat"), [("connect_four", 1), ("reversi", 2), ("t3", 1)])
def test_a_client_plays_a_match_to_the_end_and_leaves(make: Make, name: str, seat: int) -> None:
    player, tiny = make("chatter" if name == "t3" else "none", name)
    game = rules_named(name).game
    player.ended(played(player, game, seat).winner, "rules")
    wait_until(lambda: tiny.said[-1] == "left")
    first, *updates = messages(tiny)
    assert first == {"type": "player", "message": seat}
    assert all(each["type"] == "update" for each in updates)
    assert all(each["state"]["player"] == seat for each in updates[:-1])
    assert not any("winners" in each for each in updates[:-1])
    board = BOARDS[name]()
    history = [board.to_compact_state(updates[-1]["state"])]
    assert updates[-1]["winners"] == board.win_values(history)
    assert updates[-1]["points"] == board.points_values(history)


def test_each_match_has_a_process_of_its_own(make: Make) -> None:
    """The next match begins at once; the process of the last is left the time to read its end."""
    player, tiny = make()
    game = games.load("connect_four")
    for number, winner in ((1, 2), (2, -1), (3, 0)):
        played(player, game, number % 2 + 1, plies=4)
        player.ended(winner, "resignation")
        assert len(tiny.pids) == number
    wait_until(lambda: tiny.said.count("left") == 3, "the end of the third client")
    told = [each for each in messages(tiny) if "winners" in each or each["type"] == "decline"]
    assert [each.get("winners") for each in told] == [{"1": 0, "2": 1}, {"1": 0.5, "2": 0.5}, None]


@pytest.mark.parametrize("argument", ["none", "none {seconds}"])
def test_the_process_of_the_next_match_is_started_before_it(make: Make, argument: str) -> None:
    """Its time for a move, if its command has it, is that of the last match."""
    player, tiny = make(argument)
    game = games.load("connect_four")
    for seat in (1, 2):
        played(player, game, seat, plies=2)
        player.ended(2, "resignation")
        player.prepare()
        number = seat + ("{seconds}" in argument)
        wait_until(partial(process_exists, tiny, 1 + number))
    player.close()
    assert len(tiny.pids) == 1 + number


def process_exists(tiny: TinyEngine, number: int) -> bool:
    return len(tiny.pids) == number


def test_a_match_that_goes_on_gets_a_new_client_in_its_middle(make: Make) -> None:
    player, tiny = make()
    game = games.load("connect_four")
    position = played(player, game, 1, plies=4)
    player.started(1, "Bob", position)
    player.choose(position, LIMIT)
    wait_until(lambda: "left" in tiny.said)
    update = messages(tiny)[-1]
    assert len(update["state"]["pieces"]) == 4
    assert update["last_action"] == {"player": 2, "action": {"column": 6}, "sequence": 5}


def test_a_client_that_is_not_needed_any_more_is_told_the_result(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MARGIN_S", 0.2)
    player, tiny = make("hang 1")
    position = Position(games.load("connect_four"))
    player.started(1, "Bob", position)
    thinking = threading.Thread(target=cancel_when_asked, args=(player, tiny))
    thinking.start()
    with pytest.raises(Cancelled):
        player.choose(position, LIMIT)
    thinking.join()
    assert not any("winners" in each for each in messages(tiny))  # it reads no more
    player.ready()
    player.started(2, "Bob", position)
    with pytest.raises(PlayerError, match="has not answered in time"):
        player.choose(position, NO_TIME)
    assert len(tiny.pids) == 2


def cancel_when_asked(player: Player, tiny: TinyEngine) -> None:
    wait_until(lambda: any('"update"' in line for line in tiny.said))
    player.ended(1, "resignation")  # another thread is in `choose`
    player.cancel()


def test_check_plays_a_move_for_each_seat(make: Make) -> None:
    player, tiny = make()
    assert list(player.check()) == [
        "connect_four, json: tiny",
        "connect_four of the original system; each match has a process of its own",
        "move 1: 1",
        "move 2: 1",
    ]
    assert len(tiny.pids) == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("hang 2", "has not answered in time"),
        ("hang up 2", "has closed its output"),
        ("die 2", "has exited with code 3"),
        ("flood 2", "has written more than "),
        ("garbage 2", "expected a line of JSON"),
        ("illegal 2", "not legal; legal are"),
    ],
)
def test_a_fault_is_explained_and_the_next_match_is_played(
    make: Make, fault: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MARGIN_S", 0.5)
    monkeypatch.setattr(process, "QUIT_S", 0.2)
    monkeypatch.setattr(process, "EXIT_S", 0.2 if fault.startswith("hang up") else PATIENCE_S)
    monkeypatch.setattr(process, "MAX_ANSWER", 2**18)
    player, tiny = make(fault, "reversi")
    game = games.load("othello")
    position = played(player, game, 1, plies=2)
    with pytest.raises(PlayerError) as error:
        player.choose(position, NO_TIME if fault.startswith("hang 2") else LIMIT)
    assert told in str(error.value)
    assert """given '{"type": "update", "board": null, "state": """ in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1000
    player.ended(2, "resignation")
    assert played(player, game, 1, plies=2).ply == 2
    assert len(tiny.pids) == 2


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("no start", "has exited with code 1; its last error, in "),
        ("no connection", "has not connected in time"),
    ],
)
def test_a_client_that_does_not_connect_is_explained(make: Make, fault: str, told: str) -> None:
    with pytest.raises(SpecError) as error:
        make(fault, start_s="30" if fault == "no start" else "0.5")
    assert told in str(error.value)


def test_unusable_engines_are_explained(make: Make, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="options cannot be sent to a client of the original"):
        make(options="{ time = 3 }")
    tiny = TinyEngine(tmp_path, "json")
    with pytest.raises(SpecError, match="unknown game of the original system 'nim'"):
        players.load(f"engine(name=tiny,file={tiny.file})", games.load("nim"))
    tiny.file.write_text(tiny.file.read_text().replace("{port}", "4242"))
    with pytest.raises(SpecError, match=r"toml:2: command: a client needs \{host\} and \{port\}"):
        players.load(f"engine(name=tiny,file={tiny.file})", games.load("connect_four"))


def clock(main_s: float, increment_s: float = 0.0, period_s: float = 0.0) -> Limit:
    left = TimeLeft(main_s, 1 if period_s else 0, period_s)
    return Limit(20.0, clock=MatchClock(left, increment_s, (left, left), overhead_s=0.1))


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (Limit(), 30.0),
        (Limit(seconds=20.0), 18.0),
        (clock(0.0, 0.0, 60.0), 18.0),  # the time for one move, as players divide it
        (clock(220.0), 0.9 * 9.9),
        (clock(220.0, 5.0), 0.9 * 14.9),
        (clock(220.0, 0.0, 30.0), 0.9 * 29.9),
        (clock(1.0), 0.01),
    ],
)
def test_the_time_of_a_client_is_one_that_it_may_take_for_each_move(
    limit: Limit, seconds: float
) -> None:
    game = games.load("connect_four")
    position = Position(game)
    assert move_seconds(limit, position, game.max_plies) == pytest.approx(seconds)


def test_the_command_has_the_seconds_for_a_move(make: Make, tmp_path: Path) -> None:
    tiny = TinyEngine(tmp_path, "json")
    pids = tmp_path / "{seconds} pids"
    text = tiny.file.read_text().replace(str(tmp_path / "pids"), str(pids))
    tiny.file.write_text(text)
    player = players.load(f"engine(name=tiny,file={tiny.file})", games.load("connect_four"))
    player.choose(Position(games.load("connect_four")), Limit(seconds=2.0))
    player.close()
    assert {"30.00 pids", "1.80 pids"} < {path.name for path in tmp_path.iterdir()}
