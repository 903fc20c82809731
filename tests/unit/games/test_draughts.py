"""International draughts against another implementation: pydraughts, move by move."""

from __future__ import annotations

import random

from draughts.core.game import BLACK, WHITE
from draughts.core.game import Game as PeerGame

from playout import games
from support.scale import repetitions


def turns(game: games.Game, state: games.State) -> dict[tuple[int, ...], games.State]:
    """Return the squares of each turn of the player to move, and the position after it."""
    found: dict[tuple[int, ...], games.State] = {}
    unfinished: list[tuple[tuple[int, ...], games.State]] = [((), state)]
    while unfinished:
        squares, here = unfinished.pop()
        for action in game.legal_actions(here):
            start, target = (square + 1 for square in divmod(action, 50))
            longer = (*(squares or (start,)), target)
            after = game.next_state(here, action)
            if after[0] == state[0]:
                unfinished.append((longer, after))
            else:
                found[longer] = after
    return found


def in_squares(move: list[list[int]]) -> tuple[int, ...]:
    """Return the squares of a move of the other implementation, which lists its steps."""
    return (move[0][0], *(target for _, target in move))


def test_random_matches_agree_at_every_turn() -> None:
    """A match is compared up to a tie by repetition, which is no rule of ours."""
    game, choose = games.load("draughts"), random.Random(1)
    for _ in range(repetitions(100, short=1)):
        state, other = game.initial_state(), PeerGame()
        while not other.is_threefold():
            ours, (theirs, _) = turns(game, state), other.legal_moves()
            result = other.get_winner()
            expected = {None: 0, WHITE: 1, BLACK: 2, 0: games.TIE}[result]
            assert game.winner(state) == expected
            if expected:
                break
            assert sorted(ours) == sorted({in_squares(move) for move in theirs})
            move = choose.choice(theirs)
            state = ours[in_squares(move)]
            other.push(move)


def position(player: int, squares: dict[int, int]) -> games.State:
    """Return the position with these pieces by square, and the player to move."""
    names = games.load("draughts").view(games.load("draughts").initial_state()).cell_labels
    cells = (squares.get(int(name), 0) if name else 0 for name in names)
    return (player, 0, *cells, -1, 0)


def legal_names(state: games.State) -> list[str]:
    game = games.load("draughts")
    return [game.action_name(state, action) for action in game.legal_actions(state)]


def test_the_longest_capture_must_be_played() -> None:
    # 28 could capture 22 alone, or 23 and 14.
    assert legal_names(position(1, {28: 1, 22: 2, 23: 2, 14: 2})) == ["28x19"]
    assert legal_names(position(1, {28: 1, 22: 2, 23: 2})) == ["28x17", "28x19"]


def test_a_king_flies_and_lands_behind_at_any_distance() -> None:
    names = ["46x5", "46x10", "46x14", "46x19", "46x23"]
    assert legal_names(position(1, {46: 3, 28: 2})) == names


def test_a_man_that_passes_the_far_row_stays_a_man() -> None:
    game = games.load("draughts")
    state = position(1, {12: 1, 8: 2, 9: 2, 50: 2})
    for name in ("12x3", "3x14"):
        assert game.current_player(state) == 1
        state = game.next_state(state, game.parse_action(state, name))
    assert set(game.view(state).kinds) == {"", "man"}
    assert game.current_player(state) == 2


def test_captured_pieces_stay_until_the_end_of_the_capture() -> None:
    game = games.load("draughts")
    state = position(1, {12: 1, 8: 2, 9: 2, 50: 2})
    state = game.next_state(state, game.parse_action(state, "12x3"))
    assert sum(game.view(state).cells) == 1 + 3 * 2
    assert game.view(state).note == "3 must capture again"
    state = game.next_state(state, game.parse_action(state, "3x14"))
    assert sum(game.view(state).cells) == 1 + 2
