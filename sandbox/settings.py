"""The table `sandbox` of a tournament's file or of an engine, with its checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, TypeVar

from playout.commands import toml_table
from playout.commands.toml_table import Check, TomlTable
from playout.protocol.tournament_spec import SANDBOX_PARTS, SandboxSettings

T = TypeVar("T")


def _each(check: Check[T]) -> Check[tuple[T, ...]]:
    """Return the check of a list whose elements pass a check; in messages it may be empty."""

    def check_all(value: object) -> tuple[T, ...]:
        return tuple(map(check, value if isinstance(value, tuple) else toml_table.list_(value)))

    return check_all


#: The check of each value by itself.
CHECKS: Mapping[str, Check[Any]] = {
    "memory_mb": toml_table.whole(16, 1_000_000),
    "processes": toml_table.whole(1, 10_000),
    "disk_mb": toml_table.whole(1, 100_000),
    "reads": _each(toml_table.visible(toml_table.LONGEST_PATH)),
    "without": _each(toml_table.one_of("part of the sandbox", SANDBOX_PARTS)),
    "command": toml_table.command,
    "uses": toml_table.visible(toml_table.LONGEST_PATH),
}

#: The keys by which a program can do more than by default.
WEAKENING = ("reads", "without", "command", "uses")
_HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")


def host(value: object) -> str:
    """Return a host, which may have a port and an address; raise ValueError for other values."""
    found = toml_table.text(value).lower()
    name, equals, address = found.partition("=")
    parts = _HOST.fullmatch(name)
    if not parts or not 0 < int(parts[2] or 443) <= 65535:
        raise ValueError(f"must be a host, as in pypi.org or 10.0.0.1:3141, not {value!r}")
    if equals:
        ip_address(address)
    return found


def read(table: TomlTable) -> SandboxSettings:
    """Return the settings in a table, with defaults for wrong values, whose faults it collects."""
    default = SandboxSettings()
    values = {key: table.take(key, each, getattr(default, key)) for key, each in CHECKS.items()}
    table.close()
    return SandboxSettings(**values)
