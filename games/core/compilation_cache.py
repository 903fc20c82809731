"""The folders in which compiled functions are kept between processes.

Numba recompiles a function when its own file changes, but not when a function imported from another
file changes. So each file has a folder of its own, and its name is a digest of every file that can
contribute: those that the file imports, and those that they import. Another copy of the project
with the same sources has the same digests, and finds what the first has compiled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import platformdirs
from numba.core.caching import UserProvidedCacheLocator

_PACKAGE = __name__.partition(".")[0]
#: The variable with another folder of all caches, from which this process copies what it needs.
OTHER_CACHES = "PLAYOUT_COMPILED"
#: Folders are removed after this time without a new file.
KEPT_S = 60 * 24 * 3600

#: An import that is executed whenever its file is: the module, and the names in brackets or not.
_IMPORT = re.compile(r"^(?:from|import) ([\w.]+)(?: import (?:\(([^)]*)\)|(.*)))?", re.MULTILINE)

#: Tells people about a compilation while it lasts.
Announce = Callable[[str], AbstractContextManager[object]]
_announcements: list[Announce] = []
_lock = threading.RLock()


def announce_compilation(announce: Announce) -> None:
    """Enter `announce` with a text while this process compiles a function that no cache has."""
    _announcements[:] = [announce]


@contextlib.contextmanager
def cached(function: FunctionType) -> Iterator[None]:
    """Within the block numba reads the compiled function from its cache, or writes it there.

    Other threads wait for its end: numba knows one folder at a time.
    """
    folder = folder_of(function.__module__)
    config: Any = numba.config
    with _lock:
        _fetch(folder)
        previous = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder), _LOCATORS
        try:
            with _announced(function, folder):
                yield
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = previous


def _fetch(folder: Path) -> None:
    """Copy a missing folder from OTHER_CACHES, if it has one."""
    other = os.environ.get(OTHER_CACHES)
    if other and not folder.exists():
        with contextlib.suppress(OSError):
            shutil.copytree(Path(other, folder.name), folder)


def _announced(function: FunctionType, folder: Path) -> AbstractContextManager[object]:
    line = function.__code__.co_firstlineno
    is_silent = numba.config.DISABLE_JIT or any(folder.glob(f"*.{function.__name__}-{line}.*.nbi"))
    if is_silent or not _announcements:
        return contextlib.nullcontext()
    return _announcements[0](f"Compiling {function.__module__} for this machine, once")


class FolderLocator(UserProvidedCacheLocator):  # type: ignore[misc]
    """Keeps compiled functions in `CACHE_DIR` itself, whatever the path of their source file.

    The name of that folder says which sources they are compiled from.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return no subfolder, instead of one named after the path of the source file."""
        return ""

    def get_source_stamp(self) -> str:
        """Return a constant instead of the time at which the file was written."""
        return ""


#: Where numba looks for a folder that it can write: after our own, the folder of the source file.
_LOCATORS = f"{__name__}.FolderLocator,InTreeCacheLocator,UserWideCacheLocator"


def folder_of(module: str) -> Path:
    """Return the folder of the compiled functions of a module, which need not exist yet."""
    return caches() / f"{module}-{_digest(module)}"


def platform() -> str:
    """Return the versions of the libraries and the processor, on which compiled code depends."""
    versions = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{versions} {numba.__version__} {np.__version__} {llvm.get_host_cpu_name()}"


@functools.cache
def caches() -> Path:
    """Return the folder of all caches; removes those that were not used for KEPT_S."""
    caches = platformdirs.user_cache_path("playout") / "compiled"
    if caches.is_dir():
        for folder in caches.iterdir():
            with contextlib.suppress(OSError):  # another process may do the same
                if time.time() - folder.stat().st_mtime > KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)
    return caches


@functools.cache
def _digest(module: str) -> str:
    digest = hashlib.sha256(platform().encode())
    if not module.startswith(_PACKAGE):  # another copy may import other files of the same name
        digest.update(str(sys.modules[module].__file__).encode())
    for name in sorted(_closure(module)):
        digest.update(name.encode() + _source(sys.modules[name]))
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[str]:
    """Return a module and all that it imports, directly or not, of its package and of Playout."""
    packages = {module.partition(".")[0], _PACKAGE}
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
