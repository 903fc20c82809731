"""`playout-engine uci` under a program that shares no code with it: every command."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

import pytest

from playout import games
from playout.players.engines.uci_games import VARIANTS, uci_game
from support.commands import finish
from support.uci_gui import UciGui, word_after

FOOLS = "startpos moves f2f3 e7e5 g2g4"
MATED = f"{FOOLS} d8h4"
INFO = re.compile(
    r"info depth \d+ multipv 1 score (cp|mate) -?\d+ nodes \d+ nps \d+ time \d+ pv( [a-h1-8nbrq]+)+"
)


@pytest.fixture(scope="module")
def shared() -> Iterator[UciGui]:
    gui = UciGui("uct(seed=1,memory_mb=16)")
    yield gui
    assert gui.finish() == (0, "")


@pytest.fixture
def gui(shared: UciGui) -> UciGui:
    """An engine for chess whose options have their defaults."""
    assert (
        shared.ready(
            "setoption name UCI_Variant value chess",
            "setoption name MultiPV value 1",
            "setoption name UCI_ShowWDL value false",
            "ucinewgame",
        )
        == []
    )
    return shared


def test_it_announces_itself_and_its_options(gui: UciGui) -> None:
    gui.send("uci")
    lines = gui.until("uciok")
    assert lines[0].startswith("id name Playout uct ")
    for option in (
        "option name UCI_Variant type combo default chess var chess var breakthrough",
        "option name Ponder type check default false",
        "option name MultiPV type spin default 1 min 1 max 64",
        "option name Threads type spin default 1 min 1 max 256",
        "option name Hash type spin default 16 min 1 max 65536",
        "option name seed type string default 1",
        "option name simulations type string default <empty>",
    ):
        assert any(line.startswith(option) for line in lines), option


def test_a_search_reports_its_lines_and_a_legal_move(gui: UciGui) -> None:
    lines = gui.go("startpos moves e2e4", "nodes 300")
    assert all(INFO.fullmatch(line) for line in lines[:-1])
    assert word_after(lines[-2], "nodes") == "300"
    game = games.load("chess")
    uci = uci_game(game)
    after = game.next_state(game.initial_state(), *uci.actions(game.initial_state(), "e2e4"))
    best, reply = lines[-1].split()[1::2]
    assert uci.line(after, [best, reply])
    assert lines[-2].split()[-1] != "pv"
    assert f" pv {best} {reply}" in lines[-2]


@pytest.mark.parametrize(
    "limits",
    [
        "movetime 30",
        "nodes 1",
        "depth 2",
        "mate 1",
        "wtime 500 btime 500 winc 10 binc 10",
        "wtime -20 btime 5 movestogo 1",
        "nodes 100000000 movetime 30",
    ],
)
def test_each_limit_ends_a_search(gui: UciGui, limits: str) -> None:
    assert gui.best("startpos", limits) != "(none)"


def test_the_same_seed_and_nodes_give_the_same_search(gui: UciGui) -> None:
    first = gui.go("startpos", "nodes 400")
    gui.ready("ucinewgame")
    again = gui.go("startpos", "nodes 400")
    assert first[-1] == again[-1]
    assert first[-2].split(" pv ")[1] == again[-2].split(" pv ")[1]


def test_an_infinite_search_goes_on_until_it_is_stopped(gui: UciGui) -> None:
    gui.send("position startpos", "go infinite")
    gui.until("info")
    assert all(line.startswith("info depth") for line in gui.ready())
    gui.send("stop")
    assert len(gui.until("bestmove")[-1].split()) == 4
    assert gui.ready("stop", "ponderhit") == []


def test_a_certain_result_waits_for_stop_too(gui: UciGui) -> None:
    gui.send(f"position {FOOLS}", "go infinite")
    while not gui.until("info")[-1].startswith("info depth 1 multipv 1 score mate 1 "):
        pass
    assert gui.ready() == []
    gui.send("stop")
    assert gui.until("bestmove")[-1] == "bestmove d8h4"


@pytest.mark.parametrize("end", ["stop", "ponderhit"])
def test_pondering_goes_on_until_the_reply_is_known(gui: UciGui, end: str) -> None:
    gui.send("position startpos moves e2e4 e7e5", "go ponder wtime 300 btime 300")
    gui.until("info")
    assert "bestmove" not in "".join(gui.ready())
    gui.send(end)
    gui.until("bestmove")


def test_a_new_search_ends_the_one_before(gui: UciGui) -> None:
    gui.send("position startpos", "go infinite")
    assert gui.best("startpos moves d2d4 d7d5 c1g5 d8d6", "nodes 5") != "(none)"
    gui.until("bestmove")


def test_only_some_moves_are_searched(gui: UciGui) -> None:
    lines = gui.go("startpos", "searchmoves a2a3 h2h4 a2a3 nodes 300")
    assert lines[-1].split()[1] in ("a2a3", "h2h4")
    assert all(word_after(line, "pv") in ("a2a3", "h2h4") for line in lines[:-1])
    assert gui.best(FOOLS.removesuffix(" g2g4"), "searchmoves g2g4 movetime 50") == "g2g4"


def test_the_best_three_moves_are_reported(gui: UciGui) -> None:
    gui.ready("setoption name MultiPV value 3")
    lines = gui.go("startpos", "nodes 500")[-4:-1]
    assert [word_after(line, "multipv") for line in lines] == ["1", "2", "3"]
    assert len({word_after(line, "pv") for line in lines}) == 3


def test_a_player_compares_as_many_moves_as_are_asked_for() -> None:
    gui = UciGui("alphabeta(seed=1,memory_mb=1)")
    gui.ready("setoption name MultiPV value 3")
    lines = gui.go(FOOLS, "depth 2")[-4:-1]
    assert [word_after(line, "multipv") for line in lines] == ["1", "2", "3"]
    assert len({word_after(line, "pv") for line in lines}) == 3
    assert "score mate 1 " in lines[0]
    lines = gui.go(FOOLS, "movetime 50 searchmoves d8f6 d8g5 d8h4 a7a6 a7a5")[-4:-1]
    assert [word_after(line, "multipv") for line in lines] == ["1", "2", "3"]
    assert lines[0].endswith("pv d8h4")
    for limits in ("nodes 500", "depth 2"):
        assert gui.best(FOOLS, f"searchmoves d8f6 d8g5 d8h4 {limits}") == "d8h4"
    gui.send(f"position {FOOLS}", "go infinite searchmoves a7a6 a7a5 h7h6 h7h5")
    while "multipv 3" not in gui.until("info")[-1]:
        pass
    gui.send("stop")
    assert gui.until("bestmove")[-1].split()[1] in ("a7a6", "a7a5", "h7h6", "h7h5")
    assert gui.finish() == (0, "")


def test_chances_are_shown_where_the_player_knows_them(gui: UciGui) -> None:
    gui.ready("setoption name UCI_ShowWDL value true")
    assert " wdl 1000 0 0 " in gui.go(FOOLS, "nodes 500")[-2]
    assert " wdl " not in gui.go("startpos", "nodes 50")[-2]
    gui.ready("setoption name UCI_Variant value breakthrough")
    line = gui.go("startpos", "nodes 50")[-2]
    chances = [int(line.split()[at]) for at in range(*_three_after(line, "wdl"))]
    assert sum(chances) == 1000
    assert chances[1] == 0


def _three_after(line: str, word: str) -> tuple[int, int]:
    at = line.split().index(word)
    return at + 1, at + 4


def test_a_finished_game_has_no_move(gui: UciGui) -> None:
    assert gui.go(MATED, "movetime 50") == ["info depth 0 score mate 0", "bestmove (none)"]
    stalemate = "fen 7k/8/6Q1/8/8/8/8/K7 w - - 0 1 moves g6f7"
    assert gui.go(stalemate, "infinite") == ["info depth 0 score cp 0", "bestmove (none)"]


@pytest.mark.parametrize("variant", list(dict.fromkeys(each.name for each in VARIANTS)))
def test_it_plays_each_variant(gui: UciGui, variant: str) -> None:
    assert gui.ready(f"setoption name UCI_Variant value {variant}") == []
    game = games.load(next(each.game for each in VARIANTS if each.name == variant))
    uci, state = uci_game(game), game.initial_state()
    names: list[str] = []
    for _ in range(6):
        name = gui.best(" ".join(["startpos", "moves", *names]), "nodes 6")
        for action in uci.actions(state, name) or pytest.fail(name):
            state = game.next_state(state, action)
        names.append(name)
    gui.send(" ".join(["position startpos moves", *names]), "d")
    assert gui.until("Fen:")[-1] == f"Fen: {uci.fen(state)}"
    assert gui.best(f"fen {uci.fen(state)}") != "(none)"


def test_a_pass_is_played_and_understood(gui: UciGui) -> None:
    gui.ready("setoption name UCI_Variant value ataxx")
    fen = "fen Pppp3/pppp3/pppp3/pppp3/7/7/7 w - - 0 1"
    assert gui.best(fen) == "a7a7"
    assert gui.best(f"{fen} moves a7a7") != "(none)"


def test_the_game_of_the_command_is_the_first(gui: UciGui) -> None:
    other = UciGui("random", "--game", "othello")
    assert re.fullmatch("P@(e3|f4|c5|d6)", other.best("startpos"))
    assert other.finish() == (0, "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo bar", "unknown command 'foo'"),
        ("setoption name Foo value 1", "unknown option 'Foo'"),
        ("setoption value 1", "expected setoption name NAME value VALUE"),
        ("setoption name MultiPV value 0", "is a whole number from 1 to 64, not '0'"),
        ("setoption name UCI_ShowWDL value maybe", "is true or false, not 'maybe'"),
        ("setoption name UCI_Variant value shogi", "is one of chess, breakthrough"),
        ("position", "expected position startpos or position fen FEN"),
        ("position startpos moves e2e5", "the position has an illegal move: 'e2e5'"),
        ("position fen 8/8 w - - 0 1", "cannot read the position"),
        ("go movetime soon nodes 1", "expected a whole number after movetime, not 'soon'"),
        ("go nodes 1 searchmoves e2e5", "expected legal moves after searchmoves"),
        ("go nodes 1 loudly", "go: 'loudly' is ignored"),
    ],
)
def test_an_unusable_line_is_explained(gui: UciGui, line: str, said: str) -> None:
    gui.send("position startpos", line)
    first, *_ = gui.until("bestmove") if line.startswith("go") else gui.ready()
    assert first.startswith("info string error: ")
    assert said in first
    assert gui.best("startpos") != "(none)"


def test_without_a_position_there_is_no_move(gui: UciGui) -> None:
    gui.send("position startpos moves e2e5", "go movetime 50")
    assert gui.until("bestmove")[-1] == "bestmove (none)"


def test_words_before_a_command_are_ignored(gui: UciGui) -> None:
    assert gui.ready("joho debug on", "", "register later") == []
    gui.send("joho isready")
    assert gui.until("readyok") == ["readyok"]


def test_parameters_of_the_player_are_options(gui: UciGui) -> None:
    assert gui.ready("setoption name Hash value 8", "setoption name simulations value 7") == []
    assert word_after(gui.go("startpos", "movetime 1000")[-2], "nodes") == "7"
    wrong = gui.ready("setoption name simulations value -1")
    assert wrong == ["info string error: uct: simulations must be 1 or more, not -1"]
    assert gui.ready("setoption name simulations value <empty>") == []
    assert int(word_after(gui.go("startpos", "nodes 50")[-2], "nodes")) == 50


def test_a_variant_that_the_player_cannot_play_is_refused() -> None:
    gui = UciGui("alphabeta(memory_mb=1)")
    (said,) = gui.ready("setoption name UCI_Variant value clobber10")
    assert "there is no evaluation of clobber" in said
    assert re.fullmatch("[a-h][1-4][a-h][1-4]", gui.best("startpos"))
    assert gui.finish() == (0, "")


def test_a_player_without_an_analysis_moves_too() -> None:
    gui = UciGui("random(seed=1)")
    (line,) = gui.go("startpos", "movetime 1000")
    assert re.fullmatch("bestmove [a-h][1-4][a-h][1-4]", line)
    gui.ready("setoption name UCI_Variant value amazons", "setoption name MultiPV value 2")
    (line,) = gui.go("startpos", "nodes 5")
    assert re.fullmatch(r"bestmove \S+,\S+", line)
    assert gui.finish() == (0, "")


@pytest.mark.parametrize("end", ["quit", ""])
def test_quit_and_the_end_of_the_input_end_a_search(end: str) -> None:
    gui = UciGui("uct(memory_mb=16)")
    gui.send("position startpos", "go infinite")
    gui.until("info")
    code, said = finish(gui.process, f"{end}\n")
    assert code == 0
    assert "bestmove" not in said


def test_ctrl_c_ends_it_also_while_it_thinks() -> None:
    gui = UciGui("uct(memory_mb=16)")
    gui.send("go infinite")
    gui.until("info")
    gui.process.send_signal(signal.SIGINT)
    code, said = finish(gui.process, "")
    assert code == 130
    assert "Traceback" not in said
