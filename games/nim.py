"""Nim with one heap: take 1 to max_take chips; taking the last chip wins.

Action a takes a + 1 chips.
"""

from __future__ import annotations

from typing import ClassVar

from games import Board, BoardView, KernelGame, Kernels, State, Vector, checked, kernel
from games.core.random import GAMMA, Rng, below

# board: player, outcome, chips left, max_take, chips at the start


@kernel
def start(board: Board, params: Vector) -> None:
    board[0] = 1
    board[1] = 0
    board[2] = board[4] = params[0]
    board[3] = params[1]


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = min(board[2], board[3])
    for action in range(n):
        actions[action] = action
    return n


@kernel
def play(board: Board, action: int) -> None:
    board[2] -= action + 1
    if board[2] == 0:
        board[1] = board[0]
    board[0] = 3 - board[0]


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply = 0
    state = rng[0]
    while board[2]:
        state += GAMMA
        trace[ply] = below(state, min(board[2], board[3]))
        play(board, trace[ply])
        ply += 1
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:] = board[:3]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2] = min(max(0, state[2]), board[4])


class Nim(KernelGame):
    """One heap of chips; a player takes 1 to max_take, and the last chip wins."""

    about = (
        "There is one heap of chips. Players take turns to remove at least one chip and at most "
        "max_take chips. The player who takes the last chip wins."
    )
    about_parameters: ClassVar = {
        "chips": "chips at the start, 1 to 1000",
        "max_take": "most chips that a player may take in one move, 1 to 100",
    }
    first_steps = (
        "Click a chip to take it and all that come after it. You win by taking the last one. "
        "Leave the opponent a multiple of max_take + 1 chips if you can: after any answer, you "
        "can do so again."
    )

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, chips: int = 15, max_take: int = 3) -> None:
        checked("nim", "chips", chips, 1, 1000)
        checked("nim", "max_take", max_take, 1, 100)
        self.chips = chips
        super().__init__((chips, max_take), board=5, state=3, actions=max_take, plies=chips)

    def action_name(self, state: State, action: int) -> str:
        return str(action + 1)

    def view(self, state: State) -> BoardView:
        left = state[2]
        cells = (1,) * left + (0,) * (self.chips - left)
        clicks = {action: (left - 1 - action,) for action in self.legal_actions(state)}
        note = f"{left} chip{'' if left == 1 else 's'} left"
        return BoardView(1, self.chips, cells, clicks, geometry="heap", piece="chip", note=note)
