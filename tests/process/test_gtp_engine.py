"""`playout-engine gtp` under a controller that shares no code with it: every command."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import invoke, run
from support.gtp_controller import GtpController

OTHER_PROGRAMS = (Path(__file__).parents[2] / "docs" / "other-programs.md").read_text("utf-8")
#: No test waits for the end of such a search.
VERY_LONG = "time_settings 1000000 0 0"


@pytest.fixture(scope="module")
def gomoku() -> Iterator[GtpController]:
    controller = GtpController("rave(simulations=200,seed=1)")
    yield controller
    assert controller.good("quit") == ""
    assert controller.finish() == (0, "")


@pytest.fixture
def engine(gomoku: GtpController) -> GtpController:
    """An engine with an empty board of 9 by 9, and without a clock."""
    for line in ("boardsize 9", "clear_board", "kgs-time_settings none"):
        gomoku.good(line)
    return gomoku


@pytest.fixture(scope="module")
def othello() -> Iterator[GtpController]:
    controller = GtpController("uct(simulations=50)", "--game", "othello(size=4)")
    yield controller
    controller.good("quit")
    assert controller.finish() == (0, "")


def test_it_says_what_it_is_and_what_it_can(engine: GtpController) -> None:
    assert engine.good("protocol_version") == "2"
    assert engine.good("name") == "Playout rave"
    assert engine.good("version")[0].isdecimal()
    listed = engine.good("list_commands").split("\n")
    assert len(set(listed)) == len(listed)
    assert set(listed) >= {
        "boardsize", "clear_board", "final_score", "genmove", "known_command", "komi",
        "kgs-time_settings", "list_commands", "lz-analyze", "lz-genmove_analyze", "name", "play",
        "protocol_version", "quit", "showboard", "time_left", "time_settings", "undo", "version",
        "gogui-interrupt", "gogui-rules_board", "gogui-rules_board_size", "gogui-rules_game_id",
        "gogui-rules_final_result", "gogui-rules_legal_moves", "gogui-rules_side_to_move",
    }  # fmt: skip
    assert documented_commands() == set(listed)
    assert all(engine.good(f"known_command {name}") == "true" for name in listed)
    assert engine.good("known_command fly") == "false"


def documented_commands() -> set[str]:
    """The commands in the table of docs/other-programs.md; `_board` continues `gogui-rules`."""
    table = OTHER_PROGRAMS.partition("\n### Commands\n")[2].partition("\n### ")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([\w-]+)", cell)]
    return {f"gogui-rules{name}" if name.startswith("_") else name for name in names}


def test_numbers_are_repeated_and_comments_are_ignored(engine: GtpController) -> None:
    assert engine.ask("12 name").number == "12"
    assert engine.ask("013 fly") == (False, "013", "unknown command")
    engine.send("# a comment")
    engine.send("")
    engine.send("  \t ")
    assert engine.ask("7\tname # and more\r") == (True, "7", "Playout rave")


def test_a_move_is_played_shown_and_taken_back(engine: GtpController) -> None:
    engine.good("play b J9")
    engine.good("play WHITE a1")
    rows = engine.good("showboard").split("\n")
    assert rows[1] == " 9 . . . . . . . . X 9"
    assert rows[9] == " 1 O . . . . . . . . 1"
    assert rows[0].split() == list("ABCDEFGHJ")
    assert rows[-1] == "black (X) to move"
    engine.good("undo")
    assert "O" not in engine.good("gogui-rules_board")
    engine.good("undo")
    assert engine.bad("undo") == "cannot undo"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("play b I5", "illegal move: 'I5' is no vertex of this board: expected A1 to J9"),
        ("play b J10", "illegal move: 'J10' is no vertex"),
        ("play b pass", "illegal move: pass is not possible"),
        ("play w E5", "illegal move: it is black's turn"),
        ("play red E5", "'red' is no colour"),
        ("play b", "syntax error: expected play COLOUR VERTEX"),
        ("play b E5 F6", "syntax error"),
        ("genmove w", "it is black's turn"),
        ("genmove", "syntax error: expected genmove COLOUR"),
        ("boardsize 21", "unacceptable size: gomoku: size must be from 1 to 20, not 21"),
        ("boardsize 4", "unacceptable size: gomoku: connect"),
        ("boardsize 9 10", "unacceptable size: gomoku(size=9) has 9 columns, 9 rows"),
        ("boardsize nine", "whole number"),
        ("komi much", "expected a number"),
        ("final_score", "cannot score: the game is not over"),
        ("time_settings 1 2", "syntax error"),
        ("time_settings 1 2 -3", "whole number"),
        ("kgs-time_settings byoyomi 10", "expected none, absolute MAIN"),
        ("time_left b soon 0", "number of seconds"),
        ("lz-analyze w", "it is black's turn"),
        ("lz-analyze fast", "cannot use 'fast'"),
        ("lz-genmove_analyze", "syntax error"),
        ("fly", "unknown command"),
        ("\x00fly\x07", "unknown command"),
        ("x" * 200_000, "unknown command"),
    ],
)
def test_an_error_says_what_was_wrong(engine: GtpController, line: str, told: str) -> None:
    said = engine.bad(line)
    assert told in said
    assert "\n" not in said


def test_an_occupied_cell_is_an_illegal_move(engine: GtpController) -> None:
    engine.good("play b E5")
    assert engine.bad("play w E5") == "illegal move: E5 is not possible here"
    assert engine.good("gogui-rules_side_to_move") == "white"


def test_it_plays_a_whole_match_and_scores_it(engine: GtpController) -> None:
    engine.good("boardsize 5")
    colours = ("b", "w")
    ply = 0
    while legal := engine.good("gogui-rules_legal_moves").split():
        assert engine.good(f"genmove {colours[ply % 2]}") in legal
        ply += 1
    assert engine.good("final_score") in ("B+1", "W+1", "0")
    assert engine.good("gogui-rules_final_result") in ("black wins", "white wins", "tie")
    # After the end both pass, as programs for Go expect.
    assert engine.good(f"genmove {colours[ply % 2]}") == "pass"
    engine.good(f"play {colours[1 - ply % 2]} pass")
    assert "the game is over" in engine.bad("play b A1")
    for _ in range(3):
        engine.good("undo")
    assert len(engine.good("gogui-rules_legal_moves").split()) == 26 - ply


def test_it_wins_at_once_and_by_the_rules_of_the_game(engine: GtpController) -> None:
    engine.good("boardsize 15")
    for own, other in zip(("A1", "B1", "C1", "D1"), ("A3", "C3", "E3", "G3"), strict=True):
        engine.good(f"play b {own}")
        engine.good(f"play w {other}")
    assert engine.good("genmove b") == "E1"
    assert engine.good("final_score") == "B+1"


def test_gogui_is_told_the_rules(engine: GtpController, othello: GtpController) -> None:
    assert engine.good("gogui-rules_game_id") == "gomoku"
    assert engine.good("gogui-rules_board_size") == "9"
    assert "/gogui-rules_legal_moves" in engine.good("gogui-analyze_commands")
    assert engine.good("gogui-interrupt") == ""
    assert othello.good("gogui-rules_board_size") == "4"
    # Othello's row 1 is the top, and the first line is the row with the highest number.
    othello.good("play b B1")
    rows = othello.good("gogui-rules_board").split("\n")
    assert rows == [". . . .", ". X O .", ". X X .", ". X . ."]


def test_a_pass_is_a_move_where_the_rules_have_one(othello: GtpController) -> None:
    othello.good("clear_board")
    seat, passed = 0, False
    while legal := othello.good("gogui-rules_legal_moves"):
        colour = othello.good("gogui-rules_side_to_move")
        if legal == "pass":
            passed = True
            assert othello.good(f"genmove {colour}") == "pass"
        else:
            othello.good(f"play {colour} {legal.split()[seat % len(legal.split())]}")
        seat += 1
    assert passed


def test_a_column_stands_for_the_cell_where_the_disc_falls() -> None:
    engine = GtpController("random", "--game", "connect_four")
    assert engine.good("gogui-rules_board_size") == "7 6"
    engine.good("boardsize 7")
    engine.good("play b D6")
    engine.good("play w D2")
    assert engine.good("showboard").split("\n")[5:7] == [" 2 . . . O . . . 2", " 1 . . . X . . . 1"]
    assert "unacceptable size" in engine.bad("boardsize 9")
    assert engine.finish()[0] == 0


@pytest.mark.parametrize(
    "lines",
    [
        ["time_settings 0 1 25"],
        ["time_settings 2 0 0"],
        ["kgs-time_settings absolute 1"],
        ["kgs-time_settings byoyomi 0 0.05 3", "time_left b 0.05 3"],
        ["kgs-time_settings canadian 0 1 20", "time_left b 0.5 10"],
        ["time_settings 1000 0 0", "time_left b 0 0"],
        ["time_left b 1 25"],
    ],
)
def test_a_search_ends_by_the_clock_it_is_given(engine: GtpController, lines: list[str]) -> None:
    for line in lines:
        engine.good(line)
    engine.good("genmove b")
    assert engine.good("gogui-rules_side_to_move") == "white"


def test_a_search_is_interrupted_and_nothing_is_played() -> None:
    engine = GtpController("rave")
    engine.good(VERY_LONG)
    engine.send("5 genmove b")
    engine.send("# interrupt")
    assert engine.response() == (False, "5", "interrupted")
    assert engine.good("gogui-rules_side_to_move") == "black"
    engine.send("lz-genmove_analyze b 50")
    engine.send("# interrupt")
    assert engine.response() == (False, "", "interrupted")
    # What follows is answered as before.
    engine.good("time_settings 0 1 100")
    engine.good("genmove b")
    assert engine.good("gogui-rules_side_to_move") == "white"
    assert engine.finish() == (0, "")


def info(line: str) -> dict[str, str]:
    """The values of the first move of an analysis."""
    words = line.split()
    assert words[0] == "info"
    end = words.index("info", 1) if "info" in words[1:] else len(words)
    keys = words[1 : words.index("pv")]
    return {**dict(zip(keys[::2], keys[1::2], strict=True)), "pv": " ".join(
        words[words.index("pv") + 1 : end]
    )}  # fmt: skip


def test_an_analysis_goes_on_until_the_next_line() -> None:
    engine = GtpController("rave(seed=1)")
    assert engine.process.stdout
    engine.good("boardsize 9")
    engine.good("play b E5")
    engine.send("3 lz-analyze w 1")
    assert engine.process.stdout.readline() == "=3\n"
    first = info(engine.process.stdout.readline())
    while int(info(engine.process.stdout.readline())["visits"]) <= int(first["visits"]):
        pass
    assert 0 <= int(first["winrate"]) <= 10000
    assert first["order"] == "0"
    assert first["pv"].split()[0] == first["move"]
    engine.send("4 name")
    while (line := engine.process.stdout.readline()) != "\n":
        info(line)
    assert engine.response() == (True, "4", "Playout rave")
    # The position is as before, and an empty line ends an analysis, too.
    assert engine.good("gogui-rules_side_to_move") == "white"
    engine.send("lz-analyze interval 1 maxmoves 2")
    assert engine.process.stdout.readline() == "=\n"
    assert engine.process.stdout.readline().count("info move") == 2
    engine.send("")
    while engine.process.stdout.readline() != "\n":
        pass
    assert engine.finish() == (0, "")


def test_an_analysis_with_a_limit_of_the_player_waits_for_the_next_line(
    engine: GtpController,
) -> None:
    assert engine.process.stdout
    engine.send("lz-analyze 10")
    assert engine.process.stdout.readline() == "=\n"
    assert info(engine.process.stdout.readline())["move"]
    engine.send("1 name")
    assert engine.process.stdout.readline() == "\n"
    assert engine.response() == (True, "1", "Playout rave")


def test_a_move_comes_with_its_analysis(engine: GtpController) -> None:
    lines = engine.good("lz-genmove_analyze b 50").split("\n")
    assert len(lines) == 2
    assert lines[1] == f"play {info(lines[0])['move']}"
    assert engine.good("gogui-rules_side_to_move") == "white"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gtp", "human"], "human is a person at a terminal"),
        (["gtp", "uctt"], "did you mean 'uct'"),
        (["gtp", "uct", "--game", "chesss"], "unknown game 'chesss'"),
        (["gtp", "uct", "--game", "nim(chips=26)"], "GTP has boards of at most 25"),
        (["gtp", "uct(time=0)"], "time must be above 0"),
        (["gomocup", "uct(x=1)"], "unknown option of uct"),
        (["gomocup", "human"], "human is a person"),
        (["uci", "human"], "human is a person"),
        (["uci", "random", "--game", "nim"], "UCI programs play chess, breakthrough"),
        (["uci", "random", "--game", "open_spiel(game=chess)"], "its rules are not compiled"),
        (["uci", "alphabeta", "--game", "othello(size=10)"], "there is no evaluation of othello"),
        (["gtp"], "Missing argument 'PLAYER'"),
    ],
)
def test_bad_usage_is_refused_before_the_first_command(words: list[str], told: str) -> None:
    code, said = invoke("playout-engine", *words)
    assert code == 2
    assert told in said
    assert "Traceback" not in said


@pytest.mark.parametrize("words", [[], ["gtp"], ["gomocup"], ["uci"]])
def test_help_explains_itself(words: list[str]) -> None:
    code, said = run("playout-engine", *words, "--help")
    assert code == 0
    assert "PLAYER" in said


def test_ctrl_c_ends_it_also_while_it_thinks() -> None:
    engine = GtpController("rave")
    engine.good(VERY_LONG)
    engine.send("genmove b")
    engine.process.send_signal(signal.SIGINT)
    code, said = engine.finish()
    assert code == 130
    assert "Traceback" not in said


def test_commands_that_were_written_before_the_input_ended_are_carried_out() -> None:
    engine = GtpController("rave(simulations=50)")
    for line in ("play b H8", "genmove w", "undo"):
        engine.send(line)
    code, said = engine.finish()
    assert code == 0
    assert said.count("\n\n") == 3
    assert said.count("=") == 3


def test_an_engine_whose_controller_is_gone_ends() -> None:
    engine = GtpController("rave(simulations=50)")
    assert engine.process.stdout
    engine.process.stdout.close()
    engine.send("name")
    assert engine.process.stdin
    engine.process.stdin.close()
    assert engine.process.wait(60) == 1


def test_go_has_a_komi_a_size_and_a_score() -> None:
    engine = GtpController("random(seed=1)", "--game", "go")
    assert engine.good("gogui-rules_board_size") == "9"
    assert "a number" in engine.bad("komi much")
    assert "from -361 to 361" in engine.bad("komi 1000")
    for line in ("boardsize 5", "komi 0.5", "play b C1", "play w pass"):
        engine.good(line)
    assert engine.good("showboard").splitlines()[-4:-2] == [" 1 . . X . . 1", "   A B C D E"]
    assert engine.good("gogui-rules_legal_moves").split()[-3:] == ["D5", "E5", "pass"]
    engine.good("play b pass")
    assert engine.good("final_score") == "B+24.5"
    engine.good("komi 30")  # the moves so far are kept
    assert engine.good("final_score") == "W+5"
    assert engine.good("genmove w") == "pass"
    engine.good("undo")
    engine.good("undo")
    assert engine.good("genmove b") != ""
    engine.good("quit")
    assert engine.finish() == (0, "")
