"""The numbers of a position of chess, counted piece by piece with python-chess."""

from __future__ import annotations

import functools
import operator
import random

import chess

from playout import games
from playout.games import KernelGame
from playout.games.chessboard.features import WORTHS
from playout.games.chessboard.notation import uci_name
from playout.games.core.kernels import LEVEL


def test_numbers_of_chess_are_leads_that_can_be_counted() -> None:
    game = games.load("chess")
    assert isinstance(game, KernelGame)
    assert len(game.features) == len(WORTHS)
    draw, state, judge, seen = random.Random(3), game.initial_state(), chess.Board(), [set()] * 8
    for _ in range(500):
        observed = game.observed(state).tolist()
        assert observed[:66] == list(state[:66])
        found = observed[-len(WORTHS) :]
        assert found == [LEVEL + lead for lead in leads(judge, state[0] == 1)]
        seen = [known | {each} for known, each in zip(seen, found, strict=True)]
        action = draw.choice(game.legal_actions(state))
        judge.push_uci(uci_name(state, action))
        state = game.next_state(state, action)
        if state[1]:
            state, judge = game.initial_state(), chess.Board()
    assert min(map(len, seen)) >= 2


def attacked_from(board: chess.Board, squares: chess.SquareSet) -> chess.SquareSet:
    """Return the squares that the pieces on some squares attack."""
    return functools.reduce(operator.or_, map(board.attacks, squares), chess.SquareSet())


def leads(board: chess.Board, white_moves: bool) -> list[int]:
    """Return how far White is ahead in each number."""
    white, black = counted(board, chess.WHITE), counted(board, chess.BLACK)
    moves, *others = (one - other for one, other in zip(white, black, strict=True))
    half = moves // 2 if white_moves else -(-moves // 2)
    return [half, *others]


def counted(board: chess.Board, side: chess.Color) -> list[int]:
    """Return the numbers of a side."""
    own, theirs = board.occupied_co[side], board.occupied_co[not side]
    pawns, enemies = board.pieces(chess.PAWN, side), board.pieces(chess.PAWN, not side)
    king, enemy = board.king(side), board.king(not side)
    assert king is not None
    assert enemy is not None
    pieces = chess.SquareSet(own & ~board.pawns & ~board.kings)
    targets = ~own & ~int(attacked_from(board, enemies))
    attacks = [board.attacks(each) for each in pieces]
    moves = sum(len(each & targets) for each in attacks)
    near = sum(len(each & board.attacks(enemy)) for each in attacks)
    files = [chess.square_file(each) for each in pawns]

    def ranks_to_go(pawn: chess.Square) -> int:
        rank = chess.square_rank(pawn)
        return 7 - rank if side else rank

    def is_passed(pawn: chess.Square) -> bool:
        return not any(
            abs(chess.square_file(each) - chess.square_file(pawn)) <= 1
            and ranks_to_go(each) < ranks_to_go(pawn)
            for each in enemies
        )

    worth = {6: 1, 5: 1, 4: 2, 3: 3, 2: 5, 1: 8}
    passed = sum(worth[ranks_to_go(pawn)] for pawn in pawns if is_passed(pawn))
    alone = sum(file - 1 not in files and file + 1 not in files for file in files)
    threats = len(attacked_from(board, pawns) & theirs & ~board.pawns & ~board.kings)
    threats += sum(
        not board.is_attacked_by(not side, each) for each in attacked_from(board, pieces) & theirs
    )
    ring = int(board.attacks(king))
    ahead = ring << 8 & chess.BB_ALL if side else ring >> 8
    return [
        moves,
        near,
        passed,
        alone + len(files) - len(set(files)),
        threats,
        len(pawns & (ring | ahead)),
        int(len(board.pieces(chess.BISHOP, side)) > 1),
        sum(
            chess.square_file(each) not in [chess.square_file(pawn) for pawn in pawns | enemies]
            for each in board.pieces(chess.ROOK, side)
        ),
    ]
