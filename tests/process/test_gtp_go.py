"""`playout-engine gtp --game go`: handicap, two moves of one colour, SGF, analyses of KataGo."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from sgfmill import boards, sgf, sgf_moves

from support.gtp_controller import GtpController

#: Fixed handicap stones on 9x9, 13x13 and 19x19, as GNU Go 3.8 puts them.
CORNERS = {9: "C3 G7 C7 G3", 13: "D4 K10 D10 K4", 19: "D4 Q16 D16 Q4"}
MIDDLES = {
    9: ("C5 G5", "E3 E7", "E5"),
    13: ("D7 K7", "G4 G10", "G7"),
    19: ("D10 Q10", "K4 K16", "K10"),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[GtpController]:
    controller = GtpController("rave(heavy=true,simulations=30,seed=1)", "--game", "go")
    yield controller
    controller.good("quit")
    assert controller.finish() == (0, "")


@pytest.fixture
def engine(shared: GtpController) -> GtpController:
    """An engine with an empty board of 9 by 9."""
    for line in ("boardsize 9", "komi 7.5", "clear_board"):
        shared.good(line)
    return shared


def stones(engine: GtpController, mark: str) -> set[str]:
    """Return the vertices of stones, X of Black and O of White."""
    rows = engine.good("gogui-rules_board").split("\n")
    return {
        f"{'ABCDEFGHJKLMNOPQRST'[column]}{len(rows) - row}"
        for row, text in enumerate(rows)
        for column, shown in enumerate(text.split())
        if shown == mark
    }


@pytest.mark.parametrize("size", CORNERS)
def test_fixed_handicap_stones_are_where_gnu_go_puts_them(engine: GtpController, size: int) -> None:
    corners = CORNERS[size].split()
    sides, ends, middle = (each.split() for each in MIDDLES[size])
    places = {2: corners[:2], 3: corners[:3], 4: corners, 5: corners + middle}
    places |= {6: corners + sides, 7: corners + sides + middle}
    places |= {8: corners + sides + ends, 9: corners + sides + ends + middle}
    for number, expected in places.items():
        engine.good(f"boardsize {size}")
        assert set(engine.good(f"fixed_handicap {number}").split()) == set(expected)
        assert stones(engine, "X") == set(expected)
        assert engine.good("gogui-rules_side_to_move") == "white"
        assert engine.bad("fixed_handicap 2") == "board not empty"
    assert engine.bad("fixed_handicap 10") == "board not empty"


@pytest.mark.parametrize(
    ("size", "line", "said"),
    [
        (8, "fixed_handicap 5", "expected a whole number from 2 to 4, not '5'"),
        (9, "fixed_handicap 1", "expected a whole number from 2 to 9"),
        (6, "fixed_handicap 2", "there is no handicap on a board of 6"),
        (6, "place_free_handicap 2", "there is no handicap on a board of 6"),
        (9, "place_free_handicap 81", "expected a whole number from 2 to 80"),
        (9, "set_free_handicap D4", "expected two or more different vertices"),
        (9, "set_free_handicap D4 d4", "expected two or more different vertices"),
        (9, "set_free_handicap D4 K10", "'K10' is no vertex of this board"),
        (9, "set_free_handicap D4 pass", "'pass' is no vertex of this board"),
    ],
)
def test_other_handicap_stones_are_refused(
    engine: GtpController, size: int, line: str, said: str
) -> None:
    engine.good(f"boardsize {size}")
    assert said in engine.bad(line)
    assert not stones(engine, "X")


def test_free_handicap_stones(engine: GtpController) -> None:
    assert len(engine.good("place_free_handicap 3").split()) == 3
    engine.good("clear_board")
    assert len(engine.good("place_free_handicap 20").split()) == 9
    engine.good("clear_board")
    assert engine.good("set_free_handicap A1 B2 J9") == ""
    assert stones(engine, "X") == {"A1", "B2", "J9"}


def test_a_handicap_game_is_played_with_a_later_komi(engine: GtpController) -> None:
    engine.good("fixed_handicap 4")
    engine.good("komi 0.5")
    assert len(stones(engine, "X")) == 4
    colours = ["w", "b"] * 4
    for colour in colours:
        assert engine.good(f"genmove {colour}")
    assert engine.good("showboard").endswith("komi 0.5")
    assert len(stones(engine, "X") | stones(engine, "O")) >= 8


def test_a_colour_may_move_twice(engine: GtpController) -> None:
    for vertex in ("A1", "B1", "C1"):
        engine.good(f"play b {vertex}")
    engine.good("play w A2")
    engine.good("play w B2")
    engine.good("genmove w")
    assert stones(engine, "X") == {"A1", "B1", "C1"}
    assert len(stones(engine, "O")) == 3
    engine.good("undo")
    engine.good("play w C2")
    engine.good("play w D1")
    assert not stones(engine, "X")
    assert stones(engine, "O") == {"A2", "B2", "C2", "D1"}


def test_passes_of_one_colour_do_not_end_the_game(engine: GtpController) -> None:
    engine.good("play b pass")
    engine.good("play b pass")
    engine.good("play b E5")
    assert engine.bad("final_score") == "cannot score: the game is not over"
    engine.good("play w pass")
    engine.good("play b pass")
    assert engine.good("final_score").startswith("B+")


def test_an_illegal_move_out_of_turn_changes_nothing(engine: GtpController) -> None:
    engine.good("play b E5")
    assert "is not possible here" in engine.bad("play b E5")
    assert engine.good("gogui-rules_side_to_move") == "white"


def test_other_games_have_neither() -> None:
    gomoku = GtpController("random")
    gomoku.good("play b E5")
    assert gomoku.bad("play b E6") == "illegal move: it is white's turn"
    assert gomoku.bad("fixed_handicap 2") == "gomoku has no handicap stones"
    gomoku.good("quit")
    assert gomoku.finish() == (0, "")


@pytest.mark.parametrize("size", [5, 9, 19])
def test_a_game_of_sgfmill_is_loaded(engine: GtpController, tmp_path: Path, size: int) -> None:
    """Compare with sgfmill's board, before each move."""
    draw = random.Random(size)
    game = sgf.Sgf_game(size=size)
    game.root.set("KM", 3.5)
    points = [(row, column) for row in range(size) for column in range(size)]
    draw.shuffle(points)
    game.root.set("AB", points[:2])
    game.root.set("AW", points[2:3])
    for ply, point in enumerate([*points[3:9], None, *points[9:12]]):
        game.extend_main_sequence().set_move("wb"[ply % 2], point)
    file = tmp_path / "game.sgf"
    file.write_bytes(game.serialise())
    for last in (1, 4, 9, 99):
        engine.good(f"loadsgf {file}" + (f" {last}" if last < 99 else ""))
        board, plays = sgf_moves.get_setup_and_moves(game)
        for colour, point in plays[: last - 1]:
            if point:
                board.play(*point, colour)
        assert shown(board) == stones(engine, "X"), stones(engine, "O")
        assert shown(board, "w") == stones(engine, "O")
    assert engine.good("showboard").endswith("komi 3.5")
    assert engine.good("genmove b")


def shown(board: boards.Board, colour: str = "b") -> set[str]:
    """Return the vertices of a colour on sgfmill's board."""
    return {
        f"{'ABCDEFGHJKLMNOPQRST'[column]}{row + 1}"
        for each, (row, column) in board.list_occupied_points()
        if each == colour
    }


def test_the_first_variation_of_a_file_is_loaded(engine: GtpController, tmp_path: Path) -> None:
    file = tmp_path / "tree.sgf"
    file.write_text("(;SZ[9]AB[aa:bb]C[a \\] b](;W[cc];B[tt](;W[dd])(;W[ee]))(;W[ff]))")
    engine.good(f"loadsgf {file}")
    assert stones(engine, "X") == {"A9", "B9", "A8", "B8"}
    assert stones(engine, "O") == {"C7", "D6"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no game", "it has no game"),
        ("(;SZ[9];B[ee]", "line 1: a game that is not closed by ')'"),
        ("(;SZ[9]\nAE[aa])", "line 2: AE removes stones"),
        ("(;SZ[9];B[zz])", "line 1: 'zz' is no point"),
        ("(;SZ[x])", "whole number"),
        ("(;SZ[9];B[ee];W[ee])", "E5 is not possible here"),
        ("(;SZ[40])", "unacceptable size"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_explained(
    engine: GtpController, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "bad.sgf"
    file.write_text(text)
    assert said in engine.bad(f"loadsgf {file}")
    assert not stones(engine, "O")


def test_a_missing_file_is_explained(engine: GtpController, tmp_path: Path) -> None:
    said = engine.bad(f"loadsgf {tmp_path / 'none.sgf'}")
    assert said == "cannot load the file: No such file or directory"
    assert "syntax error" in engine.bad("loadsgf a 1 2")


def test_katago_analyses_have_fractions(engine: GtpController) -> None:
    engine.good("play b E5")
    engine.send("kata-analyze b 10 ownership true rootInfo true maxmoves 3")
    assert engine.process.stdout
    assert engine.process.stdout.readline() == "=\n"
    words = engine.process.stdout.readline().split()
    assert words[:2] == ["info", "move"]
    assert words.count("info") <= 3
    win_rate = words[words.index("winrate") + 1]
    assert "." in win_rate
    assert 0 <= float(win_rate) <= 1
    engine.send("")
    while engine.process.stdout.readline() != "\n":
        pass
    *_, info, move = engine.good("kata-genmove_analyze w pvVisits true").split("\n")
    assert info.startswith("info move ")
    assert move.startswith("play ")
    assert "cannot use 'ownership'" in engine.bad("lz-analyze ownership true")
