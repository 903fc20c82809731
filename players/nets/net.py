"""A net: an ONNX file that has been checked, with the runtime that evaluates positions by it.

net = playout.players.nets.net.load("gomoku.onnx", games.load("gomoku"))
logits, values = net.evaluate(encoding.encode(states, last))
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets import contract
from playout.players.nets.backends import EXTRAS, PRECISIONS, Backend, Outputs, installed
from playout.players.nets.contract import CheckedModel
from playout.players.nets.files import NetError

__all__ = ["Net", "NetError", "load"]

#: Seconds that each runtime is timed for when the faster one is chosen, in turns of one call.
_TIMED_S = 0.05

#: How far a value may be outside -1 to 1: bfloat16 has 8 bits.
_TOLERANCE = 1 / 128


class Net:
    """A net of one game. `evaluate` may be called by several threads at once."""

    def __init__(self, path: Path, game: Game, model: CheckedModel, backend: Backend) -> None:
        """Take a checked file and its runtime; use `load`."""
        self.path = path
        self.game = game
        self.metadata: Mapping[str, str] = model.metadata
        self.backend = backend.name
        self.precision = backend.precision
        self._backend = backend

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        """Return policy logits [n, actions] and values [n] of encoded positions [n, 6, rows, ...].

        Values are from -1 to 1, for the player to move. Raises NetError if a number is not finite.
        """
        policy, value = self._backend.evaluate(planes)
        if not math.isfinite(policy.sum() + value.sum()):
            wrong = f"{self.path} computed NaN or infinity"
            raise NetError(f"{wrong}; expected finite policy logits and values")
        return policy, np.minimum(np.maximum(value[:, 0], -1), 1)  # np.clip takes twice as long

    def close(self) -> None:
        """Release the runtime. The net is not used afterwards."""
        self._backend.close()


def load(
    path: str | Path,
    game: Game,
    backend: str = "auto",
    precision: str = "auto",
    batch: int = 8,
    threads: int = 1,
) -> Net:
    """Check an ONNX file by the contract in docs/nets.md, and return it ready to run.

    `backend` is onnxruntime, openvino or auto: the one that is faster here for `batch` positions at
    once. `precision` is f32, bf16 (OpenVINO only) or auto: the fastest that the processor has.
    `threads` are the threads for one evaluation. Raises NetError for any file that is not such a
    net, and if packages are missing.
    """
    path = Path(path)
    for name, value, known in (
        ("backend", backend, ("auto", *EXTRAS)),
        ("precision", precision, PRECISIONS),
    ):
        if value not in known:
            raise NetError(f"the {name} of a net is {value!r}; expected {', '.join(known)}")
    if backend == "onnxruntime" and precision == "bf16":
        raise NetError("onnxruntime computes in f32; expected precision f32, or backend openvino")
    model = contract.read(path, game)
    names = _candidates(precision) if backend == "auto" else [backend]
    ready = [_start(path, game, model, name, precision, batch, threads) for name in names]
    return Net(path, game, model, _fastest(ready, game, batch))


def _candidates(precision: str) -> list[str]:
    """Return the runtimes that `auto` tries; the default one if none is installed."""
    found = installed() or list(EXTRAS)[:1]
    return [name for name in found if precision != "bf16" or name == "openvino"] or ["openvino"]


def _start(
    path: Path,
    game: Game,
    model: CheckedModel,
    name: str,
    precision: str,
    batch: int,
    threads: int,
) -> Backend:
    """Return a runtime that has evaluated positions with the right results. Raises NetError."""
    try:
        backend = _backend(model.data, name, precision, batch, threads)
        for count in sorted({1, batch, batch + 1}):
            _check_outputs(path, game, count, backend.evaluate(_positions(game, count)))
    except NetError:
        raise
    except Exception as error:  # the runtimes have many kinds of exceptions
        reason = " ".join(str(error).split())[:300]
        raise NetError(f"{path}: {name} cannot run it ({reason}); expected a net for it") from error
    return backend


def _backend(model: bytes, name: str, precision: str, batch: int, threads: int) -> Backend:
    if name == "onnxruntime":
        from playout.players.nets.backends import OnnxRuntimeBackend

        return OnnxRuntimeBackend(model, threads)
    from playout.players.nets.backends import OpenVinoBackend

    return OpenVinoBackend(model, threads, batch, precision)


def _positions(game: Game, count: int) -> NDArray[np.float32]:
    """Return arrays of zeros and ones in the shape of encoded positions, always the same ones."""
    shape = count, *contract.expected_shapes(game)[contract.INPUT]
    return np.random.default_rng(count).integers(0, 2, shape).astype(np.float32)


def _check_outputs(path: Path, game: Game, count: int, outputs: Outputs) -> None:
    """Check what a runtime computed for `count` positions. Raises NetError."""
    shapes = contract.expected_shapes(game)
    for name, array in zip(contract.OUTPUTS, outputs, strict=True):
        shape = (count, *shapes[name])
        if array.shape != shape or array.dtype != np.float32:
            found = f"{array.dtype} {list(array.shape)} for {count} positions"
            raise NetError(f"{path}: its {name} is {found}; expected float32 {list(shape)}")
        if not np.isfinite(array).all():
            raise NetError(f"{path}: its {name} has NaN or infinity; expected finite numbers")
    _, value = outputs
    if abs(value).max() > 1 + _TOLERANCE:
        wrong = f"{path}: its value {value.flat[abs(value).argmax()]:.3g} is out of range"
        raise NetError(f"{wrong}; expected -1 to 1, for the player to move")


def _fastest(ready: list[Backend], game: Game, batch: int) -> Backend:
    """Return the backend with the shortest evaluation of `batch` positions; close the others.

    Their turns alternate, and the shortest time counts, so that other work on the machine does not
    decide.
    """
    if len(ready) > 1:
        planes = _positions(game, batch)
        shortest = dict.fromkeys(range(len(ready)), np.inf)
        end = time.perf_counter() + _TIMED_S * len(ready)
        while time.perf_counter() < end:
            for i, backend in enumerate(ready):
                start = time.perf_counter()
                backend.evaluate(planes)
                shortest[i] = min(shortest[i], time.perf_counter() - start)
        chosen = ready[min(shortest, key=shortest.__getitem__)]
        for backend in ready:
            if backend is not chosen:
                backend.close()
        return chosen
    return ready[0]


# The net that a player uses: a file, or the one that comes with its game.


#: The nets that come with Playout; each has the name of its game.
FOLDER = Path(__file__).parent / "trained"


def load_chosen(file: str | None, game: Game, *, backend: str, batch: int) -> Net:
    """Return the net in `file`, by default the one that comes with `game`. Raises NetError."""
    path = shipped(game) if file is None else Path(file).expanduser()
    if path is None:
        raise NetError(
            f"no net comes with {game}; name one with net=FILE, or train one: "
            f'playout-train new "{game}" FOLDER'
        )
    return load(path, game, backend=backend, batch=batch)


def shipped(game: Game) -> Path | None:
    """Return the file of the net that comes with a game, or None."""
    path = FOLDER / f"{game}.onnx"
    return path if path.is_file() else None
