"""Specifications of games and players: `name(key=value,...)`, as OpenSpiel spells them."""

from __future__ import annotations

import difflib
import inspect
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

_SPEC = re.compile(r"\s*([\w.:-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
MAX_LENGTH = 500


class SpecError(ValueError):
    """Raised for an invalid specification. The message says what is allowed."""


class Choice(str):
    """Base of annotations of text parameters whose values depend on what is installed."""

    @classmethod
    def values(cls) -> tuple[str, ...]:
        """Return the texts that the parameter accepts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Spec:
    """A name and its options; the values are texts."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> Spec:
    """Split `mnk(m=8,n=8,k=5)` into name and options. Raises SpecError."""
    if len(text) > MAX_LENGTH:
        raise SpecError(f"a specification has at most {MAX_LENGTH} characters, not {len(text)}")
    match = _SPEC.fullmatch(text)
    if match is None or not "".join(text.split()).isprintable():
        hint = "; a class in a file is module:Class, as in my_bot:MyBot" if ".py" in text else ""
        raise SpecError(
            f"cannot read {text!r}: write it as name or name(key=value,key=value){hint}"
        )
    name, inside = match.groups()
    pieces = inside.split(",") if inside and inside.strip() else []
    return Spec(name, parse_options(pieces))


def parse_options(pieces: Iterable[str]) -> dict[str, str]:
    """Split `["c=1.2", "seed=7"]` into keys and values. Raises SpecError."""
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
    """Return the error for an unknown name: it lists the known ones and suggests the nearest."""
    choices = sorted(allowed)
    near = difflib.get_close_matches(name, choices, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return SpecError(f"unknown {kind} {name!r}{hint} (there are: {', '.join(choices) or 'none'})")


def parameters_of(make: type, skip: int = 0) -> dict[str, inspect.Parameter]:
    """Return the parameters of a class by name, without the first `skip`; annotations are types.

    A `**name` parameter stands for those of the next `__init__` in the method resolution order, to
    which it is passed.
    """
    found: dict[str, inspect.Parameter] = {}
    for init in (vars(base)["__init__"] for base in make.__mro__ if "__init__" in vars(base)):
        hints = typing.get_type_hints(init)
        own = list(inspect.signature(init).parameters.values())[1 + skip :]
        for each in own:
            if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
                annotated = each.replace(annotation=hints.get(each.name, str))
                found.setdefault(each.name, annotated)
        if not any(each.kind is each.VAR_KEYWORD for each in own):
            break
    return found


def bind(make: type, spec: Spec, *, skip: int = 0) -> dict[str, int | float | bool | str]:
    """Return the options of `spec` as keyword arguments for `make`, converted by its annotations.

    The first `skip` parameters of `make` are not options. Raises SpecError, which lists the known
    options, for an unknown option, a missing one, or a value of the wrong type.
    """
    parameters = parameters_of(make, skip)
    arguments: dict[str, int | float | bool | str] = {}
    for key, text in spec.options.items():
        if key not in parameters:
            raise unknown(f"option of {spec.name}", key, parameters)
        arguments[key] = _convert(spec.name, key, text, parameters[key].annotation)
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in arguments:
            listed = ", ".join(choices(parameter.annotation))
            text = f"{spec.name} needs the option {key!r}: {spec.name}({key}=...)"
            raise SpecError(text + (f" (there are: {listed})" if listed else ""))
    return arguments


def canonical(name: str, make: type, arguments: Mapping[str, object]) -> str:
    """Return the canonical spelling: parameters in the order of declaration, without defaults."""
    parts = []
    for key, parameter in parameters_of(make).items():
        if key in arguments and arguments[key] != parameter.default:
            parts.append(f"{key}={spelled(arguments[key])}")
    return f"{name}({','.join(parts)})" if parts else name


def spelled(value: object) -> str:
    """Return the value of an option as a text that is read as this value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_WANTED: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def wanted(annotation: object) -> str:
    """Return the kind of values that a parameter with that annotation accepts, in words."""
    return _WANTED.get(_without_none(annotation), "text")


def choices(annotation: object) -> tuple[str, ...]:
    """Return the texts that a parameter annotated as `Literal` or `Choice` accepts, else ()."""
    if isinstance(annotation, type) and issubclass(annotation, Choice):
        return annotation.values()
    return typing.get_args(annotation) if typing.get_origin(annotation) is Literal else ()


def _convert(name: str, key: str, text: str, annotation: object) -> int | float | bool | str:
    kind = _without_none(annotation)
    if (allowed := choices(kind)) and text not in allowed:
        raise unknown(f"{key} of {name}", text, allowed)
    try:
        if kind is bool:
            return _BOOLS[text.lower()]
        if kind is int:
            return int(text)
        if kind is float:
            number = float(text)
            if math.isnan(number):  # NaN would pass every check that compares with a bound
                raise ValueError
            return number
    except (ValueError, KeyError):
        raise SpecError(f"{name}: {key} must be {wanted(kind)}, not {text!r}") from None
    return text


def _without_none(annotation: object) -> object:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):  # Optional[...]
        return next(each for each in typing.get_args(annotation) if each is not type(None))
    return annotation
