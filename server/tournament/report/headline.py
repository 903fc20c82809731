"""The answer that a tournament was held for, in one sentence."""

from __future__ import annotations

from playout.commands.text import percent
from playout.protocol.time_control import decimal
from playout.server.tournament.report import words
from playout.server.tournament.report.values import Estimate, HeadToHead, Report, SequentialTest


def headline(report: Report) -> str:
    """Return who is stronger, or who has won or leads; empty before the first result."""
    if len(report.entrants) == 2 and report.head_to_head:
        return _of_two(report, report.head_to_head[0])
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
    difference = f"{words.elo(_turned(both.elo) if sign < 0 else both.elo)} Elo"
    verdict = f"; {_of_test(both.test)}" if both.test else ""
    return f"{text}: {difference}{verdict}"


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


def _sign(elo: Estimate) -> int:
    """Return which of two is stronger, 1 or -1 for the second; 0 if zero is within the error."""
    if elo.value is not None and elo.error is not None:
        return (elo.value > elo.error) - (elo.value < -elo.error)
    return int(elo.low is not None and elo.low > 0) - int(elo.high is not None and elo.high < 0)


def _turned(elo: Estimate) -> Estimate:
    """Return the estimate from the side of the other."""
    value, low, high = (None if each is None else -each for each in (elo.value, elo.low, elo.high))
    return Estimate(value, elo.error, high, low)
