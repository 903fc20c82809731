"""The six kernels of a game, and how they are compiled.

Every built-in game writes six functions over a *board*: a flat `int64` vector whose layout is
its own, but for `board[0]`, the player to move (1 or 2), and `board[1]`, the outcome (0 while
the game goes on, 1 or 2 for the winner, -1 for a tie).

| kernel | does |
| --- | --- |
| `start(board, params)` | sets the first position; sizes are kept in the board |
| `legal(board, actions) -> n` | writes the legal actions, ascending; 0 when the game is over |
| `play(board, action)` | plays a legal action in place and sets the outcome |
| `playout(board, rng, trace) -> n` | plays random legal actions to the end, into `trace` |
| `write(board, state)` | board to flat state |
| `read(state, board)` | flat state to a board that `start` has set before |

Two more are for games where a line once made is won, and may be missing. In them, who can win at
once does, and who cannot does not let the other win next, if that can be helped (Teytaud & Teytaud
2010). Searches count on it: what a decisive playout ends with after a move or two is proven, and of
the actions that are left out, none is better than all that are not.

| kernel | does |
| --- | --- |
| `decisive(board, rng, trace) -> n` | plays random ones of those actions to the end, into `trace` |
| `sensible(board, actions) -> n` | writes those actions, the most promising first |
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

#: Compiled functions of a version that was last added to so long ago are removed.
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
    """The six compiled functions of a game, and two that it may have beside them."""

    start: Callable[..., None]
    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    write: Callable[..., None]
    read: Callable[..., None]
    decisive: Callable[..., int] | None = None
    sensible: Callable[..., int] | None = None


def kernel(function: F) -> F:
    """Compile one of the kernels, at once and with its fixed signature, known by its name."""
    name = function.__name__
    return compiled(SIGNATURES[name], allocates=name in ("start", "write", "read"))(function)


def helper(function: F) -> F:
    """A function for kernels to call; it becomes part of each kernel that does."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def inlined(function: F) -> F:
    """A step of a compiled loop, written into it: nothing is passed, no reference is counted."""
    return numba.njit(inline="always", error_model="numpy")(function)


def compiled(signature: object, *, allocates: bool = True) -> Callable[[F], F]:
    """Compile at once, without the GIL, found in the cache by the next process.

    What makes no arrays can do without counting references: `allocates=False`. Passing tuples of
    arrays about took a quarter of the time of a search.
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
    """The Python source of a compiled function, as a function, the steps inlined in it too."""
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
    """Have the games been compiled on this machine, as they are now?"""
    return _cache_folder(Path(__file__).parent.parent).exists()


@functools.cache
def _cache_folder(package: Path) -> Path:
    """Where the compiled functions of `package` live.

    Numba recompiles a function when its own file changes, but not when a function that it
    imported from another file does. So the name of the folder holds a digest of every source
    that can take part: those of the package, of the games, and the helpers here.
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
    """Remove what earlier versions left behind."""
    if caches.is_dir():
        for folder in caches.iterdir():
            with contextlib.suppress(OSError):  # another process may do the same
                if time.time() - folder.stat().st_mtime > CACHES_KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
