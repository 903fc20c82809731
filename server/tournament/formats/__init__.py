"""Formats: which pairs a tournament has, given its specification and the results so far.

Each module of this folder is a format, and its name is the format's name; `core` is what formats
are made with. A format answers every question about itself (`core.format.Format`), so that its name
is compared nowhere: a new file here is a new format.
"""

from __future__ import annotations

import importlib
import sys

from playout.games.core import plugins, spec
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.tournament.formats.core.format import Bye, Format

__all__ = ["Bye", "Format", "find", "load", "names"]


def names() -> list[str]:
    """The names of all formats, sorted."""
    return list(plugins.built_in(sys.modules[__name__]))


def find(name: str) -> type[Format]:
    """The class of the format of that name. Raises SpecError for an unknown name."""
    if name not in names():
        raise spec.unknown("format", name, names())
    return plugins.only_class(importlib.import_module(f"{__name__}.{name}"), Format)


def load(spec: TournamentSpec) -> Format:
    """The format of a tournament. Raises SpecError for an unknown format or number of entrants."""
    make = find(spec.format)
    make.check_entrants(spec.format, len(spec.entrants))
    return make(spec)
