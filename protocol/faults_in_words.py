"""The errors of msgspec in words: which field of a message is wrong, and what it must be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from playout.protocol.messages import FORMS

_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a map",
    "bytes": "bytes",
    "ext": "an extension of MessagePack",
    "null": "null",
    "None": "null",
}
#: The field of an error: `$` is the message.
_PATH = re.compile(r" - at (`key` in )?`\$\.?(.*)`$")
_TYPE = re.compile(r"Expected `([\w |]+)`(?:, got `(\w+)`)?")
_LIMIT = re.compile(r"Expected `([\w |]+)` (of length )?([<>]=?) (\S+)")
_LENGTH = re.compile(
    r"Expected `array` of (at least |at most )?length ([0-9]+)(?: to ([0-9]+))?(?:, got ([0-9]+))?"
)
_PATTERN = re.compile(r"Expected `str` matching regex (.*)")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_MULTIPLE = re.compile(r"Expected `(\w+)` that's a multiple of (\S+)")
_SIGNS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
_STEP = re.compile(r"\[[^\]]*\]|[^.\[\]]+")
#: Maximum number of choices that are listed.
_MOST_CHOICES = 20
#: Maximum number of characters of a value, and of the name of an unknown field.
_MOST_SHOWN = 50


def in_words(error: Exception, kind: type | None = None) -> str:
    """Return an error of msgspec as a sentence about a field.

    `kind` is the class of the message, which has the choices of a field.
    """
    field, fault = fault_of(error, kind)
    named = fault.startswith(("must be ", "is "))
    return f"{field or 'the message'} {fault}" if field or named else fault


def fault_of(error: Exception, kind: type | None = None) -> tuple[str, str]:
    """Return the field of an error of msgspec, "" for the whole value, and what is wrong with it.

    `kind` as for `in_words`.
    """
    text, path = str(error), ""
    if isinstance(error, UnicodeDecodeError):
        return "", "a text is not valid UTF-8"
    if found := _PATH.search(text):
        text, path = text[: found.start()], found[2]
        if found[1]:
            return f"a key of {path or 'the message'}", _fault(text)
    if found := _FIELD.fullmatch(text):
        name = found[2] if len(found[2]) <= _MOST_SHOWN else f"{found[2][: _MOST_SHOWN - 1]}…"
        whole = f"{path}.{name}".removeprefix(".")
        if found[1] == "missing required":
            return whole, "is missing"
        known = _fields(kind, path)
        return whole, "is unknown" + (f"; the fields are {', '.join(known)}" if known else "")
    if found := _VALUE.fullmatch(text):
        choices = _choices(kind, path)
        expected = f"one of {', '.join(choices)}" if choices else "a known value"
        value = found[1] if len(found[1]) <= _MOST_SHOWN else f"{found[1][: _MOST_SHOWN - 1]}…"
        return path, f"must be {expected}, not {value}"
    return path, _fault(text)


def _fault(text: str) -> str:
    if text.endswith("out of range"):
        return "is a number that is too large"
    expected = _expected(text)
    return f"must be {expected}" if expected else text


def _expected(text: str) -> str:
    """Return what a value must be, and what it is; "" for another error."""
    if found := _TYPE.fullmatch(text):
        but = f", not {_WORDS.get(found[2], found[2])}" if found[2] else ""
        return _listed(found[1]) + but
    if found := _LIMIT.fullmatch(text):
        kind, of, sign, bound = found.groups()
        unit = "" if not of else " characters" if kind == "str" else " entries"
        return f"{_listed(kind)} of {_SIGNS[sign]} {bound}{unit}"
    if found := _LENGTH.fullmatch(text):
        least, size, most, got = found.groups()
        number = f"{size} to {most}" if most else f"{least or ''}{size}"
        return f"a list of {number} entries" + (f", not {got}" if got else "")
    if found := _MULTIPLE.fullmatch(text):
        return f"{_listed(found[1])} that is a multiple of {found[2]}"
    if found := _PATTERN.fullmatch(text):
        return FORMS.get(ast.literal_eval(found[1]), f"a text of the form {found[1]}")
    return ""


def _listed(kinds: str) -> str:
    """Return the words of `int | null`."""
    words = [_WORDS.get(each, each) for each in kinds.split(" | ")]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _fields(kind: type | None, path: str) -> list[str]:
    """Return the names of the fields of the maps at a path."""
    found = (getattr(each, "fields", ()) for each in _types(kind, path))
    return list(dict.fromkeys(field.encode_name for fields in found for field in fields))


def _choices(kind: type | None, path: str) -> list[str]:
    """Return the values that a field at a path may have, if they are few."""
    found: list[str] = []
    for each in _types(kind, path):
        if isinstance(each, msgspec.inspect.LiteralType):
            found += map(repr, each.values)
        elif isinstance(each, msgspec.inspect.EnumType):
            found += (repr(member.value) for member in each.cls)
    return found if len(found) <= _MOST_CHOICES else []


def _types(kind: type | None, path: str) -> Iterator[Any]:
    """Yield the types of msgspec.inspect that a field at a path may have."""
    if kind is None:
        return
    types = [*_alternatives(msgspec.inspect.type_info(kind))]
    for step in _STEP.findall(path):
        types = [
            alternative
            for each in types
            for inner in _inside(each, step)
            for alternative in _alternatives(inner)
        ]
    yield from types


def _alternatives(found: Any) -> Iterator[Any]:
    if isinstance(found, msgspec.inspect.UnionType):
        for each in found.types:
            yield from _alternatives(each)
    else:
        yield found


def _inside(found: Any, step: str) -> Iterator[Any]:
    """Yield the types of a field, or of the entries of a list or a map."""
    if not step.startswith("["):
        yield from (each.type for each in getattr(found, "fields", ()) if each.encode_name == step)
    elif isinstance(found, msgspec.inspect.DictType):
        yield found.value_type
    elif isinstance(found, msgspec.inspect.TupleType):
        place = step[1:-1]
        if place.isdecimal() and int(place) < len(found.item_types):
            yield found.item_types[int(place)]
        else:
            yield from found.item_types
    elif item := getattr(found, "item_type", None):
        yield item
