"""The description of a game for people: its rules in a paragraph, and its parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from playout.games.core import spec
from playout.games.core.game import Game

Value = int | float | bool | str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a game; `about` may be empty. `choices` are the only values of a text, if any.

    `default` is None if the parameter is required, or is optional without a default value.
    """

    name: str
    kind: str
    default: Value | None
    about: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class Variant:
    """A well-known variant of a game: its specification, and a sentence about it."""

    game: str
    about: str


@dataclass(frozen=True)
class Description:
    """The name, the rules and the parameters of a game, and its `first_steps` and `variants`."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    first_steps: str = ""
    variants: tuple[Variant, ...] = ()

    @property
    def example(self) -> str:
        """A specification of the game: required parameters have the first of their choices."""
        required = [each for each in self.parameters if each.required]
        options = ",".join(f"{each.name}={each.choices[0]}" for each in required if each.choices)
        return f"{self.name}({options})" if options else self.name


def described(name: str, make: type[Game]) -> Description:
    """Describe a game of that name and class.

    The rules are its `about`, or else the first paragraph of its docstring.
    """
    parameters = tuple(
        Parameter(
            key,
            spec.wanted(each.annotation),
            None if each.default is each.empty else each.default,
            make.about_parameters.get(key, ""),
            spec.choices(each.annotation),
            each.default is each.empty,
        )
        for key, each in spec.parameters_of(make).items()
    )
    about = make.about or _first_paragraph(make)
    variants = tuple(Variant(f"{name}({key})", text) for key, text in make.variants.items())
    return Description(name, about, parameters, make.first_steps, variants)


def _first_paragraph(make: type[Game]) -> str:
    """Take the docstring of the class itself: that of a base class describes another game."""
    text = inspect.cleandoc(vars(make).get("__doc__") or "")
    return " ".join(text.partition("\n\n")[0].split())
