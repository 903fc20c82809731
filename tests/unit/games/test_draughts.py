"""International draughts against another implementation: pydraughts, move by move."""

from __future__ import annotations

import random
import re

import draughts
import pytest
from draughts.core.game import BLACK, WHITE
from draughts.core.game import Game as PeerGame

from playout import games
from playout.games import SpecError
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


START = "W:W31;32;33;34;35;36;37;38;39;40;41;42;43;44;45;46;47;48;49;50:B1-20"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"draughts(fen={START})", "draughts"),
        ("draughts(fen=W:W31-50:B1-20:H0:F1)", "draughts"),
        ("draughts(fen=b : B K6;05 : w 31;k40 .)", "draughts(fen=B:W31;K40:B5;K6)"),
        ("checkers(fen=B:W21-32:B1-12)", "checkers"),
        ("checkers(fen=W:WK3;10:BK20)", "checkers(fen=W:WK3;10:BK20)"),
        ("draughts(fen=W:WK31:BK1:h3:f40)", "draughts(fen=W:WK31:BK1:H3:F40)"),
        ("draughts(fen=W:WK31:BK1:F7)", "draughts(fen=W:WK31:BK1:H0:F7)"),
        ("checkers(fen=W:WK3;10:BK20:H39)", "checkers(fen=W:WK3;10:BK20:H39:F1)"),
    ],
)
def test_a_position_is_a_first_position(text: str, expected: str) -> None:
    game = games.load(text)
    assert str(game) == str(games.load(expected)) == expected


def test_the_numbers_of_a_position_count_on() -> None:
    game = games.load("draughts(fen=W:WK31;50:BK1:H3:F40)")
    assert (game.first_number, game.initial_state()[-1]) == (40, 3)
    after = game.next_state(game.initial_state(), game.parse_action(game.initial_state(), "31-26"))
    assert after[-1] == 4


@pytest.mark.parametrize(
    ("fen", "fault"),
    [
        ("", "cannot read the option"),
        ("W:W31", "write W or B"),
        ("W:W31:W1", "write W or B"),
        ("W:Wx:B1", "write W or B"),
        ("W:W51:B1", "51 is no square"),
        ("W:W31:B31", "31 is no square, or is there twice"),
        ("W:W5:B1", "a man on 5 would be a king"),
        ("W:W31:B", "each player has 1 to 20 pieces"),
        ("W:W31-50;30:B1", "each player has 1 to 20 pieces"),
        ("W:W50:B45;40;44;39", "the match is over there"),
        ("W:WK50:BK1:H50:F70", "it is a tie after 50 plies"),
    ],
)
def test_a_position_without_a_match_is_refused(fen: str, fault: str) -> None:
    with pytest.raises(SpecError, match=fault):
        games.load(f"draughts(fen={fen})")


def test_a_position_is_that_of_pydraughts_with_its_moves() -> None:
    text = "B:W25,27,K32,35,50:B1,2,K9,10,19,20"
    game = games.beginning_at(games.load("draughts"), text)
    board = draughts.Board(variant="standard", fen=text)
    first = {(each.squares[0], each.squares[-1]) for each in game.turns(game.initial_state())}
    moves = [re.split("[x-]", move.pdn_move) for move in board.legal_moves()]
    assert first == {(each[0], each[-1]) for each in moves}


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("draughts(fen=W:W32:B28;19;1)", ["32x14"]),
        ("draughts(fen=W:W32:B1;29)", []),
        # 38x38 begins and ends on the same square, where a second click puts the piece down.
        ("draughts(fen=W:W38:B32;22;21;33;24;23)", ["38x20", "38x16"]),
        ("checkers(fen=B:B1;4:W6;14;32)", ["1x17"]),
        ("checkers(fen=B:B2;4:W6;7;14;15;32)", []),  # 2x9x18 and 2x11x18
    ],
)
def test_a_capture_of_several_is_one_move_if_its_first_and_last_square_name_it(
    spec: str, names: list[str]
) -> None:
    game = games.load(spec)
    state = game.initial_state()
    assert [each.name for each in game.long_moves(state)] == names
    for name, _, actions in game.long_moves(state):
        assert game.parse_turn(state, name) == actions
