"""The text of SGF files (https://www.red-bean.com/sgf/): properties, game trees and points.

Names of properties in files of FF[1] to FF[3] may have small letters, which do not count: `SiZe` is
`SZ`, and `Black` is `B`. Some programs write `sz` and `BLACK`, which are read, too.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from playout.protocol import text_files
from playout.protocol.text_files import TextFileError, lines_of

#: The letters of columns and rows: a is the first one, A the 27th.
LETTERS = string.ascii_letters
#: The colours of the players who move first and second.
COLOURS = {1: "B", 2: "W"}
_PROPERTY = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*)\s*(?=\[)")
_SMALL = re.compile("[a-z]+")
#: Names of older files, which some programs write without capital letters or with them only.
_LONG = {
    "black": "B", "white": "W", "addblack": "AB", "addwhite": "AW", "addempty": "AE", "size": "SZ",
    "komi": "KM", "handicap": "HA", "player": "PL", "game": "GM",
}  # fmt: skip
_CHARSET = re.compile(rb"CA\s*\[\s*([A-Za-z0-9_-]{1,20})\s*\]")
#: The encodings of files that do not name theirs, if their letters above ASCII come in pairs.
_ASIAN = "gb18030"
_VALUE = re.compile(r"\s*\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_KOMI = re.compile(r"[+-]?(?:[0-9]{1,6}(?:\.[0-9]{0,6})?|\.[0-9]{1,6})")
#: From this number on, a komi is in hundredths.
_HUNDREDTHS = 100
#: The unit behind a komi.
_UNIT = re.compile(r"(?<=[0-9\u00bd])\s*(?:points?|pts?\.?|moku|\u76ee)$", re.IGNORECASE)
_BEGIN = re.compile(r"\(\s*;")


class SgfError(ValueError):
    """Raised for a text that is no SGF; `line` is the number of the faulty line, from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class SgfProperty(NamedTuple):
    """A property of a node, the line on which it begins, and its values as they are written."""

    line: int
    name: str
    values: tuple[str, ...]


def decoded(data: bytes) -> str:
    """Return the text of a file, in the encoding that it names (`CA`). Raises TextFileError."""
    if not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        named = _CHARSET.search(data[:4096])
        for encoding in (named[1].decode(), "utf-8") if named else ("utf-8",):
            with contextlib.suppress(LookupError, UnicodeError):
                return lines_of(data.decode(encoding))
    try:
        return text_files.decoded(data)
    except TextFileError:
        with contextlib.suppress(UnicodeError):
            return lines_of(data.decode(_ASIAN))
        return text_files.decoded(data, names_matter=False)


def komi_of(text: str) -> float | None:
    """Return the points of the property `KM`, None for an empty one. Raises ValueError.

    Servers write 7.5 points also as 750 and as 375, in hundredths of points and of pairs of points;
    `3.75` is in pairs, too, because points have no quarters. A comma may be the decimal point, a
    half is also written as `½`, a unit may follow, and `?` stands for none.
    """
    written = _UNIT.sub("", text.strip()).replace(",", ".").replace("\u00bd", ".5")
    if written in ("", "?"):
        return None
    if not _KOMI.fullmatch(written):
        raise ValueError(f"{text[:20]!r} is no komi: expected a number of points, as in KM[7.5]")
    points = float(written)
    if abs(points) >= _HUNDREDTHS:
        points /= 100
    return points if (2 * points).is_integer() else 2 * points


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
            yield SgfProperty(start, _short_name(found[1]), tuple(values))
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


def escaped(text: str) -> str:
    """Escape the text of a property, also colons, which some readers take for separators."""
    return "".join("\\" + letter if letter in "\\]:" else letter for letter in text)


def _short_name(name: str) -> str:
    """Return the name of a property as FF[4] writes it."""
    return _LONG.get(name.lower()) or _SMALL.sub("", name) or name.upper()


def column_and_row(point: str) -> tuple[int, int] | None:
    """Return the column and the row of a point, from 0 at the top left; None if it is no point."""
    if len(point) != 2 or not set(point) <= set(LETTERS):
        return None
    column, row = map(LETTERS.index, point)
    return column, row
