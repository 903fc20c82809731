"""Clients of engines: what they write besides the answers that their protocols ask for.

These are habits of real engines, as people have reported them about other programs.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playout import games
from playout.games import Position
from playout.players import Limit, PlayerError, Resigned
from playout.players.core.player import MatchClock, TimeLeft
from playout.players.engine import Engine
from playout.players.engines import client, gomocup_client, gtp_client, xboard_client
from support.engines import scripted

_LIMIT = Limit(seconds=5.0)
_NUMBERS = "name version protocol_version list_commands boardsize clear_board play genmove quit"


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(gtp_client, "SILENCE_S", 0.05)
    monkeypatch.setattr(gomocup_client, "BANNER_S", 0.02)
    monkeypatch.setattr(gomocup_client, "REFUSED_S", 0.2)
    monkeypatch.setattr(client, "MARGIN_S", 0.0)
    monkeypatch.setattr(xboard_client, "_FIRST_FEATURE_S", 0.05)
    monkeypatch.setattr(xboard_client, "_NEXT_FEATURE_S", 0.05)


#: Starts an engine of a script at a game.
Made = Callable[..., Engine]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Made]:
    """Starts engines by their scripts, and ends them."""
    started: list[Engine] = []

    def make(game: str, protocol: str, *rules: tuple[str, list[str]], **keys: str) -> Engine:
        made = Engine(games.load(game), **scripted(tmp_path, protocol, *rules, **keys))
        started.append(made)
        return made

    yield make
    for each in started:
        each.close()


def log_of(tmp_path: Path) -> str:
    """What the engine has in its log."""
    return (tmp_path / "state/playout/log/engine-scripted-1.log").read_text()


def rate_of(centipawns: float) -> float:
    return client.win_rate(centipawns)


def uci_rates(engine: Made, *searches: str) -> list[float | None]:
    """The win rates of an engine that answers its searches so, at 1. e4 e5."""
    made = engine("chess", "uci", ("go", [*searches]))
    position = Position(made.game)
    found: list[float | None] = []
    for _ in searches:
        result = made.choose(position, _LIMIT)
        found.append(result.info.win_rate if result.info else None)
        position = position.play(result.action)
    return found


_EXACT = "info depth 9 multipv 1 score cp 150 nodes 900 pv e2e4\n"


@pytest.mark.parametrize(
    "other",
    [
        "info depth 9 multipv 2 score cp -900 nodes 900 pv a2a3",
        "info multipv 12 depth 9 score cp -900 pv a2a3",
        "info depth 10 score cp -300 upperbound nodes 1000 pv e2e4",
        "info depth 10 score cp 300 lowerbound pv e2e4",
        "info depth 10 score mate 3 lowerbound pv e2e4",
        "info depth 10 score lowerbound cp 300 pv e2e4",
        "info string classical score cp -800 pv e2e4",
        "info depth 9 string score cp -800 pv e2e4",
        "info depth 3 score cp 900 nodes 7 pv e7e5",  # of another position
        "info depth 3 score cp 900 nodes 7 pv none",
        "info depth 3 score cp - nodes 7 pv e2e4",
        "info depth 3 currmove e2e4 currmovenumber 1",
        "Info depth 3 score cp 900 pv e2e4",
        "info depth 9 score cp -900 nodes 900 pv a2a3 a7a6 multipv 2",
        "info depth 10 score cp 300 pv e2e4 e7e5 lowerbound nodes 9",
    ],
)
def test_the_win_rate_is_that_of_the_last_exact_line_of_the_best_move(
    engine: Made, other: str
) -> None:
    assert uci_rates(engine, f"{_EXACT}{other}\nbestmove e2e4\n") == [rate_of(150)]


def test_moves_that_an_analysis_compares_have_rates_and_lines(tmp_path: Path) -> None:
    lines = [
        "info depth 8 multipv 2 score cp 150 nodes 90 pv e2e4",
        "info depth 9 multipv 1 score cp 150 nodes 300 pv e2e4 e7e5",
        "info depth 9 multipv 3 score cp -50 nodes 300 pv a2a3",
        "info depth 9 multipv 2 score cp 0 nodes 300 pv d2d4 d7d5",
    ]
    answers = [("uci$", ["option name MultiPV type spin default 1 min 1 max 500\nuciok\n"])]
    answers += [("setoption name MultiPV value 3", ["info string three moves\n"])]
    answers += [("go", ["\n".join([*lines, "bestmove e2e4\n"])])]
    options = scripted(tmp_path, "uci", *answers)
    position = Position(games.load("chess"))
    with closing(Engine(position.game, **options, candidates=3)) as made:  # type: ignore[arg-type]
        info = made.choose(position, _LIMIT).info
    assert "info string three moves" in log_of(tmp_path)
    assert info is not None
    assert [position.name(each.action) for each in info.actions] == ["e4", "d4", "a3"]
    assert [each.visits for each in info.actions] == [100] * 3
    assert [each.win_rate for each in info.actions] == pytest.approx(
        [rate_of(150), 0.5, rate_of(-50)]
    )
    assert [len(line) for line in (info.pv, *info.lines)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("score", "centipawns"),
    [
        ("cp -35", -35),
        ("cp +35", 35),
        ("mate 3", 10_000),
        ("mate -2", -10_000),
        ("mate 0", -10_000),
    ],
)
def test_a_score_of_uci_is_a_win_rate(engine: Made, score: str, centipawns: float) -> None:
    found = uci_rates(
        engine,
        f"{_EXACT}info depth 10 score {score} pv e2e4 e7e5\nbestmove e2e4\n",
        f"info depth 10 pv e7e5 g1f3 score {score} string depth 3\nbestmove e7e5\n",
    )
    assert found == [rate_of(centipawns)] * 2


def test_the_output_of_dotnet_begins_with_a_byte_order_mark(engine: Made) -> None:
    mark = "\ufeff"
    made = engine("chess", "uci", ("uci$", [f"{mark}uciok\n"]), ("go", [f"{mark}bestmove e2e4\n"]))
    assert made.game.action_name(made.game.initial_state(), first_move(made)) == "e4"


def test_lines_after_a_move_do_not_belong_to_the_next_search(engine: Made) -> None:
    late = f"{_EXACT}bestmove e2e4\ninfo depth 30 score cp 900 nodes 7 pv e7e5\n"
    assert uci_rates(engine, late, "bestmove e7e5\n") == [rate_of(150), None]


def test_huge_counts_are_bounded(engine: Made) -> None:
    made = engine("chess", "uci", ("go", [
        f"info depth {'9' * 30} score cp {'9' * 30} nodes {'9' * 30} pv e2e4\nbestmove e2e4\n"
    ]))  # fmt: skip
    info = made.choose(Position(made.game), _LIMIT).info
    assert info
    assert info.simulations == info.depth == 2**31 - 1


@pytest.mark.parametrize("then", ["", "info string done\n", "readyok\n", "bestmove (none)\n"])
def test_a_second_move_of_a_search_is_dropped_and_logged(
    engine: Made, tmp_path: Path, then: str
) -> None:
    made = engine("chess", "uci", ("go", [
        f"bestmove e2e4\nbestmove e2e4 ponder e7e5\n{then}", "bestmove e7e5\nbestmove e7e5\n",
        "bestmove g1f3\n",
    ]))  # fmt: skip
    position = Position(made.game)
    for _ in range(3):
        position = position.play(made.choose(position, _LIMIT).action)
    assert position.game.action_name(position.states[2], position.moves[2]) == "Nf3"
    assert "[not used] bestmove e2e4 ponder e7e5\n" in log_of(tmp_path)


def test_a_second_move_that_comes_after_readyok_is_dropped_too(engine: Made) -> None:
    made = engine("chess", "uci", ("go", ["bestmove e2e4\n", "bestmove e2e4\nbestmove e7e5\n"]))
    position = Position(made.game)
    for _ in range(2):
        position = position.play(made.choose(position, _LIMIT).action)
    assert position.move_name() == "e5"


def test_an_illegal_move_is_answered_by_the_moves_of_the_protocol(engine: Made) -> None:
    made = engine("chess", "uci", ("go", ["bestmove e2e5\n"]))
    with pytest.raises(PlayerError, match=r"'bestmove e2e5': not legal; legal are: .*b1c3, .*"):
        made.choose(Position(made.game), _LIMIT)


def test_the_error_of_a_missing_answer_shows_what_came(engine: Made) -> None:
    made = engine("chess", "uci", ("go", ["bestmov e2e4\n"]))
    with pytest.raises(PlayerError, match=r"not answered in time \(its last line was 'bestmov e2"):
        made.choose(Position(made.game), Limit(seconds=0.1))


# XBoard.


@pytest.mark.parametrize(
    "kind", ["unknown command", "too many parameters", "command not legal now"]
)
def test_errors_of_optional_commands_are_no_faults(engine: Made, kind: str) -> None:
    made = engine("chess", "xboard", ("usermove|force|new|setboard", [""]),
                  ("go", [f"Error ({kind}): level\nmove e2e4\n"]),
                  ("(?!ping|protover)(.*)", [f"Error ({kind}): {{1}}\n"]))  # fmt: skip
    assert made.game.action_name(made.game.initial_state(), first_move(made)) == "e4"


@pytest.mark.parametrize("answer", ["Illegal move: {1}", "Illegal move (unknown command): {1}"])
def test_an_optional_command_that_is_taken_for_a_move_is_no_fault(
    engine: Made, answer: str
) -> None:
    made = engine("chess", "xboard", ("(easy|post|st|accepted)", [f"{answer}\n"]),
                  ("go", ["move e2e4\n"]))  # fmt: skip
    assert made.game.action_name(made.game.initial_state(), first_move(made)) == "e4"


def first_move(made: Engine) -> int:
    return made.choose(Position(made.game), _LIMIT).action


@pytest.mark.parametrize(
    "answer",
    [
        "Error (unknown command): usermove\n",
        "Error (command not legal now): go\n",
        "Error (no such position): setboard\n",
        "Illegal move: e2e4\n",
        "Illegal move (in check): e2e4\n",
        "Error (illegal): \n",  # of the last command, go
        "illegal position\n",
    ],
)
def test_a_refused_move_or_position_is_a_fault(engine: Made, answer: str) -> None:
    made = engine("chess", "xboard", ("go", [answer]))
    with pytest.raises(PlayerError, match=r"has answered '(Error|[Ii]llegal)"):
        first_move(made)


@pytest.mark.parametrize(
    "answer",
    ["resign", "0-1 {White resigns}", "0-1", "tellics resign", "White resigns", "0-1 {mate}",
     "resign {hopeless}", "Resign", "result 0-1 {White resigns}"],
)  # fmt: skip
def test_an_engine_resigns_in_all_ways_of_xboard(engine: Made, answer: str) -> None:
    made = engine("chess", "xboard", ("go", [f"{answer}\n"]))
    with pytest.raises(Resigned):
        first_move(made)


@pytest.mark.parametrize("claim", ["1-0 {White mates}", "1/2-1/2 {Draw by repetition}", "1-0"])
def test_a_claim_without_a_move_is_shown(
    engine: Made, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xboard_client, "PING_S", 0.05)
    made = engine("chess", "xboard", ("go", [f"{claim}\n"]))
    with pytest.raises(PlayerError, match=r"has claimed '1.* instead of a move"):
        first_move(made)


@pytest.mark.parametrize(
    "answer",
    ["move e2e4", "My move is: e2e4", "My move is : e2e4", "1. ... e2e4", "1 ... e2e4", "move e4",
     "My move is:e2e4", "offer draw\nmove e2e4", "move e2e4\n1/2-1/2 {Draw by repetition}",
     "tellics hello\nmove e2e4", "Move ordering : 99%\nmove e2e4"],
)  # fmt: skip
def test_a_move_is_understood_in_all_forms_of_xboard(engine: Made, answer: str) -> None:
    made = engine("chess", "xboard", ("go", [f"{answer}\n", "move e7e5\n"]))
    position = Position(made.game)
    for _ in range(2):
        position = position.play(made.choose(position, _LIMIT).action)
    assert position.game.action_name(position.states[0], position.moves[0]) == "e4"


@pytest.mark.parametrize(
    ("thoughts", "centipawns"),
    [
        ("9 150 3 900 e2e4 e7e5", 150),
        ("9. 150 3 900 e2e4", 150),
        ("9 150 3 900 e4 e5", 150),
        ("9 150 3 900 1. e4 e5", 150),
        ("9 150 3 900 1.e4 e5 2.Nf3", 150),
        ("9 150 3 900 12 400 0\te2e4", 150),
        ("9 150 3 900 e2e4\n9 -900 3 900 a2a3", 150),  # another variation
        ("9 -900 3 900 a2a3\n10 150 3 900 e2e4", 150),
        ("9 150 3 900 e2e4\n10 300 3 900 e2e4!", 150),  # bounds
        ("9 150 3 900 e2e4\n10+ 300 3 900 e2e4", 150),
        ("9 150 3 900 e2e4\n10- -300 3 900 e2e4", 150),
        ("9 150 3 900 e2e4\n10 300 3 900 e2e4 ++", 150),
        ("9 150 3 900 e2e4\n10 -300 3 900 e2e4 ?", 150),
        ("9 150 3 900 e2e4\n10 300 3 900 e2e4 FH", 150),
        ("9 -900 3 900 a2a3", None),
    ],
)
def test_the_win_rate_of_xboard_is_that_of_the_move(
    engine: Made, thoughts: str, centipawns: float | None
) -> None:
    made = engine("chess", "xboard", ("go", [f"{thoughts}\nmove e2e4\n"]))
    info = made.choose(Position(made.game), _LIMIT).info
    assert (info and info.win_rate) == (None if centipawns is None else rate_of(centipawns))


def test_a_second_move_of_xboard_and_a_late_thought_are_dropped(engine: Made) -> None:
    late = "move e2e4\n30 900 1 1 e7e5\nmove e2e4\n"
    for features in ("ping=1 usermove=1 setboard=1", "usermove=1"):
        made = engine("chess", "xboard", ("go", [late, "move e7e5\n"]),
                      ("protover", [f"feature {features} done=1\n"]))  # fmt: skip
        position = Position(made.game)
        for _ in range(2):
            result = made.choose(position, _LIMIT)
            position = position.play(result.action)
        assert position.move_name() == "e5"
        if "ping" in features:
            assert result.info is None


@pytest.mark.parametrize("features", ["", "feature setboard=1\n", 'feature myname="X" ping=1\n'])
def test_features_need_no_end(engine: Made, features: str) -> None:
    made = engine("chess", "xboard", ("protover", [features]), ("go", ["move e2e4\n"]))
    assert made.game.action_name(made.game.initial_state(), first_move(made)) == "e4"


def test_moves_in_the_notation_of_people_are_a_rejected_feature(
    engine: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xboard_client, "_FIRST_FEATURE_S", 10.0)
    made = engine("chess", "xboard", ("protover", ["feature san=1 time=0 ping=1 done=1\n"]),
                  ("(accepted san|otim)", ["Illegal move: {1}\n"]),
                  ("go", ["move e2e4\n"]))  # fmt: skip
    clock = MatchClock(TimeLeft(60.0, 0, 0.0), 0.0, (TimeLeft(60.0, 0, 0.0),) * 2)
    made.choose(Position(made.game), Limit(seconds=1.0, clock=clock))


# GTP.


@pytest.mark.parametrize("command", ["name", "version", "time_settings", "time_left"])
def test_refusals_of_gtp_are_faults_only_of_moves_and_positions(
    engine: Made, command: str, tmp_path: Path
) -> None:
    commands = f"{_NUMBERS} time_settings time_left".replace(" ", "\n")
    made = engine("go(size=9)", "gtp", ("list_commands", [f"={{n}} {commands}\n\n"]),
                  (command, ["?{n} not here\n\n"]), ("genmove", ["={n} E5\n\n"]))  # fmt: skip
    assert Position(made.game).name(first_move(made)) == "E5"
    assert "has answered '? not here'" in log_of(tmp_path)


@pytest.mark.parametrize(
    "answer",
    [
        "={n} E5\n",  # without the empty line
        "={n} E5 (mm)\n\n",
        "={n} E05\n\n",
        "={n} \tE5\t\n\n",
        "={n} e5\n\n\n\n",
        "={n}\nE5\n\n",
        "thinking\n={n} E5\n\n",
        "= thinking about it\n={n} E5\n\n",
        "= thinking about it\n\n={n} E5\n\n",
        "=1 D4\n\n={n} E5\n\n",  # of an earlier command
        "={n} E5\r\n\r\n",
        "={n} E5\n \n",
    ],
)
def test_an_answer_of_gtp_is_understood_where_it_is_unambiguous(engine: Made, answer: str) -> None:
    made = engine("go(size=9)", "gtp", ("genmove", [answer]))
    position = Position(made.game)
    first = made.choose(position, _LIMIT).action
    assert position.name(first) == "E5"


def test_an_engine_that_never_writes_the_empty_line_plays(engine: Made) -> None:
    made = engine(
        "go(size=9)", "gtp",
        ("protocol_version", ["={n} 2\n"]), ("name|version", ["={n} X\n"]),
        ("list_commands", [f"={{n}} {_NUMBERS}\n".replace(" ", "\n")]),
        ("genmove b", ["={n} E5\n", "={n} C3\n"]), ("genmove w", ["={n} D4\n"]), ("", ["={n}\n"]),
    )  # fmt: skip
    position = Position(made.game)
    for _ in range(3):
        position = position.play(made.choose(position, _LIMIT).action)
    assert [position.move_name(ply) for ply in range(3)] == ["E5", "D4", "C3"]


def test_an_engine_may_leave_out_the_numbers(engine: Made) -> None:
    made = engine(
        "go(size=9)", "gtp",
        ("protocol_version", ["= 2\n\n"]), ("name|version", ["= X\n\n"]),
        ("list_commands", [f"= {_NUMBERS}\n\n".replace(" ", "\n")]),
        ("genmove b", ["= E5\n\n", "= C3\n\n"]), ("", ["=\n\n"]),
    )  # fmt: skip
    position = Position(made.game).play(0).play(1)
    for name in ("E5", "C3"):
        position = position.play(made.choose(position, _LIMIT).action)
        assert position.move_name() == name
        position = position.play(position.legal_actions[0])


_REPORTS = f"={{n}} {_NUMBERS} ".replace(" ", "\n")


@pytest.mark.parametrize(
    ("command", "report", "rate"),
    [
        ("kata", "info move E5 visits 9 winrate 0.62 order 0 pv E5 info move D4 visits 99 "
         "winrate 0.1 order 1 pv D4", 0.62),
        ("kata", "info move E5 visits 9 winrate 0.62 order 0 pv E5 rootInfo visits 99 winrate 0.1",
         0.62),
        ("kata", "info move E5 edgeVisits 3 visits 9 winrate 0.62 order 0 pv E5 pvVisits 9", 0.62),
        ("kata", "info move E5 visits 9 winrate 1e-05 order 0 pv E5", 1e-05),
        ("kata", "info move E5 visits 9 winrate 1 order 0 pv E5", 1.0),
        ("kata", "info move D4 visits 99 winrate 0.1 order 0 pv D4 info move E5 visits 9 "
         "winrate 0.62 order 1 pv E5", 0.62),  # another move was played
        ("lz", "info move E5 visits 9 winrate 6200 order 0 pv E5 info move D4 visits 99 "
         "winrate 1000 order 1 pv D4", 0.62),
        ("kata", "info move E5 visits 9 winrate nan order 0 pv E5", None),
    ],
)  # fmt: skip
def test_the_win_rate_of_gtp_is_that_of_the_move(
    engine: Made, command: str, report: str, rate: float | None
) -> None:
    name = f"{command}-genmove_analyze"
    made = engine(
        "go(size=9)", "gtp", ("list_commands", [f"{_REPORTS}{name}\n\n"]),
        (name, [f"=1\ninfo move D4 visits 5 winrate 0.9 pv D4\n\n={{n}}\n{report}\nplay E5\n\n"]),
    )  # fmt: skip
    info = made.choose(Position(made.game), _LIMIT).info
    assert (info and info.win_rate) == (rate if rate is None else pytest.approx(rate))


def test_a_report_of_gtp_may_end_with_the_move_alone(engine: Made) -> None:
    name = "kata-genmove_analyze"
    report = "={n}\ninfo move E5 visits 0 winrate 0.9 order 0 pv E5\nE5\n\n"
    made = engine(
        "go(size=9)", "gtp", ("list_commands", [f"{_REPORTS}{name}\n\n"]), (name, [report])
    )
    result = made.choose(Position(made.game), _LIMIT)
    assert Position(made.game).name(result.action) == "E5"
    assert result.info is None  # nothing was visited


def test_gtp_says_what_came_instead_of_an_answer(engine: Made) -> None:
    made = engine("go(size=9)", "gtp", ("genmove", ["E5\n"]))
    with pytest.raises(PlayerError, match=r"\(its last line was 'E5'\), given '\d+ genmove b'"):
        made.choose(Position(made.game), Limit(seconds=0.1))


# Coordinates.


@pytest.mark.parametrize("game", ["hex(size=11)", "y(size=11)", "havannah(size=6)"])
@pytest.mark.parametrize("move", ["i6", "I6", "j7", "h5", "k11", "a1"])
def test_boards_of_hexagons_have_a_column_i_in_gtp(engine: Made, game: str, move: str) -> None:
    made = engine(game, "gtp", ("genmove", [f"={{n}} {move}\n\n"]))
    position = Position(made.game)
    if move.lower() in map(position.name, position.legal_actions):
        action = made.choose(position, _LIMIT).action
        assert position.name(action) == move.lower()
    else:
        with pytest.raises(PlayerError, match=r"legal are: A1, B1"):
            made.choose(position, _LIMIT)


@pytest.mark.parametrize("game", ["hex(size=5,swap=true)", "havannah(size=3,swap=true)"])
@pytest.mark.parametrize("name", ["swap-pieces", "swap", "Swap-Pieces"])
def test_an_engine_swaps_by_its_names(engine: Made, game: str, name: str) -> None:
    made = engine(game, "gtp", ("genmove w", [f"={{n}} {name}\n\n"]),
                  ("genmove b", ["={n} C4\n\n"]), ("play . B2", ["={n}\n\n"]),
                  ("play w swap", ["={n}\n\n"]), ("play", ["?{n} illegal\n\n"]))  # fmt: skip
    position = Position.from_names(made.game, ["b2"])
    position = position.play(made.choose(position, _LIMIT).action)
    cells = made.game.view(position.state).cells
    assert (cells.count(1), cells.count(2)) == (0, 1)
    position = position.play(made.choose(position, _LIMIT).action)
    assert position.move_name() == "c4"


def test_engines_of_other_games_have_no_column_i_unless_their_table_says_so(engine: Made) -> None:
    for keys, name in (({}, "J1"), ({"column_i": "true"}, "I1"), ({"column_i": "false"}, "J1")):
        made = engine("gomoku(size=15)", "gtp", ("genmove", [f"={{n}} {name}\n\n"]), **keys)
        position = Position(made.game)
        assert position.name(made.choose(position, _LIMIT).action) == "i15"


def test_legal_moves_are_listed_as_the_protocol_writes_them(engine: Made) -> None:
    made = engine("gomoku(size=9)", "gtp", ("genmove", ["={n} I1\n\n"]))
    with pytest.raises(PlayerError, match=r"'I1': not legal; legal are: A9, B9, C9"):
        made.choose(Position(made.game), _LIMIT)
    brain = engine("gomoku(size=9)", "gomocup", ("BEGIN", ["9,9\n"]))
    with pytest.raises(PlayerError, match=r"'9,9': not legal; legal are: 0,0, 1,0"):
        brain.choose(Position(brain.game), _LIMIT)


# Gomocup.


@pytest.mark.parametrize(
    "rule",
    [
        ("START", ["OK - everything is good\r\n"]),
        ("START", ["ok\n"]),
        ("START", ["OK 15\r\n"]),
        ("START", ["MESSAGE hello\r\nOK\r\n"]),
        ("INFO game_type", ["UNKNOWN INFO game_type\r\n"]),
        ("INFO rule", ["ERROR - unknown rule\r\n"]),
        ("INFO time_left", ["ERROR unknown key time_left\r\n"]),
        ("ABOUT", ["UNKNOWN ABOUT\r\n"]),
        ("ABOUT", ['Brain 1.0 (c) 2009\r\nname="Brain"\r\n', 'name="Brain"\r\n']),
        ("ABOUT", ['name="Brain"\r\nversion="1"\r\n']),
        ("ABOUT", ["just a text\r\n"]),
        ("BEGIN", ["debug thinking\r\nMessage hi\r\n7,7\r\n"]),
        ("BEGIN", ["DEBUG: 3,3\r\nMESSAGE: 4,4\r\n7, 7 \r\n"]),
        ("ABOUT", ['name="Habit", version="1"\r\nalso a greeting\r\n']),
        ("BEGIN", ["(7,7)\r\n"]),
        ("BEGIN", ["SUGGEST 7,7\r\n"]),
        ("BEGIN", ["7,7\r\n7,7\r\n7,7\r\nOK\r\n"]),
        ("BEGIN", ["7,7\r\nMESSAGE done\r\nERROR late\r\n"]),
    ],
)
def test_a_brain_may_answer_as_the_protocol_allows(
    engine: Made, rule: tuple[str, list[str]]
) -> None:
    made = engine("gomoku(size=15)", "gomocup", rule, ("BEGIN", ["7,7\r\n"]),
                  ("TURN|DONE", ["8,8\r\n"]), ("PLAY (.*)", ["{1}\r\n"]))  # fmt: skip
    position = Position(made.game)
    position = position.play(made.choose(position, _LIMIT).action)
    position = Position.from_names(made.game, [position.move_name(), "a1"])
    position = position.play(made.choose(position, _LIMIT).action)
    assert [position.move_name(ply) for ply in (0, 2)] == ["h8", "i9"]


@pytest.mark.parametrize(
    ("messages", "centipawns"),
    [
        ("MESSAGE Depth 17-28 | Eval 136 | Node 301K", 136),
        ("MESSAGE Depth 1 | Eval 900\r\nMESSAGE Depth 2 | Eval -20", -20),
        ("MESSAGE Depth 1 | Eval 100\r\nMESSAGE Depth 2 | Eval +M5", 10_000),
        ("MESSAGE Depth 1 | Eval 100\r\nMESSAGE Depth 2 | Eval -M8", -10_000),
        ("MESSAGE Depth 2 | Eval 136\r\nMESSAGE Bestline Z1 A99 H8", 136),
    ],
)
def test_the_win_rate_of_a_brain_is_that_of_its_last_message(
    engine: Made, messages: str, centipawns: float
) -> None:
    late = "MESSAGE Depth 30 | Eval 900\r\n"
    made = engine("gomoku(size=15)", "gomocup", ("BEGIN", [f"{messages}\r\n7,7\r\n{late}"]),
                  ("TURN", ["8,8\r\n"]))  # fmt: skip
    position = Position(made.game)
    result = made.choose(position, _LIMIT)
    assert result.info
    assert result.info.win_rate == rate_of(centipawns)
    position = position.play(result.action).play(0)
    assert made.choose(position, _LIMIT).info is None


@pytest.mark.parametrize(
    "before",
    ["UNKNOWN INFO rule", "ERROR no book", "ERROR: time is short\r\nMESSAGE x", "thinking ...",
     "Loading the weights", "UNKNOWN"],
)  # fmt: skip
def test_a_complaint_before_the_move_is_no_answer(
    engine: Made, tmp_path: Path, before: str
) -> None:
    made = engine("gomoku(size=15)", "gomocup", ("BEGIN", [f"{before}\r\n7,7\r\n"]))
    assert Position(made.game).name(first_move(made)) == "h8"
    assert f"[not used] {before.partition(chr(13))[0]}" in log_of(tmp_path)


def test_a_brain_that_refuses_to_move_is_at_fault(engine: Made) -> None:
    made = engine("gomoku(size=15)", "gomocup", ("BEGIN", ["ERROR no memory\r\n"]))
    with pytest.raises(PlayerError, match="has answered 'ERROR no memory', given 'BEGIN'"):
        made.choose(Position(made.game), _LIMIT)


def test_a_second_answer_of_a_script_is_dropped_and_logged(engine: Made, tmp_path: Path) -> None:
    made = engine("connect_four", "lines", (".", ["3\n4\n", "2\n"]))
    position = Position(made.game)
    for _ in range(2):
        position = position.play(made.choose(position, _LIMIT).action)
    assert position.moves == (3, 2)
    assert "[not used] 4" in log_of(tmp_path)


TINY = """
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "uci\\n")) printf("id name tiny\\nuciok\\n");
        if (!strcmp(line, "isready\\n")) printf("readyok\\n");
        if (!strncmp(line, "go", 2)) printf("bestmove e2e4\\n");
        if (!strncmp(line, "ABOUT", 5)) printf("name=\\"tiny\\"\\n");
        if (strstr(line, "protocol_version")) printf("= 2\\n\\n");
        if (!strcmp(line, "quit\\n")) return 0;
    }
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
@pytest.mark.parametrize(
    ("protocol", "game"),
    [("uci", "chess"), ("gtp", "go"), ("gomocup", "gomoku"), ("lines", "nim"), ("xboard", "chess")],
)
def test_a_program_in_c_that_keeps_its_output_gets_a_hint(
    protocol: str, game: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.c").write_text(TINY)
    subprocess.run(["gcc", "-o", tmp_path / "tiny", tmp_path / "tiny.c"], check=True)
    (tmp_path / "engines.toml").write_text(
        f'[tiny]\ncommand = "{tmp_path}/tiny"\nprotocol = "{protocol}"\nstart_s = 0.1\n'
    )

    def play() -> None:
        made = Engine(games.load(game), name="tiny", file=str(tmp_path / "engines.toml"))
        with contextlib.closing(made):
            made.choose(Position(made.game), Limit(seconds=0.05))

    hint = r"has not answered in time.*fflush\(stdout\)"
    with pytest.raises((PlayerError, games.SpecError), match=hint):
        play()
