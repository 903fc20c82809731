"""Reads files of limited size, and imports optional packages."""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path
from types import ModuleType

_MIB = 1 << 20


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


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
