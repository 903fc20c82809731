"""Formats of stored matches: writers for other programs and people, and a reader of JSON Lines."""

from __future__ import annotations

from collections.abc import Callable

from playout.server.export import backgammon, jsonl, pgn, sgf
from playout.server.model.records import StoredMatch

#: Writes a match as text; a file has the texts of several matches in sequence.
Writer = Callable[[StoredMatch], str]


def _auto(stored: StoredMatch) -> str:
    """SGF for backgammon and games of placing stones, PGN-like text for any other."""
    try:
        return sgf.write(stored)
    except sgf.Unsuitable:
        return pgn.write(stored)


_WRITERS: dict[str, Writer] = {
    "jsonl": jsonl.write,
    "sgf": sgf.write,
    "mat": backgammon.write_mat,
    "pgn": pgn.write,
    "auto": _auto,
}

FORMATS = tuple(_WRITERS)


def writer(format_: str) -> Writer:
    """The writer of one of FORMATS. It raises ValueError for a match that it cannot write."""
    return _WRITERS[format_]
