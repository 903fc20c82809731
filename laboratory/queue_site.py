"""The addresses of the queue of tests: pages, and the JSON API (`docs/laboratory.md`).

    GET /                          the page of the queue
    GET /tests/12                  the page of a test, with the curve of the evidence
    GET /api/queue                 the conditions, and the authors with their cores
    GET /api/tests                 the tests, the latest first
    GET /api/tests/12              one of them
    GET /api/tests/12/summary      its verdict and its report as Markdown
    GET /api/tests/12/log          its log, those of its builds, and of programs that crashed
    GET /api/tests/12/losses       the shortest lost matches of a candidate, or of ?version=NAME
    PUT /api/tests/FILE            hands a test in
    PUT /api/tests/12/stop         stops it
    PUT /api/tests/12/priority/3   changes its priority

The log, the losses and the last three need the name and the token of an account (HTTP Basic, RFC
7617). All but handing in are for the author of the test and for administrators.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import msgspec
from markupsafe import Markup
from msgspec import structs
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.web import http

from playout.bots.archive import SUFFIXES
from playout.bots.builder import for_author
from playout.bots.uploads import MB, TOO_MANY, UploadRequest, author_of, upload_of
from playout.laboratory.journal import Journal
from playout.laboratory.lab_file import Conditions
from playout.laboratory.losses import stored_losses
from playout.laboratory.queue import (
    JSON_REPORT,
    MARKDOWN_REPORT,
    LabQueue,
    QueuedTest,
    QueueFileError,
    conditions_of,
)
from playout.protocol.names import skeleton
from playout.server.core.fair_shares import FairShares
from playout.server.model.records import Account
from playout.server.organizer.spec_file import SpecFileError
from playout.server.storage.results import page_of
from playout.server.tournament.report import Report
from playout.server.tournament.report.writers import no_link
from playout.server.web.http import HTML, TEXT, HttpError, HttpResponse, as_json, error_as_json
from playout.server.web.pages.tournaments import report_html
from playout.server.web.parameters import Parameters
from playout.server.web.templates import STATIC, VARIES, Assets, ScriptTexts, environment

_ARCHIVES = tuple(each for each in SUFFIXES if each != ".py")
#: The highest priority; the most bytes of the end of a log, and of logs of programs in matches.
_HIGHEST, _LAST_BYTES, _LAST_LOGS = 9, 2**14, 16
#: The ended tests on the page, with a fair share for each author; the templates of what changes.
_LAST_TESTS = 50
_PARTS = {"tests": "tests", "test": "state"}
_TEMPLATES = "playout.laboratory", "page"
#: The parameters of a submission: values that replace those of the file, and others.
_GIVEN = ("games", "clock", "elo1", "pairs", "plies")

Answer = HttpResponse | Deferred[HttpResponse]

_decode_report = msgspec.json.Decoder(Report).decode


class QueueSite:
    """Answers the requests of browsers, of `playout-lab submit` and of other programs."""

    def __init__(
        self,
        queue: LabQueue,
        file: Path,
        conditions: Conditions,
        turns: Callable[[], Mapping[int, int]],
        pages: str,
    ) -> None:
        """`file` is that of the queue; `turns` returns the cores of each test, by its number.

        For `pages` see `SiteOrders`.
        """
        self._queue = queue
        self._file = file
        self._conditions = conditions
        self._terms = conditions.queue
        self._turns = turns
        self._pages = pages
        self._files = Assets(files("playout.laboratory").joinpath("page"))
        self._static = Assets(STATIC)
        self._texts = ScriptTexts()

    def __call__(self, request: UploadRequest) -> Answer:
        """Respond to a request. Raises HttpError."""
        first, *rest = request.path
        if first != "api":
            return self._page(request)
        try:
            return self._api(replace(request, path=tuple(rest)))
        except HttpError as error:
            return error_as_json(error)

    def room(self, account: Account, path: bytes, at: float) -> tuple[Path, int]:
        """Return the folder and the maximum number of bytes for an upload of an account."""
        match [unquote(part) for part in path.decode("latin-1").partition("?")[0].split("/")]:
            case ["", "api", "tests", _] if not self._refusal(account):
                return self._queue.incoming, self._terms.submission_mb * MB
        return Path(), 0

    def _api(self, request: UploadRequest) -> Answer:
        match request.method, request.path:
            case "GET", ("queue",):
                return as_json(self._overview())
            case "GET", ("tests",):
                return as_json(self._tests(request))
            case "GET", ("tests", number):
                return as_json(self.told(self._test(number)))
            case "GET", ("tests", number, "summary"):
                return self._summary(self._test(number))
            case "GET", ("tests", number, "log"):
                return as_json(self._log(self._own(request, number)))
            case "GET", ("tests", number, "losses"):
                return self._losses(request, self._own(request, number))
            case "PUT", ("tests", number, "stop"):
                return as_json(self.told(self._stopped(request, self._own(request, number))))
            case "PUT", ("tests", number, "priority", value):
                test = self._own(request, number)
                return as_json(self.told(self._with_priority(test, value)))
            case "PUT", ("tests", file):
                return self._submit(request, file)
        raise HttpError(http.NOT_FOUND, "there is no such address, or not for this method")

    # What everybody may read.

    def _page(self, request: UploadRequest) -> Answer:
        first, *rest = request.path
        match request.method, request.path:
            case "GET", ("",):
                tests = list(self._queue)
                over = [each for each in reversed(tests) if each.is_over]
                shares = FairShares[int]()
                for place, each in enumerate(over):
                    shares.add(place, "", each.account)
                ended = [over[place] for place in shares.first(_LAST_TESTS)]
                unfinished = [each for each in tests if not each.is_over]
                found = {
                    "unfinished": list(map(self.told, unfinished)),
                    "ended": list(map(self.told, ended)),
                }
                return self._rendered(request, "queue", "tests", found)
            case "GET", ("tests", number):
                return self._page_of(request, self._test(number))
            case "GET", (_,):
                return self._files(request)
        if first == "texts":
            return self._texts(replace(request, path=tuple(rest)))
        if first == "static":
            return self._static(replace(request, path=tuple(rest)))
        raise HttpError(http.NOT_FOUND, "there is no such page, or not for this method")

    def _page_of(self, request: UploadRequest, test: QueuedTest) -> Deferred[HttpResponse]:
        told, path = self.told(test), self._queue.place(test, JSON_REPORT)

        def response() -> HttpResponse:
            sections = Markup()
            if path.exists():
                report = _decode_report(path.read_bytes())
                sections = report_html(report, no_link, request.language)
            return self._rendered(
                request, "queue_test", "test", {"test": told, "sections": sections}
            )

        return deferToThread(response)

    def _rendered(
        self, request: UploadRequest, name: str, part: str, context: Mapping[str, object]
    ) -> HttpResponse:
        """Return a page in the language of the request, or with `?part=` what changes of it."""
        parts = {"page": f"{name}.html", part: f"{name}_{_PARTS[part]}.html"}
        wanted = Parameters(request, ("part",)).choice("part", "page", parts)
        template = environment(request.language, _TEMPLATES).get_template(parts[wanted])
        site = request.site(self._pages)
        text = template.render(context, conditions=self._conditions, site=site)
        return HttpResponse(text.encode(), media_type=HTML, headers=VARIES)

    def _test(self, number: str) -> QueuedTest:
        """Return a test. Raises HttpError."""
        is_number = number.isascii() and number.isdecimal() and len(number) < 9
        found = self._queue.get(int(number)) if is_number else None
        if found is None:
            raise HttpError(http.NOT_FOUND, f"there is no test {number[:20]!r}")
        return found

    def _overview(self) -> dict[str, Any]:
        conditions, turns = self._conditions, self._turns()
        authors: dict[str, dict[str, Any]] = {}
        for each in self._queue:
            if not each.is_over:
                found = authors.setdefault(
                    each.account, {"author": each.author, "tests": 0, "cores": 0}
                )
                found["tests"] += 1
                found["cores"] += turns.get(each.id, 0)
        keys = ("games", "clock", "elo1", "alpha", "beta", "pairs")
        limits = ("unfinished", "per_day", "submission_mb")
        return {
            **{key: getattr(conditions, key) for key in keys},
            **{key: getattr(self._terms, key) for key in limits},
            "authors": list(authors.values()),
        }

    def _tests(self, request: UploadRequest) -> Any:
        parameters = Parameters(request, ("author", "state", "page", "per_page"))
        states = ("unfinished", "ended")
        state = parameters.choice("state", "", states)
        author = skeleton(request.query.get("author", ""))
        found = [
            each
            for each in reversed(list(self._queue))
            if author in ("", skeleton(each.author))
            and (not state or each.is_over == (state == "ended"))
        ]
        page = page_of(found, parameters.page, parameters.per_page)
        return structs.replace(page, items=tuple(map(self.told, page.items)))

    def told(self, test: QueuedTest) -> dict[str, Any]:
        """Return the fields of a test that everybody may read."""
        result = msgspec.to_builtins(test.result)
        del result["builds"]
        return {
            "test": test.id,
            "author": test.author,
            "state": test.state,
            "reason": test.reason,
            "priority": test.priority,
            "given": test.given,
            "at": test.at,
            "ended_at": test.ended_at,
            "history": [{"at": at, "state": state} for at, state in test.history],
            **result,
            "cores": 0 if test.is_over else self._turns().get(test.id, 0),
        }

    def _summary(self, test: QueuedTest) -> HttpResponse:
        path = self._queue.place(test, MARKDOWN_REPORT)
        report = path.read_text(encoding="utf-8") if path.exists() else ""
        sentence = test.result.verdict or f"test {test.id}: {test.state} {test.reason}".rstrip()
        return HttpResponse(f"**{sentence}**\n\n{report}".encode(), media_type=TEXT)

    # What needs an account.

    def _own(self, request: UploadRequest, number: str) -> QueuedTest:
        """Return a test of the account of a request, or of anybody for administrators.

        Raises HttpError.
        """
        account, test = author_of(request), self._test(number)
        if not (account.administrator or account.id == test.account):
            raise HttpError(http.FORBIDDEN, f"test {test.id} is not yours but {test.author}'s")
        return test

    def _log(self, test: QueuedTest) -> dict[str, Any]:
        builds = self._queue.home(test) / "builds"
        logs = {
            name: _end_of(builds / key / "log.txt")
            for name, key in zip(test.result.versions, test.result.builds, strict=True)
        }
        place = self._queue.home(test) / "tests" / f"{test.result.trial:06}" / "matches.logs"
        programs = sorted(place.glob("*/[0-9]*.log"))[-_LAST_LOGS:]  # not that of the server
        outputs = {each.stem: _end_of(each) for each in programs}
        return {"log": self._queue.log(test), "builds": logs, "outputs": outputs}

    def _losses(self, request: UploadRequest, test: QueuedTest) -> Deferred[HttpResponse]:
        """Return lost matches, which others search: that would take cores from the tests."""
        Parameters(request, ("version",))
        if not test.result.trial:
            raise HttpError(http.CONFLICT, f"test {test.id} has no matches: it is {test.state}")
        journal, version = Journal(self._queue.home(test)), request.query.get("version") or None

        def response() -> HttpResponse:
            try:
                found = stored_losses(journal, test.result.trial, version)
            except click.UsageError as error:
                return error_as_json(HttpError(http.CONFLICT, error.message))
            return as_json(structs.replace(found, test=test.id))

        return deferToThread(response)

    def _stopped(self, request: UploadRequest, test: QueuedTest) -> QueuedTest:
        if test.is_over:
            raise HttpError(http.CONFLICT, f"test {test.id} has ended already: {test.state}")
        return self._queue.put(test, "stopped", reason=f"by {author_of(request).name}")

    def _with_priority(self, test: QueuedTest, value: str) -> QueuedTest:
        if not (value.isascii() and value.isdecimal() and len(value) == 1):
            text = f"the priority must be a whole number from 0 to {_HIGHEST}, not {value[:20]!r}"
            raise HttpError(http.BAD_REQUEST, text)
        return self._queue.put(test, test.state, priority=int(value))

    def _refusal(self, account: Account) -> tuple[int, str] | None:
        """Return why an account may not hand a test in now: a status and a text."""
        terms = self._terms
        if terms.authors and not self._queue.is_author(account, terms.authors):
            return http.FORBIDDEN, f"{account.name} is no author of this queue: ask its operator"
        if self._queue.unfinished(account.id) >= terms.unfinished:
            return TOO_MANY, (
                f"{account.name} has {terms.unfinished} tests that have not ended, which is the "
                "limit: wait, or stop some"
            )
        if self._queue.of_day(account.id) >= terms.per_day:
            return TOO_MANY, (
                f"{account.name} has handed in {terms.per_day} tests in a day, which is the limit: "
                "try again later"
            )
        return None

    def _submit(self, request: UploadRequest, file: str) -> Answer:
        """Take a test, after a thread has checked its conditions. Raises HttpError."""
        account = author_of(request)
        self._require(account)
        upload = upload_of(request, file, _ARCHIVES, self._terms.submission_mb)
        parameters = Parameters(request, (*_GIVEN, "base", "priority"))
        priority = parameters.number("priority", 0, _HIGHEST, least=0)
        base = request.query.get("base") or "base"
        given = _given(request.query, parameters)
        kept = self._queue.incoming / secrets.token_hex(8)
        upload.rename(kept)  # it is removed after the answer, or after a fault

        def checked(_: Conditions) -> HttpResponse:
            self._require(account)  # others may have arrived meanwhile
            test = self._queue.add(
                kept,
                account=account.id,
                author=account.name,
                file=file,
                base=base,
                given=given,
                priority=priority,
            )
            return as_json(self.told(test), http.CREATED)

        def refused(failure: Failure) -> HttpResponse:
            kept.unlink(missing_ok=True)
            if isinstance(failure.value, SpecFileError):
                return error_as_json(HttpError(http.BAD_REQUEST, failure.value.message))
            if isinstance(failure.value, HttpError):
                return error_as_json(failure.value)
            if isinstance(failure.value, QueueFileError):
                text = "the file of this queue has a fault: tell its operator"
                return error_as_json(HttpError(http.SERVICE_UNAVAILABLE, text))
            failure.raiseException()

        found: Deferred[Conditions] = deferToThread(conditions_of, self._file, given)
        return found.addCallback(checked).addErrback(refused)

    def _require(self, account: Account) -> None:
        """Raise HttpError unless an account may hand a test in now."""
        if refusal := self._refusal(account):
            raise HttpError(*refusal)


def _given(query: Mapping[str, str], parameters: Parameters) -> dict[str, Any]:
    """Return the values of a submission that replace those of the file. Raises HttpError."""
    given: dict[str, Any] = {}
    if games := query.get("games"):
        given["games"] = [each.strip() for each in games.split(";")]
    if clock := query.get("clock"):
        given["clock"] = clock
    if elo1 := query.get("elo1"):
        try:
            given["elo1"] = float(elo1)
        except ValueError:
            text = f"elo1 must be a number, not {elo1[:20]!r}"
            raise HttpError(http.BAD_REQUEST, text) from None
    if query.get("pairs"):
        given["pairs"] = parameters.number("pairs", 0, 1_000_000)
    if query.get("plies"):
        given["openings"] = {"plies": parameters.number("plies", 0, 100, least=0)}
    return given


def _end_of(path: Path) -> str:
    """Return the end of a log for its author; empty without one."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LAST_BYTES))
        return for_author(file.read().decode(errors="replace"))
