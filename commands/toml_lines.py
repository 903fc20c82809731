"""The line of each key of a TOML text, which tomllib does not report.

The text must be valid TOML: tomllib has parsed it before.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

#: The keys, and places in lists from 0, that lead to a value.
Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""
    (?P<nothing> [ \t\r]+ | \#[^\n]* )
    | \"{3} (?: \\[\s\S] | [^\\] )*? \"{3,5}    # up to two more quotes belong to the string
    | '{3} [\s\S]*? '{3,5}
    | "(?: \\. | [^"\\] )*"
    | '[^']*'
    | [\n=.,{}\[\]]
    | [^\s=.,{}\[\]\#"']+
    """,
    re.VERBOSE,
)
_ENDS = {",", "]", "}", "\n"}


class _Token(NamedTuple):
    text: str
    line: int


def lines_of(text: str) -> dict[Path, int]:
    """Return the line, from 1, of each table, key and element of a list.

    A table that is named several times, as in dotted keys, has the line of its first name.
    """
    scanner = _Scanner(text)
    scanner.run()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._tokens = deque(_tokens(text))
        #: The number of elements so far of each list of tables, `[[...]]`.
        self._counts: dict[Path, int] = {}

    def run(self) -> None:
        table: Path = ()
        while self._tokens:
            if self._at("\n"):
                self._tokens.popleft()
            elif self._at("["):
                table = self._header()
            else:
                self._pair(table)

    def _at(self, text: str) -> bool:
        return bool(self._tokens) and self._tokens[0].text == text

    def _note(self, path: Path, line: int) -> Path:
        self.lines.setdefault(path, line)
        return path

    def _header(self) -> Path:
        line = self._tokens.popleft().line
        is_element = self._at("[")
        if is_element:
            self._tokens.popleft()
        *outer, last = self._keys()
        for _ in range(1 + is_element):
            self._tokens.popleft()
        path: Path = ()
        for key in outer:
            path = self._note((*path, key), line)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = self._note((*path, last), line)
        if is_element:
            count = self._counts.get(path, 0)
            self._counts[path] = count + 1
            path = self._note((*path, count), line)
        return path

    def _keys(self) -> list[str]:
        keys = [_key(self._tokens.popleft().text)]
        while self._at("."):
            self._tokens.popleft()
            keys.append(_key(self._tokens.popleft().text))
        return keys

    def _pair(self, path: Path) -> None:
        line = self._tokens[0].line
        for key in self._keys():
            path = self._note((*path, key), line)
        self._tokens.popleft()
        self._value(path)

    def _value(self, path: Path) -> None:
        match self._tokens.popleft().text:
            case "[":
                for place in itertools.takewhile(lambda _: self._more("]"), itertools.count()):
                    self._value(self._note((*path, place), self._tokens[0].line))
            case "{":
                while self._more("}"):
                    self._pair(path)
            case _:  # dates and fractions are several tokens
                while self._tokens and self._tokens[0].text not in _ENDS:
                    self._tokens.popleft()

    def _more(self, end: str) -> bool:
        """Whether another element comes before `end`; consumes `end` otherwise."""
        while self._at("\n") or self._at(","):
            self._tokens.popleft()
        if self._at(end):
            self._tokens.popleft()
            return False
        return True


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for found in _TOKEN.finditer(text):
        if found["nothing"] is None:
            yield _Token(found[0], line)
        line += found[0].count("\n")


def _key(text: str) -> str:
    if text[0] not in "\"'":
        return text
    key: str = tomllib.loads(f"key = {text}")["key"]
    return key
