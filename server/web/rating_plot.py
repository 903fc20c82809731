"""A plot of the ratings of a player over time, by version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from server.export.text import utc
from server.tournament.leaderboard import RatingPoint
from server.tournament.report.plot import Plane, around, svg

_HEIGHT = 280
#: The style sheet has this many colours for versions, `v0` to `v3`; further ones repeat them.
COLOURS = 4
_MARKS = 4
#: The format of times, by the least span of the plot in seconds.
_TIME_FORMATS = (
    (60 * 86_400.0, "%b %Y"),
    (2 * 86_400.0, "%d %b"),
    (600.0, "%H:%M"),
    (0.0, "%H:%M:%S"),
)


def rating_plot(histories: Iterable[Sequence[RatingPoint]]) -> Markup:
    """An SVG of ratings over time with error bands; empty if all are of one moment."""
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
    return Markup(svg("Rating over time, with 95% error bands", _HEIGHT, parts))


def _rating_range(curves: Sequence[Sequence[RatingPoint]]) -> tuple[float, float]:
    """A range with all ratings and the later error bands: the first ones are too wide to show."""
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
    for number in range(_MARKS):
        at = begin + (end - begin) * number / (_MARKS - 1)
        yield at, f"{utc(at):{time_format}}"
