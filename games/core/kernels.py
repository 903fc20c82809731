"""The six kernels of a game, and their compilation.

Every built-in game defines six functions over a *board*: a flat `int64` vector. Its layout is up to
the game, except `board[0]`, the player to move (1 or 2), and `board[1]`, the outcome (0 while the
game goes on, 1 or 2 for the winner, -1 for a tie).

| kernel | does |
| --- | --- |
| `start(board, params)` | sets the first position; the board also holds its own sizes |
| `legal(board, actions) -> n` | writes the legal actions, ascending; 0 when the game is over |
| `play(board, action)` | plays a legal action in place and sets the outcome |
| `playout(board, rng, trace) -> n` | plays random legal actions to the end, into `trace` |
| `write(board, state)` | board to flat state |
| `read(state, board)` | flat state to a board that `start` has set before |

Two more kernels are optional. They consider *sensible* actions only: if the player to move can win
at once, the actions that win; otherwise, if possible, the actions after which the opponent cannot
win at once (Teytaud & Teytaud 2010). Searches rely on two properties: a decisive playout that ends
within two moves proves its result, and no omitted action is better than all sensible ones.

| kernel | does |
| --- | --- |
| `decisive(board, rng, trace) -> n` | plays random sensible actions to the end, into `trace` |
| `sensible(board, actions) -> n` | writes the sensible actions, the most promising first |
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import platformdirs
from numba import types
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

Board = NDArray[np.int64]
Vector = NDArray[np.int64]

#: Cache folders of compiled functions to which nothing was added for this long are removed.
CACHES_KEPT_S = 60 * 24 * 3600

_VECTOR = types.int64[::1]
_RNG = types.uint64[::1]

SIGNATURES = {
    "start": types.void(_VECTOR, _VECTOR),
    "legal": types.int64(_VECTOR, _VECTOR),
    "play": types.void(_VECTOR, types.int64),
    "playout": types.int64(_VECTOR, _RNG, _VECTOR),
    "decisive": types.int64(_VECTOR, _RNG, _VECTOR),
    "sensible": types.int64(_VECTOR, _VECTOR),
    "write": types.void(_VECTOR, _VECTOR),
    "read": types.void(types.Array(types.int64, 1, "C", readonly=True), _VECTOR),
}


class Kernels(NamedTuple):
    """The six compiled functions of a game, and the two optional ones."""

    start: Callable[..., None]
    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    write: Callable[..., None]
    read: Callable[..., None]
    decisive: Callable[..., int] | None = None
    sensible: Callable[..., int] | None = None


def kernel(function: F) -> F:
    """Compile a kernel at once; its name determines its signature."""
    name = function.__name__
    return compiled(SIGNATURES[name], allocates=name in ("start", "write", "read"))(function)


def helper(function: F) -> F:
    """Compile a function that kernels call; it becomes part of each kernel that calls it."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def inlined(function: F) -> F:
    """Inline a step of a compiled loop: no arguments are passed, no references are counted."""
    return numba.njit(inline="always", error_model="numpy")(function)


def compiled(signature: object, *, allocates: bool = True) -> Callable[[F], F]:
    """Compile a function at once, to run without the GIL; later processes read it from the cache.

    `allocates=False` is for functions that create no arrays: their references are not counted.
    With counting, passing tuples of arrays took a quarter of the time of a search.
    """

    def compile_(function: F) -> F:
        previous = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(_cache_folder(Path(inspect.getfile(function)).parent))
        try:
            return numba.njit(
                signature, nogil=True, cache=True, error_model="numpy", _nrt=allocates
            )(function)
        finally:
            numba.config.CACHE_DIR = previous

    return compile_


def uncompiled(function: F) -> F:
    """Return the plain Python version of a compiled function, and of the steps inlined in it."""
    source = function.py_func  # type: ignore[attr-defined]
    steps = {
        name: uncompiled(value)
        for name, value in source.__globals__.items()
        if name in source.__code__.co_names and _is_inlined(value)
    }
    return cast(F, FunctionType(source.__code__, {**source.__globals__, **steps}))


def _is_inlined(value: object) -> bool:
    return getattr(value, "targetoptions", {}).get("inline") == "always"


def compiled_before() -> bool:
    """Return whether the present version of the games has been compiled on this machine."""
    return _cache_folder(Path(__file__).parent.parent).exists()


@functools.cache
def _cache_folder(package: Path) -> Path:
    """Return the folder of the compiled functions of `package`.

    Numba recompiles a function when its own file changes, but not when a function imported from
    another file changes. So the name of the folder is a digest of every source file that can
    contribute: those of the package, of the games, and of `games.core`.
    """
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    core = Path(__file__).parent
    for folder in dict.fromkeys([core, core.parent, package]):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.name.encode() + source.read_bytes())
    folder = platformdirs.user_cache_path("playout") / "compiled" / digest.hexdigest()[:16]
    if not folder.exists():
        _forget_old(folder.parent)
    return folder


def _forget_old(caches: Path) -> None:
    """Remove the folders of earlier versions."""
    if caches.is_dir():
        for folder in caches.iterdir():
            with contextlib.suppress(OSError):  # another process may do the same
                if time.time() - folder.stat().st_mtime > CACHES_KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
