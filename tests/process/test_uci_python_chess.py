"""`playout-engine uci` under python-chess, on which programs such as lichess-bot are built."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import chess
import pytest
from chess.engine import INFO_ALL, Cp, EngineError, Limit, Mate, SimpleEngine

from playout.players.engines import engine_command
from playout.players.engines.uci_search import PROVEN_CP

#: A process of python-chess, which takes seconds for its imports.
COMMAND = [
    sys.executable,
    "-c",
    f"import {engine_command.__name__} as command; command.main()",
    "uci",
    "alphabeta(seed=1,memory_mb=1)",
]
#: Seconds within which the engine has to answer, on a busy machine.
PATIENCE_S = 60.0
#: Most moves of a match here.
LONGEST = 200


@pytest.fixture(scope="module")
def engine() -> Iterator[SimpleEngine]:
    with SimpleEngine.popen_uci(COMMAND, timeout=PATIENCE_S) as opened:
        yield opened


def clock(seconds: float, increment: float = 0.0, moves: int | None = None) -> Limit:
    return Limit(
        white_clock=seconds,
        black_clock=seconds,
        white_inc=increment,
        black_inc=increment,
        remaining_moves=moves,
    )


@pytest.mark.parametrize(
    "limit",
    [
        Limit(nodes=100),
        Limit(depth=1),
        Limit(mate=1),
        Limit(time=0.005),
        Limit(nodes=300, depth=2, time=1.0),
        clock(0.1),
        clock(0.05, 0.01),
        clock(0.02, moves=5),
    ],
    ids=["nodes", "depth", "mate", "time", "several", "clock", "increment", "movestogo"],
)
def test_whole_matches_are_played_with_each_limit(engine: SimpleEngine, limit: Limit) -> None:
    board, match = chess.Board(), object()
    while not board.is_game_over(claim_draw=True) and len(board.move_stack) < LONGEST:
        found = engine.play(board, limit, game=match, info=INFO_ALL)
        assert found.move in board.legal_moves
        assert found.info["pv"][0] == found.move
        if found.ponder:
            assert found.info["pv"][1] == found.ponder
        board.push(found.move)
    assert board.is_game_over(claim_draw=True) or len(board.move_stack) == LONGEST


@pytest.mark.parametrize("is_expected", [True, False])
def test_it_thinks_on_the_time_of_the_opponent(engine: SimpleEngine, is_expected: bool) -> None:
    board, match = chess.Board(), object()
    for _ in range(4):
        found = engine.play(board, Limit(time=0.03), game=match, ponder=True)
        assert found.move
        board.push(found.move)
        expected = [found.ponder] if is_expected and found.ponder else list(board.legal_moves)
        board.push(expected[0])
    assert engine.play(board, Limit(time=0.01), game=match).move in board.legal_moves


def test_an_analysis_is_stopped(engine: SimpleEngine) -> None:
    board = chess.Board()
    with engine.analysis(board) as analysis:
        seen = [analysis.next() for _ in range(4)]
    assert all(info and info["score"] and info["pv"][0] in board.legal_moves for info in seen)
    assert all(info and info["nps"] > 0 for info in seen)
    assert analysis.wait().move in board.legal_moves
    engine.ping()


def test_the_three_best_moves_are_analysed(engine: SimpleEngine) -> None:
    board = chess.Board()
    infos = engine.analyse(board, Limit(nodes=4000), multipv=3)
    assert len({info["pv"][0] for info in infos} & set(board.legal_moves)) == 3
    assert all(abs(info["score"].relative.score(mate_score=10000)) < 300 for info in infos)


def test_only_some_moves_are_analysed(engine: SimpleEngine) -> None:
    board = chess.Board()
    wanted = [board.parse_san(name) for name in ("a4", "Na3")]
    found = engine.play(board, Limit(nodes=500), root_moves=wanted, info=INFO_ALL)
    assert found.move in wanted


def test_a_mate_is_found(engine: SimpleEngine) -> None:
    board = chess.Board("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    assert engine.analyse(board, Limit(mate=1))["score"].relative == Mate(1)
    board = chess.Board("k7/8/1K6/8/8/8/8/7R b - - 0 1")  # the only move is mated
    assert engine.analyse(board, Limit(depth=3))["score"].relative <= Cp(-PROVEN_CP)


def test_chances_are_shown_once_they_are_known(engine: SimpleEngine) -> None:
    board = chess.Board("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    engine.configure({"UCI_ShowWDL": True})
    try:
        assert engine.analyse(board, Limit(depth=3))["wdl"].relative.wins == 1000
    finally:
        engine.configure({"UCI_ShowWDL": False})


def test_options_are_configured(engine: SimpleEngine) -> None:
    assert engine.id["name"].startswith("Playout alphabeta")
    assert engine.options["Hash"].max == 65536
    engine.configure({"Hash": 2, "Move Overhead": 5, "depth": "2"})
    assert engine.analyse(chess.Board(), Limit(time=5.0))["depth"] == 2
    engine.configure({"depth": "<empty>", "Hash": 1})
    with pytest.raises(EngineError, match="does not support option SyzygyPath"):
        engine.configure({"SyzygyPath": "/tables"})


def test_other_positions_are_played(engine: SimpleEngine) -> None:
    board = chess.Board("4k3/8/8/8/8/8/1p6/R3K2R b KQ - 3 9")
    while not board.is_game_over(claim_draw=True) and len(board.move_stack) < 30:
        move = engine.play(board, Limit(nodes=200)).move
        assert move in board.legal_moves
        board.push(move)
    assert board.move_stack


@pytest.mark.parametrize("choose", [min, max], ids=["first", "last"])
def test_castling_promotion_and_passing_pawns_are_understood(
    engine: SimpleEngine, choose: Callable[..., chess.Move]
) -> None:
    """Play special moves where there are some, and let the engine read each position."""
    board = chess.Board("r3k2r/1P4pp/8/3pP3/8/8/6p1/R3K2R w KQkq d6 0 1")
    while not board.is_game_over() and len(board.move_stack) < 12:
        moves = list(board.legal_moves)
        special = [
            each
            for each in moves
            if each.promotion or board.is_castling(each) or board.is_en_passant(each)
        ]
        board.push(choose(special or moves, key=chess.Move.uci))
        if not board.is_game_over():
            assert engine.play(board, Limit(nodes=50)).move in board.legal_moves
