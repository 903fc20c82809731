"""Plots as SVG for pages: as wide as the page allows, with letters of one size.

Horizontal coordinates are in percent of the width, vertical ones in pixels. Colours come from the
page's style sheet, by the classes `grid`, `bar`, `open`, `dot`, `bound`, `curve` and `band`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from playout.commands.text import utc
from playout.protocol.time_control import decimal
from playout.ratings.leaderboard import RatingPoint

#: The approximate number of marks on an axis.
_MARKS = 5
#: The width of the coordinates in which curves are drawn.
_FINE = 1000
#: The distance to an edge, in percent, within which a centred text might be cut off.
_NEAR = 8
#: The place of labels, in percent, beside the numbers at the left edge.
_ASIDE = 16.0
_TOP, _BOTTOM = 8.0, 24.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """Maps numbers to coordinates between `start` and `end`, in percent or pixels."""

    low: float
    high: float
    start: float = 2.0
    end: float = 98.0

    def at(self, value: float) -> float:
        """The coordinate of a number."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def marks(self, least: float = 0.0) -> Iterator[float]:
        """Round numbers, 1, 2 or 5 times a power of ten apart, and at least `least` apart."""
        rough = (self.high - self.low) / _MARKS
        power = 10 ** math.floor(math.log10(rough))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
        step = max(step, least)
        for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
            yield number * step


def around(values: Sequence[float]) -> tuple[float, float]:
    """Return bounds around the values, with 5 % of room at both sides."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


class Plane:
    """The area of a plot, `height` pixels high, with marks and their numbers at both axes.

    Points above or below it are drawn at its edge.
    """

    def __init__(self, across: tuple[float, float], up: tuple[float, float], height: float) -> None:
        """`across`, `up`: the lowest and the highest number of each axis."""
        self.height = height
        self._across = Axis(*across, 1.0, 99.0)
        self._up = Axis(*up, height - _BOTTOM, _TOP)

    def level_grid(self) -> Iterator[str]:
        """A line for each round number, with the number above it."""
        for mark in self._up.marks():
            y = self._up.at(mark)
            yield line("grid", (0, y), (100, y))
            if y - 16 > 0:
                yield text(0, y - 8, decimal(mark), "start")

    def upright_grid(self, marks: Iterable[tuple[float, str]] | None = None) -> Iterator[str]:
        """A line for each mark, with its text below; without `marks`, for round whole numbers."""
        if marks is None:
            marks = ((each, decimal(each)) for each in self._across.marks(least=1))
        for mark, label in marks:
            x = self._across.at(mark)
            yield line("grid", (x, _TOP), (x, self.height - _BOTTOM))
            yield text(x, self.height - _BOTTOM + 14, label, _anchor(x))

    def level(self, kind: str, value: float, label: str) -> Iterator[str]:
        """A level line at any number, with a label beside the place where curves begin."""
        y = self._up.at(value)
        yield line(kind, (0, y), (100, y))
        yield text(_ASIDE, y - 8 if y > _TOP + 16 else y + 10, label, "start")

    def curve(self, kind: str, points: Iterable[Point]) -> str:
        """A curve through the points."""
        return self._drawn("polyline", kind, points)

    def band(self, kind: str, lower: Sequence[Point], upper: Sequence[Point]) -> str:
        """The area between two curves."""
        return self._drawn("polygon", kind, [*lower, *reversed(upper)])

    def dot(self, kind: str, point: Point) -> str:
        """A dot at a point of the plane."""
        return dot(kind, self._across.at(point[0]), self._up.at(point[1]))

    def label(self, point: Point, shown: str) -> str:
        """A text above a point of the plane."""
        x = self._across.at(point[0])
        return text(x, self._up.at(point[1]) - 14, shown, _anchor(x))

    def _inside(self, value: float) -> float:
        return self._up.at(min(max(value, self._up.low), self._up.high))

    def _drawn(self, tag: str, kind: str, points: Iterable[Point]) -> str:
        """A shape of points, in an image that is stretched: points cannot be in percent."""
        scale = _FINE / 100
        places = " ".join(
            f"{self._across.at(x) * scale:.1f},{self._inside(y):.1f}" for x, y in points
        )
        return (
            f'<svg width="100%" height="{self.height:g}" viewBox="0 0 {_FINE} {self.height:g}" '
            f'preserveAspectRatio="none"><{tag} class="{kind}" vector-effect="non-scaling-stroke" '
            f'points="{places}"/></svg>'
        )


def upright_grid(axis: Axis, bottom: float) -> Iterator[str]:
    """A line for each round number, down to `bottom`, with the number below."""
    for mark in axis.marks():
        x = axis.at(mark)
        yield line("grid", (x, _TOP), (x, bottom))
        yield text(x, bottom + 14, decimal(mark), _anchor(x))


def line(kind: str, start: Point, end: Point) -> str:
    """A straight line of the class `kind`."""
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:g}%" y1="{y1:g}" x2="{x2:g}%" y2="{y2:g}"/>'


def dot(kind: str, x: float, y: float) -> str:
    """A dot of the class `kind`, at x in percent and y in pixels."""
    return f'<circle class="{kind}" cx="{x:g}%" cy="{y:g}" r="4"/>'


def text(x: float, y: float, shown: str, anchor: str) -> str:
    """A text, which is escaped; `anchor` is start, middle or end."""
    return f'<text x="{x:g}%" y="{y:g}" dy="0.35em" text-anchor="{anchor}">{escape(shown)}</text>'


def svg(title: str, height: float, parts: Iterable[str]) -> str:
    """The plot of these parts; the title is for screen readers."""
    head = f'<svg class="plot" width="100%" height="{height:g}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def _anchor(x: float) -> str:
    return "start" if x < _NEAR else "end" if x > 100 - _NEAR else "middle"


#: The height of a plot of ratings, in pixels.
_HEIGHT = 280
#: The style sheet has this many colours for versions, `v0` to `v3`; further ones repeat them.
COLOURS = 4
_DATE_MARKS = 4
#: The format of times, in every language, by the least span of the plot in seconds.
_TIME_FORMATS = (
    (60 * 86_400.0, "%Y-%m"),
    (2 * 86_400.0, "%m-%d"),
    (600.0, "%H:%M"),
    (0.0, "%H:%M:%S"),
)


def rating_plot(
    histories: Iterable[Sequence[RatingPoint]], tell: Callable[[str], str] = str
) -> Markup:
    """Return an SVG of ratings over time with error bands; empty if all have the same time.

    `tell` translates its title.
    """
    curves = list(histories)
    points = [point for each in curves for point in each]
    times = [point.at for point in points]
    begin, end = min(times, default=0.0), max(times, default=0.0)
    if begin == end:
        return Markup()
    plane = Plane((begin, end), _rating_range(curves), _HEIGHT)
    parts = [*plane.level_grid(), *plane.upright_grid(_times(begin, end))]
    for place, each in enumerate(curves):
        parts += _version(plane, place, each)
    # All values in it are numbers, so that nothing needs to be escaped.
    return Markup(svg(tell("Rating over time, with 95% error bands"), _HEIGHT, parts))


def _rating_range(curves: Sequence[Sequence[RatingPoint]]) -> tuple[float, float]:
    """Return a range with all ratings, and the error bands after the first third."""
    ratings = [each.rating for curve in curves for each in curve]
    later = [each for curve in curves for each in curve[len(curve) // 3 :]]
    errors = [end for each in later for end in (each.rating - each.error, each.rating + each.error)]
    return around([*ratings, *errors])


def _version(plane: Plane, place: int, points: Iterable[RatingPoint]) -> Iterator[str]:
    colour = f"v{place % COLOURS}"
    curve = list(points)
    lower = [(each.at, each.rating - each.error) for each in curve]
    upper = [(each.at, each.rating + each.error) for each in curve]
    yield plane.band(f"band {colour}", lower, upper)
    yield plane.curve(f"curve {colour}", [(each.at, each.rating) for each in curve])
    for each in curve[-1:]:
        yield plane.dot(f"dot {colour}", (each.at, each.rating))


def _times(begin: float, end: float) -> Iterator[tuple[float, str]]:
    time_format = next(form for least, form in _TIME_FORMATS if end - begin >= least)
    for number in range(_DATE_MARKS):
        at = begin + (end - begin) * number / (_DATE_MARKS - 1)
        yield at, f"{utc(at):{time_format}}"
