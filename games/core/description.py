"""The description of a game for people: its rules in a paragraph, and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from playout.games.core import spec
from playout.games.core.game import GROUPS, Game

#: The title of the games in no group.
OTHERS = "Other games"
#: The words within a title that have no capital.
_LOWER = ("and", "of")
#: The most letters of a value in a title.
_LONGEST = 20
#: How the values of switches are written.
_FORMS = {"true": "{key}", "false": "no {key}"}


@dataclass(frozen=True)
class DescribedParameter:
    """A parameter of a game; `about` may be empty. `choices` are the only values of a text, if any.

    `default` is None if the parameter is required, or is optional without a default value.
    `proposed` is the value that pages propose: the default, unless the game has another proposal.
    """

    name: str
    kind: str
    default: spec.Value | None
    about: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    proposed: spec.Value | None = None


@dataclass(frozen=True)
class Variant:
    """A well-known variant of a game: its specification, and a sentence about it."""

    game: str
    about: str


@dataclass(frozen=True)
class Description:
    """The name, the rules and the parameters of a game, and its `first_steps` and `variants`.

    `title` is what people call the game. `has_chance`: random outcomes, such as rolls of dice,
    decide, too. `groups` are names of GROUPS, the main one first.
    """

    name: str
    title: str
    about: str
    parameters: tuple[DescribedParameter, ...]
    first_steps: str = ""
    variants: tuple[Variant, ...] = ()
    has_chance: bool = False
    groups: tuple[str, ...] = ()

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
        DescribedParameter(
            key,
            each.kind,
            each.default,
            each.option.meaning,
            each.choices,
            each.required,
            make.proposed.get(key, each.default),
        )
        for key, each in spec.parameters_of(make).items()
    )
    about = make.about or _first_paragraph(make)
    variants = tuple(Variant(f"{name}({key})", text) for key, text in make.variants.items())
    title = vars(make).get("title") or title_of(name)
    return Description(
        name, title, about, parameters, make.first_steps, variants, make.has_chance, make.groups
    )


def by_group(descriptions: Iterable[Description]) -> dict[str, list[Description]]:
    """Return games by the title of their main group, in the order of GROUPS; the others last."""
    found: dict[str, list[Description]] = {title: [] for title in (*GROUPS.values(), OTHERS)}
    for each in descriptions:
        found[GROUPS.get(next(iter(each.groups), ""), OTHERS)].append(each)
    return {title: group for title, group in found.items() if group}


def title_of(name: str) -> str:
    """Return the name of a game in words, as in "Lines of Action"."""
    words = name.split("_")
    return " ".join(word if word in _LOWER else word.capitalize() for word in words)


def with_parameters(title: str, options: Mapping[str, str]) -> str:
    """Return a title and the parameters of a game in words, as in "Go (size 9)".

    Values that are too long for a title, such as positions, are left out: "Chess (fen …)".
    """
    words = (
        _FORMS.get(value, "{key} {value}" if len(value) <= _LONGEST else "{key} …").format(
            key=key, value=value
        )
        for key, value in options.items()
    )
    text = ", ".join(words).replace("_", " ")
    return f"{title} ({text})" if text else title


def _first_paragraph(make: type[Game]) -> str:
    """Take the docstring of the class itself: that of a base class describes another game."""
    text = inspect.cleandoc(vars(make).get("__doc__") or "")
    return " ".join(text.partition("\n\n")[0].split())
