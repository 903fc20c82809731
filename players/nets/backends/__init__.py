"""What runs a net: one module for each runtime, imported only when a net is loaded with it."""

from __future__ import annotations

import importlib.util
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
