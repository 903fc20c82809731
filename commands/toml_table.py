"""Reads TOML files: takes checked values from tables, and collects the faults with their lines.

A `Check` returns the canonical form of a value, or raises ValueError with what is allowed; checks
serve for the values of messages, too.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from playout import games
from playout.commands import toml_lines
from playout.commands.text import beginning, counted
from playout.commands.toml_lines import lines_of
from playout.games import Game
from playout.games.core import spec
from playout.protocol import names
from playout.protocol.text_files import TextFileError, decoded
from playout.protocol.time_control import canonical_time_control

T = TypeVar("T")
#: Returns the canonical form of a value. Raises ValueError, which says what is allowed.
Check = Callable[[object], T]

#: The lowest and the highest whole number of TOML.
WHOLE = (-(2**63), 2**63 - 1)
#: The longest path of a file, in characters.
LONGEST_PATH = 500
_SCHEDULER = re.compile(r"[a-z]+://\S+:\d+")
#: Maximum number of bytes of a file.
_MOST_BYTES = 2**24
#: Maximum number of faults that are shown, and of characters of a fault and of an unknown key.
_MOST_SHOWN, _LONGEST, _LONGEST_KEY = 15, 600, 50


def text(value: object) -> str:
    """Return a text; raise ValueError for any other type."""
    if not isinstance(value, str):
        raise _expected("text in quotes", value)
    return value


def list_(value: object) -> list[object]:
    """Return a list with one element or more; raise ValueError for any other value."""
    if not isinstance(value, list) or not value:
        raise _expected("a list of one or more", value)
    return value


def table(value: object) -> dict[str, object]:
    """Return a table; raise ValueError for any other type."""
    if not isinstance(value, dict):
        raise _expected("a table, { key = value }", value)
    return value


@dataclass(frozen=True)
class OneOf:
    """A check for one of the allowed words; `kind` names them in errors."""

    kind: str
    allowed: Sequence[str]

    def __call__(self, value: object) -> str:
        """Return the word; raise ValueError for other values."""
        chosen = text(value)
        if chosen not in self.allowed:
            raise spec.unknown(self.kind, chosen, self.allowed)
        return chosen


def one_of(kind: str, allowed: Sequence[str]) -> Check[str]:
    """Return a check for one of the allowed words; `kind` names them in errors."""
    return OneOf(kind, allowed)


def whole(low: int, high: int) -> Check[int]:
    """Return a check for a whole number within bounds, both included."""

    def check(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _expected(f"a whole number from {low} to {high}", value)
        return value

    return check


def number(low: float, high: float) -> Check[float]:
    """Return a check for a number within bounds, both included."""
    allowed = f"a number from {low:.10g} to {high:.10g}"

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _expected(allowed, value)
        if not low <= value <= high:
            raise _expected(allowed, value)
        return float(value)

    return check


def risk(value: object) -> float:
    """Return a probability of error, between 0 and 0.5; raise ValueError for other values."""
    if not isinstance(value, float) or not 0 < value < 0.5:
        raise _expected("a number between 0 and 0.5", value)
    return value


def truth(value: object) -> bool:
    """Return a boolean; raise ValueError for any other type."""
    if not isinstance(value, bool):
        raise _expected("true or false", value)
    return value


def moment(value: object) -> datetime:
    """Return a time with its offset from UTC, also of a text; raise ValueError for other values."""
    found = value
    with contextlib.suppress(ValueError):
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(found, datetime) or found.tzinfo is None:
        raise ValueError(
            "must be a date and time with an offset from UTC, as in 2026-12-18T20:00:00+01:00, "
            f"not {value}"
        )
    return found


def visible(longest: int) -> Check[str]:
    """Return a check for text of visible characters; blanks at its ends are removed."""

    def check(value: object) -> str:
        stripped = text(value).strip()
        if not 1 <= len(stripped) <= longest:
            raise ValueError(f"must be 1 to {longest} visible characters")
        if found := names.invisible_in(stripped):
            raise ValueError(f"must be 1 to {longest} visible characters, without {found}")
        return stripped

    return check


def name(value: object) -> str:
    """Return a player's name as the server shows it; raise ValueError if it is not allowed."""
    return names.normalised(text(value))


def game(value: object) -> Game:
    """Return the game that a text names, with its parameters; raise SpecError without one."""
    return games.load(text(value))


def clock(value: object) -> str:
    """Return the canonical notation of a time control. Raises TimeControlError."""
    return canonical_time_control(text(value))


def scheduler(value: object) -> str:
    """Return the address of a scheduler of Dask; raise ValueError for other values."""
    found = text(value)
    if not _SCHEDULER.fullmatch(found):
        expected = "must be the address that dask scheduler prints, as in tcp://10.0.0.1:8786"
        raise ValueError(f"{expected}, not {found!r}")
    return found


def player(value: object) -> str:
    """Return a player with its options; raise SpecError if it cannot be parsed.

    Whether the player exists and has these options is not checked.
    """
    spelled = text(value).strip()
    spec.parse(spelled)
    return spelled


def options(value: object) -> dict[str, str]:
    """Return options of a player as texts, by name; raise ValueError if one cannot be written.

    A player with its options is one text, in which commas and parentheses have a meaning.
    """
    found = {}
    for key, each in table(value).items():
        if not isinstance(each, bool | int | float | str):
            raise ValueError(f"{key} must be a number, text, true or false, not {_shown(each)}")
        written = spec.spelled(each).strip()
        if not written or set(written) & set(",()") or not re.fullmatch(r"\w+", key):
            raise ValueError(f"{key} = {written[:50]!r} cannot be an option of a player")
        found[key] = written
    return found


def command(value: object) -> str:
    """Return a command line with quotes as for a shell; raise ValueError without a program."""
    line = visible(1000)(value)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"cannot be split into words as a shell does: {error}") from None
    if not (words and words[0]):
        raise ValueError("must name a program")
    return line


def _expected(allowed: str, value: object) -> ValueError:
    return ValueError(f"must be {allowed}, not {_shown(value)}")


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) > WHOLE[1]:
            return "a number of more than 64 bits"
        case str():
            return repr(value if len(value) <= 50 else value[:49] + "…")
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
    return str(value)


class Faults:
    """The faults of a file, sorted by their lines.

    `where` is the name of the file; if it is empty, the texts name no lines.
    """

    def __init__(self, where: str, lines: Mapping[toml_lines.Path, int]) -> None:
        self.found: list[tuple[int, str]] = []
        #: The faults with the paths of their values: line, path, text without the place.
        self.placed: list[tuple[int, toml_lines.Path, str]] = []
        #: Warnings, which do not make the file invalid.
        self.notes: list[str] = []
        self._where = where
        self._lines = lines
        self._paths: set[toml_lines.Path] = set()

    def add(self, path: toml_lines.Path, text: str) -> None:
        """Add a fault of the value at `path`, or of the place where the value is missing."""
        line = self._line(path)
        self._paths.add(path)
        place = f"{self._where}:{line}: " if self._where else ""
        self.found.append((line, place + beginning(text, _LONGEST)))
        self.placed.append((line, path, beginning(text, _LONGEST)))

    def add_new(self, path: toml_lines.Path, text: str) -> None:
        """Add a fault, unless the value, or a table or list around it, has one already."""
        if not any(path[:length] in self._paths for length in range(1, len(path) + 1)):
            self.add(path, text)

    def add_elsewhere(self, path: toml_lines.Path, place: str, text: str) -> None:
        """Add a fault in another file, which the value at `path` names."""
        found = f"{place}: {beginning(text, _LONGEST)}"
        self.found.append((self._line(path), found))
        self.placed.append((self._line(path), path, found))

    def text(self) -> str:
        """Return the first faults in the order of their lines, a line of text for each."""
        found = sorted(self.found, key=lambda fault: fault[0])
        texts = [text for _, text in found[:_MOST_SHOWN]]
        if len(found) > _MOST_SHOWN:
            place = f"{self._where}:{found[_MOST_SHOWN][0]}: " if self._where else ""
            texts.append(f"{place}{counted(len(found) - _MOST_SHOWN, 'more error')}")
        return "\n".join(texts)

    def _line(self, path: toml_lines.Path) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


class TomlTable:
    """A table of a file, from which values are taken; faults of the values are collected."""

    def __init__(
        self, values: Mapping[str, object], path: toml_lines.Path, kind: str, faults: Faults
    ):
        self.path = path
        self._values = values
        self._kind = kind
        self._faults = faults
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, text: str, *keys: str | int) -> None:
        """Add a fault of the value that the keys lead to; without keys, of the table."""
        self._faults.add((*self.path, *keys), text)

    def note(self, text: str) -> None:
        """Add a warning, which does not make the file invalid."""
        self._faults.notes.append(text)

    def fault_elsewhere(self, key: str, place: str, text: str) -> None:
        """Add a fault in a file that the value of the key names."""
        self._faults.add_elsewhere((*self.path, key), place, text)

    def take(self, key: str, check: Check[T], default: T) -> T:
        """Return the value of an optional key, or `default` if it is missing or wrong."""
        self._known.append(key)
        return self._checked(check, self._values[key], key, default) if key in self else default

    def need(self, key: str, check: Check[T], instead: T) -> T:
        """Return the value of a required key, or `instead` if it is missing or wrong."""
        if key not in self:
            self.fault(f"{self._kind} needs {key!r}", key)
        return self.take(key, check, instead)

    def elements(self, key: str, check: Check[T], instead: T) -> list[T]:
        """Return the values of a required list, with `instead` for each wrong one."""
        nothing: list[object] = []
        values = self.need(key, list_, nothing)
        return [self._checked(check, each, key, instead, i) for i, each in enumerate(values)]

    def table(self, key: str, kind: str) -> TomlTable:
        """Return a table within this one; an empty one if it is missing or wrong."""
        nothing: dict[str, object] = {}
        return self._inner(self.take(key, table, nothing), kind, key)

    def tables(self, key: str, kind: str) -> Iterator[TomlTable]:
        """Yield the tables of a required list, without wrong ones."""
        for i, values in enumerate(self.elements(key, table, None)):
            if values is not None:
                yield self._inner(values, kind, key, i)

    def _inner(self, values: Mapping[str, object], kind: str, *keys: str | int) -> TomlTable:
        return TomlTable(values, (*self.path, *keys), kind, self._faults)

    def close(self, above: Container[str] = (), what: str = "") -> None:
        """Add a fault for each key that was not taken; keys of `above` belong before `what`."""
        for key in self._values:
            if key in self._known:
                continue
            if key in above:
                self.fault(f"{key} must stand above {what}, where the tournament's keys are", key)
            else:
                shown = key[:_LONGEST_KEY]
                self.fault(str(spec.unknown(f"key of {self._kind}", shown, self._known)), key)

    def _checked(self, check: Check[T], value: object, key: str, instead: T, *place: int) -> T:
        try:
            return check(value)
        except ValueError as error:
            self.fault(f"{key}: {error}", key, *place)
            return instead


#: Remedies for frequent errors of syntax, by the beginning of tomllib's message.
_REMEDIES = {
    "Invalid value": " (text stands in quotes)",
    "Illegal character '\\n'": " (the quotes are not closed)",
    "Cannot declare ('entrants',) twice": " (each entrant begins with [[entrants]])",
    "Cannot overwrite a value": " (the key is there twice)",
    "Invalid hex value": " (within single quotes, a backslash is itself)",
    "Unescaped '\\' in a string": " (within single quotes, a backslash is itself)",
}
#: A quotation mark of word processors before the first straight one; behind it, it may be text.
_CURLY = re.compile("[^\"'#]*?([\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb])")
_AT_LINE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)


class TomlError(ValueError):
    """A file that cannot be read, or is not TOML; the message begins with its place."""


def text_of(path: Path, where: str = "") -> str:
    """Return the text of a file. Raises TomlError.

    `where`: the name of the file in errors, by default its path.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise TomlError(f"{where or path}: has more than {_MOST_BYTES // 2**20} MiB")
        return decoded(content)
    except OSError as error:
        raise TomlError(f"{where or path}: {error.strerror}") from error
    except TextFileError as error:
        raise TomlError(f"{where or path}: {error}") from error


def load(text: str, where: str) -> tuple[dict[str, Any], Faults]:
    """Return the values of a text, and an empty collection for its faults.

    `where`: the name of the file, for errors. Raises TomlError.
    """
    try:
        text.encode()
        values = tomllib.loads(text)
        return values, Faults(where, lines_of(text))
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{where}:{_located(str(error), text)}") from None
    except RecursionError:
        raise TomlError(f"{where}:1: lists and tables are nested too deeply") from None
    except ValueError:
        raise TomlError(
            f"{where}:1: a number with thousands of digits, or text that is not UTF-8"
        ) from None


def notation(value: str | float | bool) -> str:
    """Return the TOML notation of a value."""
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


def _located(error: str, text: str) -> str:
    """Return an error of tomllib with its line, the text there and, for some, a remedy."""
    found = _AT_LINE.fullmatch(error)
    if not found:
        return f"1: {error}"
    lines = text.split("\n")
    number = min(int(found[2] or len(lines)), len(lines))
    shown = lines[number - 1].strip()
    remedy = _remedy(found[1], shown)
    return f"{number}: {found[1]}{remedy}" + (f": {shown[:60]}" if shown.isprintable() else "")


def _remedy(error: str, line: str) -> str:
    """Return what is probably wrong with a line, in brackets; "" if that is not known."""
    if curly := _CURLY.match(line):
        return f" (a straight quotation mark is expected, not {curly[1]})"
    if hidden := next((each for each in line if not each.isprintable() and each != "\t"), ""):
        return f" (the line has the invisible character U+{ord(hidden):04X})"
    return next((text for start, text in _REMEDIES.items() if error.startswith(start)), "")
