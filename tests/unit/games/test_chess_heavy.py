"""Heavy playouts of chess: what they capture, when they end, and who wins them."""

from __future__ import annotations

from collections import Counter

import chess
import numpy as np
import pytest

from playout import games
from playout.games.chessboard.knowledge import PLIES
from playout.games.core.random import seeded

MATCHES = 400


def playouts(fen: str) -> tuple[Counter[str], Counter[int]]:
    """Return how often each first move was played in heavy playouts, and who won them."""
    game = games.load(f"chess(fen={fen})")
    state, rng = game.initial_state(), seeded(1)
    trace = np.empty(game.max_plies, dtype=np.int64)
    moves, winners = Counter[str](), Counter[int]()
    for _ in range(MATCHES):
        board = game.board(state)
        game.kernels.heavy(board, rng, trace)  # type: ignore[attr-defined]
        moves[game.action_name(state, int(trace[0]))] += 1
        winners[int(board[1])] += 1
    return moves, winners


@pytest.mark.parametrize(
    "fen", [chess.STARTING_FEN, "7k/P7/8/8/8/8/7p/K7 w - - 0 1", "4k3/8/4K3/8/8/8/8/7R w - - 0 1"]
)
def test_a_heavy_playout_has_legal_moves_and_few_plies(fen: str) -> None:
    game = games.load(f"chess(fen={fen})")
    rng, trace = seeded(2), np.empty(game.max_plies, dtype=np.int64)
    for _ in range(100):
        state, board = game.initial_state(), game.board()
        plies = game.kernels.heavy(board, rng, trace)  # type: ignore[attr-defined]
        for action in trace[:plies].tolist():
            state = game.next_state(state, action)
        assert plies == PLIES or game.winner(state)
        assert board[1] == (game.winner(state) or board[1])
        assert board[1]


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "exd5"),  # a queen for a pawn
        ("4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1", ""),  # a pawn that another one guards
        ("4k3/8/8/3p4/8/8/8/3QK3 w - - 0 1", "Qxd5"),
        ("3r3k/2P5/8/8/8/8/8/4K3 w - - 0 1", "cxd8=Q+"),  # a capture that promotes
    ],
)
def test_a_heavy_playout_captures_what_gains_material(fen: str, move: str) -> None:
    moves, _ = playouts(fen)
    assert all("x" not in each for each in moves) if not move else moves[move] == MATCHES


def test_the_side_with_more_material_wins_more_heavy_playouts() -> None:
    queen_up = "4k3/pppp4/8/8/8/8/PPPP4/3QK3 w - - 0 1"
    rook_up = queen_up.replace("Q", "R")
    even = queen_up.replace("Q", "1").replace("31K3", "4K3")
    shares = [playouts(fen)[1][1] / MATCHES for fen in (even, rook_up, queen_up)]
    assert shares == sorted(shares)
    assert 0.3 < shares[0] < 0.7
    assert shares[1] > 0.8
    assert shares[2] > 0.95


def test_heavy_playouts_treat_both_colours_alike() -> None:
    fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 1"
    mirrored = chess.Board(fen).mirror().fen()
    won, lost = playouts(fen)[1][1], playouts(mirrored)[1][2]
    assert won == pytest.approx(lost, abs=5 * (MATCHES / 2) ** 0.5)
