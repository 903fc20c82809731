"""The text of SGF files (https://www.red-bean.com/sgf/): properties, game trees and points."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple

#: The letters of columns and rows: a is the first one, A the 27th.
LETTERS = string.ascii_letters
_PROPERTY = re.compile(r"\s*([A-Za-z]+)\s*(?=\[)")
_VALUE = re.compile(r"\s*\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_BEGIN = re.compile(r"\(\s*;")


class SgfError(ValueError):
    """Raised for a text that is no SGF; `line` is that of the mistake, from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class SgfProperty(NamedTuple):
    """A property of a node, the line on which it begins, and its values as they are written."""

    line: int
    name: str
    values: tuple[str, ...]


def items(text: str) -> Iterator[str | SgfProperty]:
    """Yield the parentheses of game trees, and the properties. Raises SgfError."""
    begin = _BEGIN.search(text)
    place = begin.start() if begin else len(text)
    line, depth = 1 + text.count("\n", 0, place), 0
    while place < len(text):
        letter = text[place]
        if found := _PROPERTY.match(text, place) if depth else None:
            start, at = line + found[0].count("\n"), found.end()
            values: list[str] = []
            while value := _VALUE.match(text, at):
                values.append(value[1])
                at = value.end()
            if not values:
                raise SgfError(start, f"the value of {found[1]} is not closed by ']'")
            yield SgfProperty(start, found[1], tuple(values))
            line += text.count("\n", place, at)
            place = at
            continue
        if letter in "()":
            depth += 1 if letter == "(" else -1
            if depth < 0:
                raise SgfError(line, "a ')' without a game")
            yield letter
        elif letter == "\n":
            line += 1
        elif depth and letter != ";" and not letter.isspace():
            raise SgfError(line, f"{letter!r} is not expected here")
        place += 1
    if depth:
        raise SgfError(line, "a game that is not closed by ')'")


def column_and_row(point: str) -> tuple[int, int] | None:
    """Return the column and the row of a point, from 0 at the top left; None if it is no point."""
    if len(point) != 2 or not set(point) <= set(LETTERS):
        return None
    column, row = map(LETTERS.index, point)
    return column, row
