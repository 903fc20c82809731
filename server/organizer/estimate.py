"""Estimates the number of matches, the time and the cores of a tournament."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from playout import games
from playout.commands.cores import usable_cores
from playout.commands.text import counted
from playout.games.core import spec as spelling
from playout.protocol.time_control import longest_s, parse_time_control
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.ratings.pairs import CountRange
from playout.server.tournament import formats

_TRUE = ("true", "yes", "1")


def concurrency(spec: TournamentSpec, available: int | None = None) -> int:
    """Return the number of matches at once for this machine or `available` cores, at least 1."""
    return max(1, (available or usable_cores()) // match_cores(spec))


def pairs(spec: TournamentSpec) -> CountRange:
    """Return the number of pairs of the whole tournament if no entrant is withdrawn."""
    return formats.load(spec).pair_count()


def thinking_s(spec: TournamentSpec) -> float | None:
    """Return the maximum duration of the whole tournament by its clocks, in seconds.

    It takes `spec.concurrency` matches at once into account. None without a clock, or if the number
    of pairs has no limit.
    """
    most = pairs(spec).most
    controls = [parse_time_control(spec.clock_of(place)) for place in range(len(spec.entrants))]
    plies = max(_max_plies(spec, name) for name in spec.games)
    times = sorted(longest_s(control, plies / 2) for control in controls if control)
    if most is None or len(times) < len(controls):
        return None
    return 2 * most * sum(times[-2:]) / max(1, spec.concurrency)


def match_cores(spec: TournamentSpec) -> int:
    """Return the maximum number of threads that think at the same time in a match."""
    return max(_threads(*two) for two in combinations(spec.entrants, 2))


def core_shortage(spec: TournamentSpec) -> str | None:
    """Return a warning if the players think with more threads than this machine has cores."""
    threads = spec.concurrency * match_cores(spec)
    if threads <= usable_cores():
        return None
    return (
        f"{counted(spec.concurrency, 'match')} at once can keep {threads} threads "
        f"thinking, and this machine has {counted(usable_cores(), 'core')}: players that "
        "think by the clock think less"
    )


def description(spec: TournamentSpec) -> Iterator[str]:
    """Yield lines of text about a tournament before it is played."""
    yield f"{spec.name}: {spec.format.replace('_', ' ')} of {', '.join(spec.games)}"
    count = pairs(spec)
    yield f"{count} pairs, {count.times(2)} matches, {spec.concurrency} at once, clock {spec.clock}"
    seconds = thinking_s(spec)
    if seconds is None:
        yield "the clock sets no limit to the thinking time"
    else:
        yield f"at most {_duration(seconds)} of thinking, if every match is as long as possible"
    if warning := core_shortage(spec):
        yield f"note: {warning}"
    yield "entrants:"
    for each in spec.entrants:
        program = each.player or each.command or "logs in from elsewhere"
        version = f", version {each.version}" if each.version else ""
        clock = f", clock {each.clock}" if each.clock else ""
        yield f"  {each.name}: {program}{version}{clock}"


def _threads(one: Entrant, other: Entrant) -> int:
    """Return the maximum number of threads that think at the same time in a match of the two."""
    pondering = [each.threads if _ponders(each) else 0 for each in (one, other)]
    return max(one.threads + pondering[1], other.threads + pondering[0])


def _ponders(entrant: Entrant) -> bool:
    """Return whether a player thinks on the opponent's time; False for a command."""
    options = spelling.parse(entrant.player).options if entrant.player else {}
    return options.get("ponder", "").lower() in _TRUE


def _max_plies(spec: TournamentSpec, game: str) -> int:
    """Return the maximum number of plies of a match."""
    return min(games.load(game).max_plies, spec.adjudication.max_plies or 2**31)


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
