"""Reads and writes files; a written file is complete or absent, whenever the process is killed.

The content goes into a hidden file in the same folder, which is forced to disk and then renamed
(`playout.players.nets.files`). Arrays are stored as `.npz`, whose members have checksums (CRC-32)
that are verified by reading.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.lib.format import read_array
from numpy.typing import NDArray

from playout.players.nets.files import is_unfinished, why_not_written, write_atomically
from playout.players.training import TrainingError

T = TypeVar("T")

_ABOUT = "about"


def read(path: Path) -> bytes:
    """Return the content of a file. Raises TrainingError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def write(path: Path, content: bytes) -> None:
    """Write a file completely or not at all. Raises TrainingError if the disk refuses it."""
    with clear_errors(path):
        write_atomically(path, content)


def append(path: Path, content: bytes) -> None:
    """Append to a file. Raises TrainingError."""
    with clear_errors(path), path.open("ab") as file:
        file.write(content)


def lines(path: Path, kind: type[T]) -> list[T]:
    """Return the records of a file, one a line, without lines that cannot be read."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(msgspec.DecodeError):
                found.append(msgspec.json.decode(line, type=kind))
    return found


def packed(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> bytes:
    """Return the content of a file with named arrays and a JSON object about them."""
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez_compressed(content, **{_ABOUT: text}, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def read_arrays(path: Path, remedy: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a file and the object about them.

    Raises TrainingError if the file is torn, was changed, or is another one; `remedy` is advice for
    that case.
    """
    try:
        # Each member is read whole, as only then its checksum is verified; numpy's `load` reads as
        # much as the header of the array says.
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            contents = {name.removesuffix(".npy"): archive.read(name) for name in names}
        arrays = {
            name: read_array(io.BytesIO(content), allow_pickle=False)
            for name, content in contents.items()
        }
        return arrays, json.loads(arrays.pop(_ABOUT).tobytes())
    except OSError as error:
        raise _unreadable(path, error) from error
    except Exception as error:  # numpy, zipfile and zlib have many kinds of exceptions
        text = f"{path}: is damaged or was not written by playout-train; {remedy}"
        raise TrainingError(text) from error


def _unreadable(path: Path, error: OSError) -> TrainingError:
    return TrainingError(f"{path}: cannot be read: {error.strerror or error}")


def unfinished(folder: Path) -> list[Path]:
    """Return the files that killed processes were writing in a folder."""
    return [each for each in folder.iterdir() if is_unfinished(each.name) and each.is_file()]


@contextlib.contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn an error of the file system in the block into a TrainingError that names the file."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path}: cannot be written: {why_not_written(error)}") from error
