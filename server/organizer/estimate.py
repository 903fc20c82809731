"""What a tournament will be, before it is played: how much, how long, and on how many cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations

import games
from games.core import spec as spelling
from server.model.messages import TimeControl
from server.model.time_control import parse_time_control
from server.model.tournament_spec import Entrant, TournamentSpec
from server.tournament import formats
from server.tournament.pairs import CountRange

_TRUE = ("true", "yes", "1")


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def concurrency(spec: TournamentSpec) -> int:
    """How many matches at once if the tournament does not say: as many as there are cores for."""
    return max(1, cores() // match_cores(spec))


def pairs(spec: TournamentSpec) -> CountRange:
    """How many pairs there will be if no entrant is withdrawn."""
    return formats.load(spec).pair_count()


def thinking_s(spec: TournamentSpec) -> float | None:
    """For how long players may think in all, at most, with so many matches at once.

    None without a clock, or if there is no end of matches.
    """
    control, most = parse_time_control(spec.clock), pairs(spec).most
    if control is None or most is None:
        return None
    plies = [_plies(spec, name) for name in spec.games]
    longest = max(_match_s(control, each) for each in plies)
    return 2 * most * longest / max(1, spec.concurrency)


def match_cores(spec: TournamentSpec) -> int:
    """How many threads think at once in a match, at most."""
    return max(_busy(*two) for two in combinations(spec.entrants, 2))


def strain(spec: TournamentSpec) -> str | None:
    """What to say if bots want to think with more cores than there are."""
    wanted = spec.concurrency * match_cores(spec)
    if wanted <= cores():
        return None
    return (
        f"{spec.concurrency} matches at once can keep {wanted} threads thinking, and this machine "
        f"has {cores()} cores: who thinks by the clock thinks less"
    )


def described(spec: TournamentSpec) -> Iterator[str]:
    """All that there is to say of it, as lines."""
    yield f"{spec.name}: {spec.format.replace('_', ' ')} of {', '.join(spec.games)}"
    count = pairs(spec)
    yield f"{count} pairs, {count.times(2)} matches, {spec.concurrency} at once, clock {spec.clock}"
    seconds = thinking_s(spec)
    if seconds is None:
        yield "how long it may last is not known"
    else:
        yield f"at most {_duration(seconds)} of thinking, if every match is as long as can be"
    if note := strain(spec):
        yield f"note: {note}"
    yield "entrants:"
    for each in spec.entrants:
        who = each.player or each.command or "logs in from elsewhere"
        version = f", version {each.version}" if each.version else ""
        yield f"  {each.name}: {who}{version}"


def _busy(one: Entrant, other: Entrant) -> int:
    """How many threads think at once in a match of the two, at most."""
    pondering = [each.threads if _ponders(each) else 0 for each in (one, other)]
    return max(one.threads + pondering[1], other.threads + pondering[0])


def _ponders(entrant: Entrant) -> bool:
    """Does it think on the opponent's time? Of commands nobody knows."""
    options = spelling.parse(entrant.player).options if entrant.player else {}
    return options.get("ponder", "").lower() in _TRUE


def _plies(spec: TournamentSpec, game: str) -> int:
    """How long a match may be."""
    return min(games.load(game).max_plies, spec.adjudication.max_plies or 2**31)


def _match_s(control: TimeControl, plies: int) -> float:
    """For how long both may think in a match of so many plies, at most."""
    per_ply = control.increment_s + (control.period_s if control.periods else 0)
    beyond = max(0, control.periods - 1) * control.period_s
    return 2 * (control.main_s + beyond) + plies * per_ply


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
