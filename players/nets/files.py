"""Reads files of limited size, and writes files that are complete or absent."""

from __future__ import annotations

import errno
import importlib
import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_MIB = 1 << 20
#: A dot, the name of the file with its extension, a dot, and the characters of `mkstemp`.
_UNFINISHED = re.compile(r"\..+\.[a-z0-9]+\.[a-z0-9_]{8}")
#: Errors of a full disk, and of a full quota.
_FULL = (errno.ENOSPC, errno.EDQUOT)


class NetError(Exception):
    """Raised for a net that cannot be used.

    The message is one sentence: the file, what is wrong, and what was expected.
    """


def require(package: str, extra: str) -> ModuleType:
    """Import and return an optional package.

    Raises NetError with the command that installs it, as an extra of Playout.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        install = f'pip install ".[{extra}]" in a checkout of Playout'
        text = f"nets need the package {package} ({error}): {install}"
        raise NetError(text.replace("'", '"')) from error


def read_limited(path: Path, limit: int, kind: str) -> bytes:
    """Return the content of a plain file of at most `limit` bytes; `kind` names what is expected.

    The size is checked before anything is read. Raises NetError.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
            raise NetError(f"{path} is not a plain file; expected {kind}")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1) if size <= limit else b""
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise NetError(f"{path} cannot be read ({_reason(error)}); expected {kind}") from error
    if size > limit or len(data) > limit:
        text = f"{path} has {max(size, len(data)) / _MIB:,.0f} MiB"
        raise NetError(f"{text}; expected {kind} of at most {limit // _MIB} MiB")
    if not data:
        raise NetError(f"{path} is empty; expected {kind}")
    return data


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is old or new, and complete. Raises OSError."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(number)
            os.fchmod(number, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the new name survives a power failure
    finally:
        os.close(folder)


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


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
