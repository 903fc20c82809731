"""The bracket of a knockout as nested lists in HTML, which style sheets draw as columns.

Without a style sheet, or read aloud, they are the rounds with their encounters in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from server.export.text import plain
from server.model.time_control import decimal
from server.tournament.report.values import Meeting, Report

_EMPTY, _UNKNOWN = "no opponent", "not known yet"
#: The winners are in bold type.
_ADVANCES = '<span class="visually-hidden"> advances</span>'


def bracket(report: Report, link: Callable[[tuple[int, ...]], str]) -> str:
    """Return the bracket of a knockout; empty for another format.

    `link` returns the address of a page on an entrant, or on the matches of two; empty without one.
    """
    return "\n".join(_Bracket(report, link).lines()) if report.bracket else ""


class _Bracket:
    """Writes the rounds of a report."""

    def __init__(self, report: Report, link: Callable[[tuple[int, ...]], str]) -> None:
        self._names = [plain(each.name) for each in report.entrants]
        self._rounds = report.bracket
        #: The entrants that advance from each round, by encounter.
        self._advanced = [*(each.seats for each in report.bracket[1:]), (report.winner,)]
        self._met = {
            (some.name, frozenset((each.first, each.second))): each
            for some in report.rounds
            for each in some.meetings
        }
        self._link = link

    def lines(self) -> Iterator[str]:
        """Yields the lines of all rounds, in HTML."""
        yield '<ol class="bracket">'
        for number, each in enumerate(self._rounds):
            yield f'<li class="round"><h3>{escape(each.name)}</h3>'
            yield "<ol>"
            for place, both in enumerate(zip(each.seats[::2], each.seats[1::2], strict=True)):
                yield '<li class="encounter"><div>'
                yield from self._sides(number, both, self._advanced[number][place])
                yield "</div></li>"
            yield "</ol></li>"
        yield "</ol>"

    def _sides(
        self, number: int, both: tuple[int | None, int | None], winner: int | None
    ) -> Iterator[str]:
        meeting = self._met.get((self._rounds[number].name, frozenset(both)))
        for one in both:
            if one is None:
                yield f'<p class="side muted">{_UNKNOWN if number else _EMPTY}</p>'
                continue
            name = _linked(self._names[one], self._link((one,)))
            text = f'<span class="who">{name}</span>{self._points(one, meeting)}'
            won, advances = (" won", _ADVANCES) if one == winner else ("", "")
            yield f'<p class="side{won}">{text}{advances}</p>'

    def _points(self, one: int, meeting: Meeting | None) -> str:
        """The points of an entrant in a meeting; empty without an opponent."""
        if meeting is None or meeting.second is None:
            return ""
        is_first = meeting.first == one
        points = meeting.points[0 if is_first else 1]
        other = meeting.second if is_first else meeting.first
        return f' <span class="points">{_linked(decimal(points), self._link((one, other)))}</span>'


def _linked(text: str, address: str) -> str:
    return f'<a href="{escape(address)}">{escape(text)}</a>' if address else escape(text)
