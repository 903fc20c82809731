"""`/tournaments`: all that are stored; `/tournaments/ID`: what one has shown, also meanwhile."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from markupsafe import Markup
from twisted.web import http

from server.storage.results import MatchFilter, MatchRow, ResultPage
from server.tournament.report import Report, html
from server.tournament.report.tables import CellEntrants, summary
from server.web.archive import Archive, TournamentRecord
from server.web.http import HTML, Handler, HttpError, HttpRequest, HttpResponse, revalidated
from server.web.pages.source import PageSource, page, shown
from server.web.parameters import Parameters, id_of
from server.web.templates import render

#: Of the matches of a tournament; from these it is told how long it will last.
_LATEST = 20
#: So many boards move.
_BOARDS = 12
#: So many tournaments that run are looked into, to say in a list how far they have come.
_LOOKED_INTO = 10
#: Reports that are remembered as they are written; and answers, for so long.
_WRITTEN, _REMEMBERED, _FRESH_S = 16, 64, 1.0


def index(source: PageSource) -> Handler:
    """The list."""

    async def show(asked: HttpRequest) -> HttpResponse:
        found = await source.archive.tournaments(Parameters(asked, ("page",)).page)
        goes_on = [each.tournament for each in found.items if each.ended_at is None]
        records = [await source.archive.tournament(each) for each in goes_on[:_LOOKED_INTO]]
        return page(
            "tournaments.html",
            found=found,
            running=Counter(table.tournament for table in source.hub.rooms.values()),
            progress={each.tournament: each.report for each in records if each},
        )

    return shown(show)


def item(source: PageSource) -> Handler:
    """One: its page or, as `?part=`, what of it changes while it is played."""
    written = _Written(source.archive)
    recent: OrderedDict[tuple[str, str], _Recent] = OrderedDict()

    async def show(asked: HttpRequest) -> HttpResponse:
        tournament = id_of("/".join(asked.path))
        part = Parameters(asked, ("part",)).choice("part", "page", _PARTS)
        known = recent.get((tournament, part))
        if known is None or time.monotonic() >= known.until:
            known = _Recent(await make(tournament, part), time.monotonic() + _FRESH_S)
            recent[tournament, part] = known
            if len(recent) > _REMEMBERED:
                recent.popitem(last=False)
        return known.answer

    async def make(tournament: str, part: str) -> HttpResponse:
        record = await source.archive.tournament(tournament)
        if record is None:
            raise HttpError(http.NOT_FOUND, f"There is no tournament {tournament!r}.")
        its = MatchFilter(tournament=tournament)
        ended = await source.archive.matches(its, per_page=_LATEST)
        body = render(
            _PARTS[part],
            record=record,
            running=source.finder.running(its, per_page=_BOARDS),
            ended=ended,
            summary=summary(record.report),
            left_s=_left_s(record, ended),
            sections=await written.sections(record) if part != "progress" else "",
        )
        return revalidated(body, HTML, {})

    return shown(show)


_PARTS = {
    "page": "tournament.html",
    "progress": "tournament_progress.html",
    "tables": "tournament_tables.html",
}


@dataclass(frozen=True)
class _Recent:
    """An answer, and until when all who ask get the same."""

    answer: HttpResponse
    until: float


@dataclass(frozen=True)
class _Section:
    """A report as it was written last."""

    report: Report
    html: Markup


class _Written:
    """Reports as HTML, which for many entrants takes a while: written in threads, and kept."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: OrderedDict[str, _Section] = OrderedDict()

    async def sections(self, record: TournamentRecord) -> Markup:
        """All that a tournament has shown."""
        known = self._known.get(record.tournament)
        if known is None or known.report is not record.report:
            known = _Section(record.report, await self._archive.aside(lambda: _html(record)))
            self._known[record.tournament] = known
            if len(self._known) > _WRITTEN:
                self._known.popitem(last=False)
        return known.html


def _html(record: TournamentRecord) -> Markup:
    names = [each.name for each in record.spec.entrants]

    def link(entrants: CellEntrants) -> str:
        if len(entrants) == 1:
            return f"/players/{quote(names[entrants[0]], safe='')}"
        one, other = entrants
        query = {"tournament": record.tournament, "player": names[one], "opponent": names[other]}
        return f"/matches?{urlencode(query)}"

    # It escapes what was typed by somebody.
    return Markup("\n".join(html.sections(record.report, link)))


def _left_s(record: TournamentRecord, ended: ResultPage[MatchRow]) -> float | None:
    """How long it will last if it goes on as it did lately; None if nobody can tell."""
    report = record.report
    if record.ended_at or report.pairs is None or not ended.items:
        return None
    first, last = ended.items[-1], ended.items[0]
    if last.ended_at is None or len(ended.items) < 2:
        return None
    matches = 2 * (report.pairs - report.done)
    return matches * (last.ended_at - first.begun_at) / len(ended.items)
