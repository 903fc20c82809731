"""Export formats: JSON Lines without loss, SGF and PGN for other programs."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from sgfmill.sgf import Sgf_game

from playout import games
from playout.commands.text import plain
from playout.games import TIE, BoardView, Game, IllegalAction, Position, State
from playout.games.chessboard.notation import text_of, uci_name
from playout.protocol.messages import ClockState, Reason
from playout.server.export import FORMATS, jsonl, pgn, sgf, writer
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import (
    MatchEnded,
    StoredMatch,
    flat,
)
from support.match_records import portable
from support.scale import repetitions
from support.stored_game import AT, LOST, PlayedGame
from support.variants import EXAMPLES, VARIANTS, every_game

CLOCKS = ("none", "1/move", "300+3", "20+5x30", "120d12")
NASTY = ['"', "\\", "]", ":", "(;B[aa])", "a\\]b\\", "{}", "%", "1-0", "*", "é漢🎲", '[A "b\\"]']
TIED = (0, 1, 2, 4, 3, 5, 7, 6, 8)
"""
x o x
x o o
o x x
"""


def ended_otherwise(reason: Reason) -> StoredMatch:
    """A match of two moves that ended for that reason; the first player lost, if any."""
    played = PlayedGame("tic_tac_toe", "300+3").play(4, 0)
    if reason in (Reason.VOID, Reason.ADMINISTRATOR, Reason.ABORTED):
        winner, returns = 0, (0.0, 0.0)
    elif reason is Reason.AGREEMENT:
        winner, returns = TIE, (0.5, 0.5)
    else:
        winner, returns = 2, (0.0, 1.0)
    text = f"ended by {reason}"
    finished = MatchEnded(
        **flat(match="m1", winner=winner, returns=returns, reason=reason, text=text, at=AT + 9)
    )
    return structs.replace(played.stored, ended=finished)


# Readers that follow the standards only.


def read_sgf(text: str) -> list[dict[str, list[str]]]:
    """The nodes of an SGF game tree without variations."""
    assert text.startswith("(;")
    nodes: list[dict[str, list[str]]] = []
    values: list[str] = []
    rest = text[1:]
    while rest[0] != ")":
        if rest[0] == ";":
            nodes.append({})
        elif name := re.match(r"[A-Z]+", rest):
            values = nodes[-1].setdefault(name[0], [])
            assert not values
            rest = rest[name.end() - 1 :]
        elif value := re.match(r"\[((?:[^\]\\]|\\.)*)\]", rest):
            assert "\n" not in value[1]
            values.append(re.sub(r"\\(.)", r"\1", value[1]))
            rest = rest[value.end() - 1 :]
        else:
            assert rest[0] == "\n"
        rest = rest[1:]
    assert rest == ")\n"
    return nodes


def sgf_name(game: Game, value: str, columns: int) -> str:
    """The notation of a move in SGF: a point's letters are its column and its row."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if not value:
        return "pass"
    column, row = (letters.index(letter) for letter in value)
    assert column < columns
    view = game.view(game.initial_state())
    return view.column_labels[column] + view.row_labels[row]


def read_pgn(text: str) -> tuple[dict[str, str], list[str], list[str], str]:
    """The tags, the names of the moves, the comments and the result of PGN text."""
    head, moves = re.fullmatch(r"((?:\[.*\]\n)+)\n((?:.+\n)+)\n", text).groups()  # type: ignore[union-attr]
    tags = {}
    for line in head.splitlines():
        name, value = re.fullmatch(r'\[(\w+) "((?:[^"\\]|\\.)*)"\]', line).groups()  # type: ignore[union-attr]
        tags[name] = _unquoted(value)
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|\{[^}]*\}|[^\s{"]+', moves)
    comments = [token for token in tokens if token[0] == "{"]
    names = [token for token in tokens[:-1] if token[0] != "{" and not re.match(r"\d+\.", token)]
    return (
        tags,
        [_unquoted(name[1:-1]) if name[0] == '"' else name for name in names],
        comments,
        tokens[-1],
    )


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def actions_named(game: Game, names: Sequence[str]) -> list[int]:
    """The actions of a match, from the names of its moves."""
    state, actions = game.initial_state(), []
    for name in names:
        for action in game.parse_turn(state, name):
            actions.append(action)
            state = game.next_state(state, action)
    return actions


# Any match.


@every_game
@pytest.mark.parametrize("clock_text", CLOCKS)
def test_a_line_is_read_back_without_loss(spec: str, clock_text: str) -> None:
    stored = PlayedGame(spec, clock_text).play_anything(1).stored
    line = writer("jsonl")(stored)
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert jsonl.read(line) == jsonl.read(line.encode()) == portable(stored)
    assert "digest" not in line
    assert "account" not in line


def test_a_match_of_a_ladder_is_read_back_with_its_versions() -> None:
    stored = PlayedGame("nim", "none").play_anything(1).stored
    ladder = flat(ladder_pair=stored.started.match, versions=("1", "2.0 beta"))
    stored = structs.replace(stored, started=structs.replace(stored.started, **ladder))
    assert jsonl.read(jsonl.write(stored)) == portable(stored)


#: A line with every field, as other programs read it.
LINE = (
    '{"version":1,"match":"m1","game":"tic_tac_toe","players":["Ann","Bob"],"clock":"300+3",'
    '"rated":true,"illegal_moves":3,"credit_cap_s":0.1,"at":1700000000.0,"opening":1,'
    '"max_plies":400,"tournament":"t1","fixture":"1.1.1.1.1",'
    '"ladder":{"pair":"m1","versions":["1","2"]},"bots":[null,"uct"],"core_speed":812.5,"moves":['
    '{"ply":0,"seat":1,"action":4,"clocks":[[302.2,0],[300.0,0]],"at":1700000000.8},'
    '{"ply":1,"seat":2,"action":0,"clocks":[[302.2,0],[302.9,0]],'
    '"info":{"win_rate":0.3,"simulations":1,"pv":[0,0]},"at":1700000000.9}],'
    '"finished":{"winner":1,"returns":[1.0,0.0],"reason":"adjudication",'
    '"text":"adjudicated: Ann wins from here","missing":1,"at":1700000000.9}}\n'
)


def test_a_line_keeps_its_form_to_the_byte() -> None:
    assert jsonl.write(jsonl.read(LINE)) == LINE


@every_game
@pytest.mark.parametrize("clock_text", CLOCKS)
def test_text_for_people_has_the_same_moves(spec: str, clock_text: str) -> None:
    game = games.load(spec)
    for seed in range(repetitions(3, short=1)):
        stored = PlayedGame(spec, clock_text).play_anything(seed).stored
        actions = [move.action for move in stored.moves]
        tags, names, comments, result = read_pgn(writer("pgn")(stored))
        assert actions_named(game, names) == actions
        assert tags.get("Variant") == (None if spec.startswith("chess") else str(game))
        assert tags["Result"] == result == {1: "1-0", 2: "0-1", TIE: "1/2-1/2"}[_winner(stored)]
        rolls = sum(move.seat == 0 for move in stored.moves)
        assert len(comments) == (0 if clock_text == "none" else len(names) - rolls)
        text = writer("auto")(stored)
        assert max(len(line) for line in text.splitlines()[1:]) <= 80
        if spec.partition("(")[0] == "backgammon":
            assert text == writer("sgf")(stored)
        elif text.startswith("(;"):
            root, *nodes = read_sgf(text)
            columns = int(root["SZ"][0].split(":")[0])
            moves = [(seat, node[seat][0]) for node in nodes for seat in "BW" if seat in node]
            pairs = zip(stored.moves, Position(game, actions).states[:-1], strict=True)
            # SGF has no moves that mark dead stones.
            kept = [(move, state) for move, state in pairs if not game.view(state).areas]
            for (move, state), (_, at) in zip(kept, moves, strict=True):
                name = sgf_name(game, at, columns)
                assert game.parse_action(state, name) == move.action
            assert [seat for seat, _ in moves] == ["BW"[move.seat - 1] for move, _ in kept]
        else:
            assert text == writer("pgn")(stored)


def _winner(stored: StoredMatch) -> int:
    assert stored.ended
    return stored.ended.winner


def test_a_bot_of_the_server_is_named_with_its_options_in_every_format() -> None:
    stored = PlayedGame("tic_tac_toe", "300+3 | 20+5x30").play_anything(1).stored
    assert "bots" not in json.loads(jsonl.write(stored))
    bots = (None, "uct(time=2)")
    stored = structs.replace(stored, started=structs.replace(stored.started, **flat(bots=bots)))
    assert json.loads(jsonl.write(stored))["bots"] == [None, "uct(time=2)"]
    assert jsonl.read(jsonl.write(stored)).started.bots == bots
    tags = read_pgn(pgn.write(stored))[0]
    assert (tags["BlackType"], tags["BlackProgram"]) == ("program", "uct(time=2)")
    assert "WhiteProgram" not in tags
    name = stored.started.players[1]
    told = f"Time control: 300+3 | 20+5x30; {name} is the program uct(time=2)"
    assert read_sgf(sgf.write(stored))[0]["C"] == [told]


def test_the_speed_of_cores_is_in_a_line_and_read_back() -> None:
    stored = PlayedGame("tic_tac_toe", "none").play_anything(1).stored
    assert "core_speed" not in json.loads(jsonl.write(stored))
    stored = structs.replace(stored, started=structs.replace(stored.started, core_speed=812.5))
    assert jsonl.read(jsonl.write(stored)).started.core_speed == 812.5


#: Games that SGF describes, and others.
WITH_SGF = {"backgammon", "go", "gomoku", "mnk", "othello", "tic_tac_toe"}
OTHERS = {
    *("amazons", "ataxx", "breakthrough", "checkers", "chess", "chong", "clobber", "connect_four"),
    *("dots_and_boxes", "draughts", "havannah", "hex", "kalah", "lines_of_action", "nim"),
    *("open_spiel", "oware", "pentago", "ultimate_tic_tac_toe", "y"),
    *("einstein_wurfelt_nicht", "pig"),
}


def test_sgf_is_for_backgammon_and_games_of_placing_stones() -> None:
    found = {
        spec.partition("(")[0]
        for spec in EXAMPLES + VARIANTS
        if writer("auto")(PlayedGame(spec).stored).startswith("(;")
    }
    assert found >= WITH_SGF
    assert not found & OTHERS
    with pytest.raises(sgf.Unsuitable, match="connect_four is not played on one grid"):
        writer("sgf")(PlayedGame("connect_four").stored)


@pytest.mark.parametrize("spec", ["go(size=5)", "go(komi=6.5)", "go(size=19,komi=0)"])
def test_sgfmill_reads_matches_of_go(spec: str) -> None:
    game = games.load(spec)
    stored = PlayedGame(spec).play_anything(1).stored
    read = Sgf_game.from_string(sgf.write(stored))
    size = read.get_size()
    assert game.num_actions == size * size + 1
    assert read.get_komi() == game.komi
    assert read.get_winner() == {1: "b", 2: "w"}[_winner(stored)]
    margin = float(read.get_root().get("RE").partition("+")[2])
    assert margin == abs(game.lead(replay(stored).position.state) or 0)
    moves = [node.get_move() for node in read.get_main_sequence()[1:]]
    assert [(colour, to and size * to[0] + to[1]) for colour, to in moves] == [
        ("bw"[move.seat - 1], move.action if move.action < size * size else None)
        for move in stored.moves
    ]


def test_formats() -> None:
    assert FORMATS == ("jsonl", "sgf", "mat", "pgn", "auto")
    for name in FORMATS:
        game = "backgammon" if name == "mat" else "gomoku"
        assert writer(name)(PlayedGame(game).stored)


@given(
    names=st.tuples(*[st.sampled_from(NASTY) | st.text('\\]:"[ a%{}\u00e9', max_size=32)] * 2),
    text=st.sampled_from(NASTY) | st.text(max_size=80),
    seed=st.integers(0, 99),
    plies=st.integers(0, 9),
    clock_text=st.sampled_from(CLOCKS),
)
def test_arbitrary_names(
    names: tuple[str, str], text: str, seed: int, plies: int, clock_text: str
) -> None:
    players = (f"x{names[0]}x"[:32], f"x{names[1]}x"[:32])
    played = PlayedGame("tic_tac_toe", clock_text, players).play_anything(seed, plies)
    if played.match.to_move:
        played.match.abort(text)
    stored = played.stored
    assert stored.ended
    shown = plain(stored.ended.text)
    root, *nodes = read_sgf(sgf.write(stored))
    assert (root["PB"], root["PW"], root["GC"]) == ([players[0]], [players[1]], [shown])
    assert len(nodes) == len(stored.moves)
    tags, moves, _, _ = read_pgn(pgn.write(stored))
    assert (tags["White"], tags["Black"], tags["Remark"]) == (*players, shown)
    assert len(moves) == len(stored.moves)
    if shown == stored.ended.text and players == tuple(name.strip() for name in players):
        assert jsonl.read(jsonl.write(stored)) == portable(stored)


# The text of each format.


def test_a_match_as_sgf() -> None:
    stored = PlayedGame("tic_tac_toe", "1+2x30", ("Ann", "C:3]")).play(*LOST).stored
    assert sgf.write(stored) == (
        "(;FF[4]CA[UTF-8]GM[4]SZ[3]RU[tic_tac_toe]GN[m1]DT[2023-11-14]PB[Ann]PW[C\\:3\\]]"
        "TM[1]OT[2x30 byo-yomi]RE[B+]GC[Ann won]\n"
        ";B[aa]BL[0.2];W[ab]WL[0.9];B[ba]BL[30]OB[2];W[bb]WL[0.1];B[ca]BL[30]OB[2])\n"
    )


@pytest.mark.parametrize(
    ("spec", "seed"),
    [
        ("chess", 1),
        ("chess(fen=r3k2r/1PP5/8/8/8/8/1pp5/R3K2R b KQkq - 3 40)", 2),
    ],
)
def test_chess_is_read_by_python_chess(spec: str, seed: int) -> None:
    stored = PlayedGame(spec, "300+3").play_anything(seed).stored
    found = chess.pgn.read_game(io.StringIO(pgn.write(stored)))
    assert found
    assert not found.errors
    game, state = games.load(spec), games.load(spec).initial_state()
    for node, move in zip(found.mainline(), stored.moves, strict=True):
        assert node.move.uci() == uci_name(state, move.action)
        assert node.clock() is not None
        state = game.next_state(state, move.action)
    assert found.end().board().fen(en_passant="xfen").split()[:-1] == text_of(state).split()[:-1]
    assert found.headers["Result"] == {1: "1-0", 2: "0-1", TIE: "1/2-1/2"}[game.winner(state)]
    assert "Variant" not in found.headers


def test_a_match_as_pgn() -> None:
    stored = PlayedGame("connect_four", "60+1.5").play(3, 3, 0, 6, 1, 5, 2).stored
    assert pgn.write(stored) == (
        '[Event "Rated match"]\n[Site "?"]\n[Date "2023.11.14"]\n[Round "-"]\n[White "Ann"]\n'
        '[Black "Bob"]\n[Result "1-0"]\n[GameId "m1"]\n[Reason "rules"]\n[Remark "Ann won"]\n'
        '[Termination "normal"]\n[TimeControl "60+1.5"]\n[UTCDate "2023.11.14"]\n'
        '[UTCTime "22:13:20"]\n[Variant "connect_four"]\n\n'
        "1. 4 {[%clk 0:01:00.7]} 1... 4 {[%clk 0:01:01.4]} 2. 1 {[%clk 0:01:01.9]} 2... 7\n"
        "{[%clk 0:01:02.1]} 3. 2 {[%clk 0:01:03.3]} 3... 6 {[%clk 0:01:03.3]} 4. 3\n"
        "{[%clk 0:01:04.0]} 1-0\n\n"
    )
    stored = PlayedGame("nim(chips=4)").play(0, 0, 1).stored
    assert pgn.write(stored).endswith('[Variant "nim(chips=4)"]\n\n1. 1 1 2. 2 1-0\n\n')


def test_othello_has_its_first_stones_and_passes() -> None:
    for seed in range(50):
        stored = PlayedGame("othello(size=4)").play_anything(seed).stored
        root, *nodes = read_sgf(sgf.write(stored))
        assert (root["GM"], root["SZ"]) == (["2"], ["4"])
        assert (root["AB"], root["AW"]) == (["cb", "bc"], ["bb", "cc"])
        passes = [node for node in nodes if [""] in node.values()]
        assert len(passes) == sum(move.action == 16 for move in stored.moves)
        if passes:
            return
    pytest.fail("nobody ever passed")


def test_a_board_that_is_not_square() -> None:
    stored = PlayedGame("mnk(m=7,n=3,k=3)").play(6, 14).stored
    root, *nodes = read_sgf(sgf.write(stored))
    assert root["SZ"] == ["7:3"]
    assert nodes == [{"B": ["ga"]}, {"W": ["ac"]}]


@pytest.mark.parametrize(
    ("clock_text", "sgf_time", "pgn_time"),
    [
        ("none", (None, None), "-"),
        ("0.5/move", (["0"], ["1x0.5 byo-yomi"]), "1/0.5"),
        ("300+0", (["300"], None), "300+0"),
        ("300+3", (["300"], ["3 fischer"]), "300+3"),
        ("600+5x30", (["600"], ["5x30 byo-yomi"]), "600+5x30"),
    ],
)
def test_time_controls(
    clock_text: str, sgf_time: tuple[list[str] | None, list[str] | None], pgn_time: str
) -> None:
    stored = PlayedGame("tic_tac_toe", clock_text).stored
    root = read_sgf(sgf.write(stored))[0]
    assert (root.get("TM"), root.get("OT")) == sgf_time
    assert read_pgn(pgn.write(stored))[0]["TimeControl"] == pgn_time


def test_players_with_different_time_controls() -> None:
    stored = PlayedGame("tic_tac_toe", "300+3 | 20+5x30").play_anything(1).stored
    assert jsonl.read(jsonl.write(stored)) == portable(stored)
    tags = read_pgn(pgn.write(stored))[0]
    assert (tags["WhiteTimeControl"], tags["BlackTimeControl"]) == ("300+3", "20+5x30")
    assert "TimeControl" not in tags
    root = read_sgf(sgf.write(stored))[0]
    assert root["C"] == ["Time control: 300+3 | 20+5x30"]
    assert "TM" not in root


@pytest.mark.parametrize(
    ("reason", "sgf_result", "pgn_result", "termination"),
    [
        (Reason.AGREEMENT, "0", "1/2-1/2", "normal"),
        (Reason.RESIGNATION, "W+R", "0-1", "normal"),
        (Reason.TIME, "W+T", "0-1", "time forfeit"),
        (Reason.ABANDONMENT, "W+F", "0-1", "abandoned"),
        (Reason.ILLEGAL_MOVES, "W+F", "0-1", "rules infraction"),
        (Reason.VOID, "Void", "*", "abandoned"),
        (Reason.ADMINISTRATOR, "Void", "*", "adjudication"),
        (Reason.ABORTED, "Void", "*", "emergency"),
    ],
)
def test_the_end_of_a_match(
    reason: Reason, sgf_result: str, pgn_result: str, termination: str
) -> None:
    stored = ended_otherwise(reason)
    root = read_sgf(sgf.write(stored))[0]
    assert (root["RE"], root["GC"]) == ([sgf_result], [f"ended by {reason}"])
    tags, _, _, result = read_pgn(pgn.write(stored))
    assert (result, tags["Termination"], tags["Reason"]) == (pgn_result, termination, reason)
    assert jsonl.read(jsonl.write(stored)) == portable(stored)


def test_a_tie_and_a_running_match() -> None:
    tied = PlayedGame("tic_tac_toe").play(*TIED).stored
    assert read_sgf(sgf.write(tied))[0]["RE"] == ["0"]
    assert read_pgn(pgn.write(tied))[3] == "1/2-1/2"
    for plies in range(3):
        running = PlayedGame("tic_tac_toe", "300+3").play(*TIED[:plies]).stored
        assert read_sgf(sgf.write(running))[0]["RE"] == ["?"]
        tags, _, _, result = read_pgn(pgn.write(running))
        assert (tags["Termination"], result) == ("unterminated", "*")
        assert "Reason" not in tags
        assert jsonl.read(jsonl.write(running)) == portable(running)


# Games of plugins.


class Stones(Game):
    """A board for stones of two players, with rules that a test chooses."""

    num_actions, max_plies = 1000, 20

    def __init__(self, rows: int = 30, columns: int = 52, moves: str = "place") -> None:
        self.rows, self.columns, self.moves = rows, columns, moves

    def initial_state(self) -> State:
        return (2, 0, *([0] * self.rows * self.columns))

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return tuple(cell for cell in range(self.num_actions) if cell >= len(state) or not state[2])

    def next_state(self, state: State, action: int) -> State:
        if action not in self.legal_actions(state):
            raise IllegalAction("no")
        cells = list(state[2:])
        cells[action] = 3 - state[0] if self.moves == "give" else state[0]
        return (state[0] if action < 5 else 3 - state[0], 0, *cells)

    def action_name(self, state: State, action: int) -> str:
        return f'put "{action}" {{}}' if action % 2 else f"{action}."

    def view(self, state: State) -> BoardView:
        clicks = {
            action: (action, 0) if self.moves == "drag" and any(state[2:]) else (action,)
            for action in self.legal_actions(state)
        }
        return BoardView(self.rows, self.columns, state[2:], clicks)


@pytest.fixture
def stones(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StoredMatch]:
    """Make a match of stones, with two moves or the given ones."""

    def of(*actions: int, **params: Any) -> StoredMatch:
        game = Stones(**params)
        monkeypatch.setattr(games, "load", lambda text: game)
        return PlayedGame("stones").play(*(actions or (6, 60))).stored

    return of


def test_a_large_board_and_a_player_who_moves_twice(stones: Callable[..., StoredMatch]) -> None:
    stored = stones(1, 2, 31, 999)
    root, *nodes = read_sgf(sgf.write(stored))
    assert "GM" not in root
    assert nodes == [{"W": ["ba"]}, {"W": ["ca"]}, {"W": ["Fa"]}, {"B": ["lt"]}]
    names = read_pgn(text := pgn.write(stored))[1]
    assert actions_named(games.load("stones"), names) == [1, 2, 31, 999]
    assert '\n1... "put \\"1\\" {}" "2." "put \\"31\\" {}" 2. "put' in text


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"columns": 53}, "larger than 52 by 52"),
        ({"moves": "give"}, "action 6 does not leave a stone"),
        ({"moves": "drag"}, "action 60 does not put a stone"),
    ],
)
def test_games_unsuitable_for_sgf_are_written_as_pgn(
    stones: Callable[..., StoredMatch], params: dict[str, Any], told: str
) -> None:
    stored = stones(**params)
    with pytest.raises(sgf.Unsuitable, match=told):
        writer("sgf")(stored)
    assert writer("auto")(stored) == writer("pgn")(stored)


def test_a_match_that_the_rules_contradict_is_not_written_for_people() -> None:
    stored = PlayedGame("tic_tac_toe").play(4, 0).stored
    for wrong in (
        structs.replace(stored, started=structs.replace(stored.started, game="forgotten")),
        structs.replace(stored, moves=stored.moves[1:]),
        structs.replace(
            stored, moves=(stored.moves[0], structs.replace(stored.moves[1], action=4))
        ),
    ):
        assert writer("jsonl")(wrong)
        for name in ("sgf", "pgn", "auto"):
            with pytest.raises(Contradiction):
                writer(name)(wrong)


# Invalid lines.


def line_with(*path: str | int, value: Any = None, drop: bool = False) -> str:
    """A valid line with one change."""
    line = json.loads(jsonl.write(PlayedGame("tic_tac_toe", "300+3").play(*LOST).stored))
    inner = line
    for key in path[:-1]:
        inner = inner[key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(line)


MOVE = {"ply": 5, "seat": 2, "action": 8, "clocks": [[1, 0], [1, 0]], "at": AT}


@pytest.mark.parametrize(
    ("line", "field", "told"),
    [
        ("", "", "expected a JSON object"),
        ("nonsense", "", "expected a JSON object"),
        ("[1]", "", "must be a map"),
        ("[" * 100_000, "", "must be a map"),
        ("{}", "version", "missing"),
        (line_with("version", value=2), "version", "expected 1"),
        (line_with("colour", value="red"), "colour", "is unknown; the fields are "),
        (line_with("clock", drop=True), "clock", "missing"),
        (line_with("finished", drop=True), "finished", "missing"),
        (line_with("rated", value="yes"), "rated", "must be true or false, not a text"),
        (line_with("match", value="../m\n"), "match", "must be a text of letters A-Z"),
        (line_with("at", value=1e300), "at", "less than 253402300800"),
        (line_with("players", value=["Ann"]), "players", "must be a list of 2 entries"),
        (line_with("players", 1, value="x" * 33), "players[1]", "at most 32 characters"),
        (line_with("players", 1, value="Bob\u202e"), "players[1]", "printable"),
        (line_with("players", 0, value=" Ann"), "players[0]", "without spaces"),
        (line_with("game", value="shogi"), "game", "unknown game 'shogi'"),
        (line_with("game", value="mnk(m=15)"), "game", "'mnk'"),
        (line_with("clock", value="soon"), "clock", "write it as"),
        (line_with("clock", value="300.0+3"), "clock", "'300+3'"),
        (line_with("clock", value="none"), "moves[0].clocks", "expected none"),
        (line_with("moves", 2, "clocks", drop=True), "moves[2].clocks", "the remaining times"),
        (
            line_with("moves", 2, "clocks", value=[[1, 0]]),
            "moves[2].clocks",
            "must be a list of 2 entries",
        ),
        (line_with("moves", 2, "action", drop=True), "moves[2].action", "missing"),
        (line_with("moves", 2, "action", value="a1"), "moves[2].action", "must be a whole number"),
        (line_with("moves", 2, "action", value=0), "moves[2].action", "number (name): 1 (b1)"),
        (line_with("moves", 2, "action", value=2**40), "moves[2].action", "must be a whole number"),
        (line_with("moves", 2, "ply", value=3), "moves[2].ply", "expected 2"),
        (line_with("moves", 2, "seat", value=2), "moves[2].seat", "expected 1, the player to move"),
        (line_with("illegal_moves", value=2**31), "illegal_moves", "at most 2147483647"),
        (line_with("max_plies", value=3_000_000_000), "max_plies", "at most 2147483647"),
        (
            line_with("moves", 2, "clocks", value=[[1, 2**31], [1, 0]]),
            "moves[2].clocks[0][1]",
            "at most",
        ),
        (line_with("game", value="ni\0m"), "game", "cannot read"),
        (line_with("moves", 2, "seat", value=3), "moves[2].seat", "one of 0, 1, 2"),
        (line_with("moves", 2, "why", value=1), "moves[2].why", "is unknown; the fields are "),
        (line_with("moves", 1, "info", "win_rate", value=2), "moves[1].info.win_rate", "at most 1"),
        (
            line_with("moves", 1, "info", "mood", value=2),
            "moves[1].info.mood",
            "is unknown; the fields are ",
        ),
        (line_with("moves", 0, drop=True), "moves[0].ply", "expected 0"),
        (line_with("moves", 4, drop=True), "finished.reason", "the match continues"),
        (line_with("finished", "winner", value=2), "finished.winner", "expected 1"),
        (
            line_with("finished", "winner", value=5),
            "finished.winner",
            "one of -1, 0, 1, 2, not 5 (-1 is a tie, 0 no result)",
        ),
        (line_with("finished", "returns", value=[0, 1]), "finished.returns", "[1.0, 0.0]"),
        (line_with("finished", "reason", value="time"), "finished.reason", "rules end the match"),
        (line_with("finished", "reason", value="magic"), "finished.reason", "'rules', 'agreement'"),
        (
            line_with("finished", "text", value="\x1b[2J"),
            "finished.text",
            "must be a text on one line, without control characters",
        ),
        (line_with("finished", "by", value=1), "finished.by", "is unknown; the fields are "),
        (line_with("finished", "missing", value=2), "finished.missing", "has made no move"),
    ],
)
def test_the_error_of_a_bad_line_names_the_field_and_the_reason(
    line: str, field: str, told: str
) -> None:
    with pytest.raises(jsonl.BadLine) as caught:
        jsonl.read(line, 7)
    text = str(caught.value)
    assert (caught.value.number, caught.value.field) == (7, field)
    assert text.startswith(f"line 7: {field}: " if field else "line 7: ")
    assert told in text
    assert len(text.splitlines()) == 1


def test_no_move_follows_the_last_one() -> None:
    line = json.loads(line_with("version", value=1))
    line["moves"].append(MOVE)
    with pytest.raises(jsonl.BadLine, match=r"moves\[5\].action: .* the game is over"):
        jsonl.read(json.dumps(line))


@pytest.mark.parametrize(
    ("reason", "winner", "returns", "field"),
    [
        (Reason.TIME, 1, (1.0, 0.0), "finished.winner"),
        (Reason.ILLEGAL_MOVES, 1, (1.0, 0.0), "finished.winner"),
        (Reason.RESIGNATION, TIE, (0.5, 0.5), "finished.winner"),
        (Reason.AGREEMENT, 1, (1.0, 0.0), "finished.winner"),
        (Reason.ABANDONMENT, 0, (0.0, 0.0), "finished.winner"),
        (Reason.RESIGNATION, 1, (0.5, 0.5), "finished.returns"),
        (Reason.VOID, 1, (1.0, 0.0), "finished.winner"),
        (Reason.ABORTED, 0, (0.5, 0.5), "finished.returns"),
        (Reason.RULES, 2, (0.0, 1.0), "finished.reason"),
        (Reason.ADJUDICATION, 0, (0.0, 0.0), "finished.winner"),
        (Reason.ADJUDICATION, TIE, (0.0, 1.0), "finished.returns"),
    ],
)
def test_a_result_that_cannot_be(
    reason: Reason, winner: int, returns: tuple[float, float], field: str
) -> None:
    """After two moves, it is the first player's turn."""
    stored = ended_otherwise(reason)
    assert stored.ended
    wrong = structs.replace(stored.ended, **flat(winner=winner, returns=returns))
    with pytest.raises(jsonl.BadLine) as caught:
        jsonl.read(jsonl.write(structs.replace(stored, ended=wrong)))
    assert caught.value.field == field


@pytest.mark.parametrize("winner", [1, 2, TIE])
def test_either_player_may_be_proven_to_win(winner: int) -> None:
    stored = PlayedGame("tic_tac_toe", "300+3").play(4, 0).adjudicated(winner)
    assert jsonl.read(jsonl.write(stored)).ended == stored.ended


@given(data=st.data())
def test_a_damaged_line_is_a_match_or_a_clear_error(data: st.DataObject) -> None:
    line = jsonl.write(PlayedGame("nim(chips=4)", "300+3").play(0, 0, 1).stored).encode()
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(len(line), start + 5)))
    damaged = line[:start] + data.draw(st.binary(max_size=5)) + line[end:]
    with contextlib.suppress(jsonl.BadLine):
        assert isinstance(jsonl.read(damaged), StoredMatch)


def test_clocks_are_read_back_as_they_were() -> None:
    stored = PlayedGame("tic_tac_toe", "1+2x30").play(*LOST).stored
    assert jsonl.read(jsonl.write(stored)).moves[2].clocks == (
        ClockState(0.0, 2),
        ClockState(0.9, 2),
    )
