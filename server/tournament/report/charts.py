"""Charts of a report for pages: ratings and LLR as SVG, the bracket of a knockout as HTML.

The bracket is nested lists, which style sheets draw as columns. Without a style sheet, or read
aloud, it is the rounds with their encounters in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from playout.commands.text import plain
from playout.protocol.time_control import decimal
from playout.ratings import plot
from playout.ratings.plot import Axis, Plane
from playout.server.tournament.report import words
from playout.server.tournament.report.tables import in_order
from playout.server.tournament.report.values import (
    BettingTest,
    Estimate,
    Meeting,
    Report,
    SequentialTest,
)

#: Translates the words and numbers of a report.
Tell = Callable[[str], str]

#: The row of an entrant in pixels: its height, its name and rating, and its bar below.
_ROW, _TEXT, _BAR = 42, 14, 30
_BOTTOM, _HEIGHT = 24, 280
_LONGEST_NAME = 22
#: Maximum number of pieces of a curve.
_PIECES = 500
#: The texts of an encounter without an entrant.
_EMPTY, _UNKNOWN = "no opponent", "not known yet"
#: Says for screen readers that an entrant has won; it is in bold type.
_ADVANCES = "advances"


def bracket(report: Report, link: Callable[[tuple[int, ...]], str], tell: Tell = str) -> str:
    """Return the bracket of a knockout; empty for another format.

    `link` returns the address of a page on an entrant, or on the matches of two; empty without one.
    """
    return "\n".join(_Bracket(report, link, tell).lines()) if report.bracket else ""


class _Bracket:
    """Writes the rounds of a report."""

    def __init__(self, report: Report, link: Callable[[tuple[int, ...]], str], tell: Tell) -> None:
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
        self._tell = tell

    def lines(self) -> Iterator[str]:
        """Yield the lines of all rounds, in HTML."""
        yield '<ol class="bracket">'
        for number, each in enumerate(self._rounds):
            yield f'<li class="round"><h3>{escape(self._tell(each.name))}</h3>'
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
                text = self._tell(_UNKNOWN if number else _EMPTY)
                yield f'<p class="side muted">{escape(text)}</p>'
                continue
            name = _linked(self._names[one], self._link((one,)))
            text = f'<span class="who">{name}</span>{self._points(one, meeting)}'
            if one == winner:
                advances = f'<span class="visually-hidden"> {escape(self._tell(_ADVANCES))}</span>'
                yield f'<p class="side won">{text}{advances}</p>'
            else:
                yield f'<p class="side">{text}</p>'

    def _points(self, one: int, meeting: Meeting | None) -> str:
        """Return the points of an entrant in a meeting; empty without an opponent."""
        if meeting is None or meeting.second is None:
            return ""
        is_first = meeting.first == one
        points = meeting.points[0 if is_first else 1]
        other = meeting.second if is_first else meeting.first
        number = _linked(self._tell(decimal(points)), self._link((one, other)))
        return f' <span class="points">{number}</span>'


def _linked(text: str, address: str) -> str:
    return f'<a href="{escape(address)}">{escape(text)}</a>' if address else escape(text)


def ratings(report: Report, tell: Tell = str) -> str:
    """Return each entrant's rating with its error bar; empty if no rating is known."""
    rows = [
        RatingRow(report.entrants[one].name, words.elo(report.ratings[one]), report.ratings[one])
        for one in in_order(report)
        if report.ratings
    ]
    return rating_rows(rows, origin=0.0, tell=tell)


class RatingRow(NamedTuple):
    """A row of a chart of ratings: a name, a rating as text, and the rating."""

    name: str
    shown: str
    rating: Estimate


def rating_rows(rows: Sequence[RatingRow], origin: float, tell: Tell = str) -> str:
    """Return ratings with error bars in rows, and the origin; empty if no rating is known."""
    ends = [end for row in rows for end in _ends(row.rating)]
    if not ends:
        return ""
    axis = Axis(*plot.around([*ends, origin]))
    bottom = _ROW * len(rows)
    parts = list(plot.upright_grid(axis, bottom))
    for number, row in enumerate(rows):
        top = _ROW * number
        parts += [
            plot.line("grid", (0, top + _BAR), (100, top + _BAR)),
            plot.text(0, top + _TEXT, _short(plain(row.name)), "start"),
            plot.text(100, top + _TEXT, tell(row.shown), "end"),
            *_bar(axis, top + _BAR, row.rating),
        ]
    return plot.svg(tell("Ratings in Elo with 95% error bars"), bottom + _BOTTOM, parts)


def llr(test: SequentialTest, tell: Tell = str) -> str:
    """Return the log-likelihood ratio after each pair, with its bounds; empty without pairs."""
    if not test.llrs:
        return ""
    up = plot.around([test.lower, test.upper, *test.llrs])
    plane = Plane((0, len(test.llrs)), up, _HEIGHT)
    parts = [
        *plane.level_grid(),
        *plane.upright_grid(),
        *plane.level("bound", test.lower, tell("elo0 is accepted")),
        *plane.level("bound", test.upper, tell("elo1 is accepted")),
        plane.curve("curve", _thinned(test.llrs)),
    ]
    return plot.svg(tell("Log-likelihood ratio after each pair, and its bounds"), _HEIGHT, parts)


def evidence(test: BettingTest, tell: Tell = str) -> str:
    """Return the logarithm of the capital after each pair, with its bound; empty without pairs."""
    if not test.curve:
        return ""
    curve = [each / math.log(10) for each in test.curve]
    bound = test.bound / math.log(10)
    plane = Plane((0, len(curve)), plot.around([0.0, bound, *curve]), _HEIGHT)
    parts = [
        *plane.level_grid(),
        *plane.upright_grid(),
        *plane.level("bound", bound, tell("stronger")),
        plane.curve("curve", _thinned(curve)),
    ]
    title = tell("Evidence after each pair, as a power of ten, and its bound")
    return plot.svg(title, _HEIGHT, parts)


def _ends(estimate: Estimate) -> list[float]:
    """Return the known ends of an error bar."""
    if estimate.value is None:
        return [each for each in (estimate.low, estimate.high) if each is not None]
    error = estimate.error or 0.0
    return [estimate.value - error, estimate.value + error]


def _short(name: str) -> str:
    if cell_len(name) <= _LONGEST_NAME:
        return name
    return set_cell_size(name, _LONGEST_NAME - 1).rstrip() + "…"


def _bar(axis: Axis, y: float, estimate: Estimate) -> list[str]:
    """Return an error bar; without a known end it reaches to the edge."""
    ends = _ends(estimate)
    if not ends:
        return []
    low, high = min(ends), max(ends)
    if estimate.value is None:
        low = axis.low if estimate.low is None else low
        high = axis.high if estimate.high is None else high
        return [plot.line("bar open", (axis.at(low), y), (axis.at(high), y))]
    return [
        plot.line("bar", (axis.at(low), y), (axis.at(high), y)),
        plot.dot("dot", axis.at(estimate.value), y),
    ]


def _thinned(values: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Yield the points of a curve from 0: the lowest and highest of each piece, and the last."""
    yield 0, 0.0
    size = math.ceil(len(values) / _PIECES)
    for start in range(0, len(values), size):
        piece = range(start, min(start + size, len(values)))
        lowest, highest = min(piece, key=values.__getitem__), max(piece, key=values.__getitem__)
        for place in sorted({lowest, highest}):
            yield place + 1, values[place]
    yield len(values), values[-1]
