"""Reads the text of a TOML file; a fault of its syntax is reported with its line and a remedy."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from server.tournament.toml_lines import lines_of
from server.tournament.toml_table import Faults

#: What newcomers to TOML mostly mean, by the beginning of tomllib's message.
_REMEDIES = {
    "Invalid value": " (text stands in quotes)",
    "Illegal character '\\n'": " (the quotes are not closed)",
    "Cannot declare ('entrants',) twice": " (each entrant begins with [[entrants]])",
    "Cannot overwrite a value": " (the key is there twice)",
}
_AT_LINE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


class TomlSyntaxError(ValueError):
    """A text that is not TOML: a line of text, `SPEC.toml:7: ...`."""


def load(text: str, where: str) -> tuple[dict[str, Any], Faults]:
    """The values of a text, and the faults that it will have, none so far.

    `where`: the name of the file, for errors. Raises TomlSyntaxError.
    """
    try:
        text.encode()
        values = tomllib.loads(text)
        return values, Faults(where, lines_of(text))
    except tomllib.TOMLDecodeError as error:
        raise TomlSyntaxError(f"{where}:{_located(str(error), text)}") from None
    except RecursionError:
        raise TomlSyntaxError(f"{where}:1: lists and tables are too deep in each other") from None
    except ValueError:
        raise TomlSyntaxError(
            f"{where}:1: a number with thousands of digits, or no UTF-8"
        ) from None


def _located(error: str, text: str) -> str:
    """An error of tomllib with its line, the text there and, for a usual error, the remedy."""
    found = _AT_LINE.fullmatch(error)
    if not found:
        return f"1: {error}"
    lines = text.split("\n")
    number = min(int(found[2] or len(lines)), len(lines))
    remedy = next((text for start, text in _REMEDIES.items() if found[1].startswith(start)), "")
    shown = lines[number - 1].strip()
    return f"{number}: {found[1]}{remedy}" + (f": {shown[:60]}" if shown.isprintable() else "")
