"""Backgammon against OpenSpiel, and the published numbers of positions after each roll."""

from __future__ import annotations

import random
from typing import Any

import pyspiel

from playout import games
from playout.games import State
from playout.games.backgammon import Backgammon
from support.scale import repetitions

#: Distinct positions after each roll from the start.
AFTER = {
    **{"21": 15, "31": 16, "32": 17, "41": 14, "42": 18, "43": 17, "51": 8, "52": 8, "53": 9},
    **{"54": 9, "61": 10, "62": 14, "63": 14, "64": 14, "65": 7},
    **{"11": 42, "22": 75, "33": 73, "44": 52, "55": 4, "66": 11},
}


def backgammon() -> Backgammon:
    game = games.load("backgammon")
    assert isinstance(game, Backgammon)
    return game


def after_the_turn(game: Backgammon, state: State) -> set[State]:
    """Return the positions that a player can reach in a turn, with both halves of a double."""
    found = set()
    for action in game.legal_actions(state):
        after = game.next_state(state, action)
        found |= after_the_turn(game, after) if after[5] else {after}
    return found


def test_the_positions_after_each_roll_from_the_start() -> None:
    game = backgammon()
    before = (0, 0, 1, *game.initial_state()[3:])
    found = {
        game.action_name(before, roll): len(after_the_turn(game, game.next_state(before, roll)))
        for roll in game.legal_actions(before)
    }
    assert found == AFTER
    assert sum(found.values()) == 447


def test_the_moves_after_the_opening_rolls() -> None:
    """OpenSpiel has 758 moves and 36 rolls after them: of these, 380 and 21 are different."""
    game = backgammon()
    first = [game.next_state(game.initial_state(), roll) for roll in range(30)]
    second = [game.next_state(state, move) for state in first for move in game.legal_actions(state)]
    assert len(first) == len(game.legal_actions(game.initial_state())) == 30
    assert len(second) == 380
    assert {len(game.legal_actions(state)) for state in second} == {21}
    assert {sum(game.chances(state)) for state in second} == {36}


def shown(peer: Any) -> tuple[int, ...]:
    """Return the points, the bars and the checkers borne off of a position of OpenSpiel."""
    points = [peer.board(0, point) - peer.board(1, point) for point in range(24)]
    lines = dict(line.split(":", 1) for line in str(peer).splitlines() if ":" in line)
    off = [int(word.strip("O: ")) for word in lines["Scores, X"].split(",")]
    return (*points, lines["Bar"].count("x"), lines["Bar"].count("o"), *off)


def require_the_same_moves(game: Backgammon, state: State, peer: Any) -> None:
    """The legal actions are the lowest of OpenSpiel's that lead to each position."""
    lowest: dict[tuple[int, ...], int] = {}
    for action in sorted(peer.legal_actions(), reverse=True):
        lowest[shown(peer.child(action))] = action
    assert tuple(sorted(lowest.values())) == game.legal_actions(state)
    for after, action in lowest.items():
        assert game.next_state(state, action)[6:34] == after


def test_matches_are_those_of_open_spiel() -> None:
    game, reference, draw = backgammon(), pyspiel.load_game("backgammon"), random.Random(1)
    for _ in range(repetitions(2500, short=3)):
        state, peer = game.initial_state(), reference.new_initial_state()
        while not state[1]:
            assert not peer.is_terminal()
            assert peer.current_player() == state[0] - 1
            assert shown(peer) == state[6:34]
            if state[0] == 0:
                theirs = dict(peer.chance_outcomes())
                weights = dict(zip(game.legal_actions(state), game.chances(state), strict=True))
                for roll, weight in weights.items():
                    both = (roll, roll + 1) if state[2] and roll < 30 else (roll,)
                    share = weight / sum(weights.values())
                    assert abs(sum(theirs[each] for each in both) - share) < 1e-9
                assert len(weights) == (21 if state[2] else len(theirs))
            elif draw.random() < 0.3:
                require_the_same_moves(game, state, peer)
            action = draw.choice(game.legal_actions(state))
            state = game.next_state(state, action)
            peer.apply_action(action)
        assert peer.is_terminal()
        assert (peer.returns()[0] > 0) == (state[1] == 1)


def named(state: State) -> list[str]:
    game = backgammon()
    return [game.action_name(state, action) for action in game.legal_actions(state)]


def position(
    player: int, dice: tuple[int, int], first: dict[int, int], second: dict[int, int]
) -> State:
    """Return a position by the distances of the checkers of both players; 25 is the bar."""
    points = [0] * 24
    for place, count in first.items():
        if place < 25:
            points[24 - place] += count
    for place, count in second.items():
        if place < 25:
            points[place - 1] -= count
    off = (15 - sum(first.values()), 15 - sum(second.values()))
    return (player, 0, player, *dice, 0, *points, first.get(25, 0), second.get(25, 0), *off, 9)


def test_moves_are_written_as_players_do() -> None:
    assert "8/5 6/5" in named(position(1, (3, 1), {8: 3, 6: 5, 13: 7}, {6: 15}))
    # The blots of player 2 are on the points 10 and 9 of player 1.
    both = position(1, (4, 3), {13: 1, 1: 14}, {15: 1, 16: 1, 1: 13})
    assert {*named(both)} == {"13/10*/6", "13/9*/6"}
    assert named(position(1, (5, 2), {25: 1, 3: 14}, {5: 2, 1: 13})) == ["bar/18"]
    assert named(position(2, (6, 5), {24: 15}, {25: 2, 20: 13})) == ["bar/20 bar/19"]
    assert named(position(1, (6, 5), {25: 2, 3: 13}, {6: 8, 5: 7})) == ["pass"]
    assert "2/off 1/off" in named(position(2, (6, 5), {10: 15}, {2: 1, 1: 1}))
    assert named(position(1, (3, 3), {6: 2}, {24: 15})) == ["6/3(2)", "6/off"]


def test_the_higher_number_is_moved_if_only_one_can_be() -> None:
    # From 20, both 14 and 15 are open, and 9 is closed.
    state = position(1, (6, 5), {20: 1}, {16: 2, 1: 13})
    assert named(state) == ["20/14"]


def test_the_board_shows_points_bar_dice_and_pips() -> None:
    game = backgammon()
    text = game.show(game.initial_state())
    assert "X (player 1): 167 pips, 0 on the bar, 0 off" in text
    assert text.endswith("before a roll")
    rolled = game.show(game.next_state(game.initial_state(), 2))
    assert rolled.endswith("dice 3 1")
