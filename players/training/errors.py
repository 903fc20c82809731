"""Errors of training that people have to read, and the check for the packages that it needs."""

from __future__ import annotations

import importlib.util


class TrainingError(Exception):
    """Something that stops a training; the message says what is wrong and what to do."""


class InTraining(TrainingError):
    """Another process trains in the folder of a run."""


def require_learning() -> None:
    """Raises TrainingError if a package that training needs is not installed; imports none."""
    for name in ("jax", "optax", "onnx"):
        if importlib.util.find_spec(name) is None:
            raise TrainingError(
                f'training needs the package {name}, which is missing: pip install "playout[learn]"'
            )
