"""The learning of a net for a game with chance: games against itself, and temporal differences.

In each position, the action is played after which the net expects most, or a random one now and
then. Nature's moves are drawn. After the game, the net's expectation after each action is moved
towards those after the later actions and the result, TD(lambda) (Tesauro 1995).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Board, Game, State
from playout.games.core.kernels import compiled, helper
from playout.games.core.random import Rng, draw
from playout.players.core.rules import rules_of
from playout.players.evaluations.perceptron import (
    ACTIVATIONS,
    CHANCE_KERNELS,
    PERCEPTRON,
    Activations,
    ChanceKernels,
    Ints,
    Perceptron,
    expected_by,
    kernels_of,
    logistic,
    new_activations,
    sum_of,
)

#: How much an expectation counts that lies one move later: lambda.
_LAMBDA = 0.7
#: Step sizes at the beginning of learning and at its end, to be divided by the number of inputs.
_STEPS = (1.5, 0.015)
#: Random moves in a thousand: at the beginning of learning, and at its end.
_EXPLORATION = (20, 5)
#: Moves of a game, at most; a longer one counts as a tie.
_MOVES = 400


class ChanceMemory(NamedTuple):
    """The positions after the actions of a game, and working memory to play it."""

    found: Ints  # [move, n] the player and the inputs that count after the move
    counts: Ints  # [move] how many numbers that are
    bests: NDArray[np.float64]  # [move] the expected result of player 1 after the best action
    explored: NDArray[np.bool_]  # [move] whether a random action was played
    boards: Ints  # of the game, and after an action
    actions: Ints
    weights: Ints  # of the outcomes
    met: Ints  # [input] whether a position had it


_V, _M = types.int64[::1], types.int64[:, ::1]
_RECORD = types.NamedTuple(
    [_M, _V, types.float64[::1], types.boolean[::1], _M, _V, _V, _V], ChanceMemory
)


@helper
def roll(kernels: ChanceKernels, board: Board, actions: Ints, weights: Ints, rng: Rng) -> int:
    """Return an outcome where nature moves, drawn by the weights."""
    n = kernels.legal(board, actions)
    kernels.chances(board, weights)
    total = 0
    for place in range(n):
        total += weights[place]
    left, place = draw(rng, total), 0
    while left >= weights[place]:
        left -= weights[place]
        place += 1
    return int(actions[place])


@helper
def result_of(board: Board) -> float:
    """Return the result of a finished game for player 1."""
    return 1.0 if board[1] == 1 else -1.0 if board[1] == 2 else 0.0


@helper
def best_of(
    kernels: ChanceKernels, net: Perceptron, memory: Activations, record: ChanceMemory, n: int
) -> tuple[int, float]:
    """Return the place of the best of `n` actions, and the expected result of player 1 after it."""
    board, child = record.boards[0], record.boards[1]
    best, most = 0, -2.0
    sign = 3 - 2 * board[0]
    for place in range(n):
        for word in range(len(board)):
            child[word] = board[word]
        kernels.play(child, record.actions[place])
        value = result_of(child) if child[1] != 0 else expected_by(kernels, net, memory, child)
        if sign * value > most:
            best, most = place, sign * value
    return best, sign * most


@compiled(
    types.void(PERCEPTRON, ACTIVATIONS, _V, types.int64, *[types.float64] * 2), allocates=False
)
def step(
    net: Perceptron, memory: Activations, found: Ints, n: int, wanted: float, rate: float
) -> None:
    """Move the expectation for inputs towards a wanted result of player 1."""
    share = logistic(sum_of(net, memory, found, n))
    target = 0.5 + 0.5 * wanted if found[0] == 1 else 0.5 - 0.5 * wanted
    change, size = np.float32(rate / n * (target - share)), len(memory.hidden)
    for unit in range(size):
        is_active = memory.hidden[unit] > 0
        memory.products[unit] = change * net.output[unit] if is_active else np.float32(0)
        net.output[unit] += change * max(np.float32(0), memory.hidden[unit])
    net.output[size] += change
    for unit in range(size):
        net.hidden[unit] += memory.products[unit]
    for at in range(1, n):
        row = np.uint64(found[at])
        for unit in range(size):
            net.inputs[row, unit] += memory.products[unit]


@compiled(
    types.int64(
        CHANCE_KERNELS,
        PERCEPTRON,
        ACTIVATIONS,
        _RECORD,
        types.uint64[::1],
        _V,
        types.int64,
        types.float64,
    ),
    allocates=False,
)
def play_game(
    kernels: ChanceKernels,
    net: Perceptron,
    memory: Activations,
    record: ChanceMemory,
    rng: Rng,
    start: Ints,
    exploration: int,
    rate: float,
) -> int:
    """Play a game from the board `start`, and learn from it; return the number of positions."""
    board = record.boards[0]
    for word in range(len(start)):
        board[word] = start[word]
    seen = 0
    while board[1] == 0 and seen < len(record.counts):
        if board[0] == 0:
            kernels.play(board, roll(kernels, board, record.actions, record.weights, rng))
            continue
        n, player = kernels.legal(board, record.actions), board[0]
        place, best = best_of(kernels, net, memory, record, n)
        explored = draw(rng, 1000) < exploration
        if explored:
            place = draw(rng, n)
        kernels.play(board, record.actions[place])
        if board[1] == 0 and board[0] == player:
            continue  # the turn goes on
        record.explored[seen] = explored
        record.bests[seen] = best
        record.counts[seen] = kernels.inputs(board, record.found[seen]) if board[1] == 0 else 0
        seen += 1
    target = result_of(board)
    for move in range(seen - 1, -1, -1):
        if record.counts[move]:
            step(net, memory, record.found[move], record.counts[move], target, rate)
            for at in range(1, record.counts[move]):
                record.met[record.found[move, at]] = 1
        best = record.bests[move]
        target = best + (0.0 if record.explored[move] else _LAMBDA) * (target - best)
    return seen


class ChanceLearner:
    """Learns a net for one game; `won` counts the games that player 1 has won, `tied` ties."""

    def __init__(
        self,
        game: Game,
        net: Perceptron,
        seed: int | None = None,
        shared: ChanceLearner | None = None,
    ) -> None:
        """Change the weights of `net` in place.

        Several learners, each in a thread, may change the same net; all but the first are given the
        first, `shared`. Raises SpecError for a game without a net's inputs.
        """
        self.net = net
        rules = rules_of(game)
        self._board_of = rules.board
        self._kernels = kernels_of(game, rules)
        self._memory = new_activations(game, net)
        self._start: Any = rules.board(game.initial_state())
        self.rng = np.array([np.random.default_rng(seed).integers(1 << 62)], dtype=np.uint64)
        self._record: ChanceMemory = ChanceMemory(
            np.zeros((_MOVES, game.most_inputs + 1), np.int64),
            np.zeros(_MOVES, np.int64),
            np.zeros(_MOVES),
            np.zeros(_MOVES, np.bool_),
            np.zeros((2, len(self._start)), np.int64),
            np.zeros(game.num_actions, np.int64),
            np.zeros(game.num_actions, np.int64),
            shared._record.met if shared else np.zeros(game.num_inputs, np.int64),
        )
        self._rate = 1.0
        self.games = self.positions = self.won = self.tied = 0

    @property
    def steps(self) -> dict[str, NDArray[Any]]:
        """The array of the inputs that have been met, which learners share."""
        return {"met": self._record.met}

    def learned(self) -> tuple[float, float]:
        """Return the share of the inputs that have been met, and that of the first step size."""
        return float(self._record.met.mean()), self._rate

    def value_of(self, state: State) -> float:
        """Return the evaluation of a position for the player who rolls next, from -1 to 1."""
        value = expected_by(self._kernels, self.net, self._memory, self._board_of(state))
        return value if self._memory.found[0] == 1 else -value

    def play(self, done: float) -> None:
        """Play a game and learn from it; `done` is the completed share of the training, 0 to 1."""
        first, last = _EXPLORATION
        exploration = round(first + (last - first) * done)
        self._rate = (_STEPS[1] / _STEPS[0]) ** done
        self.positions += play_game(
            self._kernels,
            self.net,
            self._memory,
            self._record,
            self.rng,
            self._start,
            exploration,
            _STEPS[0] * self._rate,
        )
        winner = self._record.boards[0, 1]
        self.games += 1
        self.won += bool(winner == 1)
        self.tied += winner not in (1, 2)
