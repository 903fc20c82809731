"""The rules of Go in positions set up by hand: capture, ko, repetition, seki, scoring."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from sgfmill import boards

from playout import games
from playout.games import TIE, IllegalAction, State
from playout.games.core.random import seeded
from playout.games.go import Go
from playout.games.goban import playouts

DATA = Path(__file__).parents[2] / "data"
STONES = ".XO"


def go(spec: str) -> Go:
    game = games.load(spec)
    assert isinstance(game, Go)
    return game


def position(game: Go, picture: str, player: int) -> State:
    """Return a position that was not reached by moves: rows from the top, X is Black."""
    rows = reversed(picture.split())
    cells = [STONES.index(each) for row in rows for each in row]
    initial = game.initial_state()
    return (player, *initial[1:5], *cells, *initial[5 + len(cells) :])


def played(game: Go, state: State, moves: str) -> State:
    for name in moves.split():
        state = game.next_state(state, game.parse_action(state, name))
    return state


def picture(game: Go, state: State) -> str:
    view = game.view(state)
    rows = [view.cells[first : first + game.size] for first in range(0, game.size**2, game.size)]
    return " ".join("".join(STONES[cell] for cell in row) for row in rows)


def legal(game: Go, state: State) -> set[str]:
    return {game.action_name(state, action) for action in game.legal_actions(state)}


def test_a_chain_without_liberties_is_captured() -> None:
    game = go("go(size=5)")
    state = position(game, "..... .OO.. XOX.. .X... .....", 1)
    after = played(game, state, "B5 pass C5 pass D4 pass A4")
    assert picture(game, after) == ".XX.. X..X. X.X.. .X... ....."


def test_several_chains_are_captured_by_one_move() -> None:
    game = go("go(size=5)")
    state = position(game, "XO.OX .XOX. ..X.. ..... .....", 1)
    after = played(game, state, "C5")
    assert picture(game, after) == "X.X.X .X.X. ..X.. ..... ....."


@pytest.mark.parametrize(
    ("rows", "point"),
    [(".X... X.... ..... ..... .....", "A5"), ("O.X.. XX... ..... ..... .....", "B5")],
)
def test_suicide_is_illegal(rows: str, point: str) -> None:
    game = go("go(size=5)")
    state = position(game, rows, 2)
    assert point not in legal(game, state)
    with pytest.raises(IllegalAction, match=point):
        game.next_state(state, game.parse_action(game.initial_state(), point))


def test_a_ko_is_taken_back_only_after_another_move() -> None:
    game = go("go(size=5)")
    state = position(game, "..... .XO.. XO.O. .XO.. .....", 1)
    taken = played(game, state, "C3")
    assert picture(game, taken) == "..... .XO.. X.XO. .XO.. ....."
    assert "B3" not in legal(game, taken)
    assert "B3" in legal(game, played(game, taken, "E5 E1"))


def test_the_capture_of_two_stones_is_no_ko() -> None:
    game = go("go(size=5)")
    state = position(game, "OOX.. .XO.. XXO.. OOO.. .....", 1)
    taken = played(game, state, "A4")
    assert picture(game, taken) == "..X.. XXO.. XXO.. OOO.. ....."
    assert "A5" in legal(game, taken)


def test_a_snapback_takes_back_more_stones_than_it_loses() -> None:
    game = go("go(size=5)")
    state = position(game, "..... ..... XX... OOX.. ..X..", 1)
    after = played(game, state, "A1 B1 A1")
    assert picture(game, after) == "..... ..... XX... ..X.. X.X.."


# Two moves per side capture everything on the smallest board: the seventh move makes the position
# after the first one again.
CYCLE = "A1 B2 A2 B1 A1 A2"


def test_a_repeated_position_is_a_tie() -> None:
    game = go("go(size=2)")
    state = played(game, game.initial_state(), CYCLE)
    assert picture(game, state) == "OO .O"
    after = played(game, state, "A1")
    assert game.winner(after) == TIE
    assert game.view(after).note == "a position was repeated"


def test_with_superko_a_move_that_repeats_a_position_is_illegal() -> None:
    game = go("go(size=2,superko=true)")
    state = played(game, game.initial_state(), CYCLE)
    assert legal(game, state) == {"pass"}


def test_in_a_seki_the_player_who_moves_is_captured_and_shared_points_count_for_nobody() -> None:
    game = go("go(size=5,komi=0)")
    state = position(game, "XX.OO XXXOO XXXOO XXXOO XX.OO", 1)
    assert legal(game, state) == {"C1", "C5", "pass"}
    assert picture(game, played(game, state, "C5 C1")) == "...OO ...OO ...OO ...OO ..OOO"
    after = played(game, state, "pass pass")
    assert game.lead(after) == 3
    assert game.winner(after) == 1
    assert game.view(after).note == "Black wins by 3"


@pytest.mark.parametrize(("komi", "winner"), [("7.5", 2), ("0", TIE), ("-0.5", 1)])
def test_two_passes_end_the_match_and_komi_is_added(komi: str, winner: int) -> None:
    game = go(f"go(komi={komi})")
    state = played(game, game.initial_state(), "pass pass")
    assert game.winner(state) == winner
    assert game.legal_actions(state) == ()
    assert game.lead(state) == -float(komi)


def test_a_move_between_two_passes_continues_the_match() -> None:
    game = go("go")
    state = played(game, game.initial_state(), "pass C3 pass")
    assert game.winner(state) == 0
    assert game.view(state).note == "komi 7.5, Black passed"


def test_columns_have_no_letter_i_and_rows_count_from_the_bottom() -> None:
    game = go("go(size=19)")
    start = game.initial_state()
    assert game.parse_action(start, "j1") == 8
    assert game.parse_action(start, "T19") == 360
    state = game.next_state(start, 8)
    view = game.view(state)
    assert view.cells.index(1) == 18 * 19 + 8
    assert view.column_labels[7:9] == ("H", "J")
    assert view.row_labels[0] == "19"
    with pytest.raises(IllegalAction, match="I1"):
        game.parse_action(start, "I1")


def test_hashes_of_positions_are_exact_as_floating_point_numbers() -> None:
    game = go("go(size=5)")
    state = played(game, game.initial_state(), "A1 B2 C3 D4")
    hashes = state[5 + 25 :][:4]
    assert len(set(hashes)) == 4
    assert all(0 < each < 2**53 for each in hashes)
    assert state[5 + 25 + 4 :] == (0,) * 46


def after_move(game: Go, rows: str, last: str) -> State:
    """Return a position in which White has just put the stone at `last`, and Black is to move."""
    state = list(position(game, rows, 1))
    state[3] = game.parse_action(game.initial_state(), last)
    return tuple(state)


@pytest.mark.parametrize("spec", ["go(size=5)", "go(size=6,superko=true)"])
def test_a_heavy_playout_is_a_match_that_ends_as_it_says(spec: str) -> None:
    game = go(spec)
    rng, trace = seeded(1), np.empty(game.max_plies, dtype=np.int64)
    for _ in range(20):
        state, board = game.initial_state(), game.board()
        plies = game.kernels.heavy(board, rng, trace)  # type: ignore[misc]
        for action in trace[:plies].tolist():
            state = game.next_state(state, action)
        assert game.winner(state) == board[1] != 0
        assert game.state(board) == state


def share(game: Go, state: State, ply: int, answer: str) -> float:
    """Return in which share of heavy playouts the move at a ply is an answer."""
    rng, trace, count = seeded(1), np.empty(game.max_plies, dtype=np.int64), 0
    action = game.parse_action(game.initial_state(), answer)
    for _ in range(500):
        game.kernels.heavy(game.board(state), rng, trace)  # type: ignore[misc]
        count += trace[ply] == action
    return count / 500


@pytest.mark.parametrize(
    ("rows", "last", "answer"),
    [
        ("..... .X... XOX.. ..... .....", "B3", "B2"),  # captures
        ("..... .OX.. OX... .O... .....", "B2", "C3"),  # escapes
    ],
)
def test_heavy_playouts_answer_the_last_move(rows: str, last: str, answer: str) -> None:
    game = go("go(size=5)")
    assert share(game, after_move(game, rows, last), 0, answer) > 0.8  # nine of ten moves answer


def test_heavy_playouts_answer_the_move_before_the_last_one() -> None:
    game = go("go(size=7)")
    hopeless = after_move(game, "....... ....... ....... ....... ....... .O..... XO.....", "B2")
    assert share(game, hopeless, 1, "A2") > 0.6  # Black has no answer to B2, so White captures


def test_heavy_playouts_save_no_chain_that_a_ladder_captures() -> None:
    game = go("go(size=7)")
    rows = "....... .....{}. ..O.... .OX.... ..OO... ....... ......."
    print(
        share(game, after_move(game, rows.format("X"), "C5"), 0, "D4"),
        share(game, after_move(game, rows.format("."), "C5"), 0, "D4"),
    )
    helped, caught = (after_move(game, rows.format(each), "C5") for each in "X.")
    assert share(game, helped, 0, "D4") > 0.8
    assert share(game, caught, 0, "D4") < 0.6  # a pattern matches there, too


def test_assumed_results_favour_captures_and_reject_atari_and_eyes() -> None:
    game = go("go(size=9)")
    empty = "........."
    rows = f".XO...... XX....... {empty} ..X...... .XOX..... {empty} {empty} ......O.. .......O."
    state = after_move(game, rows, "C5")
    results = np.zeros(2 * game.num_actions, dtype=np.int64)
    game.kernels.prior(game.board(state), results)  # type: ignore[misc]

    def assumed(name: str) -> tuple[int, int]:
        action = game.parse_action(state, name)
        return int(results[2 * action]), int(results[2 * action + 1])

    even = playouts.EVEN
    won = playouts.CAPTURE + playouts.NEAR[1] + playouts.PATTERN
    assert assumed("C4") == (even + 2 * won, even + won)
    assert assumed("A9") == (even, even + playouts.EYE)
    assert assumed("J5") == (even, even)
    assert assumed("pass") == (0, even)


def test_the_score_without_dead_stones_is_that_of_sgfmill() -> None:
    draw = random.Random(1)
    for size in (5, 9, 13, 19):
        game = go(f"go(size={size},komi=6.5)")
        state = game.initial_state()
        for _ in range(draw.randrange(size * size)):
            state = game.next_state(state, draw.choice(game.legal_actions(state)))
            if game.winner(state):
                break
        cells = game.cells(state)
        stones = [cell for cell, owner in enumerate(cells) if owner]
        for number in (0, 1, len(stones) // 3, len(stones)):
            dead = draw.sample(stones, min(number, len(stones)))
            board = boards.Board(size)
            for cell in set(stones) - set(dead):
                row, column = divmod(cell, size)
                board.board[size - 1 - row][column] = " bw"[cells[cell]]
            assert game.lead_without(state, dead) == board.area_score() - 6.5


COUNTED = "..XO. ..XO. ..XO. ..XO. O.XO."


def test_dead_stones_are_marked_until_both_players_accept_them() -> None:
    game = go("go(size=5,komi=0.5,counting=true)")
    state = played(game, position(game, COUNTED, 1), "pass pass")
    assert game.winner(state) == 0
    assert {"A1", "accept", "continue"} < legal(game, state)
    assert "A2" not in legal(game, state)
    assert game.view(state).note == "score: Black 5, White 11.5"
    marked = played(game, state, "A1")
    assert game.view(marked).kinds.count("dead stone") == 1
    assert game.view(marked).note == "score: Black 15, White 10.5"
    assert played(game, marked, "A1")[:-5] == state[:-5]
    accepted = played(game, marked, "accept")
    assert accepted[0] == 2
    assert game.view(accepted).note == "score: Black 15, White 10.5, Black has accepted"
    changed = played(game, accepted, "D1 accept")  # the opponent marks others, and accepts these
    assert (changed[0], game.winner(changed)) == (1, 0)
    over = played(game, accepted, "accept")
    assert (game.winner(over), game.lead(over)) == (1, 4.5)
    assert game.view(over).areas.count(1) == 10
    assert game.legal_actions(over) == ()


def test_a_match_is_continued_once_and_then_all_stones_are_alive() -> None:
    game = go("go(size=5,komi=0.5,counting=true)")
    state = played(game, position(game, COUNTED, 1), "pass pass A1 continue")
    assert state[0] == 2
    assert picture(game, state) == COUNTED
    assert game.view(state).areas == ()
    over = played(game, state, "pass pass")
    assert (game.winner(over), game.lead(over)) == (2, -6.5)


def test_who_marks_too_often_continues_the_match() -> None:
    game = go("go(size=2,counting=true)")
    state = played(game, game.initial_state(), "A1 pass pass A1 A1 A1 A1")
    assert legal(game, state) >= {"B2", "pass"}
    assert game.winner(played(game, state, "pass pass")) == 2


def test_by_territory_captured_stones_are_points() -> None:
    game = go("go(size=5,komi=0.5,scoring=territory)")
    state = played(game, game.initial_state(), "B1 A1 A2 E5")  # White's stone at A1 is captured
    assert game.lead(state) == 1 + 1 - 0.5
    assert game.points(state) == (2, 0.5)


@pytest.mark.parametrize(
    ("size", "stones", "points"),
    [  # as GNU Go 3.8 answers fixed_handicap
        (7, 4, "C3 E5 C5 E3"),
        (9, 9, "C3 G7 C7 G3 C5 G5 E3 E7 E5"),
        (13, 5, "D4 K10 D10 K4 G7"),
        (19, 2, "D4 Q16"),
    ],
)
def test_white_moves_first_after_a_handicap(size: int, stones: int, points: str) -> None:
    game = go(f"go(size={size},handicap={stones},komi=0.5)")
    state = game.initial_state()
    assert state[0] == 2
    names = {game.cell_name(cell) for cell, owner in enumerate(game.cells(state)) if owner == 1}
    assert names == set(points.split())


@pytest.mark.parametrize("size", [5, 8])
def test_a_board_has_a_largest_handicap(size: int) -> None:
    with pytest.raises(games.SpecError, match=f"at most {0 if size == 5 else 4} with size={size}"):
        games.load(f"go(size={size},handicap=9)")


#: By `gnugo --mode gtp --level 0`, with a careless move now and then: `final_status_list dead` and
#: `final_score` after two passes.
FINAL_POSITIONS = json.loads((DATA / "go_final_positions.json").read_text())


@pytest.mark.parametrize("rules", ["chinese", "japanese"])
def test_final_positions_have_the_score_of_gnu_go(rules: str) -> None:
    """GNU Go 3.8 has played these matches, and named the dead stones and the score."""
    scoring = {"chinese": "area", "japanese": "territory"}[rules]
    counted = 0
    for each in FINAL_POSITIONS:
        if each["rules"] != rules:
            continue
        size, handicap = each["size"], each["handicap"]
        options = f"size={size},komi=6.5,handicap={handicap},scoring={scoring},counting=true"
        game = go(f"go({options})")
        state = played(game, game.initial_state(), each["moves"])
        wanted = {"B": 1, "W": -1}[each["score"][0]] * float(each["score"][2:])
        if rules == "chinese":  # GNU Go gives White a point for each handicap stone
            wanted += handicap
        dead = {game.parse_action(state, name) for name in each["dead"].split()}
        cells = [cell for action in dead for cell in game.clicked(state, action)]
        assert game.lead_without(state, cells) == wanted, each
        for name in each["dead"].split():  # each click marks a group
            action = game.parse_action(state, name)
            if game.view(state).kinds[game.clicked(state, action)[0]] != "dead stone":
                state = game.next_state(state, action)
        over = played(game, state, "accept accept")
        assert game.lead(over) == wanted, each
        black, white = game.points(over)
        assert black - white == wanted
        counted += 1
    assert counted == {"chinese": 26, "japanese": 24}[rules]


@pytest.mark.parametrize("cell", [0, 25, 1000])
def test_an_empty_cell_is_no_dead_stone(cell: int) -> None:
    game = go("go(size=5)")
    with pytest.raises(ValueError, match=f"cell {cell} has no stone"):
        game.lead_without(played(game, game.initial_state(), "C3"), [cell])
