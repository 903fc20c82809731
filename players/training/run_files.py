"""Files that are complete or absent, whenever the process that writes them is killed.

The content goes into a hidden file in the same folder, which is forced to disk and then renamed
(`playout.players.nets.files`). Arrays are stored as `.npz`, whose members have checksums (CRC-32)
that are verified when they are read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import read_array
from numpy.typing import NDArray

from playout.players.nets.files import is_unfinished, why_not_written, write_atomically

# Errors of training that people have to read, and the check for the packages that it needs.


class TrainingError(Exception):
    """Something that stops a training; the message says what is wrong and what to do."""


class InTraining(TrainingError):
    """Another process trains in the folder of a run."""


def require_learning() -> None:
    """Raises TrainingError if a package that training needs is not installed; imports none."""
    for name in ("jax", "optax", "onnx"):
        if importlib.util.find_spec(name) is None:
            raise TrainingError(
                f"training needs the package {name}, which is missing: "
                'pip install ".[learn]" in a checkout of Playout'
            )


_ABOUT = "about"

Arrays = Mapping[str, NDArray[Any]]


def write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all. Raises TrainingError if the disk refuses it."""
    with clear_errors(path):
        write_atomically(path, content)


def write_arrays(path: Path, arrays: Arrays, about: Mapping[str, Any]) -> None:
    """Write named arrays and a JSON object about them. Raises TrainingError."""
    packed = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez_compressed(packed, **{_ABOUT: text}, **arrays)  # type: ignore[arg-type]
    write(path, packed.getvalue())


def read_arrays(path: Path, remedy: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a file and the object about them.

    Raises TrainingError if the file is torn, was changed, or is something else; `remedy` says what
    to do then.
    """
    try:
        # Each member is read whole, as only then its checksum is verified; numpy's `load` reads as
        # much as the header of the array says.
        with zipfile.ZipFile(path) as packed:
            contents = {name.removesuffix(".npy"): packed.read(name) for name in packed.namelist()}
        arrays = {
            name: read_array(io.BytesIO(content), allow_pickle=False)
            for name, content in contents.items()
        }
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except OSError as error:
        raise TrainingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # numpy, zipfile and zlib have many kinds of exceptions
        text = f"{path}: is damaged or was not written by playout-train; {remedy}"
        raise TrainingError(text) from error


def unfinished(folder: Path) -> list[Path]:
    """Return the files that killed processes were writing in a folder."""
    return [each for each in folder.iterdir() if is_unfinished(each.name) and each.is_file()]


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Within the block an error of the file system becomes a TrainingError that names the file."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path}: cannot be written: {why_not_written(error)}") from error
