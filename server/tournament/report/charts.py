"""Charts of a report as SVG, for pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from server.export.text import plain
from server.tournament.report import plot, words
from server.tournament.report.plot import Axis, Plane
from server.tournament.report.tables import in_order
from server.tournament.report.values import Estimate, Report, SequentialTest

#: The row of an entrant in pixels: its height, its name and rating, and its bar below.
_ROW, _TEXT, _BAR = 42, 14, 30
_BOTTOM, _HEIGHT = 24, 280
_LONGEST_NAME = 22
#: The most pieces of a curve.
_PIECES = 500


def ratings(report: Report) -> str:
    """Each entrant's rating with its error bar; empty if no rating is known."""
    rows = [
        RatingRow(report.entrants[one].name, words.elo(report.ratings[one]), report.ratings[one])
        for one in in_order(report)
        if report.ratings
    ]
    return rating_rows(rows, origin=0.0)


class RatingRow(NamedTuple):
    """A row of a chart of ratings: a name, a rating as text, and the rating."""

    name: str
    shown: str
    rating: Estimate


def rating_rows(rows: Sequence[RatingRow], origin: float) -> str:
    """A rating with its error bar in each row, and the origin; empty if no rating is known."""
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
            plot.text(100, top + _TEXT, row.shown, "end"),
            *_bar(axis, top + _BAR, row.rating),
        ]
    return plot.svg("Ratings in Elo with 95% error bars", bottom + _BOTTOM, parts)


def llr(test: SequentialTest) -> str:
    """The log-likelihood ratio after each pair, with its bounds; empty before the first pair."""
    if not test.llrs:
        return ""
    up = plot.around([test.lower, test.upper, *test.llrs])
    plane = Plane((0, len(test.llrs)), up, _HEIGHT)
    parts = [
        *plane.level_grid(),
        *plane.upright_grid(),
        *plane.level("bound", test.lower, "elo0 is accepted"),
        *plane.level("bound", test.upper, "elo1 is accepted"),
        plane.curve("curve", _thinned(test.llrs)),
    ]
    return plot.svg("Log-likelihood ratio after each pair, and its bounds", _HEIGHT, parts)


def _ends(estimate: Estimate) -> list[float]:
    """The known ends of an error bar."""
    if estimate.value is None:
        return [each for each in (estimate.low, estimate.high) if each is not None]
    error = estimate.error or 0.0
    return [estimate.value - error, estimate.value + error]


def _short(name: str) -> str:
    if cell_len(name) <= _LONGEST_NAME:
        return name
    return set_cell_size(name, _LONGEST_NAME - 1).rstrip() + "…"


def _bar(axis: Axis, y: float, estimate: Estimate) -> list[str]:
    """An error bar; without a known end it goes to the edge."""
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
    """The points of a curve from 0 on: the lowest and highest of each piece, and the last."""
    yield 0, 0.0
    size = math.ceil(len(values) / _PIECES)
    for start in range(0, len(values), size):
        piece = range(start, min(start + size, len(values)))
        lowest, highest = min(piece, key=values.__getitem__), max(piece, key=values.__getitem__)
        for place in sorted({lowest, highest}):
            yield place + 1, values[place]
    yield len(values), values[-1]
