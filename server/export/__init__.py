"""Stored matches as text that others can read, and back."""

from __future__ import annotations

from collections.abc import Callable

from server.export import jsonl, pgn, sgf
from server.model.records import StoredMatch

#: Makes text of a match; the texts of several, one after the other, are a file.
Writer = Callable[[StoredMatch], str]


def _auto(kept: StoredMatch) -> str:
    """SGF for a match of placing stones, text in the manner of PGN for any other."""
    try:
        return sgf.write(kept)
    except sgf.Unsuitable:
        return pgn.write(kept)


_WRITERS: dict[str, Writer] = {
    "jsonl": jsonl.write,
    "sgf": sgf.write,
    "pgn": pgn.write,
    "auto": _auto,
}

FORMATS = tuple(_WRITERS)


def writer(format_: str) -> Writer:
    """The function for one of FORMATS. It raises ValueError for a match that cannot be written."""
    return _WRITERS[format_]
