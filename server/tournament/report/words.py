"""A report in words: its numbers as text, and the answer of the tournament in one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping

from playout.commands.text import UNKNOWN, percent
from playout.protocol.time_control import decimal
from playout.ratings.evidence import elo as elo_of
from playout.ratings.sequential_tests import EProcess, State
from playout.server.tournament.report.values import (
    BettingTest,
    CrosstableCell,
    Estimate,
    HeadToHead,
    MatchCounts,
    Report,
    SequentialTest,
    WithoutLuck,
)

#: An interval whose longer side is longer than the other by this factor is shown by its ends.
_ONE_SIDED = 1.5


def elo(estimate: Estimate) -> str:
    """Return an estimate of Elo: `+12.3 ± 4.5`, or `> 800` for an entrant that won everything.

    An interval with one side much longer than the other has its two ends: `+417 (+82 to +1070)`.
    """
    if estimate.value is not None:
        if estimate.low is not None and estimate.high is not None:
            below, above = estimate.value - estimate.low, estimate.high - estimate.value
            if max(below, above) > _ONE_SIDED * min(below, above):
                ends = f"{_signed(estimate.low, 0)} to {_signed(estimate.high, 0)}"
                return f"{_signed(estimate.value, 0)} ({ends})"
        error = "" if estimate.error is None else f" ± {estimate.error:.1f}"
        return f"{_signed(estimate.value, 1)}{error}"
    if estimate.low is not None:
        return f"> {estimate.low:.0f}"
    return UNKNOWN if estimate.high is None else f"< {estimate.high:.0f}"


def without_luck(found: WithoutLuck | None) -> str:
    """Return a score without luck with its interval: `52.3% (50.1% to 54.5%)`."""
    if found is None or found.low is None:
        return percent(found.score if found else None)
    return f"{found.score:.1%} ({found.low:.1%} to {found.high:.1%})"


def elo_without_luck(found: WithoutLuck) -> Estimate:
    """Return the difference in Elo with the expected score of a score without luck."""
    ends = [None if each is None else elo_of(each) for each in (found.score, found.low, found.high)]
    value, low, high = ends
    error = None if low is None or high is None else (high - low) / 2
    return Estimate(value, error, low, high)


def _signed(value: float, digits: int) -> str:
    """A rounded number with its sign: 0 is +0."""
    return f"{round(value, digits) or 0.0:+.{digits}f}"


def cell(cell: CrosstableCell) -> str:
    """Return points and matches, as in `12.5/20`; a dash without matches."""
    return f"{decimal(cell.points)}/{cell.matches}" if cell.matches else UNKNOWN


def won_tied_lost(counts: MatchCounts) -> str:
    """Return wins, ties and losses, as in `+3 =1 -2`; empty without matches."""
    return f"+{counts.won} ={counts.tied} -{counts.lost}" if counts.matches else ""


def headline(report: Report) -> str:
    """Return the stronger of two entrants, or the winner or leader; empty without results.

    A gauntlet is about its first entrant: the answer compares it with each opponent.
    """
    both = report.head_to_head
    if len(report.entrants) == 2 and both:
        return _of_two(report, both[0])
    if len(both) > 1 and both[0].first == both[1].first:
        return "; ".join(filter(None, (_of_two(report, each) for each in both)))
    return _of_many(report)


def _of_two(report: Report, both: HeadToHead) -> str:
    if not both.pairs.count:
        return ""
    first, second = report.entrants[both.first].name, report.entrants[both.second].name
    sign = _sign(both.elo)
    if sign < 0:
        text = f"{second} is stronger than {first}"
    elif sign > 0:
        text = f"{first} is stronger than {second}"
    else:
        text = f"{first} and {second} cannot be told apart"
    difference = f"{elo(turned(both.elo) if sign < 0 else both.elo)} Elo"
    verdict = f"; {_of_test(both.test)}" if both.test else ""
    if both.betting:
        verdict = f"; {_OF_BETTING[both.betting.state]}"
    return f"{text}: {difference}{verdict}"


def evidence(test: BettingTest | EProcess) -> str:
    """Return the capital of a test by betting, and its bound: `12.5/40`."""
    return f"{_capital(test.log_e)}/{_capital(test.bound)}"


def _capital(log_e: float) -> str:
    """Return a capital with three digits, without an exponent while it has few."""
    return f"{math.exp(log_e):.3g}" if -7 < log_e < 7 else f"10^{log_e / math.log(10):.1f}"


_OF_BETTING: Mapping[State, str] = {
    "open": "the evidence is not enough yet",
    "stronger": "the evidence is enough",
    "futile": "the evidence will hardly be enough",
    "exhausted": "the matches repeat themselves",
}


def _of_test(test: SequentialTest) -> str:
    elo0, elo1 = decimal(test.elo0), decimal(test.elo1)
    if test.accepted is None:
        return f"the test of {elo0} against {elo1} {test.model} Elo is undecided"
    accepted, rejected = (elo0, elo1) if test.accepted == "H0" else (elo1, elo0)
    return f"the test accepts {accepted} {test.model} Elo against {rejected}"


def _of_many(report: Report) -> str:
    best = [report.entrants[each.entrant].name for each in report.standings if each.place == 1]
    if not best or not any(each.counts.matches for each in report.standings):
        return ""
    is_over = report.winner is not None or (
        report.pairs is not None and report.done >= report.pairs
    )
    if len(best) > 1:
        verb = "share" if is_over else "are level in"
        return f"{', '.join(best[:-1])} and {best[-1]} {verb} the first place"
    text = f"{best[0]} {'won' if is_over else 'leads'}"
    if not report.los or len(report.standings) < 2:
        return text
    first, second = (each.entrant for each in report.standings[:2])
    los, rival = report.los[first][second], report.entrants[second].name
    if los is None:
        return text
    return f"{text}; likelihood that it is stronger than {rival}, the next: {percent(los)}"


def _sign(lead: Estimate) -> int:
    """Return which of two is stronger, 1 or -1 for the second; 0 if zero is within the error."""
    is_above = lead.low is not None and lead.low > 0
    is_below = lead.high is not None and lead.high < 0
    if (lead.low, lead.high) == (None, None) and lead.value is not None and lead.error is not None:
        return (lead.value > lead.error) - (lead.value < -lead.error)
    return int(is_above) - int(is_below)


def turned(lead: Estimate) -> Estimate:
    """Return the estimate from the side of the other entrant."""
    numbers = (lead.value, lead.low, lead.high)
    value, low, high = (None if each is None else -each for each in numbers)
    return Estimate(value, lead.error, high, low)
