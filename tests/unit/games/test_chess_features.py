"""The numbers of a position: of chess with python-chess, of checkers and draughts by cells."""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Iterator

import chess

from playout import games
from playout.games import KernelGame, State
from playout.games.chessboard.knowledge import WORTHS
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


def test_numbers_of_checkers_are_leads_that_can_be_counted() -> None:
    game, seen = kernel_game("checkers"), set()
    for state in random_states(game, 600):
        cells, quiet = state[2:66], state[67]
        men = [[at for at, piece in enumerate(cells) if piece == side] for side in (1, 2)]
        kings = [[at for at, piece in enumerate(cells) if piece == side] for side in (3, 4)]
        one, two = (2 * len(men[side]) + 3 * len(kings[side]) for side in (0, 1))
        sign, lead = (1 if one > two else -1), abs(one - two)
        near = free = moves = 0
        for side, worth, forward in ((0, 1, -1), (1, -1, 1)):
            other = men[1 - side] + kings[1 - side]
            if one != two and side == (one < two):
                nearest = [min(distance(each, at) for at in other) for each in kings[side]]
                near = sum(max(0, 7 - each) for each in nearest)
            for each in men[side]:
                row, column = divmod(each, 8)
                if not any(
                    (at // 8 - row) * forward >= abs(at % 8 - column) and at // 8 != row
                    for at in other
                ):
                    to_go = row if side == 0 else 7 - row
                    free += worth * (1 + (to_go < 6) + (to_go < 4) + (to_go < 2))
            for each in men[side] + kings[side]:
                ahead = (1, -1) if each in kings[side] else (forward,)
                moves += worth * sum(
                    0 <= each // 8 + down < 8
                    and 0 <= each % 8 + across < 8
                    and cells[each + 8 * down + across] == 0
                    for down in ahead
                    for across in (1, -1)
                )
        share = sign * (lead * 31 * (40 - quiet) // (40 * (one + two)))
        wanted = [share, sign * min(near, 31), sign * min(lead * quiet // 16, 31), moves, free]
        assert (game.observed(state)[-5:] - LEVEL).tolist() == wanted
        seen |= set(enumerate(wanted))
    assert len(seen) > 60


def test_the_number_of_draughts_is_the_lead_in_pieces() -> None:
    game, seen, worths = kernel_game("draughts"), set(), (0, 1, -1, 3, -3)
    for state in random_states(game, 600):
        pieces = [worths[each] for each in state[2:102] if each <= 4]  # the others are captured
        lead, total = sum(pieces), sum(map(abs, pieces))
        share = abs(lead) * 31 * 4 // (3 * (total + 1))
        wanted = min(share, 31) * (1 if lead > 0 else -1)
        assert game.observed(state)[-1] - LEVEL == wanted
        seen.add(wanted)
    assert len(seen) > 10


def distance(one: int, other: int) -> int:
    """Return the moves of a king between two cells, if no piece is in the way."""
    return max(abs(one // 8 - other // 8), abs(one % 8 - other % 8))


def kernel_game(name: str) -> KernelGame:
    game = games.load(name)
    assert isinstance(game, KernelGame)
    return game


def random_states(game: KernelGame, n: int) -> Iterator[State]:
    """Yield positions of random matches, none of them finished."""
    draw, state = random.Random(3), game.initial_state()
    for _ in range(n):
        yield state
        state = game.next_state(state, draw.choice(game.legal_actions(state)))
        if not game.legal_actions(state):
            state = game.initial_state()
