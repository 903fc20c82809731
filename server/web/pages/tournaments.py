"""`/tournaments`: the stored tournaments; `/tournaments/ID`: one, with its report so far.

`/tournaments/ID/live`: its running matches, one of them large, with the curves of both players, the
next matches and the tables; with `?screen` for a big screen. `/tournaments/ID/live.jsonl`: the same
as JSON Lines. `/tournaments.atom` is the list as an Atom feed (RFC 4287), with the rounds that
ended, and `/tournaments.ics` as a calendar (RFC 5545).
"""

from __future__ import annotations

import re
import statistics
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from urllib.parse import quote, urlencode

import msgspec
from markupsafe import Markup
from twisted.web import http

from playout.commands.text import utc
from playout.protocol.messages import ClusterWorker, ReportCluster
from playout.server.storage.results import MatchFilter, MatchRow, ResultPage, TournamentRow
from playout.server.tournament.report import Report, writer, writers
from playout.server.tournament.report.tables import CellEntrants, summary, tables
from playout.server.tournament.report.words import headline
from playout.server.tournament.spec_parser import written
from playout.server.web.archive import TournamentRecord, UnreadableTournament
from playout.server.web.http import (
    ANY_ORIGIN,
    HTML,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
)
from playout.server.web.http_server import content_policy
from playout.server.web.match_data import MatchData, PositionData
from playout.server.web.pages.source import PageSource
from playout.server.web.parameters import Parameters, parse_id
from playout.server.web.templates import VARIES, modules, render
from playout.server.web.texts import Language, game_title

# The summary of the cluster on which the entrants of a tournament run.


@dataclass(frozen=True)
class ClusterHost:
    """The workers on a host, with their cores and core sets.

    `speed` is that of the slowest worker, divided by the median of all workers; None if unknown.
    """

    host: str
    workers: int
    cores: int
    core_sets: int
    speed: float | None


@dataclass(frozen=True)
class ClusterSummary:
    """The numbers of a cluster, and its hosts in the order of their names."""

    workers: int
    cores: int
    waiting: int
    matches_per_hour: float | None
    dashboard: str | None
    hosts: tuple[ClusterHost, ...]


def cluster_summary(report: ReportCluster) -> ClusterSummary:
    """The summary of an organizer's report."""
    speeds = [each.speed for each in report.workers if each.speed is not None]
    usual = statistics.median(speeds) if speeds else 1.0
    by_host: dict[str, list[ClusterWorker]] = {}
    for each in report.workers:
        by_host.setdefault(each.host, []).append(each)
    return ClusterSummary(
        workers=len(report.workers),
        cores=sum(each.cores for each in report.workers),
        waiting=report.waiting,
        matches_per_hour=report.matches_per_hour,
        dashboard=report.dashboard,
        hosts=tuple(_host(host, by_host[host], usual) for host in sorted(by_host)),
    )


def _host(host: str, workers: Sequence[ClusterWorker], usual: float) -> ClusterHost:
    speeds = [each.speed for each in workers if each.speed is not None]
    return ClusterHost(
        host=host,
        workers=len(workers),
        cores=sum(each.cores for each in workers),
        core_sets=sum(len(each.core_sets) for each in workers),
        speed=min(speeds) / usual if speeds else None,
    )


_ATOM = "application/atom+xml; charset=utf-8"
_CALENDAR = "text/calendar; charset=utf-8"
#: Seconds for which the feed has an ended round.
_ROUND_S = 7 * 24 * 3600.0
#: The number of finished matches on the page, from which the remaining time is estimated.
_LATEST = 20
#: The number of running matches on the page.
_BOARDS = 12
#: The number of running tournaments whose progress the list shows.
_WITH_PROGRESS = 10


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The list of tournaments, with the progress of some."""
    page, language = Parameters(request, ("page",)).page, request.language
    tournaments = await source.archive.tournaments(page)
    current = [each for each in tournaments.items if page == 1 and _is_current(source, each)]
    current.sort(key=lambda each: each.starts_at)
    unfinished = [each.tournament for each in tournaments.items if each.ended_at is None]
    unreadable = {each.tournament for each in tournaments.items if not each.format}
    progress: dict[str, Report] = {}
    for tournament in unfinished[:_WITH_PROGRESS]:
        try:
            if record := await source.archive.tournament(tournament):
                progress[tournament] = record.report
        except UnreadableTournament:  # its own page gives the reason
            unreadable.add(tournament)
    return await source.render(
        "tournaments.html",
        language,
        tournaments=tournaments,
        calendar=groupby(current, lambda each: language.day(each.starts_at)),
        now=time.time(),
        benchmarks=source.benchmarks,
        running=Counter(room.record.tournament for room in source.hub.rooms.values()),
        progress=progress,
        unreadable=unreadable,
    )


def _is_current(source: PageSource, row: TournamentRow) -> bool:
    return source.hub.tournaments.is_running(row.tournament)


async def feed(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The latest tournaments as an Atom feed, changed when one starts or ends, and their rounds."""
    Parameters(request, ())
    key = "tournaments.atom", request.language.code
    return await source.responses.get(key, lambda: _feed(source, request.language))


async def _feed(source: PageSource, language: Language) -> HttpResponse:
    tournaments = await source.archive.tournaments()
    rounds = await source.archive.ended_rounds(time.time() - _ROUND_S)
    feed_id = uuid.UUID(await source.archive.database_id()).urn

    def respond() -> HttpResponse:
        times = [each.ended_at or each.started_at for each in tournaments.items]
        body = render(
            "tournaments.xml",
            language,
            tournaments=tournaments.items,
            rounds=rounds,
            urn=_urn,
            feed_id=feed_id,
            updated_at=max([*times, *(each.ended_at for each in rounds)], default=0),
        )
        return cacheable_response(body, _ATOM, headers=VARIES)

    return await source.archive.run_in_thread(respond)


async def calendar(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The latest tournaments as a calendar, with the times at which they start and have ended."""
    Parameters(request, ())
    tournaments = await source.archive.tournaments()

    def respond() -> HttpResponse:
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Playout//tournaments//EN"]
        for each in tournaments.items:
            ended_at = max(each.ended_at, each.starts_at) if each.ended_at else None
            lines += [
                "BEGIN:VEVENT",
                f"UID:{_urn(each.tournament)}",
                f"DTSTAMP:{_ics_time(each.started_at)}",
                f"DTSTART:{_ics_time(each.starts_at)}",
                *([f"DTEND:{_ics_time(ended_at)}"] if ended_at else ()),
                f"SUMMARY:{_ics_text(each.name)}",
                f"DESCRIPTION:{_ics_text(f'/tournaments/{each.tournament}')}",
                "END:VEVENT",
            ]
        body = "".join(f"{_folded(each)}\r\n" for each in (*lines, "END:VCALENDAR"))
        return cacheable_response(body.encode(), _CALENDAR)

    return await source.archive.run_in_thread(respond)


def _ics_time(at: float) -> str:
    return f"{utc(at):%Y%m%dT%H%M%SZ}"


def _ics_text(text: str) -> str:
    """Return a text with the characters escaped that separate values in a calendar."""
    return re.sub(r"([\\;,])", r"\\\1", text)


def _folded(line: str) -> str:
    """Return a line of a calendar as several of at most 75 bytes, the later ones with a blank."""
    parts, size = [""], 0
    for character in line:
        size += len(character.encode())
        if size > 75:
            parts.append(" ")
            size = 1 + len(character.encode())
        parts[-1] += character
    return "\r\n".join(parts)


def _urn(tournament: str) -> str:
    """The id of a tournament or round in a feed, an IRI, the same at all addresses of a server."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"playout:tournaments/{tournament}").urn


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """A tournament: its page or, for `?part=`, a section that changes while it runs."""
    match request.path:
        case (tournament, "live"):
            return await live(source, request, tournament)
        case (tournament, "live.jsonl"):
            return await _live_lines(source, request, tournament)
    tournament = parse_id("/".join(request.path))
    part = Parameters(request, ("part",)).choice("part", "page", (*_PARTS, *_FILES))
    language = request.language
    if part in _FILES:
        return await _file(source, tournament, part)
    key = "tournament", tournament, part, language.code
    return await source.responses.get(key, lambda: _item(source, tournament, part, language))


async def _file(source: PageSource, tournament: str, part: str) -> HttpResponse:
    """A file about a tournament."""
    record = await _record(source, tournament)
    kind, make = _FILES[part]
    return await source.archive.run_in_thread(
        lambda: cacheable_response(make(record).encode(), kind)
    )


async def _record(source: PageSource, tournament: str) -> TournamentRecord:
    record = await source.archive.tournament(tournament)
    if record is None:
        raise HttpError(http.NOT_FOUND, f"There is no tournament {tournament!r}.")
    return record


#: The files about a tournament: their types, and the functions that make them.
_FILES: dict[str, tuple[str, Callable[[TournamentRecord], str]]] = {
    "csv": ("text/csv; charset=utf-8", lambda record: writer("csv")(record.report)),
    "toml": ("application/toml", lambda record: written(record.spec)),
}


async def _item(source: PageSource, tournament: str, part: str, language: Language) -> HttpResponse:
    record = await _record(source, tournament)
    match_filter = MatchFilter(tournament=tournament)
    ended = await source.archive.matches(match_filter, per_page=_LATEST)
    titles = tuple(game_title(each, language) for each in record.report.games)
    body = render(
        _PARTS[part],
        language,
        record=record,
        running=source.lookup.running(match_filter, per_page=_BOARDS),
        cluster=_cluster(source, tournament),
        faults=source.hub.tournaments.faults(tournament),
        ended=ended,
        headline=headline(record.report),
        summary=summary(replace(record.report, games=titles)),
        left_s=_left_s(record, ended),
        planned_at=starts if (starts := record.spec.starts_at) > time.time() else None,
        sections=await _sections(source, record, language) if part != "progress" else "",
    )
    return cacheable_response(body, HTML, headers=VARIES)


def _cluster(source: PageSource, tournament: str) -> ClusterSummary | None:
    """The summary of the tournament's cluster; None without a report."""
    report = source.hub.tournaments.clusters.of(tournament)
    return cluster_summary(report) if report else None


_PARTS = {
    "page": "tournament.html",
    "progress": "tournament_progress.html",
    "tables": "tournament_tables.html",
}


async def _sections(source: PageSource, record: TournamentRecord, language: Language) -> Markup:
    """The report as HTML, made in a thread and cached: for many entrants it takes seconds."""

    return await _cached_html(source, record, language, "all", report_html)


async def _cached_html(
    source: PageSource,
    record: TournamentRecord,
    language: Language,
    kind: str,
    make_html: Callable[[Report, writers.Link, Language], Markup],
) -> Markup:
    async def make() -> Markup:
        names = [each.name for each in record.spec.entrants]
        return await source.archive.run_in_thread(
            lambda: make_html(record.report, lambda found: _link(record, names, found), language)
        )

    key = record.tournament, kind, language.code
    return await source.sections.get(key, make, version=record.report)


def _link(record: TournamentRecord, names: Sequence[str], entrants: CellEntrants) -> str:
    """Return the address of a page on the entrants of a cell."""
    if len(entrants) == 1:
        if record.is_local or record.reporter:
            return ""
        return f"/players/{quote(names[entrants[0]], safe='')}"
    one, other = entrants
    query = {"tournament": record.tournament, "player": names[one], "opponent": names[other]}
    return f"/matches?{urlencode(query)}"


def report_html(report: Report, link: writers.Link, language: Language) -> Markup:
    """Return the charts and tables of a report, whose names and versions are escaped."""
    return Markup("\n".join(writers.sections(report, link, _teller(language))))


def _teller(language: Language) -> Callable[[str], str]:
    """Return a function that translates the parts of a text."""

    def tell(text: str) -> str:
        parts = [language.figure(language.told(each)) for each in text.split("; ")]
        return language.gettext("; ").join(parts)

    return tell


def _left_s(record: TournamentRecord, ended: ResultPage[MatchRow]) -> float | None:
    """The remaining seconds at the pace of the latest matches; None if it is unknown."""
    report = record.report
    if record.ended_at or report.pairs is None or not ended.items:
        return None
    first, last = ended.items[-1], ended.items[0]
    if last.ended_at is None or len(ended.items) < 2:
        return None
    elapsed_s = last.ended_at - first.started_at
    if elapsed_s <= 0:  # the clock was set back
        return None
    return 2 * (report.pairs - report.done) * elapsed_s / len(ended.items)


# The broadcast of a running tournament.


_LIVE_PARTS = {
    "page": "tournament_live.html",
    "running": "tournament_live_running.html",
    "standings": "tournament_live_standings.html",
}
#: The tables of the report that a broadcast shows, by their titles.
_LIVE_TABLES = ("Standings", "Crosstable")
#: With more entrants, the crosstable is on the page of the tournament only.
_MOST_IN_CROSSTABLE = 24
_JSON_LINES = "application/x-ndjson"


async def live(
    source: PageSource, request: HttpRequest, tournament: str, *, is_framed: bool = False
) -> HttpResponse:
    """The broadcast: its page or, for `?part=`, a section of it that changes.

    `?screen` is for a screen without keyboard and mouse; `?match=` is the match that is large at
    first, for the script of the page.
    """
    tournament, language = parse_id(tournament), request.language
    parameters = Parameters(request, ("part", "screen", "match"))
    part = parameters.choice("part", "page", _LIVE_PARTS)
    layout = "frame" if is_framed else "screen" if "screen" in request.query else "page"

    async def make() -> HttpResponse:
        record = await _record(source, tournament)
        running = source.lookup.running(MatchFilter(tournament=tournament), per_page=_BOARDS)
        body = render(
            _LIVE_PARTS[part],
            language,
            record=record,
            layout=layout,
            running=running,
            headline=headline(record.report),
            sections=await _cached_html(source, record, language, "live", _live_tables),
            modules=modules("broadcast.js"),
        )
        policy = content_policy(source.embed_on) if is_framed else {}
        return cacheable_response(body, HTML, headers={**VARIES, **policy})

    key = "live", tournament, part, layout, language.code
    return await source.responses.get(key, make)


def _live_tables(report: Report, link: writers.Link, language: Language) -> Markup:
    tell = _teller(language)
    short = replace(
        report,
        entrants=tuple(replace(each, version="") for each in report.entrants),
        standings=tuple(replace(each, tiebreaks=()) for each in report.standings),
        tiebreaks=(),
    )
    return Markup("\n").join(
        Markup('<section class="card stack is-{}">\n<h2>{}</h2>\n{}\n</section>').format(
            table.title.lower(),
            tell(table.title),
            Markup(writers.html_table(table, link, tell)),
        )
        for table in tables(short)
        if table.title in _LIVE_TABLES
        and (table.title != "Crosstable" or len(report.entrants) <= _MOST_IN_CROSSTABLE)
    )


async def _live_lines(source: PageSource, request: HttpRequest, tournament: str) -> HttpResponse:
    """The tournament, its standings, running and next matches as JSON Lines."""
    Parameters(request, ())
    tournament = parse_id(tournament)

    async def make() -> HttpResponse:
        record = await _record(source, tournament)
        rows = source.lookup.running(MatchFilter(tournament=tournament), per_page=_BOARDS).items
        matches = [await source.lookup.data(each.match) for each in rows]

        def respond() -> HttpResponse:
            body = b"".join(msgspec.json.encode(each) + b"\n" for each in _lines(record, matches))
            return cacheable_response(body, _JSON_LINES, headers=ANY_ORIGIN)

        return await source.archive.run_in_thread(respond)

    return await source.responses.get(("live lines", tournament), make)


def _lines(record: TournamentRecord, matches: Sequence[MatchData]) -> Iterator[dict[str, object]]:
    report = record.report
    names = [each.name for each in report.entrants]
    yield {
        "type": "tournament",
        "tournament": record.tournament,
        "name": report.name,
        "format": report.format,
        "games": report.games,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "done": report.done,
        "pairs": report.pairs,
        "delay": record.spec.delay,
    }
    for standing in report.standings:
        points = {"points": standing.points, "matches": standing.counts.matches}
        elo = report.ratings[standing.entrant].value if report.ratings else None
        name = names[standing.entrant]
        yield {"type": "standing", "place": standing.place, "name": name, **points, "elo": elo}
    for match in matches:
        moves = [_line_of_move(each) for each in match.positions[1:]]
        shared = ("match", "game", "players", "clock", "clocks", "to_move", "opening", "result")
        yield {"type": "match", **{each: getattr(match, each) for each in shared}, "moves": moves}
    for each in record.upcoming:
        yield {"type": "next", **each._asdict()}


def _line_of_move(position: PositionData) -> dict[str, object]:
    view = position.view
    analysis = {"info": position.info, "pv": view.pv} if position.info else {}
    shared = ("player", "action", "clocks", "at")
    return {"name": view.name, **{each: getattr(position, each) for each in shared}, **analysis}
