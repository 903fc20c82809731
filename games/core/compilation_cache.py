"""The folders in which compiled functions are kept between processes.

Numba recompiles a function when its own file changes, but not when a function imported from another
file changes. So each file has a folder of its own, and its name is a digest of every file that can
contribute: those that the file imports, and those that they import.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import platformdirs

#: Folders to which nothing was added for this long are removed.
KEPT_S = 60 * 24 * 3600

#: An import that is executed whenever its file is: the module, and the names in brackets or not.
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (?:\(([^)]*)\)|(.*)))?", re.MULTILINE)

#: What tells people about compilations, at most one function, and the modules that it was told of.
_announcements: list[Callable[[str], None]] = []
_announced: set[str] = set()


def announce_compilation(announce: Callable[[str], None]) -> None:
    """Have `announce` told of each module that this process compiles because no cache has it."""
    _announcements[:] = [announce]


def folder_of(module: str) -> Path:
    """Return the folder of the compiled functions of a module, which need not exist yet."""
    folder = _caches() / f"{module}-{_digest(module)}"
    if _announcements and module not in _announced and not folder.exists():
        _announced.add(module)
        _announcements[0](f"Compiling {module} for this machine, once ...")
    return folder


@functools.cache
def _caches() -> Path:
    """Return the folder of all caches, without those that nobody has used for long."""
    caches = platformdirs.user_cache_path("playout") / "compiled"
    if caches.is_dir():
        for folder in caches.iterdir():
            with contextlib.suppress(OSError):  # another process may do the same
                if time.time() - folder.stat().st_mtime > KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
    return caches


@functools.cache
def _digest(module: str) -> str:
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for name in sorted(_closure(module)):
        digest.update(name.encode() + _source(sys.modules[name]))
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[str]:
    """Return a module and all that it imports, directly or not, of its own package and of ours."""
    packages = {module.partition(".")[0], __name__.partition(".")[0]}
    found, new = {module}, [module]
    while new:
        for name in _imports(new.pop()):
            if name not in found and name.partition(".")[0] in packages:
                found.add(name)
                new.append(name)
    return found


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    """Return the modules that a module imports at its top."""
    package = sys.modules[module].__package__
    text = _source(sys.modules[module]).decode()
    return tuple(name for name in _named(text, package) if name in sys.modules)


def _named(text: str, package: str | None) -> Iterator[str]:
    for name, several, line in _IMPORT.findall(text):
        full = importlib.util.resolve_name(name, package)
        yield full
        for imported in re.findall(r"\w+", several or line):
            yield f"{full}.{imported}"


def _source(module: ModuleType) -> bytes:
    return Path(module.__file__).read_bytes() if module.__file__ else b""
