"""Drawings of positions, and rules that a drawing shows best."""

from __future__ import annotations

import random

import numpy as np

from playout import games
from playout.games import KernelGame, Position


def after(spec: str, moves: str) -> tuple[games.Game, games.State]:
    """Return the position after moves in the notation of the game."""
    game = games.load(spec)
    state = Position.from_names(game, moves.split()).state
    return game, state


def picture(spec: str, moves: str) -> str:
    game, state = after(spec, moves)
    return "\n".join(line.rstrip() for line in game.show(state).splitlines())


def test_discs_fall_on_each_other() -> None:
    expected = """\
   1 2 3 4 5 6 7
   . . . . . . .
   . . . . . . .
   . . . . . . .
   . . . X . . .
   . . . O . . .
   . . . X . . O"""
    assert picture("connect_four", "4 4 4 7") == expected


def test_enclosed_discs_turn() -> None:
    expected = """\
   a b c d e f
 1 . . . . . .
 2 . O X . . .
 3 . . O X . .
 4 . . X O . .
 5 . . . . . .
 6 . . . . . .
discs 3-3"""
    assert picture("othello(size=6)", "c2 b2") == expected


def test_the_nine_boards_are_drawn_as_one() -> None:
    expected = """\
   a b c  d e f  g h i
 1 . . .  . . .  . . .
 2 . . .  . . .  . . .
 3 . . .  . . .  . . .

 4 . . .  . . .  . . .
 5 . . .  . . .  . . .
 6 . . .  . . X  . . .

 7 . . .  . . .  . O .
 8 . . .  . . .  . . .
 9 . . .  . . .  . . .
to move on board top"""
    assert picture("ultimate_tic_tac_toe", "f6 h7") == expected


def test_a_heap_shrinks() -> None:
    expected = """\
   1 2 3 4 5
   X X . . .
2 chips left"""
    assert picture("nim(chips=5)", "3") == expected


def test_several_heaps_are_rows_with_numbered_chips() -> None:
    expected = """\
 1 X
 2 X 2 3
 3 X X X X X
 4 X X X X 5 6 7
11 chips left"""
    assert picture("nim(piles=1;3;5;7)", "4:3 2:2") == expected


def test_pits_show_their_names_and_seeds() -> None:
    expected = """\
 store:0  f:4  e:4  d:4  c:4  b:4  a:4
          A:0  B:5  C:1  D:6  E:6  F:5  store:1"""
    assert picture("kalah", "C A") == expected


def test_in_kalah_the_last_seed_in_an_empty_pit_captures_those_opposite() -> None:
    expected = """\
 store:5  d:3  c:0  b:3  a:0
          A:0  B:0  C:3  D:2  store:0"""
    assert picture("kalah(houses=4,seeds=2)", "A c a") == expected


def test_in_oware_twos_and_threes_are_captured_but_not_all_seeds_of_the_opponent() -> None:
    game = games.load("oware(houses=3,seeds=2)")
    before = (1, 0, 0, 3, 2, 1, 1, 1, 0, 4)
    after = game.next_state((*before, *(0,) * 300), 2)
    assert after[2:10] == (0, 3, 0, 0, 0, 1, 4, 4)
    before = (1, 0, 0, 3, 2, 1, 1, 0, 1, 4)
    after = game.next_state((*before, *(0,) * 300), 2)
    assert after[2:10] == (0, 3, 0, 2, 2, 0, 1, 4)


def test_lines_of_action_counts_its_rows_from_the_bottom() -> None:
    expected = """\
   a b c d e f g h
 8 . X X X X X X .
 7 O . . . . . . O
 6 O . . . . . . O
 5 O . . . . . . O
 4 O . . . . . . O
 3 X . . . . . . O
 2 O . . . . . . O
 1 . X . X X X X ."""
    assert picture("lines_of_action", "c1xa3") == expected


def test_an_arrow_blocks_a_cell_for_queens_and_arrows() -> None:
    expected = """\
   a b c d e f
 6 . q . . q .
 5 q . . . . q
 4 . . . . . .
 3 . . . # . .
 2 . . . Q . Q
 1 . Q . . Q .
to choose a queen"""
    assert picture("amazons(size=6)", "a2 d2 d3") == expected
    game, state = after("amazons(size=6)", "a2 d2 d3 b6 b3")
    assert game.view(state).note == "to shoot an arrow"
    names = [game.action_name(state, action) for action in game.legal_actions(state)]
    assert " ".join(names) == "b6 b5 d5 a4 b4 c4 a3 c3 a2 b2 c2 d1"


def test_dots_lines_and_boxes_have_cells_of_their_own() -> None:
    expected = """\
   a b c d e
 1 + - + - +
 2 | X | . .
 3 + - + . +
boxes 1-0"""
    assert picture("dots_and_boxes(rows=1,columns=2)", "b1 a2 b3 d1 c2") == expected


def test_amazons_is_lost_by_the_player_who_cannot_move() -> None:
    game = games.load("amazons(size=6)")
    pieces = {0: 1, 1: 1, 6: 1, 7: 1, 28: 2, 29: 2, 34: 2, 35: 2, 2: 3, 8: 3, 12: 3, 13: 3}
    cells = [pieces.get(cell, 0) for cell in range(36)]
    state = (2, 0, *cells, 2, 28)  # player 2 has moved a queen to e2, and shoots
    after = {name: game.next_state(state, game.parse_action(state, name)) for name in ("c4", "d3")}
    assert [game.winner(each) for each in after.values()] == [2, 0]
    assert after["c4"][0] == 1


def test_hexagonal_and_triangular_boards_leave_out_the_other_cells() -> None:
    expected = """\
     a b c
 3     . .
  2   . O .
   1   . X"""
    assert picture("havannah(size=2)", "b1 b2") == expected
    expected = """\
     a b c
 1   . X .
  2   . .
   3   O"""
    assert picture("y(size=3)", "b1 a3") == expected


def test_a_ring_wins_whatever_is_inside() -> None:
    game, state = after("havannah(size=4)", "c3 d4 d3 a1 e4 b1 e5 d1 d5 f3")
    assert game.winner(state) == 0
    assert game.winner(game.next_state(state, game.parse_action(state, "c4"))) == 1


def test_in_pentago_a_quarter_is_turned_with_the_new_stone() -> None:
    expected = """\
   a b c  d e f
 1 . . .  . . .
 2 . . .  . . O
 3 . . X  . . .

 4 . . .  . . .
 5 . . .  . . .
 6 . . .  . . ."""
    assert picture("pentago", "c1a1c1 e1f1f3") == expected


def checkers(player: int, pieces: dict[int, int]) -> games.State:
    """Return a position of checkers with these pieces by cell, and the player to move."""
    return (player, 0, *(pieces.get(cell, 0) for cell in range(64)), -1, 7)


def test_kings_are_capital_letters_and_empty_squares_have_numbers() -> None:
    expected = """\
       X    31    30    29
    x    27    26    25
      24    23    22    21
   20    19    18    17
      16    15     o    13
   12    11     O     9
       8     7     6     5
    4     3     2     x"""
    shown = games.load("checkers").show(checkers(1, {1: 3, 8: 1, 44: 4, 37: 2, 62: 1}))
    assert [line.rstrip() for line in shown.splitlines()] == expected.splitlines()


def test_a_piece_jumps_on_until_it_becomes_a_king() -> None:
    game = games.load("checkers")
    state = checkers(1, {53: 1, 44: 2, 28: 2, 10: 2, 12: 2, 46: 2})
    names = ["6x15", "15x22", "22x31"]
    for name in names:
        assert game.current_player(state) == 1
        state = game.next_state(state, game.parse_action(state, name))
    assert game.current_player(state) == 2  # 31 could jump over 27
    assert game.view(state).kinds[3] == "king"
    assert game.view(state).note == ""


def test_hexagons_are_drawn_between_the_edges_of_their_owners() -> None:
    expected = """\
     a b c
    x x x x
 1 o . X . o
  2 o . O . o
   3 o . . . o
      x x x x"""
    assert picture("hex(size=3)", "b1 b2") == expected


def test_a_swapped_stone_is_mirrored_and_changes_its_colour() -> None:
    expected = """\
     a b c
    x x x x
 1 o . . . o
  2 o . . . o
   3 o O . . o
      x x x x"""
    assert picture("hex(size=3,swap=true)", "c1 swap") == expected


def test_a_swap_is_possible_only_at_the_second_move() -> None:
    game, state = after("hex(size=3,swap=true)", "c1 swap")
    assert game.current_player(state) == 1
    assert "swap" not in [game.action_name(state, each) for each in game.legal_actions(state)]
    game, state = after("hex(size=3,swap=true)", "c1 a1 b1")
    assert len(game.legal_actions(state)) == 6


def test_a_stone_of_havannah_is_taken_over_at_the_second_move_only() -> None:
    game, state = after("havannah(size=3,swap=true)", "c2")
    assert game.view(state).note == "the stone may be taken over"
    stone = game.parse_action(state, "c2")
    swapped = game.next_state(state, stone)
    assert game.current_player(swapped) == 1
    assert swapped[2 + stone] == 2
    assert len(game.legal_actions(swapped)) == 18
    assert game.view(swapped).note == ""
    for line in ("c2 c3", "c2 c2 c3"):
        game, state = after("havannah(size=3,swap=true)", line)
        assert all(state[2 + action] == 0 for action in game.legal_actions(state))
    game, state = after("havannah(size=3)", "c2")
    assert stone not in game.legal_actions(state)


def test_in_hex_diagonal_cells_are_neighbours_in_one_direction_only() -> None:
    game, state = after("hex(size=2)", "b1 a1 a2")
    assert game.winner(state) == 1
    game, state = after("hex(size=2)", "a1 b1 b2")
    assert game.winner(state) == 0
    assert game.winner(game.next_state(state, game.parse_action(state, "a2"))) == 2


def test_a_chain_that_is_closed_in_the_middle_wins() -> None:
    game, state = after("hex(size=5)", "c1 a1 b2 a2 c4 a3 b5 a4 c3 e5")
    assert game.winner(state) == 0
    assert game.winner(game.next_state(state, game.parse_action(state, "b3"))) == 1


def test_pieces_of_breakthrough_capture_only_diagonally() -> None:
    game, state = after("breakthrough(rows=4,columns=3)", "a1a2 c4c3 a2a3")
    names = [game.action_name(state, action) for action in game.legal_actions(state)]
    assert names == ["c3b2", "c3c2", "a4b3", "b4xa3", "b4b3"]


def test_breakthrough_is_won_at_the_opposite_edge_or_by_the_capture_of_all_pieces() -> None:
    game, state = after("breakthrough(rows=4,columns=2)", "a1a2 a4a3 a2b3 a3a2")
    assert game.winner(state) == 0
    assert game.winner(game.next_state(state, game.parse_action(state, "b3a4"))) == 1
    game, state = after("breakthrough(rows=5,columns=2)", "b1a2 b5a4 a2b3 a4xb3 a1a2 b3xa2")
    assert game.winner(state) == 2


def test_clobber_leaves_out_pieces_that_cancel_each_other() -> None:
    """Of "xxo" and "oox", each player wins one; a larger group beside them is what counts."""

    def sensible(*rows: str) -> list[int]:
        cells = tuple(".xo".index(cell) for row in rows for cell in row)
        game = games.load("clobber(rows=3,columns=8)")
        assert isinstance(game, KernelGame)
        assert game.kernels.sensible
        actions = np.zeros(400, dtype=np.int64)
        return actions[: game.kernels.sensible(game.board((1, 0, *cells)), actions)].tolist()

    assert len(sensible("xxo.....", "........", ".....oox")) == 1
    assert sensible("xxo.....", "........", "oox.xoxo") == [81, 89, 91]
    assert len(sensible("xxo..xxo", "........", "........")) == 2


def test_clobber_is_lost_by_the_player_without_an_opponent_beside_a_piece() -> None:
    expected = """\
   a b c
 1 . . X
 2 . O ."""
    assert picture("clobber(rows=2,columns=3)", "b1c1 a1a2 c2b2 a2b2") == expected
    game, state = after("clobber(rows=2,columns=3)", "b1c1 a1a2 c2b2 a2b2")
    assert game.winner(state) == 2


def test_six_in_a_row_win_too() -> None:
    game, state = after("gomoku", "a1 o15 b1 o13 c1 o11 e1 o9 f1 o7 d1")
    assert game.winner(state) == 1


def first_pass(game: games.Game) -> list[int]:
    """Return the moves of a match up to the first forced pass."""
    choose = random.Random(0)
    while True:
        state, moves = game.initial_state(), list[int]()
        while actions := game.legal_actions(state):
            if game.action_name(state, actions[0]) == "pass":
                return moves
            moves.append(choose.choice(actions))
            state = game.next_state(state, moves[-1])


def test_a_player_without_a_move_passes_or_with_the_older_rule_ends_the_game() -> None:
    game, older = games.load("othello(size=6)"), games.load("othello(size=6,passes=false)")
    state = old_state = game.initial_state()
    for move in first_pass(game):
        assert older.winner(old_state) == 0
        state, old_state = game.next_state(state, move), older.next_state(old_state, move)

    assert game.legal_actions(state) == (36,)
    passed = game.next_state(state, 36)
    assert passed[2:] == state[2:]
    assert passed[0] != state[0]

    assert older.legal_actions(old_state) == ()
    assert older.winner(old_state) == game_by_count(old_state)


def game_by_count(state: games.State) -> int:
    """Return the player with more discs, -1 for a tie."""
    first, second = state[2:].count(1), state[2:].count(2)
    return games.TIE if first == second else 1 if first > second else 2
