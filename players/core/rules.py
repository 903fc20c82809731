"""The rules for searches: the compiled kernels of a game, or the methods of a game in plain Python.

Both are the same functions over a board: an int64 vector for kernels, otherwise a list of player,
outcome and state. In both, the first two elements are the player to move and the outcome, and a
board is copied element by element.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import typeof_impl
from numpy.typing import NDArray

from playout.games import Board, Game, KernelGame, State
from playout.games.core.kernels import SIGNATURES, Kernels, Pointer, compiled
from playout.games.core.random import Rng, draw

_START, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_32 = np.uint64(32)


@compiled("int64(int64[::1])", allocates=False)
def board_key(board: Board) -> int:
    """Return a 64-bit hash of all words of a board; every intermediate value has 64 bits."""
    key = _START
    for i in range(len(board)):
        key = (key ^ np.uint64(board[i])) * _MIX
        key ^= key >> _32
    return np.int64(key)  # type: ignore[return-value]


@compiled("void(int64[::1], int64[::1])", allocates=False)
def equal_chances(board: Board, weights: NDArray[np.int64]) -> None:
    """Write the weights of outcomes that are equally likely."""
    weights[:] = 1


@compiled("float64(int64[::1], float64)", allocates=False)
def only_game(board: Board, expected: float) -> float:
    """Return the expected result of a match that is one game."""
    return expected


_TYPES = {
    **{name: types.FunctionType(signature) for name, signature in SIGNATURES.items()},
    "key": types.FunctionType(types.int64(types.int64[::1])),
}


def type_of(kernels: Any) -> Any:
    """Return the type of a NamedTuple of kernels as an argument of compiled functions.

    Its fields have the names of kernels. Without a registered type, numba would see each function
    as a type of its own.
    """
    kind = types.NamedTuple([_TYPES[name] for name in kernels._fields], kernels)
    typeof_impl.register(kernels)(lambda value, context: kind)
    return kind


class Rules(NamedTuple):
    """The functions of a game for searches; `playout.games.core.kernels` describes them."""

    board: Callable[[State], Any]
    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    write: Callable[..., None]
    observe: Callable[..., None]
    key: Callable[..., int]  # a hash of the board
    compiled: bool
    decisive: Callable[..., int] | None = None
    sensible: Callable[..., int] | None = None
    heavy: Callable[..., int] | None = None
    prior: Callable[..., None] | None = None
    forcing: Callable[..., int] | None = None
    chances: Callable[..., None] | None = None
    inputs: Callable[..., int] | None = None
    in_match: Callable[..., float] | None = None
    sorts_sensible: bool = False


def rules_of(game: Game) -> Rules:
    """Return the rules of `game`: its kernels if it has any, otherwise its methods."""
    if isinstance(game, KernelGame):
        kernels = Kernels._make(each and Pointer(each) for each in game.kernels)
        equal = Pointer(equal_chances) if game.has_chance else None
        return Rules(
            board=game.board,
            legal=kernels.legal,
            play=kernels.play,
            playout=kernels.playout,
            write=kernels.write,
            key=Pointer(board_key),
            compiled=True,
            decisive=kernels.decisive,
            sensible=kernels.sensible,
            heavy=kernels.heavy,
            prior=kernels.prior,
            observe=kernels.observe or kernels.write,
            forcing=kernels.forcing,
            chances=kernels.chances or equal,
            inputs=kernels.inputs,
            in_match=kernels.in_match or (Pointer(only_game) if kernels.inputs else None),
            sorts_sensible=game.sorts_sensible and kernels.sensible is not None,
        )
    return interpreted_rules(game)


def interpreted_rules(game: Game) -> Rules:
    """Return the rules of `game` as plain Python, through its methods."""

    def board(state: State) -> list[Any]:
        return [game.current_player(state), game.winner(state), state]

    def legal(board: list[Any], actions: NDArray[np.int64]) -> int:
        found = game.legal_actions(board[2])
        actions[: len(found)] = found
        return len(found)

    def play(board_: list[Any], action: int) -> None:
        board_[:] = board(game.next_state(board_[2], int(action)))

    def playout(board_: list[Any], rng: Rng, trace: NDArray[np.int64]) -> int:
        state, ply = board_[2], 0
        while actions := game.legal_actions(state):
            if game.current_player(state) == 0:
                trace[ply] = game.roll(state, functools.partial(draw, rng))
            else:
                trace[ply] = actions[draw(rng, len(actions))]
            state = game.next_state(state, int(trace[ply]))
            ply += 1
        board_[:] = board(state)
        return ply

    def write(board: list[Any], state: NDArray[np.int64]) -> None:
        state[:] = board[2]

    def observe(board: list[Any], observed: NDArray[np.int64]) -> None:
        observed[:] = game.observed(board[2])

    def key(board: list[Any]) -> int:
        return int(board_key(np.array(board[2], dtype=np.int64)))

    def chances(board: list[Any], weights: NDArray[np.int64]) -> None:
        found = game.chances(board[2])
        weights[: len(found)] = found

    return Rules(board, legal, play, playout, write, observe, key, compiled=False, chances=chances)
