"""Files that survive `kill -9` at any moment: replaced as a whole, or of JSON Lines.

To a file of JSON Lines, records are added. A line that was not completed is skipped when the file
is read, and the next line begins after it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import IO, TypeVar

import click
import msgspec

T = TypeVar("T")

#: A dot, the name of the file with its extension, a dot, and the characters of `mkstemp`.
_UNFINISHED = re.compile(r"\..+\.[a-z0-9]+\.[a-z0-9_]{8}")
#: Errors of a full disk, and of a full quota.
_FULL = (errno.ENOSPC, errno.EDQUOT)


# Files that are replaced as a whole.


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file so that after a crash it is old or new, and complete. Raises OSError.

    `mode` are its permissions, by default those of a new file.
    """
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
            os.fchmod(number, 0o666 & ~_umask() if mode is None else mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure. Raises OSError."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def is_unfinished(name: str) -> bool:
    """Return whether a name is that of a file that `write_atomically` did not complete."""
    return _UNFINISHED.fullmatch(name) is not None


def why_not_written(error: OSError) -> str:
    """Return why a file was not written and, if the disk is full, what to do."""
    remedy = "; free some space and try again" if error.errno in _FULL else ""
    return f"{error.strerror or error}{remedy}"


def _umask() -> int:
    """Return the mode bits that new files of this process lack; no system call only reads them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Files of JSON Lines.


@contextlib.contextmanager
def opened(path: Path, user: str) -> Iterator[IO[bytes]]:
    """Yield the file, which no other process uses until the end of the block.

    Raises ClickException, which says what the other process is: `user`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise click.ClickException(user) from None
        yield file


def stored(file: IO[bytes], kind: type[T] | UnionType) -> list[T]:
    """Return the records of the complete lines; the next record begins a new line."""
    found: list[T] = []
    file.seek(0)
    line = b"\n"
    for line in file:
        with contextlib.suppress(msgspec.DecodeError):  # a line that was not completed
            found.append(msgspec.json.decode(line, type=kind))
    if not line.endswith(b"\n"):
        file.write(b"\n")
    return found


def append(file: IO[bytes], record: msgspec.Struct, *, durable: bool = True) -> None:
    """Add a record; it is stored when this returns.

    One that is not `durable` survives `kill -9`, but a power cut only with a durable one after it.
    """
    file.write(msgspec.json.encode(record) + b"\n")
    file.flush()
    if durable:
        os.fsync(file.fileno())
