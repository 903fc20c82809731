"""How ratings have come to be what they are, as a plot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from server.export.text import utc
from server.tournament.leaderboard import RatingPoint
from server.tournament.report.plot import Plane, around, svg
from server.web.archive import VersionRecord

_HEIGHT = 280
#: So many colours there are for versions, `v0` and so on; then they begin again.
COLOURS = 4
_MARKS = 4
#: How a time is said where the whole plot is at least so many seconds long.
_FORMATS = ((60 * 86_400.0, "%b %Y"), (2 * 86_400.0, "%d %b"), (600.0, "%H:%M"), (0.0, "%H:%M:%S"))


def history(versions: Iterable[VersionRecord]) -> Markup:
    """The ratings of versions over time, with their errors; nothing where there is one moment."""
    curves = [each.history for each in versions]
    points = [point for each in curves for point in each]
    begin, end = min((p.at for p in points), default=0.0), max((p.at for p in points), default=0.0)
    if begin == end:
        return Markup()
    plane = Plane((begin, end), _seen(curves), _HEIGHT)
    parts = [*plane.level_grid(), *plane.upright_grid(_times(begin, end))]
    for place, each in enumerate(curves):
        parts += _version(plane, place, each)
    # What is drawn are numbers: nothing in it was typed by anybody.
    return Markup(svg("Rating over time, with 95% error bands", _HEIGHT, parts))


def _seen(curves: Sequence[Sequence[RatingPoint]]) -> tuple[float, float]:
    """All ratings, and the later errors: those of the first matches are beyond all bounds."""
    ratings = [each.rating for curve in curves for each in curve]
    later = [each for curve in curves for each in curve[len(curve) // 3 :]]
    errors = [end for each in later for end in (each.rating - each.error, each.rating + each.error)]
    return around([*ratings, *errors])


def _version(plane: Plane, place: int, points: Iterable[RatingPoint]) -> Iterator[str]:
    kind = f"v{place % COLOURS}"
    known = list(points)
    lower = [(each.at, each.rating - each.error) for each in known]
    upper = [(each.at, each.rating + each.error) for each in known]
    yield plane.band(f"band {kind}", lower, upper)
    yield plane.curve(f"curve {kind}", [(each.at, each.rating) for each in known])
    for each in known[-1:]:
        yield plane.dot(f"dot {kind}", (each.at, each.rating))


def _times(begin: float, end: float) -> Iterator[tuple[float, str]]:
    form = next(form for least, form in _FORMATS if end - begin >= least)
    for number in range(_MARKS):
        at = begin + (end - begin) * number / (_MARKS - 1)
        yield at, f"{utc(at):{form}}"
