"""The text of GTP 2: commands, responses, colours, numbers and boards.

http://www.lysator.liu.se/~gunnar/gtp/gtp2-spec-draft2/gtp2-spec.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from playout.games import BoardView
from playout.players.engines.vertices import GtpVertices

#: The colours of seats 1 and 2. Black moves first.
COLOURS = {1: "black", 2: "white"}
#: The stones of both seats, and an empty cell, as GoGui reads them.
STONES = {0: ".", 1: "X", 2: "O"}

_ID = re.compile(r"([0-9]{1,18})(?:\s+|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class GtpError(ValueError):
    """Raised for a command that fails; the message is the response after `?`."""


class GtpCommand(NamedTuple):
    """A command: its number as text, or "", its name and its arguments."""

    number: str
    name: str
    arguments: list[str]


def parse_command(line: str) -> GtpCommand | None:
    """Return the command of a line; None for an empty line and a comment."""
    text = _CONTROL.sub("", line).partition("#")[0].strip()
    number = ""
    if found := _ID.match(text):
        number, text = found[1], text[found.end() :]
    if not text:
        return None
    name, *arguments = text.split()
    return GtpCommand(number, name, arguments)


def interrupts(lines: Sequence[str | None]) -> bool:
    """Return whether one of these lines is the comment by which GoGui interrupts a command."""
    return any(line is not None and line.split() == ["#", "interrupt"] for line in lines)


def response(command: GtpCommand, text: str, *, failed: bool = False) -> str:
    """Return the response to a command, with the empty line that ends it, but not its end."""
    gap = "" if text.startswith("\n") else " "
    return f"{response_head(command, failed=failed)}{gap}{text}".rstrip() + "\n"


def response_head(command: GtpCommand, *, failed: bool = False) -> str:
    """Return the beginning of a response: `=` or `?`, and the number of the command."""
    return f"{'?' if failed else '='}{command.number}"


def seat_of(colour: str) -> int:
    """Return the seat of a colour, in upper or lower case. Raises GtpError."""
    for seat, name in COLOURS.items():
        if colour.lower() in (name, name[0]):
            return seat
    raise GtpError(f"{colour!r} is no colour: expected black, white, b or w")


def whole_number(text: str, low: int, high: int) -> int:
    """Return a whole number within bounds, both included. Raises GtpError."""
    if not (re.fullmatch("-?[0-9]{1,18}", text) and low <= int(text) <= high):
        raise GtpError(f"expected a whole number from {low} to {high}, not {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Return a time in seconds, 0 or more. Raises GtpError.

    The specification has whole seconds; programs with finer clocks send fractions.
    """
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise GtpError(f"expected a number of seconds, 0 or more, not {text!r}")
    return float(text)


def rows_of_stones(view: BoardView) -> list[str]:
    """Return the rows of a board from the top, with a character for each cell."""
    rows = (
        view.cells[first : first + view.columns]
        for first in range(0, len(view.cells), view.columns)
    )
    return [" ".join(STONES[owner] for owner in row) for row in rows]


def board_with_vertices(view: BoardView, vertices: GtpVertices) -> str:
    """Return the board from its top, with the columns and rows of GTP at its edges."""
    letters = f"   {' '.join(vertices.letters[: view.columns])}"
    lines = [letters]
    for row, stones in enumerate(rows_of_stones(view)):
        number = vertices.name(row * view.columns)[1:]
        lines.append(f"{number:>2} {stones} {number}")
    return "\n".join([*lines, letters])
