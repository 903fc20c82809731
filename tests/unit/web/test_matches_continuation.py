"""Moves that a person tries from a position of a match, and the numbers of moves."""

from __future__ import annotations

import itertools

import pytest
from msgspec import structs

from playout.server.web.http import HttpError
from playout.server.web.match_data import MatchData, match_data
from playout.server.web.pages.matches import continuation, move_numbers
from support.stored_game import LOST, PlayedGame


def data_of(played: PlayedGame) -> MatchData:
    """The data of a match without analyses."""
    moves = tuple(structs.replace(each, info=None) for each in played.stored.moves)
    return match_data(structs.replace(played.stored, moves=moves))


MATCH = data_of(PlayedGame("tic_tac_toe").play(*LOST))


def test_tried_moves_lead_to_positions_and_legal_moves() -> None:
    tried = continuation(MATCH, 2, (4, 8))
    assert tried.actions == (0, 3, 4, 8)
    assert [(each.ply, each.player, each.view.name) for each in tried.positions] == [
        (3, 1, "b2"),
        (4, 2, "c3"),
    ]
    assert tried.positions[-1].view.cells == (1, 0, 0, 2, 1, 0, 0, 0, 2)
    assert tried.to_move == 1
    assert [move.action for move in tried.legal_moves] == [1, 2, 5, 6, 7]


def test_without_a_move_there_are_the_legal_moves_of_the_match() -> None:
    tried = continuation(MATCH, 0, ())
    assert (tried.positions, tried.actions, len(tried.legal_moves)) == ((), (), 9)


def test_nothing_follows_on_the_end() -> None:
    tried = continuation(MATCH, 4, (2,))
    assert (tried.to_move, tried.legal_moves) == (0, ())
    assert tried.positions[0].view.winning


@pytest.mark.parametrize(("ply", "moves"), [(2, (4, 4)), (2, (99,)), (4, (2, 5))])
def test_an_illegal_move_is_named(ply: int, moves: tuple[int, ...]) -> None:
    with pytest.raises(HttpError, match=rf"move \d, action {moves[-1]}, is not legal"):
        continuation(MATCH, ply, moves)


def test_moves_of_chess_are_numbered_in_pairs_and_others_one_by_one() -> None:
    chess = PlayedGame("chess")
    for name in ("e4", "e5", "Nf3"):
        chess.play(chess.match.game.parse_action(chess.match.state, name))
    assert move_numbers(data_of(chess)) == ["1.", "1…", "2."]
    assert move_numbers(MATCH) == ["1", "2", "3", "4", "5"]


def test_the_steps_of_a_move_have_one_number() -> None:
    amazons, boxes = PlayedGame("amazons"), PlayedGame("dots_and_boxes")
    for played, plies in ((amazons, 15), (boxes, 40)):
        for _ in range(plies):
            played.play(played.match.game.legal_actions(played.match.state)[0])
    numbers = ["1."] * 3 + ["1…"] * 3 + ["2."] * 3 + ["2…"] * 3 + ["3."] * 3
    assert move_numbers(data_of(amazons)) == numbers
    data = data_of(boxes)
    movers = [each.player for each in data.positions[1:]]
    turns = 1 + sum(one != other for one, other in itertools.pairwise(movers))
    assert turns < len(movers)
    assert move_numbers(data)[-1] == str(turns)
