"""Finds classes by name: in the modules of a package, and in entry points of other packages."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import TypeVar

from games.core import spec

T = TypeVar("T")

#: The entry point group of boards of the original system.
ORIGINAL_BOARDS = "jrb_board.games"


@functools.cache
def built_in(package: ModuleType) -> tuple[str, ...]:
    """Return the names of the plain modules of `package`, without subpackages, sorted."""
    found = pkgutil.iter_modules(package.__path__)
    return tuple(sorted(m.name for m in found if not m.ispkg))


@functools.cache
def _outside(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def outside(group: str) -> tuple[str, ...]:
    """Return the names of the entry points of `group`, sorted."""
    return tuple(sorted(_outside(group)))


def names(package: ModuleType, group: str) -> list[str]:
    """Return all names that `find` accepts, sorted."""
    return sorted({*built_in(package), *_outside(group)})


def find(package: ModuleType, group: str, base: type[T], kind: str, name: str) -> type[T]:
    """Return the subclass of `base` called `name`, in `package.name` or an entry point of `group`.

    Raises SpecError for an unknown name, and for an entry point that is not such a class.
    """
    if name in built_in(package):
        return only_class(importlib.import_module(f"{package.__name__}.{name}"), base)
    if name not in _outside(group):
        raise spec.unknown(kind, name, names(package, group))
    return find_outside(group, base, kind, name)


def find_outside(group: str, base: type[T], kind: str, name: str) -> type[T]:
    """Return the subclass of `base` that an entry point of `group` names. Raises SpecError."""
    if name not in _outside(group):
        raise spec.unknown(kind, name, outside(group))
    return find_class(base, kind, _outside(group)[name].value)


def find_class(base: type[T], kind: str, target: str) -> type[T]:
    """Return the subclass of `base` that `module:Class` names. Raises SpecError."""
    try:
        found = EntryPoint(name="", value=target, group="").load()
    except Exception as error:  # whatever a plugin raises on import, its user reads one line
        raise spec.SpecError(f"the {kind} {target!r} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise spec.SpecError(
            f"the {kind} {target!r} is {found!r}, not a subclass of {base.__name__}"
        )
    return found


def create(make: type[T], *arguments: object, **options: object) -> T:
    """Return an instance of `make`. Raises SpecError, also for any exception of a plugin."""
    missing = sorted(getattr(make, "__abstractmethods__", ()))
    if missing:
        raise spec.SpecError(f"{make.__name__} does not define {', '.join(missing)}")
    try:
        return make(*arguments, **options)
    except spec.SpecError:
        raise
    except Exception as error:
        purpose = "".join(f" for {each}" for each in arguments)
        raise spec.SpecError(f"{make.__name__} cannot be created{purpose}: {error!r}") from error


def only_class(module: ModuleType, base: type[T]) -> type[T]:
    """The one subclass of `base` that `module` defines. Raises TypeError for none or several."""
    here = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]
    if len(here) != 1:
        raise TypeError(
            f"{module.__name__} must define one subclass of {base.__name__}, not {len(here)}"
        )
    return here[0]
