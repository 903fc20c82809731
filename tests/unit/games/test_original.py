"""Boards of the original system as games: two of the tests, and some that cannot be used."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playout import games, players
from playout.games import Game, IllegalAction, SpecError
from playout.games.core import plugins
from playout.games.original import BoardError, Original
from playout.players.engines.original_json import rules_named
from support import scale
from support.boards_package import write_package
from support.original_boards import BOARDS, CountdownBoard

POINTS = "\n".join(
    [
        *(f"{name} = some_boards:{board.__name__}" for name, board in BOARDS.items()),
        "countdown = some_boards:CountdownBoard",
        "nowhere = no_such_module:Board",
        "changed = some_boards:Changed",
    ]
)


def forget() -> None:
    plugins._outside.cache_clear()
    games.load.cache_clear()
    games.describe.cache_clear()
    sys.modules.pop("some_boards", None)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    write_package(tmp_path, POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield
    monkeypatch.undo()
    forget()


def random_moves(game: Game, seed: int) -> Iterator[tuple[Any, int]]:
    """The states and moves of a random match; the move is -1 at the end."""
    choose, state = random.Random(seed), game.initial_state()
    while not game.winner(state):
        action = choose.choice(game.legal_actions(state))
        yield state, action
        state = game.next_state(state, action)
    yield state, -1


@pytest.mark.timeout(3600 if scale.slow else 600)
def test_random_matches_are_those_of_the_board() -> None:
    game, board = games.load("original(board=chong)"), BOARDS["chong"]()
    rules = rules_named("original(board=chong)")
    for seed in range(scale.repetitions(500, short=4)):
        history = [board.starting_state()]
        for state, action in random_moves(game, seed):
            told = json.loads(json.dumps(rules.state_json(state, 3 - state[0])))
            assert board.to_compact_state(told) == history[-1]
            assert bool(game.winner(state)) == board.is_ended(history)
            assert game.show(state).startswith("  a b c d e f g h\n0 ")
            if action < 0:
                break
            legal = [board.to_json_action(each) for each in board.legal_actions(history)]
            ours = [rules.action_json(state, each) for each in game.legal_actions(state)]
            assert sorted(legal, key=str) == sorted(ours, key=str)
            assert rules.action_of(state, ours[action]) == action
            told = board.to_compact_action(ours[action])
            assert game.action_name(state, action) == board.to_notation(told)
            assert game.parse_action(state, board.to_notation(told)) == action
            history.append(board.next_state(history, told))
        values = {1: (1, 0), 2: (0, 1), -1: (0.5, 0.5)}[game.winner(state)]
        points = board.points_values(history)
        assert rules.points(state) == {"1": points[1], "2": points[2]}
        assert board.win_values(history) == dict(enumerate(values, start=1))


def test_a_board_with_the_fewest_methods_is_played_by_searches() -> None:
    game = games.load("original(board=countdown)")
    assert game.show(game.initial_state()) == '{\n "left": 7,\n "player": 1\n}'
    chosen = players.load("minimax(seed=1,memory_mb=1)", game).choose(
        games.Position(game), players.Limit(seconds=60)
    )
    assert game.action_name(game.initial_state(), chosen.action) == "1"
    assert chosen.info
    assert chosen.info.proven == 1


def test_installed_boards_are_offered() -> None:
    assert "original" in games.names()
    (board,) = games.describe("original").parameters
    assert set(board.choices) == {*BOARDS, "countdown", "nowhere", "changed"}
    assert str(games.load("original( board = chong )")) == "original(board=chong)"
    with pytest.raises(SpecError, match="unknown board of original 'chung'; did you mean 'chong'"):
        games.load("original(board=chung)")
    with pytest.raises(SpecError, match=r"there are: .*original\(board=chong\)"):
        rules_named("go")


def test_without_boards_the_game_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    forget()
    assert "original" not in games.names()
    with pytest.raises(SpecError, match="no board 'chong' is installed: a package"):
        games.load("original(board=chong)")


def test_an_illegal_action_is_refused() -> None:
    rules = rules_named("original(board=chong)")
    state = rules.game.initial_state()
    for message in (None, 3, {"type": "pawn", "row": 5, "column": 5}, [[]]):
        with pytest.raises(IllegalAction, match="not legal"):
            rules.action_of(state, message)


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("of a Board")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"starting_state": fails}, "starting_state failed: ZeroDivisionError('of a Board')"),
        ({"legal_actions": fails}, "legal_actions failed: ZeroDivisionError"),
        ({"legal_actions": lambda self, state: []}, "returned 0 actions, not 1 to 1024, and the"),
        ({"legal_actions": lambda self, state: 7}, "legal_actions returned 7, not a list"),
        ({"legal_actions": lambda self, state: [1, 1]}, "the same for two legal actions"),
        ({"to_json_action": lambda self, action: {1, 2}}, "returned {1, 2}, which is no JSON"),
        ({"to_json_state": lambda self, state: 3}, "to_json_state returned 3, without its player"),
        ({"to_json_state": None}, "has no method to_json_state"),
        ({"current_player": lambda self, state: 0}, "current_player returned 0, not 1 or 2"),
        ({"winner": None}, "has no method winner"),
        ({"winner": lambda self, state: 9}, "winner returned 9, not 1, 2 or 3 for a tie"),
        ({"winner": lambda self, state: 1}, "is over before the first move"),
        ({"is_ended": lambda self, state: True, "win_values": lambda self, state: {1: 1}},
         "win_values returned {1: 1}, not a number for 1 and for 2"),
        ({"display": lambda self, state, action: b"X"}, "display returned b'X', not a text"),
        ({"num_players": 3}, "is not for two players"),
        ({"__init__": fails}, "Changed cannot be created: ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_bad_board_is_one_clear_error(changes: dict[str, Any], told: str) -> None:
    install(changes)
    with pytest.raises(SpecError) as error:
        games.load("original(board=changed)")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def install(changes: dict[str, Any]) -> None:
    """Change a method of the Board `changed`."""
    import some_boards  # type: ignore[import-not-found]

    some_boards.Changed = type("Changed", (CountdownBoard,), changes)


def test_a_board_that_fails_in_a_match_is_named() -> None:
    def next_state(self: Any, history: list[Any], action: int) -> Any:
        return fails() if len(history) > 1 else CountdownBoard.next_state(self, history[-1], action)

    install({"next_state": next_state})
    game = games.load("original(board=changed)")
    state = game.next_state(game.initial_state(), 0)
    with pytest.raises(BoardError, match="the Board of changed cannot be used: next_state failed"):
        game.next_state(state, 0)


def test_names_that_do_not_tell_actions_apart_are_not_used() -> None:
    install({"to_notation": lambda self, action: "same"})
    game = games.load("original(board=changed)")
    assert isinstance(game, Original)
    assert [game.action_name(game.initial_state(), action) for action in (0, 1)] == ["1", "2"]


def test_a_board_that_cannot_be_imported_is_one_clear_error() -> None:
    with pytest.raises(SpecError, match="cannot be loaded: No module named 'no_such_module'"):
        games.load("original(board=nowhere)")
