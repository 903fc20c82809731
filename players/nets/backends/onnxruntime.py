"""Runs nets with onnxruntime: small, and the fastest for single positions and small nets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from players.nets.backends import EXTRAS, Outputs
from players.nets.contract import INPUT, OUTPUTS
from players.nets.errors import require

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
