"""`name(key=value,...)`: how games and players are spelled, as OpenSpiel spells them."""

from __future__ import annotations

import difflib
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_SPEC = re.compile(r"\s*([\w.:-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
MAX_LENGTH = 500


class SpecError(ValueError):
    """A specification that cannot be used. The message says what is allowed."""


@dataclass(frozen=True)
class Spec:
    """A name and its options, the values still as they were written."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> Spec:
    """Take `mnk(m=8,n=8,k=5)` apart. Raises SpecError."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a specification has at most {MAX_LENGTH} characters, not {len(text)}")
    match = _SPEC.fullmatch(text)
    if match is None:
        raise SpecError(f"cannot read {text!r}: write it as name or name(key=value,key=value)")
    name, inside = match.groups()
    pieces = inside.split(",") if inside and inside.strip() else []
    return Spec(name, parse_options(pieces))


def parse_options(pieces: Iterable[str]) -> dict[str, str]:
    """Take `["c=1.2", "seed=7"]` apart. Raises SpecError."""
    options: dict[str, str] = {}
    for piece in pieces:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not (key and equals and value):
            raise SpecError(f"cannot read the option {piece.strip()!r}: write it as key=value")
        if key in options:
            raise SpecError(f"the option {key!r} is given twice")
        options[key] = value
    return options


def unknown(kind: str, name: str, allowed: Iterable[str]) -> SpecError:
    """The error for a name that is not there: what there is, and the nearest to it."""
    choices = sorted(allowed)
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return SpecError(f"unknown {kind} {name!r}{hint} (there are: {', '.join(choices) or 'none'})")


def bind(
    make: Callable[..., object], spec: Spec, *, skip: int = 0
) -> dict[str, int | float | bool | str]:
    """The options of `spec` as keyword arguments for `make`, converted by its annotations.

    The first `skip` parameters of `make` are not options. Raises SpecError, which lists what
    may be given, for a name that `make` does not take or a value of the wrong type.
    """
    hints = typing.get_type_hints(make.__init__ if inspect.isclass(make) else make)
    parameters = dict(list(inspect.signature(make).parameters.items())[skip:])
    arguments: dict[str, int | float | bool | str] = {}
    for key, text in spec.options.items():
        if key not in parameters:
            raise unknown(f"option of {spec.name}", key, parameters)
        arguments[key] = _convert(spec.name, key, text, hints.get(key, str))
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in arguments:
            raise SpecError(f"{spec.name} needs the option {key!r}: {spec.name}({key}=...)")
    return arguments


def canonical(name: str, make: Callable[..., object], arguments: Mapping[str, object]) -> str:
    """The one spelling of a thing: parameters in their order, defaults left out."""
    parts = []
    for key, parameter in inspect.signature(make).parameters.items():
        if key in arguments and arguments[key] != parameter.default:
            value = arguments[key]
            parts.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
    return f"{name}({','.join(parts)})" if parts else name


_WANTED: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _convert(name: str, key: str, text: str, hint: object) -> int | float | bool | str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):  # Optional[...]
        hint = next(each for each in typing.get_args(hint) if each is not type(None))
    try:
        if hint is bool:
            return _BOOLS[text.lower()]
        if hint is int:
            return int(text)
        if hint is float:
            return float(text)
    except (ValueError, KeyError):
        raise SpecError(f"{name}: {key} must be {_WANTED[hint]}, not {text!r}") from None
    return text
