"""Names and positions of chess against another implementation: python-chess, move by move."""

from __future__ import annotations

import contextlib
import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playout import games
from playout.games import IllegalAction, Position, SpecError
from playout.games.chessboard.notation import position, text_of, uci_name
from support.scale import repetitions

BOTH_CASTLE = "r3k2r/1ppppppp/8/8/8/8/1PPPPPPP/R3K2R w KQkq - 0 1"
MANY_OF_A_KIND = "6k1/PPP5/8/Q1Q1Q3/8/R6R/8/N1N1K3 w - - 0 1"


def after(moves: str, fen: str = "") -> tuple[games.Game, games.State]:
    """Return the position after moves by their names."""
    game = games.load(f"chess(fen={fen})" if fen else "chess")
    state = Position.from_names(game, moves.split()).state
    return game, state


def note(moves: str, fen: str = "") -> str:
    game, state = after(moves, fen)
    return game.view(state).note


@pytest.mark.parametrize("fen", ["", BOTH_CASTLE, MANY_OF_A_KIND])
def test_names_and_positions_agree_at_every_ply(fen: str) -> None:
    game, state = after("", fen)
    other = chess.Board(fen or chess.STARTING_FEN)
    choose = random.Random(1)
    for _ in range(repetitions(1000, short=60)):
        assert text_of(state, other.fullmove_number) == other.fen(en_passant="xfen")
        king = other.king(other.turn)
        assert king is not None
        cell = chess.square_mirror(king)
        assert game.view(state).checked == ((cell,) if other.is_check() else ())
        assert position(text_of(state))[: 2 + 64 + 3] == (state[0], 0, *state[2 : 2 + 64 + 3])
        moves = {uci_name(state, action): action for action in game.legal_actions(state)}
        if state[1]:
            state, other = game.initial_state(), chess.Board(fen or chess.STARTING_FEN)
            continue
        expected = {move.uci(): other.san(move) for move in other.legal_moves}
        assert {name: game.action_name(state, action) for name, action in moves.items()} == expected
        name = choose.choice(sorted(moves))
        state = game.next_state(state, moves[name])
        other.push_uci(name)


@pytest.mark.parametrize("name", ["exd6", "e5d6", "EXD6", "exd6+", " exd6 "])
def test_a_move_is_read_as_san_and_as_uci(name: str) -> None:
    game, state = after("e4 Nf6 e5 d5")
    assert game.action_name(state, game.parse_action(state, name)) == "exd6"
    for other in ("exd7", "Nc3d5", "xd7", ""):
        with pytest.raises(IllegalAction, match="legal are: "):
            game.parse_action(state, other)


@pytest.mark.parametrize(
    ("names", "san"),
    [
        (("O-O", "0-0", "o-o", "e1g1"), "O-O"),
        (("Rxh8#", "Rxh8", "rxh8", "h1h8"), "Rxh8+"),
        (("b8=Q", "b8=Q+", "b7b8q", "B7B8Q"), "b8=Q+"),
        (("b8=N", "b8=n", "b7b8n"), "b8=N"),
    ],
)
def test_signs_and_case_do_not_matter(names: tuple[str, ...], san: str) -> None:
    game, state = after("", "4k2r/1P6/8/8/8/8/8/4K2R w K - 0 1")
    for name in names:
        if not name.endswith("#"):
            assert game.action_name(state, game.parse_action(state, name)) == san


def test_case_matters_between_a_bishop_and_a_pawn() -> None:
    game, state = after("", "4k3/8/8/8/8/2n5/1P1B4/4K3 w - - 0 1")
    assert game.parse_action(state, "bxc3") != game.parse_action(state, "Bxc3")
    with pytest.raises(IllegalAction, match="'BXC3' is not legal here"):
        game.parse_action(state, "BXC3")


def test_a_promotion_without_its_piece_is_not_a_move() -> None:
    game, state = after("", "4k3/1P6/8/8/8/8/8/4K3 w - - 0 1")
    clicks = [cells for cells in game.view(state).clicks.values() if cells[0] == 9]
    assert clicks == [(9, 1)] * 4
    for name in ("b8", "b7b8"):
        with pytest.raises(IllegalAction, match="b8=Q"):
            game.parse_action(state, name)


def test_the_board_is_drawn_with_letters_as_in_fen() -> None:
    game, state = after("e4 c5 Nf3")
    assert game.show(state).splitlines() == [
        "   a b c d e f g h",
        " 8 r n b q k b n r",
        " 7 p p . p p p p p",
        " 6 . . . . . . . .",
        " 5 . . p . . . . .",
        " 4 . . . . P . . .",
        " 3 . . . . . N . .",
        " 2 P P P P . P P P",
        " 1 R N B Q K B . R",
    ]


@pytest.mark.parametrize(
    ("fen", "moves", "winner", "note_"),
    [
        ("", "f3 e5 g4 Qh4", 2, "checkmate"),
        ("", "e4 e5 Bc4 Nc6 Qh5 Nf6 Qxf7", 1, "checkmate"),
        ("k7/8/1K6/8/8/8/8/6Q1 w - - 0 1", "Qg6", 0, ""),
        ("k7/8/1K6/8/8/8/8/2Q5 w - - 0 1", "Qc7", -1, "stalemate"),
        ("", "Nf3 Nf6 Ng1 Ng8 " * 2, -1, "the position for the third time"),
        ("k7/8/8/8/8/8/8/K6R w - - 98 90", "Rh2", 0, "99 of 100 moves without a capture"),
        ("k7/8/8/8/8/8/8/K6R w - - 98 90", "Rh2 Kb7", -1, "50 moves of each player"),
        ("7k/8/6K1/8/8/8/8/R7 w - - 99 90", "Ra8", 1, "checkmate"),
        ("k7/8/8/8/8/8/6p1/K6B w - - 0 1", "Bxg2", -1, "neither player can mate"),
        ("k7/8/8/8/8/8/6p1/K3N2B w - - 0 1", "Bxg2", 0, "check"),
        ("kb6/8/8/8/8/8/1n6/K1B5 w - - 0 1", "Bxb2", -1, "neither player can mate"),
    ],
)
def test_ends_of_matches_are_named(fen: str, moves: str, winner: int, note_: str) -> None:
    game, state = after(moves, fen)
    assert game.winner(state) == winner
    assert game.view(state).note.startswith(note_)


def test_a_right_to_castle_and_a_pawn_to_capture_make_another_position() -> None:
    back_and_forth = "Ng1 Ng8 Nf3 Nf6 "
    assert note("e4 e5 Nf3 Nf6 " + back_and_forth) == ""
    # Without the right to castle, the position counts from then on only.
    king = "Ke2 Ke7 Ke1 Ke8 "
    assert note("e4 e5 " + king * 2 + "Ke2") == ""
    assert note("e4 e5 " + king * 2 + "Ke2 Ke7") == "the position for the third time"
    # White could capture the pawn in passing the first time.
    fen = "k7/3p4/8/4P3/8/8/8/K6N b - - 0 1"
    assert note("d5 " + "Ng3 Kb8 Nh1 Ka8 " * 2, fen) == ""
    assert note("d5 " + "Ng3 Kb8 Nh1 Ka8 " * 2 + "Ng3", fen) == "the position for the third time"


@pytest.mark.parametrize(
    ("fen", "told"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1", "each player has one king"),
        ("kk6/8/8/8/8/8/8/K7 w - - 0 1", "each player has one king"),
        ("k7/8/8/8/8/8/K7 w - - 0 1", "eight rows of eight squares"),
        ("k8/8/8/8/8/8/8/K7 w - - 0 1", "eight rows of eight squares"),
        ("k6X/8/8/8/8/8/8/K7 w - - 0 1", "eight rows of eight squares"),
        ("k6P/8/8/8/8/8/8/K7 w - - 0 1", "pawns do not stand"),
        ("k7/8/8/8/8/8/8/K6R w K - 0 1", "king and rook stand on their first squares"),
        ("k7/8/8/8/8/8/8/K6R w X - 0 1", "castling is some of KQkq"),
        ("k7/8/8/8/8/8/8/K6R w - e3 0 1", "en passant is a square"),
        ("k7/8/8/8/8/8/8/K6R w - e6 0 1", "no pawn has just passed e6"),
        ("k7/8/8/8/8/8/8/K6R w - - x 1", "x is not a number"),
        ("k7/8/8/8/8/8/8/K6R", "write the rows, w or b"),
        ("k7/8/8/8/8/8/8/K7 w - - 0 1", "the match is over there"),
        ("k7/8/8/8/8/8/8/K6R w - - 100 99", "the match is over there"),
        ("kR6/8/8/8/8/8/8/K7 w - - 0 1", "the king could be captured"),
    ],
)
def test_a_position_that_begins_no_match_is_explained(fen: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        games.load(f"chess(fen={fen})")


@settings(max_examples=repetitions(2000, short=50))
@given(st.text(alphabet="kKpPrRqQ12345678/ wb-e36KQkq0", max_size=90))
def test_any_text_is_a_position_or_a_clear_error(text: str) -> None:
    with contextlib.suppress(SpecError):
        assert position(text_of(position(text))) == position(text)


@pytest.mark.parametrize(
    ("fen", "moves"),
    [  # a pawn that no move can capture en passant does not make another position
        ("3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1", "e4 Kc8 Kf1 Kd8 Ke1 Kc8 Kf1 Kd8 Ke1"),
        ("8/8/8/8/k2p3R/8/4P3/7K w - - 0 1", "e4 Kb5 Kh2 Ka4 Kh1 Kb5 Kh2 Ka4 Kh1"),
        ("7k/4p3/8/K2P3r/8/8/8/8 b - - 0 1", "e5 Kb4 Kg8 Ka5 Kh8 Kb4 Kg8 Ka5 Kh8"),
        # here it can be captured once, so that the first position is another one
        ("3k4/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e4 Kc8 Kf1 Kd8 Ke1 Kc8 Kf1 Kd8 Ke1"),
    ],
)
def test_a_repetition_counts_if_the_same_moves_are_possible(fen: str, moves: str) -> None:
    game, board = games.load(f"chess(fen={fen})"), chess.Board(fen)
    state = game.initial_state()
    for number, name in enumerate(moves.split(), start=1):
        assert not game.winner(state)
        state = game.next_state(state, game.parse_action(state, name))
        board.push_san(name)
        assert (game.winner(state) == -1) == board.is_repetition(3), number


def test_a_pawn_that_no_move_captures_is_not_in_a_position() -> None:
    pinned = "3k4/8/8/8/3pP3/8/8/3RK3 b - e3 0 1"
    assert text_of(games.load(f"chess(fen={pinned})").initial_state()).split()[3] == "-"
    free = "3k4/8/8/8/3pP3/8/8/4K3 b - e3 0 1"
    assert text_of(games.load(f"chess(fen={free})").initial_state()).split()[3] == "e3"
