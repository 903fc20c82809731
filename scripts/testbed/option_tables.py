"""The command `scripts/options`: writes the tables of options in docs/player-options.md.

The comment `<!-- options: UCT -->` stands before the table of the options that the class UCT
declares. The tables of its base classes have comments of their own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from playout import players
from playout.games.core import spec
from playout.players import Player

FILE = Path(__file__).parents[2] / "docs" / "player-options.md"
_TABLE = re.compile(r"^<!-- options: (\w+) -->\n\n((?:\|.*\n)*)", re.MULTILINE)


def own_options(make: type[Player]) -> Mapping[str, spec.Parameter]:
    """Return the options that a class itself declares, without those of its base classes."""
    own = inspect.signature(make.__init__).parameters if "__init__" in vars(make) else ()
    return {key: each for key, each in spec.parameters_of(make, skip=1).items() if key in own}


def classes() -> Mapping[str, type[Player]]:
    """Return the players and those base classes whose options they have, by class name."""
    found: dict[str, type[Player]] = {}
    for name in players.names():
        for make in players.find(name).__mro__:
            if make is Player:
                break
            if "__init__" not in vars(make):
                continue
            if own_options(make):
                found[make.__name__] = make
            parameters = inspect.signature(vars(make)["__init__"]).parameters.values()
            if not any(each.kind is each.VAR_KEYWORD for each in parameters):
                break  # it passes no options on
    return found


def table(make: type[Player]) -> Iterator[str]:
    """Yield the lines of the table of a class."""
    yield "| option | meaning | values | default |"
    yield "| --- | --- | --- | --- |"
    for key, each in own_options(make).items():
        default = each.option.default or spec.spelled("" if each.default is None else each.default)
        shown = "required" if each.required else default
        yield f"| `{key}` | {each.option.about} | {each.values} | {shown} |"


def updated(text: str) -> str:
    """Return the document with the tables of the present declarations."""
    known = classes()
    return _TABLE.sub(
        lambda found: (
            f"<!-- options: {found[1]} -->\n\n" + "\n".join((*table(known[found[1]]), ""))
        ),
        text,
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Write the tables in docs/player-options.md from the declarations of the players."""
    FILE.write_text(updated(FILE.read_text(encoding="utf-8")), encoding="utf-8")
