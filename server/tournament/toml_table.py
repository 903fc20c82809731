"""Takes values from a TOML table, and collects the faults with their lines."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TypeVar

from games.core import spec
from server.tournament import validators
from server.tournament.toml_lines import Path
from server.tournament.validators import Check

T = TypeVar("T")


class Faults:
    """The faults of a file, each with its line number, by which they are sorted.

    Without the name of a file, `where`, the faults have no places.
    """

    def __init__(self, where: str, lines: Mapping[Path, int]) -> None:
        self.found: list[tuple[int, str]] = []
        self._where = where
        self._lines = lines
        self._paths: set[Path] = set()

    def add(self, path: Path, text: str) -> None:
        """Adds a fault of the value at `path`, or where that should be."""
        line = self._line(path)
        self._paths.add(path)
        place = f"{self._where}:{line}: " if self._where else ""
        self.found.append((line, place + text))

    def add_new(self, path: Path, text: str) -> None:
        """Adds a fault, unless the value or what it is in has one already."""
        if not any(path[:length] in self._paths for length in range(1, len(path) + 1)):
            self.add(path, text)

    def add_elsewhere(self, path: Path, place: str, text: str) -> None:
        """Adds a fault in another file, which the value at `path` names."""
        self.found.append((self._line(path), f"{place}: {text}"))

    def text(self) -> str:
        """All faults in the order of their lines, a line of text for each."""
        return "\n".join(text for _, text in sorted(self.found, key=lambda fault: fault[0]))

    def _line(self, path: Path) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


class TomlTable:
    """A table of the file, from which values are taken; faults of the values are collected."""

    def __init__(self, values: Mapping[str, object], path: Path, kind: str, faults: Faults):
        self.path = path
        self._values = values
        self._kind = kind
        self._faults = faults
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def fault(self, text: str, *keys: str | int) -> None:
        """Adds a fault of the value that the keys lead to; without keys, of the table."""
        self._faults.add((*self.path, *keys), text)

    def fault_elsewhere(self, key: str, place: str, text: str) -> None:
        """Adds a fault in a file that the value of the key names."""
        self._faults.add_elsewhere((*self.path, key), place, text)

    def take(self, key: str, check: Check[T], default: T) -> T:
        """The value of an optional key, or `default` if it is missing or wrong."""
        self._known.append(key)
        return self._checked(check, self._values[key], key, default) if key in self else default

    def need(self, key: str, check: Check[T], instead: T) -> T:
        """The value of a required key, or `instead` if it is missing or wrong."""
        if key not in self:
            self.fault(f"{self._kind} needs {key!r}", key)
        return self.take(key, check, instead)

    def elements(self, key: str, check: Check[T], instead: T) -> list[T]:
        """The values of a required list, with `instead` for each wrong one."""
        nothing: list[object] = []
        values = self.need(key, validators.list_, nothing)
        return [self._checked(check, each, key, instead, i) for i, each in enumerate(values)]

    def table(self, key: str, kind: str) -> TomlTable:
        """A table within this one; an empty one if it is missing or wrong."""
        nothing: dict[str, object] = {}
        return TomlTable(
            self.take(key, validators.table, nothing), (*self.path, key), kind, self._faults
        )

    def tables(self, key: str, kind: str) -> Iterator[TomlTable]:
        """The tables of a required list, without wrong ones."""
        for i, values in enumerate(self.elements(key, validators.table, None)):
            if values is not None:
                yield TomlTable(values, (*self.path, key, i), kind, self._faults)

    def close(self, above: Container[str] = (), what: str = "") -> None:
        """Adds a fault for each key that was not taken; keys of `above` belong before `what`."""
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
