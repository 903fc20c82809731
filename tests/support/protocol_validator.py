"""Validates messages by the protocol's pages alone, without the server's declarations."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from support.documents import protocol

#: Parts whose fields may be sent with their default value, as the page says.
WITH_DEFAULTS = {
    "tournament_spec",
    "entrant",
    "openings",
    "adjudication",
    "sprt",
    "betting",
    "sandbox_settings",
}

#: Returns the faults of a value, at a path.
Check = Callable[[str, Any], list[str]]


class Field(NamedTuple):
    """A row of a table: the check of the values, and the default as JSON, or None."""

    check: Check
    default: str | None


def request_faults(message: dict[str, Any]) -> list[str]:
    """Return the faults of a client's message by the page's tables."""
    return _message_faults("Requests", message)


def event_faults(message: dict[str, Any]) -> list[str]:
    """Return the faults of a server's message by the page's tables."""
    return _message_faults("Events", message)


def require_described_event(message: dict[str, Any]) -> None:
    """Raise AssertionError if a server's message is not as the page describes it."""
    _require_none(event_faults(message))


def require_described_request(message: dict[str, Any]) -> None:
    """Raise AssertionError if a client's message is not as the page describes it."""
    _require_none(request_faults(message))


def _require_none(faults: list[str]) -> None:
    if faults:
        raise AssertionError(f"the protocol does not describe this: {faults[:5]}")


def _message_faults(chapter: str, message: dict[str, Any]) -> list[str]:
    kind = message.get("type")
    section = "ping from the server" if (chapter, kind) == ("Events", "ping") else str(kind)
    if section not in _sections(chapter):
        return [f"no section of {chapter} describes {kind!r}"]
    fields = _fields(chapter, chapter) | _fields(chapter, section)
    return _map_faults(str(kind), fields, message, defaults=chapter == "Requests")


def _map_faults(path: str, fields: dict[str, Field], value: Any, *, defaults: bool) -> list[str]:
    """Return the faults of a map; unless `defaults`, a field with its default is one."""
    if not isinstance(value, dict):
        return [f"{path}: not a map: {value!r}"]
    faults = [f"{path}: {key} is missing" for key, field in fields.items()
              if field.default is None and key not in value]  # fmt: skip
    for key, item in value.items():
        where = f"{path}.{key}"
        if key not in fields:
            faults.append(f"{where}: not described")
            continue
        check, default = fields[key]
        if default is not None and item == json.loads(default):
            faults += [] if defaults else [f"{where}: sent, with its default {default}"]
        else:
            faults += check(where, item)
    return faults


@functools.cache
def _chapters() -> dict[str, str]:
    pieces = re.split(r"^## (.+)$", protocol(), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


@functools.cache
def _sections(chapter: str) -> dict[str, str]:
    """The text of each section of a chapter; that before the first one has the chapter's name."""
    pieces = re.split(r"^### (.+)$", _chapters()[chapter], flags=re.MULTILINE)
    return {chapter: pieces[0]} | dict(zip(pieces[1::2], pieces[2::2], strict=True))


@functools.cache
def _fields(chapter: str, section: str) -> dict[str, Field]:
    """The fields in the table of a section, by name."""
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (required|`.*?`) \| .*\|$",
                      _sections(chapter)[section], flags=re.MULTILINE)  # fmt: skip
    return {
        name: Field(_check(text), None if default == "required" else default.strip("`"))
        for name, text, default in rows
    }


def _test(text: str, test: Callable[[Any], bool]) -> Check:
    return lambda path, value: [] if test(value) else [f"{path}: {value!r} is not {text}"]


def _is_int(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**53


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")


@functools.cache
def _check(text: str) -> Check:
    """The check that a cell of the column *Type* describes."""
    text = text.removesuffix("s") if text.startswith("list of maps:") else text
    if found := re.fullmatch(r"(?:map|maps?): \[.+\]\(#(\w+)\)", text):
        return _part(found[1])
    if found := re.fullmatch(r"list of (?:(at most )?(\d+) )?(.+)", text):
        return _list(found[1] is not None, int(found[2]) if found[2] else None, found[3])
    if found := re.fullmatch(
        r"string(?: of at most (\d+) characters|, (\d+) to (\d+) characters)?", text
    ):
        least, most = int(found[2] or 0), int(found[1] or found[3] or 10**9)
        return _test(text, lambda value: isinstance(value, str) and least <= len(value) <= most)
    if found := re.fullmatch(r"int, (\d+) to (\d+)", text):
        low, high = int(found[1]), int(found[2])
        return _test(text, lambda value: type(value) is int and low <= value <= high)
    if found := re.fullmatch(r"number, 0 to (\d+)(?:\^(\d+))?", text):
        bound = int(found[1]) ** int(found[2] or 1)
        return _test(text, lambda value: _is_number(value) and 0 <= value <= bound)
    if text.startswith("int, -(2^53 - 1) to 2^53 - 1, or string"):
        return _test(
            text, lambda value: _is_int(value) or (isinstance(value, str) and len(value) <= 64)
        )
    if text in _SIMPLE:
        return _test(text, _SIMPLE[text])
    choices = {json.loads(each) for each in re.findall(r'"\w+"|-?\d+', text)}
    assert choices, f"the type {text!r} cannot be parsed"
    return _test(text, lambda value: type(value) in (int, str) and value in choices)


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "int or null": lambda value: value is None or _is_int(value),
    "int or string": lambda value: _is_int(value) or isinstance(value, str),
    "number": _is_number,
    "number or string": lambda value: _is_number(value) or isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "map": lambda value: isinstance(value, dict),
    "lists": lambda value: isinstance(value, (list, tuple)),
    "map of string": lambda value: isinstance(value, dict)
    and all(isinstance(each, str) for each in value.values()),
    "map of int": lambda value: isinstance(value, dict) and all(map(_is_int, value.values())),
    "map of number": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
    "map of lists": lambda value: isinstance(value, dict)
    and all(isinstance(each, (list, tuple)) for each in value.values()),
}  # fmt: skip


def _list(at_most: bool, count: int | None, element: str) -> Check:
    check = _check(element)

    def faults(path: str, value: Any) -> list[str]:
        if not isinstance(value, (list, tuple)):  # before it is packed, it may be a tuple
            return [f"{path}: not a list: {value!r}"]
        if count is not None and (len(value) > count or (len(value) < count and not at_most)):
            return [f"{path}: {len(value)} items"]
        return [
            fault for place, each in enumerate(value) for fault in check(f"{path}[{place}]", each)
        ]

    return faults


def _part(name: str) -> Check:
    chapter = "Parts of messages" if name in _sections("Parts of messages") else "Events"
    common = _fields("Events", "Events") if chapter == "Events" else {}

    def faults(path: str, value: Any) -> list[str]:
        fields = common | _fields(chapter, name)
        return _map_faults(path, fields, value, defaults=name in WITH_DEFAULTS)

    return faults
