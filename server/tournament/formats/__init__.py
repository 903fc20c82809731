"""Formats: the pairs of a tournament, given its specification and the results so far.

Each module of this folder is a format, and has the format's name; the base class is in
`playout.server.tournament.format`. No other code compares the name of a format, so that a new file
here is a new format.
"""

from __future__ import annotations

import importlib
import sys

from playout.games.core import plugins, spec
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.tournament.format import Bye, Format

__all__ = ["Bye", "Format", "find", "load", "names"]


def names() -> list[str]:
    """Return the names of all formats, sorted."""
    return list(plugins.built_in(sys.modules[__name__]))


def find(name: str) -> type[Format]:
    """Return the class of the format of that name. Raises SpecError for an unknown name."""
    if name not in names():
        raise spec.unknown("format", name, names())
    return plugins.only_class(importlib.import_module(f"{__name__}.{name}"), Format)


def load(spec: TournamentSpec) -> Format:
    """Return the format of a tournament. Raises SpecError for a wrong name or entrant count."""
    make = find(spec.format)
    make.check_entrants(spec.format, len(spec.entrants))
    return make(spec)
