"""Specifications of games and players: `name(key=value,...)`, as OpenSpiel spells them."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

_SPEC = re.compile(r"\s*([\w.:-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
MAX_LENGTH = 500

#: A value of an option.
Value = int | float | bool | str


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

    def __str__(self) -> str:
        """Return the notation, which `parse` reads."""
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({options})" if options else self.name


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
        if not value.isprintable():
            raise SpecError(f"the option {key!r} must be on one line, without tabs, not {value!r}")
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


@dataclass(frozen=True)
class Option:
    """The meaning and the range of an option, for `Annotated` parameters of players and games.

    `c: Annotated[float, Option("weight of exploration", ge=0)] = 0.5` accepts 0 and more. `ge` and
    `le` are inclusive bounds, `gt` is an exclusive one. `default` says what happens without the
    option, if its default value does not say it.
    """

    about: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    default: str = ""

    @property
    def range(self) -> str:
        """The range in words, as in "1 to 256", "0 or more" or "above 0"; "" without bounds."""
        if self.ge is not None and self.le is not None:
            return f"{self.ge} to {self.le}"
        bounds = {"{} or more": self.ge, "above {}": self.gt, "at most {}": self.le}
        return ", ".join(text.format(each) for text, each in bounds.items() if each is not None)

    @property
    def meaning(self) -> str:
        """The meaning with the range, as in "weight of exploration, 0 or more"."""
        return ", ".join(filter(None, (self.about, self.range)))

    def check(self, owner: str, key: str, value: object) -> None:
        """Raise SpecError if a value is outside the range; it names the owner of the option."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return
        expected = ""
        if isinstance(value, float) and not math.isfinite(value):
            expected = _KINDS[float]
        elif (
            (self.ge is not None and value < self.ge)
            or (self.gt is not None and value <= self.gt)
            or (self.le is not None and value > self.le)
        ):
            two_sided = self.ge is not None and self.le is not None
            expected = f"from {self.range}" if two_sided else self.range
        if expected:
            raise SpecError(f"{owner}: {key} must be {expected}, not {value}")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an `__init__`: an option of a player, or a parameter of a game.

    `type` is int, float, bool, str, a `Literal` of texts or a `Choice`. `default` is None if the
    parameter is required, or has no value by default.
    """

    name: str
    type: object
    default: Value | None
    required: bool
    option: Option

    @property
    def kind(self) -> str:
        """The kind of values that it accepts, in words."""
        return _KINDS.get(self.type, "text")

    @property
    def values(self) -> str:
        """The values that it accepts, in words: "a whole number, 1 to 256"."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return ", ".join(filter(None, (self.kind, self.option.range)))

    @property
    def choices(self) -> tuple[str, ...]:
        """The only texts that it accepts; () if it accepts any, or no texts."""
        if isinstance(self.type, type) and issubclass(self.type, Choice):
            return self.type.values()
        return typing.get_args(self.type) if typing.get_origin(self.type) is Literal else ()

    def read(self, owner: str, text: str) -> Value:
        """Return the value of a text. Raises SpecError, which names the owner of the option."""
        value: Value = text
        try:
            if self.type is bool:
                value = _BOOLS[text.lower()]
            elif self.type is int:
                value = int(text)
            elif self.type is float:
                value = float(text) + 0.0  # -0.0 is 0.0
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError
        except (ValueError, KeyError):
            text = f"{owner}: {self.name} must be {self.kind}, not {text!r}"
            raise SpecError(text) from None
        self.check(owner, value)
        return value

    def check(self, owner: str, value: object) -> None:
        """Raise SpecError for a value that is none of the choices, or outside the range."""
        if isinstance(value, str) and (choices := self.choices) and value not in choices:
            raise unknown(f"{self.name} of {owner}", value, choices)
        self.option.check(owner, self.name, value)


class HasOptions:
    """Base of players and games: their `__init__` refuses values outside the declared ranges."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "__init__" in vars(cls):
            cls.__init__ = _checked(vars(cls)["__init__"])  # type: ignore[method-assign]


def _checked(init: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that first checks the values of its own parameters."""
    names = list(inspect.signature(init).parameters)

    @functools.wraps(init)
    def checked(self: object, *arguments: object, **options: object) -> None:
        declared = _declared(init)
        for key, value in (*zip(names[1:], arguments, strict=False), *options.items()):
            if key in declared:
                declared[key].check(type(self).__name__, value)
        init(self, *arguments, **options)

    return checked


def parameters_of(make: type, skip: int = 0) -> dict[str, Parameter]:
    """Return the parameters of a class by name, without the first `skip`.

    A `**name` parameter stands for those of the next `__init__` in the method resolution order, to
    which it is passed.
    """
    found: dict[str, Parameter] = {}
    for init in (vars(base)["__init__"] for base in make.__mro__ if "__init__" in vars(base)):
        own = list(inspect.signature(init).parameters.values())[1:]
        skipped = [each.name for each in own[:skip]]
        for key, parameter in _declared(init).items():
            if key not in skipped:
                found.setdefault(key, parameter)
        if not any(each.kind is each.VAR_KEYWORD for each in own):
            break
    return found


@functools.cache
def _declared(init: Callable[..., None]) -> Mapping[str, Parameter]:
    """Return the parameters of one `__init__` that can be given by name, without `self`."""
    hints = typing.get_type_hints(init, include_extras=True)
    return {
        each.name: _parameter(each, hints.get(each.name, str))
        for each in list(inspect.signature(init).parameters.values())[1:]
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }


def _parameter(declared: inspect.Parameter, annotation: object) -> Parameter:
    option = Option()
    while (origin := typing.get_origin(annotation)) in (Annotated, typing.Union, types.UnionType):
        inner, *others = typing.get_args(annotation)
        if origin is Annotated:
            option = next((each for each in others if isinstance(each, Option)), option)
        annotation = next(each for each in (inner, *others) if each is not type(None))
    required = declared.default is declared.empty
    default = None if required else declared.default
    return Parameter(declared.name, annotation, default, required, option)


def bind(make: type, spec: Spec, *, skip: int = 0) -> dict[str, Value]:
    """Return the options of `spec` as keyword arguments for `make`, converted by its annotations.

    The first `skip` parameters of `make` are not options. Raises SpecError, which lists the known
    options, for an unknown option, a missing one, or a value of the wrong type or outside the
    declared range.
    """
    parameters = parameters_of(make, skip)
    arguments: dict[str, Value] = {}
    for key, text in spec.options.items():
        if key not in parameters:
            raise unknown(f"option of {spec.name}", key, parameters)
        arguments[key] = parameters[key].read(spec.name, text)
    for key, parameter in parameters.items():
        if parameter.required and key not in arguments:
            listed = ", ".join(parameter.choices)
            text = f"{spec.name} needs the option {key!r}: {spec.name}({key}=...)"
            raise SpecError(text + (f" (there are: {listed})" if listed else ""))
    return arguments


def canonical(name: str, make: type, arguments: Mapping[str, object]) -> str:
    """Return the canonical spelling: parameters in the order of declaration, without defaults."""
    options = {}
    for key, parameter in parameters_of(make).items():
        if key in arguments and arguments[key] != parameter.default:
            options[key] = spelled(arguments[key])
    return str(Spec(name, options))


def spelled(value: object) -> str:
    """Return the value of an option as a text that is read as this value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_KINDS: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}
_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
