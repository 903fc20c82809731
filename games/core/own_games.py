"""Games of the user's own files: registered by name, for this process and those that it starts.

A game is registered at the command line, as `module:Class`. From then on its name stands for this
class, as that of an installed game does. A name that was not registered imports nothing, so that a
name that comes from the network cannot choose what is imported.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from games.core import plugins, spec
from games.core.game import Game

#: The variable of the environment with which processes that this one starts know the same games.
VARIABLE = "PLAYOUT_GAMES"

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


def environment() -> dict[str, str]:
    """Return the variables with which another process knows the same games."""
    return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def load_class(game: OwnGame) -> type[Game]:
    """Import the class of a game: from its folder, unless it is elsewhere on the path of imports.

    Raises SpecError.
    """
    if not _TARGET.fullmatch(game.target):
        raise spec.SpecError(f"cannot read the game {game.target!r}: write it as module:Class")
    if game.folder not in sys.path:
        sys.path.append(game.folder)  # at its end: a file there does not hide an installed module
    try:
        return plugins.find_class(Game, "game", game.target)
    except spec.SpecError as error:
        if isinstance(error.__cause__, ModuleNotFoundError):
            where = f"modules are looked for in {game.folder} and on PYTHONPATH"
            raise spec.SpecError(f"{error}; {where}") from error
        raise


def add(name: str, game: OwnGame) -> None:
    """Register a game, for this process and those that it starts; a known one stays as it is."""
    games = {name: game, **registered()}
    os.environ[VARIABLE] = json.dumps({key: asdict(each) for key, each in games.items()})


def name_of(make: type[Game]) -> str:
    """Return the name of a game by its class: `dots_and_boxes` of DotsAndBoxes."""
    return _WORDS.sub("_", make.__name__).lower().strip("_")


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> Mapping[str, OwnGame]:
    return {name: OwnGame(**each) for name, each in json.loads(text).items()} if text else {}
