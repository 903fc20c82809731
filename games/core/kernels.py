"""The five kernels of a game, and their compilation.

Every built-in game defines five functions over a *board*: a flat `int64` vector. Its layout is up
to the game, except `board[0]`, the player to move (1 or 2, or 0 where nature moves), and
`board[1]`, the outcome (0 while the game goes on, 1 or 2 for the winner, -1 for a tie). Words that
are the same in all positions, such as sizes, are its header.

| kernel | does |
| --- | --- |
| `legal(board, actions) -> n` | writes the legal actions, ascending; 0 when the game is over |
| `play(board, action)` | plays a legal action in place and sets the outcome |
| `playout(board, rng, trace) -> n` | plays random legal actions to the end, into `trace` |
| `write(board, state)` | board to flat state |
| `read(state, board)` | flat state to a board of the game, whose header it keeps |

Two more kernels are optional. They consider *sensible* actions only: if the player to move can win
at once, the actions that win; otherwise, if possible, the actions after which the opponent cannot
win at once (Teytaud & Teytaud 2010). Searches rely on two properties: a decisive playout that ends
within two moves proves its result, and no omitted action is better than all sensible ones.

| kernel | does |
| --- | --- |
| `decisive(board, rng, trace) -> n` | plays random sensible actions to the end, into `trace` |
| `sensible(board, actions) -> n` | writes the sensible actions, the most promising first |

Two others put knowledge of the game into a search. Nothing is proven by them.

| kernel | does |
| --- | --- |
| `heavy(board, rng, trace) -> n` | plays probably good actions, into `trace` |
| `prior(board, results)` | for each legal action `a`, assumes results before the first visit |

`heavy` may end before the match does, but not after one ply, with the probable outcome in
`board[1]`. `prior` writes into `results[2 * a]` half points, two for a win, and into
`results[2 * a + 1]` the number of visits that they are worth.

A search to a depth does not stop before forcing moves. Without this kernel, those that remove
pieces are found by playing all moves.

| kernel | does |
| --- | --- |
| `forcing(board, actions) -> n` | writes captures, promotions, threats to win, others; best first |

What is learned of positions are weights for what is on the cells. A game whose cells say too little
can add numbers of its own, such as the lead in space, from 0 to 63. They are LEVEL where no player
is ahead, and more where player 1 is.

| kernel | does |
| --- | --- |
| `observe(board, observed)` | board to flat state, and behind it the numbers of `features` |

In a game with chance, `legal` writes the outcomes where nature moves, and `playout` draws them by
their weights. They are equally likely without this kernel.

| kernel | does |
| --- | --- |
| `chances(board, weights)` | writes whole-number weights of the outcomes, in the order of `legal` |

A net of one hidden layer evaluates the positions of a game with chance. Its inputs are 0 or small
whole numbers; the kernel writes the number of each input as often as its value.

| kernel | does |
| --- | --- |
| `inputs(board, found) -> n` | writes the player who sees the board so, and the inputs that count |

The player, 1 or 2, is the one who rolls next, so that one net serves both. After the player come at
most `Game.most_inputs` numbers from 0 to `Game.num_inputs` - 1; `n` includes the player.

If a match has several games, which such a net evaluates, another kernel knows the score.

| kernel | does |
| --- | --- |
| `in_match(board, expected) -> value` | turns the result of a game into that of the match |

Both are expected results of player 1, from -1 to 1.

The last one is for games whose views have blocks with winners, which nets are shown.

| kernel | does |
| --- | --- |
| `blocks(state, winners)` | writes the winner of each block of the view, 0 for none |
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import ir
from numba.core.registry import CPUDispatcher
from numba.extending import overload
from numba.np import arrayobj, linalg
from numpy.typing import NDArray

from playout.games.core import compilation_cache

F = TypeVar("F", bound=Callable[..., Any])

#: A number that `observe` writes behind a state if no player is ahead.
LEVEL = 32

Board = NDArray[np.int64]
Vector = NDArray[np.int64]

_VECTOR = types.int64[::1]
_RNG = types.uint64[::1]

SIGNATURES = {
    "legal": types.int64(_VECTOR, _VECTOR),
    "play": types.void(_VECTOR, types.int64),
    "playout": types.int64(_VECTOR, _RNG, _VECTOR),
    "decisive": types.int64(_VECTOR, _RNG, _VECTOR),
    "sensible": types.int64(_VECTOR, _VECTOR),
    "heavy": types.int64(_VECTOR, _RNG, _VECTOR),
    "prior": types.void(_VECTOR, _VECTOR),
    "write": types.void(_VECTOR, _VECTOR),
    "forcing": types.int64(_VECTOR, _VECTOR),
    "observe": types.void(_VECTOR, _VECTOR),
    "blocks": types.void(_VECTOR, _VECTOR),
    "chances": types.void(_VECTOR, _VECTOR),
    "inputs": types.int64(_VECTOR, _VECTOR),
    "in_match": types.float64(_VECTOR, types.float64),
    "read": types.void(types.Array(types.int64, 1, "C", readonly=True), _VECTOR),
}


class Kernels(NamedTuple):
    """The five compiled functions of a game, and the optional ones."""

    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    write: Callable[..., None]
    read: Callable[..., None]
    decisive: Callable[..., int] | None = None
    sensible: Callable[..., int] | None = None
    heavy: Callable[..., int] | None = None
    prior: Callable[..., None] | None = None
    forcing: Callable[..., int] | None = None
    observe: Callable[..., None] | None = None
    blocks: Callable[..., None] | None = None
    chances: Callable[..., None] | None = None
    inputs: Callable[..., int] | None = None
    in_match: Callable[..., float] | None = None


def _raise_for_shapes(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Raise ValueError, in compiled code, for an assignment between slices of different shapes."""


@overload(_raise_for_shapes)  # type: ignore[untyped-decorator]
def _raise_for_shapes_compiled(source: object, target: object) -> Callable[..., None]:
    def raise_(source: object, target: object) -> None:
        raise ValueError("cannot assign slice from input of different size")

    return raise_


# Numba's own error names both shapes. To compile that text takes 2 s in each process, which is more
# than the kernels of most games take.
arrayobj.raise_with_shape_context = _raise_for_shapes


_ensure_blas = linalg.ensure_blas


def _ensure_no_blas() -> None:
    """Replace numba's test for a BLAS at the first call only, which is made without need."""
    linalg.ensure_blas = _ensure_blas


# With the first function that is compiled or read from the cache, numba imports `scipy.linalg`, for
# 0.13 s in each process. Products of matrices import it when they are compiled.
linalg.ensure_blas = _ensure_no_blas


def _not_copied(value: object, memo: object) -> object:
    """Return the value itself as its deep copy."""
    return value


# Numba copies a function twice for each call that it inlines, and with each block of the function
# all variables and source locations, which never change. These copies took a third of the time in
# which the tree searches are compiled.
ir.Var.__deepcopy__ = ir.Loc.__deepcopy__ = _not_copied


def kernel(function: F) -> F:
    """Compile a kernel at once; its name determines its signature."""
    name = function.__name__
    return compiled(SIGNATURES[name], allocates=name in ("write", "read", "observe"))(function)


def helper(function: F) -> F:
    """Compile a function that kernels call; it becomes part of each kernel that calls it."""
    return _helper(function)


def inlined_helper(function: F) -> F:
    """Compile a function that kernels call, and put its code in the place of each call."""
    return _helper(function, forceinline=True)


class _Helper(CPUDispatcher):  # type: ignore[misc]
    """Compiles a helper for kernels only, without a wrapper for calls from Python.

    By default numba also compiles it again for each constant that it is called with. Without both,
    all games are compiled in two thirds of the time.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)

    def _insert(self, *overload: object) -> None:
        """Do nothing: calls from Python do not use the versions for kernels."""

    def _compile_for_args(self, *args: object, **kws: object) -> object:
        """Return the version for calls from Python, which is compiled at the first call."""
        return self._for_python

    @functools.cached_property
    def _for_python(self) -> object:
        return numba.njit(nogil=True, error_model="numpy")(self.py_func)


def _helper(function: F, **options: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    given = {"nopython": True, "nogil": True, "error_model": "numpy"} | options
    alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, _Helper(function, targetoptions=given | alone))


@inlined_helper
def at(board: NDArray[Any], index: int) -> int:
    """Return board[index] without the test for a negative index."""
    return board[np.uint64(index)]


@helper
def bounded(lead: int) -> int:
    """Return the number that `observe` writes for a lead of player 1."""
    return LEVEL + min(max(-LEVEL + 1, lead), LEVEL - 1)


@helper
def outcome_of(lead: int) -> int:
    """Return the outcome of a finished game in which player 1 is ahead by `lead`."""
    return -1 if lead == 0 else 1 if lead > 0 else 2


@helper
def insert(actions: Vector, n: int, action: int) -> None:
    """Insert an action into the first `n` of `actions`, which are ascending."""
    while n > 0 and actions[n - 1] > action:
        actions[n] = actions[n - 1]
        n -= 1
    actions[n] = action


# Positions since the last irreversible move, for games in which a repeated position is special. A
# board has their number at the index `count`. From the index `first` on, it has a number for each
# of them, which is not 0, and zeros in the rest of the room.


@helper
def remember(board: Board, count: int, first: int, position: int) -> None:
    """Add the number of a position."""
    board[first + board[count]] = position
    board[count] += 1


@helper
def forget(board: Board, count: int, first: int) -> None:
    """Remove all positions, after an irreversible move."""
    for i in range(first, first + board[count]):
        board[i] = 0
    board[count] = 0


@inlined_helper
def visits(board: Board, count: int, first: int, position: int, step: int) -> int:
    """Return how often a position was there, `step` plies ago or a multiple of that."""
    n = 0
    for i in range(first + board[count] % step, first + board[count], step):
        n += board[i] == position
    return n


@helper
def count_again(board: Board, count: int, first: int, most: int) -> None:
    """Set the number of positions by counting them; the maximum is `most`."""
    board[count] = 0
    while board[count] < most and board[first + board[count]]:
        board[count] += 1


def inlined(function: F) -> F:
    """Inline a step of a compiled loop: no arguments are passed, no references are counted."""
    return numba.njit(inline="always", error_model="numpy")(function)


def compiled(signature: object, *, allocates: bool = True) -> Callable[[F], F]:
    """Compile a function at once, to run without the GIL; later processes read it from the cache.

    `allocates=False` is for functions that create no arrays: their references are not counted.
    With counting, passing tuples of arrays took a quarter of the time of a search.
    """

    def compile_(function: F) -> F:
        with compilation_cache.cached(cast(FunctionType, function)):
            return numba.njit(
                signature, nogil=True, cache=True, error_model="numpy", _nrt=allocates
            )(function)

    return compile_


def entry_point(function: F) -> F:
    """Return a compiled function of one signature without the check of its arguments' types.

    Numba finds out the type of each element of a tuple in Python: 0.3 ms for those of a search.
    Arguments of other types than those of the signature raise TypeError or are converted.
    """
    if numba.config.DISABLE_JIT:
        return function
    dispatcher: Any = function
    return cast(F, dispatcher.overloads[dispatcher.signatures[0]].entry_point)


def given(function: F, name: str, module: str, **functions: Callable[..., Any]) -> F:
    """Return a copy of a function that calls `functions` instead of its globals of the same names.

    Compiled code cannot inline functions that are arguments. So a loop that is given some of its
    steps is a plain function, and each set of steps has a copy of it, to be compiled. `name` tells
    the copies of a loop apart in the cache, where they belong to a `module`.
    """
    copy = FunctionType(function.__code__, {**function.__globals__, **functions}, name)
    copy.__qualname__, copy.__module__ = name, module
    return cast(F, copy)


class Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled function as an argument of compiled functions, with its address.

    Numba looks up the address of any other compiled function in each call: 17 µs for each one.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        compiled = function.overloads[function.signatures[0]]
        self._signature = compiled.signature
        self._address = compiled.library.get_pointer_to_function(
            compiled.fndesc.llvm_cfunc_wrapper_name
        )

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __wrapper_address__(self) -> int:
        return cast(int, self._address)

    def signature(self) -> object:
        """Return the signature by which compiled code calls the function."""
        return self._signature


def uncompiled(function: F) -> F:
    """Return the plain Python version of a compiled function, and of the steps inlined in it."""
    source = function.py_func  # type: ignore[attr-defined]
    steps = {
        name: uncompiled(value)
        for name, value in source.__globals__.items()
        if name in source.__code__.co_names and _is_inlined(value)
    }
    return cast(F, FunctionType(source.__code__, {**source.__globals__, **steps}))


def in_python(*functions: Any, **others: Any) -> dict[str, Callable[..., Any]]:
    """Return compiled functions as plain Python, by name: they call each other, and `others`."""
    sources = {function.__name__: uncompiled(function) for function in functions}
    for source in sources.values():
        source.__globals__.update({**sources, **others})
    return sources


def _is_inlined(value: object) -> bool:
    return getattr(value, "targetoptions", {}).get("inline") == "always"
