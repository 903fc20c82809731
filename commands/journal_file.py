"""A file of JSON Lines to which records are added, and which survives `kill -9` at any moment.

A line that was not completed is skipped when the file is read, and the next line begins after it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import IO, TypeVar

import click
import msgspec

T = TypeVar("T")


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
