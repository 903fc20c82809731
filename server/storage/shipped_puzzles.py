"""The puzzles that come with Playout, so that a new server has some."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from playout.protocol.puzzles import Puzzle

#: The file in this folder, with puzzles that `playout-server puzzles --random` has found.
FILE = "puzzles.json"


def shipped_puzzles() -> list[Puzzle]:
    """Return all of them, by game."""
    data = files("playout.server.storage").joinpath(FILE).read_bytes()
    return msgspec.json.decode(data, type=list[Puzzle])
