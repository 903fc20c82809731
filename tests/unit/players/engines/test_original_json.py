"""Our games against boards that are written to the interface of the original system."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from playout.games import IllegalAction, SpecError
from playout.players.engines.original_json import RULES, UnknownAction, rules_named
from support import scale
from support.original_boards import BOARDS, NATIVE

MATCHES = scale.repetitions(500, short=4)


@pytest.mark.timeout(3600 if scale.slow else 600)
@pytest.mark.parametrize("name", NATIVE)
def test_random_matches_agree_at_every_ply(name: str) -> None:
    board, rules = BOARDS[name](), rules_named(name)
    game = rules.game
    for seed in range(MATCHES):
        choose = random.Random(f"{name} {seed}")
        history, state, previous = [board.starting_state()], game.initial_state(), 2
        while not game.winner(state):
            legal = {
                action: rules.action_json(state, action) for action in game.legal_actions(state)
            }
            if None in legal.values():  # a pass, which the original does not have
                state = game.next_state(state, *legal)
                continue
            told = json.loads(json.dumps(rules.state_json(state, previous)))
            assert board.to_compact_state(told) == history[-1]
            assert (told["player"], told["previous_player"]) == (state[0], previous)
            assert not board.is_ended(history)
            expected = [board.to_json_action(each) for each in board.legal_actions(history)]
            assert sorted(legal.values(), key=str) == sorted(expected, key=str)
            action = choose.choice(list(legal))
            assert rules.action_of(state, legal[action]) == action
            previous = state[0]
            history.append(board.next_state(history, board.to_compact_action(legal[action])))
            state = game.next_state(state, action)
        assert board.is_ended(history)
        assert rules.points(state) == by_text(board.points_values(history))
        assert by_text(board.win_values(history))["1"] == {1: 1, 2: 0, -1: 0.5}[game.winner(state)]


def by_text(values: dict[Any, float]) -> dict[str, float]:
    """Numbers by player, as in JSON."""
    return {str(player): value for player, value in values.items()}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("connect_four", None),
        ("connect_four", 3),
        ("connect_four", {}),
        ("connect_four", {"column": 99}),
        ("connect_four", {"column": -1}),
        ("connect_four", {"column": True}),
        ("connect_four", {"column": 1.0}),
        ("connect_four", {"column": "1"}),
        ("reversi", {"row": 8, "column": 0}),
        ("chong", {"type": "rook", "row": 1, "column": 0}),
        ("t3", {"outer-row": 0, "outer-column": 0, "inner-row": 0, "inner-column": None}),
    ],
)
def test_invalid_actions_are_refused(name: str, message: object) -> None:
    rules = rules_named(name)
    with pytest.raises(UnknownAction, match=f"an action of {name} is an object with"):
        rules.action_of(rules.game.initial_state(), message)


def test_an_action_that_the_rules_forbid_is_illegal() -> None:
    rules = rules_named("reversi")
    with pytest.raises(IllegalAction, match="is not legal"):
        rules.action_of(rules.game.initial_state(), {"row": 0, "column": 0})


def test_games_have_both_names() -> None:
    for name, each in RULES.items():
        assert type(rules_named(name)) is type(rules_named(each.spec)) is each
    with pytest.raises(SpecError, match="did you mean 'reversi'"):
        rules_named("reversy")
