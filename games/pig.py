"""Pig, a race with a die; the rules and the actions are those of OpenSpiel.

The action 0 is to roll and 1 to hold; the outcome of a roll is the number of the die less 1.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from playout.games import Board, BoardView, KernelGame, Kernels, Option, State, Vector, kernel
from playout.games.core.random import GAMMA, Rng, below

ROLL, HOLD = range(2)

# board: player, outcome, the header below, the player whose turn it is, the points of player 1 and
# of player 2, the points of this turn, and the number of decisions so far
_SIDES, _GOAL, _HORIZON, _ROLLER, _POINTS, _TURN, _MOVES = 2, 3, 4, 5, 6, 8, 9

#: Inputs of a number of points: as many as the part of the points that win.
_LEVELS = 100


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    if board[0] and board[_POINTS + board[_ROLLER] - 1] + board[_TURN] >= board[_GOAL]:
        actions[0] = HOLD
        return 1
    count = board[_SIDES] if board[0] == 0 else 2
    for action in range(count):
        actions[action] = action
    return count


@kernel
def play(board: Board, action: int) -> None:
    roller = board[_ROLLER]
    passes = False
    if board[0] == 0:
        board[_TURN] += action + 1
        passes = action == 0  # a one loses the points of the turn
    else:
        board[_MOVES] += 1
        passes = action == HOLD
        if passes:
            board[_POINTS + roller - 1] += board[_TURN]
    if passes:
        board[_TURN] = 0
        board[_ROLLER] = 3 - roller
    board[0] = board[_ROLLER] if passes or board[0] == 0 else 0
    if board[_POINTS + roller - 1] >= board[_GOAL]:
        board[1] = roller
    elif board[_MOVES] >= board[_HORIZON]:
        board[0], board[1] = board[_ROLLER], -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    sides, goal, state = board[_SIDES], board[_GOAL], rng[0]
    roller, turn, left = board[_ROLLER], board[_TURN], board[_HORIZON] - board[_MOVES]
    mine, theirs = board[_POINTS + roller - 1], board[_POINTS + 2 - roller]
    ply, rolls, outcome = 0, board[0] == 0, board[1]
    while outcome == 0:
        # One number decides whether to roll, and has the die. With enough points, a player holds.
        state += GAMMA
        drawn = below(state, sides if rolls else 2 * sides)
        if not rolls and mine + turn >= goal:
            drawn = sides
        if not rolls:
            left -= 1
            trace[ply] = HOLD if drawn >= sides else ROLL
            ply += 1
        if drawn < sides and (left > 0 or rolls):
            trace[ply] = drawn
            ply += 1
            turn += drawn + 1
        elif drawn >= sides:
            mine += turn
            if mine >= goal:
                outcome = roller
        rolls = False
        if drawn >= sides or (drawn == 0 and left > 0):
            mine, theirs, turn = theirs, mine, 0
            roller = 3 - roller
        if outcome == 0 and left <= 0:
            outcome = -1
    rng[0] = state
    board[0], board[1], board[_ROLLER], board[_TURN] = roller, outcome, roller, turn
    board[_POINTS + roller - 1], board[_POINTS + 2 - roller] = mine, theirs
    board[_MOVES] = board[_HORIZON] - left
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    state[2:] = board[_ROLLER:]


@kernel
def inputs(board: Board, found: Vector) -> int:
    roller, goal = board[_ROLLER], board[_GOAL]
    mine, theirs, turn = board[_POINTS + roller - 1], board[_POINTS + 2 - roller], board[_TURN]
    found[0] = roller
    n = 1
    for number, points in enumerate((mine, theirs, turn, mine + turn)):
        for reached in range(min(points, goal) * _LEVELS // goal):
            found[n] = _LEVELS * number + reached
            n += 1
    if board[0] == 0:
        found[n] = 4 * _LEVELS
        n += 1
    return n


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[_ROLLER:] = state[2:]
    board[_ROLLER] = 2 if state[2] == 2 else 1
    board[_MOVES] = min(max(0, state[6]), board[_HORIZON] - 1 if state[1] == 0 else state[6])


class Pig(KernelGame):
    """Roll a die as often as you dare; the player who first holds 100 points wins."""

    has_chance = True

    about = (
        "In turn, players roll a die as often as they want, and add up its numbers. A player who "
        "holds adds the sum to their points; one who rolls a 1 loses the sum. In both cases it is "
        "the opponent's turn. The first player who has 100 points after holding wins."
    )
    groups = ("quick",)
    first_steps = (
        "Choose roll or hold. The longer you roll, the more you lose by a 1: to hold at 20 is a "
        "good rule, until a player is close to 100 points."
    )
    variants: ClassVar = {"winscore=50": "A short match, to 50 points."}

    kernels = Kernels(legal, play, playout, write, read, inputs=inputs)
    num_inputs = most_inputs = 4 * _LEVELS + 1

    def __init__(
        self,
        diceoutcomes: Annotated[int, Option("sides of the die", ge=2, le=20)] = 6,
        horizon: Annotated[
            int, Option("number of decisions after which the match is a tie", ge=1, le=10_000)
        ] = 1000,
        winscore: Annotated[int, Option("points that win", ge=1, le=1000)] = 100,
    ) -> None:
        self.winscore = winscore
        super().__init__(
            {_SIDES: diceoutcomes, _GOAL: winscore, _HORIZON: horizon},
            (1, 0, 1),
            board=_MOVES + 1,
            state=7,
            actions=max(2, diceoutcomes),
            plies=2 * horizon,
        )

    def lead(self, state: State) -> float:
        return float(state[3] - state[4])

    def action_name(self, state: State, action: int) -> str:
        if state[0] == 0:
            return str(action + 1)
        return {ROLL: "roll", HOLD: "hold"}.get(action, "")

    def view(self, state: State) -> BoardView:
        _, _, roller, first, second, turn, _ = state
        clicks = dict.fromkeys(self.legal_actions(state), ())
        return BoardView(
            1,
            3,
            (1, roller, 2),
            clicks,
            geometry="scores",
            piece="disc",
            cell_labels=("player 1", "turn", "player 2"),
            counts=(first, turn, second),
            note=f"to {self.winscore} points",
        )
