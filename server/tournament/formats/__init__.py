"""Formats: which pairs a tournament has, given its specification and the results so far."""

from __future__ import annotations

from games.core.spec import SpecError, unknown
from server.model.tournament_spec import TournamentSpec
from server.tournament.formats.core import Bye, Format
from server.tournament.formats.gauntlet import Gauntlet
from server.tournament.formats.knockout import Knockout
from server.tournament.formats.round_robin import RoundRobin
from server.tournament.formats.swiss import Swiss
from server.tournament.formats.two_players import MatchFormat, Sequential

__all__ = ["Bye", "Format", "load", "names"]

_FORMATS: dict[str, type[Format]] = {
    "round_robin": RoundRobin,
    "gauntlet": Gauntlet,
    "swiss": Swiss,
    "knockout": Knockout,
    "match": MatchFormat,
    "sprt": Sequential,
}


def names() -> list[str]:
    """Every format there is."""
    return list(_FORMATS)


def load(spec: TournamentSpec) -> Format:
    """The format of a tournament. Raises SpecError when it is none, or not for so many entrants."""
    if spec.format not in _FORMATS:
        raise unknown("format", spec.format, _FORMATS)
    make, entrants = _FORMATS[spec.format], len(spec.entrants)
    if entrants < 2 or (make.only_two and entrants > 2):
        more = "" if make.only_two else " or more"
        raise SpecError(f"a {spec.format} is between two entrants{more}, not {entrants}")
    return make(spec)
