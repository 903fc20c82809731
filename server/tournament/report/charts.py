"""Charts as SVG, to stand in a page: its style sheet has their colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rich.cells import cell_len, set_cell_size

from server.clock import decimal
from server.export.text import plain
from server.tournament.report import words
from server.tournament.report.tables import in_order
from server.tournament.report.values import Estimate, Report, SequentialTest

WIDTH = 720
_ROW, _HEIGHT = 26, 260
#: Of a column of letters, at 13 pixels.
_LETTER = 8
_LONGEST_NAME = 24
_TOP, _BOTTOM, _SIDE = 16, 28, 12
#: Beside the curve there is room for the numbers of its axes.
_LEFT, _RIGHT = 48, WIDTH - 36
#: About so many marks on an axis, and of a curve at most so many pieces.
_MARKS, _PIECES = 6, 500


@dataclass(frozen=True)
class _Axis:
    """From numbers to pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def marks(self, least: float = 0.0) -> Iterator[float]:
        """Round numbers, 1, 2 or 5 times a power of ten apart, and at least so far."""
        rough = (self.high - self.low) / _MARKS
        power = 10 ** math.floor(math.log10(rough))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
        step = max(step, least)
        for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            yield number * step


def ratings(report: Report) -> str:
    """Each entrant's rating with its error bar; nothing where none is known."""
    order = [one for one in in_order(report) if report.ratings]
    ends = [end for one in order for end in _ends(report.ratings[one])]
    if not ends:
        return ""
    names = [_short(plain(report.entrants[one].name)) for one in order]
    left = _SIDE + _LETTER * (2 + max(map(cell_len, names)))
    right = WIDTH - _SIDE - _LETTER * max(len(words.elo(report.ratings[one])) + 2 for one in order)
    axis = _Axis(*_around([*ends, 0.0]), left, right)
    bottom = _TOP + _ROW * len(order)
    parts = list(_upright_grid(axis, bottom))
    for row, (one, name) in enumerate(zip(order, names, strict=True)):
        middle = _TOP + _ROW * row + _ROW / 2
        parts += [
            _text(_SIDE, middle, name, "start"),
            *_bar(axis, middle, report.ratings[one]),
            _text(WIDTH - _SIDE, middle, words.elo(report.ratings[one]), "end"),
        ]
    return _svg("Ratings in Elo with 95% error bars", bottom + _BOTTOM, parts)


def llr(test: SequentialTest) -> str:
    """The log-likelihood ratio after each pair, and the bounds; nothing before the first."""
    if not test.llrs:
        return ""
    across = _Axis(0, len(test.llrs), _LEFT, _RIGHT)
    up = _Axis(*_around([test.lower, test.upper, *test.llrs]), _HEIGHT - _BOTTOM, _TOP)
    points = " ".join(f"{across.at(pairs)},{up.at(each)}" for pairs, each in _thinned(test.llrs))
    parts = [
        *(_text(_LEFT - 8, up.at(mark), decimal(mark), "end") for mark in up.marks()),
        *_upright_grid(across, _HEIGHT - _BOTTOM, least=1),
        *_bound(up.at(test.lower), "elo0"),
        *_bound(up.at(test.upper), "elo1"),
        f'<polyline class="curve" points="{points}"/>',
    ]
    return _svg("Log-likelihood ratio after each pair, and its bounds", _HEIGHT, parts)


def _ends(estimate: Estimate) -> list[float]:
    """The ends of its bar, as far as they are known."""
    if estimate.value is None:
        return [each for each in (estimate.low, estimate.high) if each is not None]
    error = estimate.error or 0.0
    return [estimate.value - error, estimate.value + error]


def _short(name: str) -> str:
    if cell_len(name) <= _LONGEST_NAME:
        return name
    return set_cell_size(name, _LONGEST_NAME - 1).rstrip() + "…"


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Bounds with some room at both sides."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _bar(axis: _Axis, y: float, estimate: Estimate) -> list[str]:
    """A bar without an end goes to the edge."""
    ends = _ends(estimate)
    if not ends:
        return []
    low, high = min(ends), max(ends)
    if estimate.value is None:
        low = axis.low if estimate.low is None else low
        high = axis.high if estimate.high is None else high
        return [_line("bar open", (axis.at(low), y), (axis.at(high), y))]
    return [
        _line("bar", (axis.at(low), y), (axis.at(high), y)),
        f'<circle class="dot" cx="{axis.at(estimate.value)}" cy="{y}" r="4"/>',
    ]


def _bound(y: float, accepts: str) -> list[str]:
    return [_line("bound", (_LEFT, y), (_RIGHT, y)), _text(_RIGHT + 4, y, accepts, "start")]


def _upright_grid(axis: _Axis, bottom: float, least: float = 0.0) -> Iterator[str]:
    for mark in axis.marks(least):
        x = axis.at(mark)
        yield _line("grid", (x, _TOP), (x, bottom))
        yield _text(x, bottom + 14, decimal(mark), "middle")


def _thinned(values: Sequence[float]) -> Iterator[tuple[int, float]]:
    """The curve from 0 on, with the lowest and the highest point of each piece and the last."""
    yield 0, 0.0
    size = math.ceil(len(values) / _PIECES)
    for start in range(0, len(values), size):
        piece = range(start, min(start + size, len(values)))
        lowest, highest = min(piece, key=values.__getitem__), max(piece, key=values.__getitem__)
        for place in sorted({lowest, highest}):
            yield place + 1, values[place]
    yield len(values), values[-1]


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" dy="0.35em" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{escape(title)}</title>'
    return "\n".join([head, *parts, "</svg>"])
