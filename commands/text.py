"""Text for people and for spreadsheets: without control characters, in lines, with numbers.

And new files of text, for commands that make the files of a user.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from playout.protocol.names import HIDDEN

#: The longest line of moves, in characters.
COLUMNS = 80

#: The text for an unknown number.
UNKNOWN = "\N{EN DASH}"

#: The first characters with which spreadsheets take a text for a formula, also the wide ones.
_FORMULA = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "'")
_HIDDEN = re.compile(f"[{HIDDEN}]")


def plain(text: str) -> str:
    """Return the text with a space in place of each character that is not shown as itself.

    These are control characters, such as a line break or the start of a command to a terminal, and
    marks that change the direction of text.
    """
    return _HIDDEN.sub(" ", text)


def printable(text: str) -> str:
    """Return the lines of a text, each of them `plain`, for terminals and logs."""
    return "\n".join(map(plain, text.split("\n")))


def beginning(text: str, most: int) -> str:
    """Return the first characters of a text of a stranger, with U+FFFD for unprintable ones."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text[:most])


def as_file_name(text: str) -> str:
    """Return a text with hyphens in place of all but letters, digits and underscores."""
    return re.sub(r"[^\w]+", "-", text).strip("-")


def csv_text(rows: Iterable[Iterable[str | float | None]]) -> str:
    """Return rows as CSV after RFC 4180, except that lines end with a line feed.

    A text is on one line; one that a spreadsheet would compute gets an apostrophe, after OWASP,
    "CSV Injection". An apostrophe at the start is doubled, so that the original text can be
    recovered. Numbers stay as they are, and None is an empty cell.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: str | float | None) -> str | float | None:
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def filled(pieces: Iterable[str], between: str = "") -> str:
    """Return the pieces on lines of at most COLUMNS characters, unless a piece is longer."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(between) + len(piece) > COLUMNS:
            lines.append("")
        lines[-1] += (between if lines[-1] else "") + piece
    return "\n".join(lines)


def utc(at: float) -> datetime:
    """Return the UTC date and time of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share, 0 to 1, as in `87.5%`; a dash if it is unknown."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f}%"


def counted(number: int, one: str) -> str:
    """Return a number with its noun, as in `1 pair`, `2 pairs`, `3 matches`, `4 plies`."""
    if number == 1:
        return f"1 {one}"
    if one.endswith("y") and one[-2:-1] not in "aeiou":
        return f"{number} {one.removesuffix('y')}ies"
    return f"{number} {one}{'es' if one.endswith('ch') else 's'}"


def write_new(files: Mapping[Path, str], remedy: str) -> None:
    """Write new files, by path; if one exists, write none.

    Raises UsageError with the remedy if one exists, ClickException for any other fault.
    """
    for path in files:
        if os.path.lexists(path):
            raise click.UsageError(f"{path} exists: {remedy}")
    for path, text in files.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:  # another process was quicker
            raise click.UsageError(f"{path} exists: {remedy}") from None
        except OSError as error:
            raise click.ClickException(f"{path}: {error.strerror}") from error
