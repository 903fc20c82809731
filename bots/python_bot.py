"""Plays a class of a Python file over lines of JSON; a program of its own, within a sandbox.

    python -m playout.bots.python_bot FILE.py

The file has one class of Playout's `Player`, besides those from which it is derived. What it prints
goes to standard error.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

from playout import games
from playout.games import Position
from playout.games.core.plugins import classes_of
from playout.players.core.player import Limit, Player


def main() -> int:
    """Answer positions until the input ends; return the exit code."""
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    make, player = _class_of(Path(sys.argv[1]).resolve()), None
    for line in sys.stdin:
        told = json.loads(line)
        game = games.load(told["game"])
        if player is None or games.usual(player.game) is not games.usual(game):
            player = make(game)
        player.game = game  # its first position may be another
        print(_answer(player, told), file=output)
    return 0


def _answer(player: Player, told: dict[str, Any]) -> int:
    """Return the action of a player in the position that a line describes."""
    position = Position(player.game, told["moves"])
    return int(player.choose(position, Limit(seconds=told["seconds"])).action)


def _class_of(file: Path) -> type[Player]:
    """Return the only class of a player in a file, besides its bases. Raises SystemExit."""
    sys.path.insert(0, str(file.parent))
    found = importlib.util.spec_from_file_location(file.stem, file)
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules[file.stem] = module
    found.loader.exec_module(module)
    concrete = [each for each in classes_of(module, Player) if not inspect.isabstract(each)]
    bases = {base for each in concrete for base in each.__mro__[1:]}
    classes = [each for each in concrete if each not in bases]
    if len(classes) != 1:
        names = ", ".join(each.__name__ for each in classes) or "none"
        sys.exit(f"{file.name} must have exactly one class of playout.players.Player, not {names}")
    return classes[0]


if __name__ == "__main__":
    sys.exit(main())
