"""Takes values from a TOML table, and notes what is wrong with them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TypeVar

from games.core import spec
from server.tournament import validators
from server.tournament.toml_lines import Path
from server.tournament.validators import Check

T = TypeVar("T")


class Faults:
    """All that is wrong, each with the line after which it is sorted."""

    def __init__(self, where: str, lines: Mapping[Path, int]) -> None:
        self.found: list[tuple[int, str]] = []
        self._where = where
        self._lines = lines
        self._paths: set[Path] = set()

    def add(self, path: Path, text: str) -> None:
        """Adds a fault of the value at `path`, or where that should be."""
        line = self._line(path)
        self._paths.add(path)
        self.found.append((line, f"{self._where}:{line}: {text}"))

    def add_new(self, path: Path, text: str) -> None:
        """Adds a fault, unless the value or what it is in has one already."""
        if not any(path[:length] in self._paths for length in range(1, len(path) + 1)):
            self.add(path, text)

    def add_elsewhere(self, path: Path, place: str, text: str) -> None:
        """A fault in another file, which `path` names."""
        self.found.append((self._line(path), f"{place}: {text}"))

    def _line(self, path: Path) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


class TomlTable:
    """A table of the file, from which values are taken. What is wrong with them is noted."""

    def __init__(self, values: Mapping[str, object], path: Path, kind: str, faults: Faults):
        self.path = path
        self._values = values
        self._kind = kind
        self._faults = faults
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, text: str, *keys: str | int) -> None:
        """Something is wrong with what the keys lead to; without keys, with the table."""
        self._faults.add((*self.path, *keys), text)

    def fault_elsewhere(self, key: str, place: str, text: str) -> None:
        """Something is wrong with a file that the key names."""
        self._faults.add_elsewhere((*self.path, key), place, text)

    def take(self, key: str, check: Check[T], default: T) -> T:
        """A value that may be left out."""
        self._known.append(key)
        return self._checked(check, self._values[key], key, default) if key in self else default

    def need(self, key: str, check: Check[T], instead: T) -> T:
        """A value that must be there; `instead`, to go on with, if it is not or is wrong."""
        if key not in self:
            self.fault(f"{self._kind} needs {key!r}", key)
        return self.take(key, check, instead)

    def elements(self, key: str, check: Check[T], instead: T) -> list[T]:
        """The values of a list that must be there."""
        nothing: list[object] = []
        values = self.need(key, validators.list_, nothing)
        return [self._checked(check, each, key, instead, i) for i, each in enumerate(values)]

    def table(self, key: str, kind: str) -> TomlTable:
        """A table within this one; an empty one where there is none."""
        nothing: dict[str, object] = {}
        return TomlTable(
            self.take(key, validators.table, nothing), (*self.path, key), kind, self._faults
        )

    def tables(self, key: str, kind: str) -> Iterator[TomlTable]:
        """The tables of a list that must be there."""
        for i, values in enumerate(self.elements(key, validators.table, None)):
            if values is not None:
                yield TomlTable(values, (*self.path, key, i), kind, self._faults)

    def close(self, above: Container[str] = (), what: str = "") -> None:
        """There is nothing else to take; keys that belong `above` come before `what`."""
        for key in self._values:
            if key in self._known:
                continue
            if key in above:
                self.fault(f"{key} must stand above {what}, where the tournament's keys are", key)
            else:
                self.fault(str(spec.unknown(f"key of {self._kind}", key, self._known)), key)

    def _checked(self, check: Check[T], value: object, key: str, instead: T, *place: int) -> T:
        try:
            return check(value)
        except ValueError as error:
            self.fault(f"{key}: {error}", key, *place)
            return instead
