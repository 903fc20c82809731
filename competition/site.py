"""The addresses of competitions: pages, their data as JSON, and handing in.

    GET /                             the competitions
    GET /NAME/                        the page of one
    GET /NAME/state                   its rules, dates and standings
    PUT /NAME/submissions/FILE        hands a file in
    GET /NAME/submissions             the own submissions
    GET /NAME/submissions/12          one of them, with its log
    GET /NAME/teams/TEAM              its accepted versions, matches and ratings
    GET /NAME/staff                   all submissions, for administrators
    PUT /NAME/staff/ACTION/VALUE      retry/12, ban/TEAM, unban/TEAM, extend/TIME

Those below the state need the name and the token of an account (HTTP Basic, RFC 7617), except that
of a team: its members and administrators get all its submissions, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http

from playout import games
from playout.bots.archive import SUFFIXES
from playout.bots.uploads import MB, TOO_MANY, UploadRequest, author_of, upload_of
from playout.commands.text import utc
from playout.competition.final import REPORT, grades_text
from playout.competition.pair_process import LadderWorker
from playout.competition.standings import CompetitionOverview, Record, overview, record
from playout.competition.submissions import CHANGES, Submission, Submissions
from playout.games.core import spec
from playout.server.model.records import Account
from playout.server.net.site_processes import CompetitionOrders
from playout.server.tournament.competition_file import RESERVED, STAFF, Contestant
from playout.server.web.http import HTML, HttpError, HttpResponse, as_json
from playout.server.web.http_server import content_policy
from playout.server.web.templates import STATIC, VARIES, Assets, ScriptTexts, environment

_CSV = "text/csv; charset=utf-8"
#: Seconds for which standings and records are shown before they are computed again.
STANDINGS_S = 5.0
#: The last matches whose use of resources is shown, and the bytes that are read for them.
_LAST_MATCHES, _LAST_BYTES = 10, 2**13

_TEMPLATES = "playout.competition", "page"

_log = Logger(namespace="server")

T = TypeVar("T")


class Recent(Generic[T]):
    """A value that is computed in a thread, and shown for some seconds."""

    def __init__(self, first: T) -> None:
        """`first` is shown until it was computed once."""
        self._value = first
        self._computed_at = -math.inf

    def answer(
        self, compute: Callable[[], T], shown: Callable[[T], HttpResponse]
    ) -> HttpResponse | Deferred[HttpResponse]:
        """Return the response with the value, as a Deferred if the value is computed first."""
        if time.monotonic() - self._computed_at < STANDINGS_S:
            return shown(self._value)
        self._computed_at = math.inf  # for requests until it is computed

        def failed(failure: Failure) -> T:
            _log.failure("the database cannot be read", failure)
            return self._value

        def computed(value: T) -> HttpResponse:
            self._computed_at, self._value = time.monotonic(), value
            return shown(value)

        value: Deferred[T] = deferToThread(compute)
        return value.addErrback(failed).addCallback(computed)


class Pages:
    """Answers the requests of browsers and of `playout-submit`."""

    def __init__(
        self,
        all_: Mapping[str, Submissions],
        orders: CompetitionOrders,
        refusals: Mapping[str, str],
        workers: Mapping[str, Callable[[], Sequence[LadderWorker]]],
    ) -> None:
        """`refusals` are errors, `workers` functions that return machines, by competition."""
        self._all = all_
        self._orders = orders
        self._database = orders.database
        self._refusals = refusals
        self._workers = workers
        self._files = Assets(files("playout.competition").joinpath("page"))
        self._common = dict(zip(RESERVED, (Assets(STATIC), ScriptTexts()), strict=True))
        self._overviews = {name: Recent(CompetitionOverview()) for name in all_}
        #: The records of teams, by their competitions and names.
        self._records: dict[tuple[str, str], Recent[Record]] = {}

    def __call__(self, request: UploadRequest) -> HttpResponse | Deferred[HttpResponse]:
        """Respond to a request. Raises HttpError."""
        first, *rest = request.path
        if request.path == ("",):
            shown = {name: each for name, each in self._all.items() if _has_opened(each)}
            return self._page("index.html", request, competitions=shown)
        if not rest:
            return self._files(request)
        if first in self._common:
            return self._common[first](replace(request, path=tuple(rest)))
        submissions = self._all.get(first)
        if submissions is None:
            text = f"there is no competition {first!r} here, but {', '.join(self._all)}"
            raise HttpError(http.NOT_FOUND, text)
        match request.method, rest:
            case "GET", [""]:
                return self._page("page.html", request, competition=submissions.competition)
            case "GET", ["state"]:
                return self._state(request, submissions)
            case "GET", ["final"]:
                return _final(submissions)
            case "GET", ["submissions"]:
                return as_json(self._own(request, submissions))
            case "GET", ["submissions", number]:
                return as_json(self._one(request, submissions, number))
            case "PUT", ["submissions", file]:
                return self._put(request, submissions, file)
            case "GET", ["teams", team]:
                return self._team(request, submissions, team)
            case "GET", ["staff"]:
                _require_staff(request)
                return as_json(self._for_staff(submissions))
            case "GET", ["staff", "grades.csv"]:
                _require_staff(request)
                return deferToThread(self._grades, submissions)
            case "PUT", ["staff", action, value] if action in CHANGES:
                _require_staff(request)
                try:
                    CHANGES[action](submissions, value)
                except ValueError as error:
                    raise HttpError(http.BAD_REQUEST, str(error)) from error
                return as_json(self._for_staff(submissions))
        raise HttpError(http.NOT_FOUND, "there is no such page, or not for this method")

    def room(self, account: Account, path: bytes, at: float) -> tuple[Path, int]:
        """Return the folder and the maximum number of bytes for an upload of an account."""
        match [unquote(part) for part in path.decode("latin-1").partition("?")[0].split("/")]:
            case ["", name, "submissions", _] if name in self._all:
                submissions = self._all[name]
                return submissions.incoming, _most_bytes(submissions, account, at)
        return Path(), 0

    # What everybody may read.

    def _page(self, name: str, request: UploadRequest, **context: object) -> HttpResponse:
        """A page in the language of the request."""
        template = environment(request.language, _TEMPLATES).get_template(name)
        text = template.render(context, site=request.site(self._orders.pages))
        return HttpResponse(text.encode(), media_type=HTML, headers=VARIES)

    def _state(
        self, request: UploadRequest, submissions: Submissions
    ) -> HttpResponse | Deferred[HttpResponse]:
        _require_opened(request, submissions)
        competition = submissions.competition
        if not competition.visible:
            return self._described(request, submissions, CompetitionOverview())
        return self._overviews[competition.name].answer(
            lambda: overview(self._database, competition.games, time.time()),
            lambda found: self._described(request, submissions, found),
        )

    def _described(
        self, request: UploadRequest, submissions: Submissions, found: CompetitionOverview
    ) -> HttpResponse:
        competition, account = submissions.competition, request.account
        told = {
            "name": competition.name,
            "title": competition.title,
            "games": competition.games,
            "titles": {each: games.title(each) for each in map(_name_of, competition.games)},
            "clock": competition.clock,
            "opens": competition.opens,
            "deadline": submissions.deadline,
            "now": time.time(),
            "open": submissions.is_open(time.time()),
            "refusal": self._refusals.get(competition.name, ""),
            "protocols": competition.protocols,
            "build_hosts": [each.partition("=")[0] for each in competition.build_hosts],
            "submission_mb": competition.submission_mb,
            "submissions_per_day": competition.submissions_per_day,
            "queued": submissions.unfinished(),
            "house": [each.name for each in competition.house],
            "standings": found.standings,
            "of_games": found.games if len(competition.games) > 1 else {},
            "matches": found.matches,
            "shown": found.shown,
            "pages": competition.pages or self._orders.pages,
            "final": competition.visible and (submissions.folder / REPORT).exists(),
            "you": account
            and {"staff": account.administrator, "team": _team_of(request, submissions)},
        }
        return as_json(told)

    def _team(
        self, request: UploadRequest, submissions: Submissions, team: str
    ) -> HttpResponse | Deferred[HttpResponse]:
        """Answer with the record of a team; with its submissions to its members and staff."""
        _require_opened(request, submissions)
        competition, account = submissions.competition, request.account
        is_inside = account is not None and (
            account.administrator or _team_of(request, submissions) == team
        )
        if not (is_inside or (competition.visible and team != STAFF)):
            raise HttpError(http.FORBIDDEN, "only its members and administrators see a team here")
        its = [each for each in submissions if each.team == team]
        people = [each for each in (competition.roster or {}).values() if each.team == team]
        if not (its or people):
            raise HttpError(http.NOT_FOUND, f"there is no team {team}")
        told = {
            "team": team,
            "accounts": [each.account for each in people] if is_inside else None,
            "submissions": [_told(each) for each in its] if is_inside else None,
            "versions": [
                {"version": each.version, "at": each.at} for each in its if each.state == "accepted"
            ],
        }
        found = self._records.setdefault((competition.name, team), Recent(Record()))
        return found.answer(
            lambda: record(self._database, competition.games, team),
            lambda its: as_json(told | msgspec.to_builtins(its)),
        )

    # What needs an account.

    def _for_staff(self, submissions: Submissions) -> dict[str, Any]:
        return {
            "submissions": [
                _told(each) | {"account": each.account, "waiting": submissions.is_waiting(each)}
                for each in submissions
            ],
            "banned": submissions.changes.banned,
            "workers": self._workers[submissions.competition.name](),
            "ladder_matches": self._orders.ladder_matches,
        }

    def _grades(self, submissions: Submissions) -> HttpResponse:
        """Compute the ranking for grades, in a thread."""
        return HttpResponse(grades_text(submissions, self._database).encode(), media_type=_CSV)

    def _own(self, request: UploadRequest, submissions: Submissions) -> list[dict[str, Any]]:
        team = _contestant(request, submissions).team
        return [_told(each) for each in submissions if each.team == team]

    def _one(self, request: UploadRequest, submissions: Submissions, number: str) -> dict[str, Any]:
        found = submissions.get(int(number)) if number.isdecimal() and len(number) < 9 else None
        if not (request.account and request.account.administrator):
            team = _contestant(request, submissions).team
            found = found if found and found.team == team else None
        if found is None:
            raise HttpError(http.NOT_FOUND, "you have no such submission")
        uses = submissions.uses(found, _LAST_BYTES)[-_LAST_MATCHES:]
        return _told(found) | {"log": submissions.log_of(found), "uses": uses}

    def _put(self, request: UploadRequest, submissions: Submissions, file: str) -> HttpResponse:
        competition = submissions.competition
        author = _contestant(request, submissions)
        if author.team != STAFF:
            _require_open(submissions, request.begun_at)
        if author.team in submissions.changes.banned:
            raise HttpError(http.FORBIDDEN, f"the operator has banned {author.team}")
        if submissions.is_full(author.team, request.begun_at):
            text = f"{author.team} has handed in {competition.submissions_per_day} times in a day"
            raise HttpError(TOO_MANY, f"{text}, which is the limit: try again later")
        if refusal := self._refusals.get(competition.name):
            raise HttpError(http.SERVICE_UNAVAILABLE, refusal)
        new = submissions.add(
            upload_of(request, file, SUFFIXES, competition.submission_mb),
            account=author.account,
            team=author.team,
            file=file,
            at=request.begun_at,
        )
        return as_json(_told(new), http.CREATED)


def _most_bytes(submissions: Submissions, account: Account, at: float) -> int:
    """Return the maximum size of an upload of an account in bytes, 0 if it may not upload."""
    author = _contestant_of(account, submissions)
    if author is None or author.team in submissions.changes.banned:
        return 0
    is_open = submissions.is_open(at) or author.team == STAFF
    if not is_open or submissions.is_full(author.team, at):
        return 0
    return submissions.competition.submission_mb * MB


def _contestant_of(account: Account, submissions: Submissions) -> Contestant | None:
    """Return the contestant of an account, for an administrator STAFF; None if it is none."""
    if account.administrator:
        return Contestant(account.name, STAFF, account.name)
    return submissions.competition.contestant(account.name)


def _team_of(request: UploadRequest, submissions: Submissions) -> str | None:
    """Return the team of the account of a request."""
    account = request.account
    contestant = _contestant_of(account, submissions) if account else None
    return contestant.team if contestant else None


def _final(submissions: Submissions) -> HttpResponse:
    """Return the report on the final, whose styles are in it. Raises HttpError."""
    path = submissions.folder / REPORT
    if not (submissions.competition.visible and path.exists()):
        raise HttpError(http.NOT_FOUND, "there is no report on a final")
    headers = content_policy(inline_styles=True)
    return HttpResponse(path.read_bytes(), media_type=HTML, headers=headers)


def _require_staff(request: UploadRequest) -> None:
    """Raise HttpError unless a request is one of an administrator of the server."""
    account = author_of(request)
    if not account.administrator:
        raise HttpError(http.FORBIDDEN, f"{account.name} is no administrator")


def _contestant(request: UploadRequest, submissions: Submissions) -> Contestant:
    """Return the contestant of a request. Raises HttpError."""
    account = author_of(request)
    contestant = _contestant_of(account, submissions)
    if contestant is None:
        text = f"{account.name} is not on the roster of this competition"
        raise HttpError(http.FORBIDDEN, text)
    return contestant


def _name_of(game: str) -> str:
    return spec.parse(game).name


def _has_opened(submissions: Submissions) -> bool:
    return submissions.competition.opens <= time.time()


def _require_opened(request: UploadRequest, submissions: Submissions) -> None:
    """Raise HttpError before a competition opens, unless for its contestants and administrators."""
    if not (_has_opened(submissions) or _team_of(request, submissions)):
        raise HttpError(http.FORBIDDEN, f"it {_opening(submissions)}: its contestants can log in")


def _opening(submissions: Submissions) -> str:
    return f"opens on {utc(submissions.competition.opens):%Y-%m-%d at %H:%M UTC}"


def _require_open(submissions: Submissions, at: float) -> None:
    """Raise HttpError unless submissions that begin at a time are accepted."""
    competition = submissions.competition
    if at < competition.opens:
        text = f"{competition.title} {_opening(submissions)}"
    elif submissions.is_open(at):
        return
    elif submissions.changes.closed:
        text = f"{competition.title} is closed: nothing more is accepted"
    else:
        text = (
            f"the deadline of {competition.title} was on "
            f"{utc(submissions.deadline):%Y-%m-%d at %H:%M UTC}: nothing more is accepted"
        )
    raise HttpError(http.FORBIDDEN, text)


def _told(submission: Submission) -> dict[str, Any]:
    """Return the part of a submission that its author may read."""
    keys = ("id", "team", "file", "size", "at", "state", "stage", "reason", "ended_at", "matches")
    told = {key: getattr(submission, key) for key in keys}
    return told | {"version": submission.version}
