"""What runs a net: one module for each runtime, imported only when a net is loaded with it."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from playout.players.nets.contract import INPUT, OUTPUTS, POLICY, VALUE
from playout.players.nets.files import require

Outputs = tuple[NDArray[np.float32], NDArray[np.float32]]

#: The runtimes by name, and the extra of Playout that installs each. The default comes first.
EXTRAS = {"onnxruntime": "nets", "openvino": "openvino"}

#: Types of numbers that a runtime may compute with; auto is the fastest that the processor has.
PRECISIONS = ("auto", "f32", "bf16")


class Backend(Protocol):
    """A net that is ready to run; `evaluate` may be called by several threads at once."""

    name: str
    precision: str

    def evaluate(self, planes: NDArray[np.float32]) -> Outputs:
        """Return new arrays with the outputs `policy` and `value` for n positions, as they are."""

    def close(self) -> None:
        """Release the memory of the runtime; it is not used afterwards."""


def installed() -> list[str]:
    """Return the names of the runtimes that are installed, the default first; imports none."""
    return [name for name in EXTRAS if importlib.util.find_spec(name) is not None]


# Runs nets with onnxruntime: small, and the fastest for single positions and small nets.


_FATAL = 4  # its log level for standard error: errors reach us as exceptions


class OnnxRuntimeBackend:
    """A session of onnxruntime on the processor; it computes in float32."""

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


# Runs nets with OpenVINO: the fastest for batches, on processors with AMX by a factor.
#
# The graph is compiled twice: for the usual number of positions, whose arrays are then written and
# read in place, and, when it is first needed, for any number.


_DEVICE = "CPU"


@contextmanager
def _without_telemetry() -> Iterator[None]:
    """Make its package openvino_telemetry look as if it was not installed.

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
    """A compiled model of OpenVINO on the processor, with a request for each thread that asks."""

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
