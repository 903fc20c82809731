"""Finds classes by name: in the modules of a package, and in entry points of other packages."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from playout.games.core import spec
from playout.games.core.game import Game

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


def file_hint(kind: str, base: str, name: str, folder: Path) -> spec.SpecError | None:
    """Return the error for a name that is a Python file in the folder, or its module; else None.

    It says how the class in the file is named: the first one whose bases end with `base`. The name
    must be typed by the user of this process, as the file is read.
    """
    path, _, given = name.partition(":")
    module = path.removesuffix(".py")
    file = folder / f"{module}.py"
    if path == module and (given or not file.is_file()):
        return None
    classes = [given] if given else []
    with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        for each in ast.parse(file.read_bytes()).body:
            if isinstance(each, ast.ClassDef):
                bases = map(ast.unparse, each.bases)
                classes += [each.name] if any(one.endswith(base) for one in bases) else []
    target = f"{module}:{classes[0] if classes else f'My{base}'}"
    return spec.SpecError(f"a {kind} in a file is named by its module and class: {target!r}")


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


def classes_of(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the subclasses of `base` that `module` defines."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]


def only_class(module: ModuleType, base: type[T]) -> type[T]:
    """The one subclass of `base` that `module` defines. Raises TypeError for none or several."""
    here = classes_of(module, base)
    if len(here) != 1:
        raise TypeError(
            f"{module.__name__} must define one subclass of {base.__name__}, not {len(here)}"
        )
    return here[0]


# Games of the user's own files: registered by name, for this process and those that it starts.
#
# A game is registered at the command line, as `module:Class`. From then on its name stands for this
# class, like the name of an installed game. A name that was not registered imports nothing, so that
# a name from the network cannot choose what is imported.


#: The environment variable that tells child processes the registered games.
VARIABLE = "PLAYOUT_GAMES"

#: The package whose classes are no games, but are derived from by games.
_CORE = __name__.rpartition(".")[0] + "."
_TARGET = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class OwnGame:
    """A registered game: its class as `module:Class`, and a folder in which the module may be."""

    target: str
    folder: str


def is_target(text: str) -> bool:
    """Whether a specification names a class instead of a known game: it has a colon."""
    return ":" in text.partition("(")[0]


def registered() -> Mapping[str, OwnGame]:
    """Return the registered games by name."""
    return _parsed(os.environ.get(VARIABLE, ""))


def as_argument(game: str) -> str:
    """Return a specification as commands take it: with module:Class if the game is registered."""
    name = spec.parse(game).name
    own = registered().get(name)
    return game.replace(name, own.target, 1) if own else game


def environment() -> dict[str, str]:
    """Return the variables with which another process knows the same games."""
    return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def load_class(game: OwnGame) -> type[Game]:
    """Import the class of a game, from its folder unless the path of imports has the module.

    Raises SpecError.
    """
    if not _TARGET.fullmatch(game.target):
        raise spec.SpecError(f"cannot read the game {game.target!r}: write it as module:Class")
    if game.folder not in sys.path:
        sys.path.append(game.folder)  # at its end: a file there does not hide an installed module
    try:
        return find_class(Game, "game", game.target)
    except spec.SpecError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            where = f"modules are looked for in {game.folder} and on PYTHONPATH"
            raise spec.SpecError(f"{error}; {where}") from error
        raise


def add(name: str, game: OwnGame) -> None:
    """Register a game, for this process and its child processes, unless its name is registered."""
    games = {name: game, **registered()}
    os.environ[VARIABLE] = json.dumps({key: asdict(each) for key, each in games.items()})


def family_of(make: type[Game]) -> str:
    """Return the name of a game by its class, or of the game from which its class is derived."""
    bases = [each for each in make.__mro__ if issubclass(each, Game)]
    return name_of([each for each in bases if not each.__module__.startswith(_CORE)][-1])


def name_of(make: type[Game]) -> str:
    """Return the name of a game by its class: `dots_and_boxes` of DotsAndBoxes."""
    return _WORDS.sub("_", make.__name__).lower().strip("_")


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> Mapping[str, OwnGame]:
    return {name: OwnGame(**each) for name, each in json.loads(text).items()} if text else {}
