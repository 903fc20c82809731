"""A net: an ONNX file that has been checked, with the runtime that evaluates positions by it.

    net = playout.players.nets.net.load("gomoku.onnx", games.load("gomoku"))
    logits, values = net.evaluate(encoding.encode(states, last))

A runtime is a package that is imported when a net is loaded with it.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets import contract
from playout.players.nets.contract import INPUT, OUTPUTS, POLICY, VALUE, CheckedModel
from playout.players.nets.files import NetError, require

#: The logits of the policy [n, actions] and the values [n] or [n, 1] of n positions.
Outputs = tuple[NDArray[np.float32], NDArray[np.float32]]

#: The nets that come with Playout; each has the name of its game.
FOLDER = Path(__file__).parent / "trained"

#: The runtimes by name, and the extra of Playout that installs each. The default comes first.
EXTRAS = {"onnxruntime": "nets", "openvino": "openvino"}

#: Types of numbers that a runtime may compute with; auto is the fastest that the processor has.
PRECISIONS = ("auto", "f32", "bf16")

#: The level of onnxruntime's log on standard error: errors are raised as exceptions.
_FATAL = 4
#: The device of OpenVINO.
_DEVICE = "CPU"

#: Seconds that each runtime is timed for when the faster one is chosen, in turns of one call.
_TIMED_S = 0.05

#: How far a value may be outside -1 to 1: bfloat16 has 8 bits.
_TOLERANCE = 1 / 128


class Net:
    """A net of one game. `evaluate` may be called by several threads at once."""

    def __init__(self, path: Path, game: Game, model: CheckedModel, backend: Backend) -> None:
        """Combine a checked file and its runtime; `load` makes nets."""
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

    `backend` is onnxruntime, openvino or auto: the faster one here for `batch` positions at once.
    `precision` is f32, bf16 (OpenVINO only) or auto: the fastest that the processor has. `threads`
    is the number of threads for one evaluation. Raises NetError for any file that is not such a
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
        return OnnxRuntimeBackend(model, threads)
    return OpenVinoBackend(model, threads, batch, precision)


def _positions(game: Game, count: int) -> NDArray[np.float32]:
    """Return arrays of zeros and ones in the shape of encoded positions, always the same ones."""
    shape = count, *contract.expected_shapes(game)[contract.INPUT]
    return np.random.default_rng(count).integers(0, 2, shape).astype(np.float32)


def _check_outputs(path: Path, game: Game, count: int, outputs: Outputs) -> None:
    """Check the results of a runtime for `count` positions. Raises NetError."""
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

    They are timed in turns, and the shortest time counts: other work on the machine has little
    influence.
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


class Backend(Protocol):
    """A net that is ready to run; `evaluate` may be called by several threads at once."""

    name: str
    precision: str

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        """Return new arrays with the outputs `policy` and `value` for n positions, as they are."""

    def close(self) -> None:
        """Release the memory of the runtime, which is not used afterwards."""


def installed() -> list[str]:
    """Return the names of the runtimes that are installed, the default first; imports none."""
    return [name for name in EXTRAS if importlib.util.find_spec(name) is not None]


class OnnxRuntimeBackend:
    """A session of onnxruntime on the processor, which computes in float32.

    It is small, and the fastest runtime for single positions and small nets.
    """

    name = "onnxruntime"
    precision = "f32"

    def __init__(self, model: bytes, threads: int) -> None:
        """Take a checked ONNX file. Raises any exception if the runtime refuses it."""
        ort = require(self.name, EXTRAS[self.name])
        options = ort.SessionOptions()
        options.log_severity_level = _FATAL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait actively would take the cores of the other bots.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        """Return the outputs `policy` and `value` for n positions, as they are."""
        policy, value = self._session.run(OUTPUTS, {INPUT: planes})
        return policy, value

    def close(self) -> None:
        """Release the session; it is not used afterwards."""
        del self._session


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Prevent the import of its package openvino_telemetry.

    Otherwise, the import of OpenVINO 2026.4 forks a process that sends a message to Google
    Analytics, unless the user has declined in a file.
    """
    name = "openvino_telemetry"
    before = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]  # so that its import is an ImportError
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


class OpenVinoBackend:
    """A compiled model of OpenVINO on the processor, with a request for each thread that asks.

    It is the fastest runtime for batches, on processors with AMX by a factor. The graph is compiled
    twice: for the usual number of positions, whose arrays are then written and read in place, and,
    when it is first needed, for any number.
    """

    name = "openvino"

    def __init__(self, model: bytes, threads: int, batch: int, precision: str) -> None:
        """Take a checked ONNX file. Raises any exception if the runtime refuses it."""
        with _without_telemetry():
            openvino = require(self.name, EXTRAS[self.name])
        self._core = openvino.Core()
        self.precision = self._best_precision() if precision == "auto" else precision
        self._config = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": {"bf16": "bf16", "f32": "f32"}[self.precision],
            "ENABLE_CPU_PINNING": False,  # several bots share a machine
        }
        self._model = self._core.read_model(model, b"")
        self._batch = batch
        usual = self._model.clone()
        usual.reshape({INPUT: [batch, *list(self._model.input(INPUT).partial_shape)[1:]]})
        self._usual = self._core.compile_model(usual, _DEVICE, self._config)
        self._flexible: Any = None
        self._compiling = threading.Lock()
        self._local = threading.local()

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        """Return the outputs `policy` and `value` for n positions, as they are."""
        if len(planes) == self._batch:
            return self._evaluate_usual(planes)
        if getattr(self._local, "flexible", None) is None:
            self._local.flexible = self._compiled().create_infer_request()
        request = self._local.flexible
        request.infer({INPUT: planes}, share_inputs=True)
        return request.get_tensor(POLICY).data.copy(), request.get_tensor(VALUE).data.copy()

    def close(self) -> None:
        """Release the compiled models; they are not used afterwards."""
        del self._usual, self._flexible, self._local, self._model, self._core

    def _evaluate_usual(self, planes: NDArray[np.float32]) -> Outputs:
        arrays = getattr(self._local, "arrays", None)
        if arrays is None:
            self._local.request = request = self._usual.create_infer_request()
            arrays = [request.get_tensor(name).data for name in (INPUT, *OUTPUTS)]
            self._local.arrays = arrays
        into, policy, value = arrays
        into[:] = planes
        self._local.request.infer()
        return policy.copy(), value.copy()

    def _compiled(self) -> Any:
        """Return the model that takes any number of positions."""
        with self._compiling:
            if self._flexible is None:
                self._flexible = self._core.compile_model(self._model, _DEVICE, self._config)
        return self._flexible

    def _best_precision(self) -> str:
        """Return bf16 if OpenVINO prefers it on this processor, as with AMX, otherwise f32."""
        preferred = self._core.get_property(_DEVICE, "INFERENCE_PRECISION_HINT")
        return "bf16" if "bfloat16" in str(preferred) else "f32"
