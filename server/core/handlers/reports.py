"""The request that reports matches that were played elsewhere; a worker checks them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from playout.protocol.messages import Code, MatchesReported, ReportMatches
from playout.server.core.effects import CheckReport, UpdateRatings
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext
from playout.server.core.match_storage import owners_of
from playout.server.core.sessions import RequestContext, Session, handles
from playout.server.model.records import Record

#: Maximum number of reports that wait to be checked.
_MOST_CHECKS = 20
#: The bytes that a stored record takes besides the bytes of its report.
_RECORD_BYTES = 100


@dataclass(frozen=True)
class CheckedReport:
    """The result of a check by its number: the records to be stored, or the `fault`.

    The others are as in `MatchesReported`, when the records are stored.
    """

    check: int
    tournament: str = ""
    matches: int = 0
    over: bool = False
    records: tuple[Record, ...] = ()
    fault: str = ""


class Reports:
    """Has reported matches checked, and stores them."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._numbers = itertools.count(1)
        self._checks: dict[int, tuple[ReportMatches, Session]] = {}
        #: The accounts whose last report is being checked or stored.
        self._busy: set[str] = set()

    @handles(ReportMatches)
    def report_matches(self, request: ReportMatches, origin: RequestContext) -> None:
        """Have the matches checked, one request of an account at a time."""
        context, session = self._context, origin.session
        if session.account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "only registered players report matches")
        if not context.policy.stored:
            raise Refused(Code.NOT_ALLOWED, "this server stores no matches")
        if request.rated and not session.is_administrators:
            text = "only administrators report matches that count as those of the server"
            raise Refused(Code.NOT_ALLOWED, text)
        context.require_open("reports")
        account = session.account.id
        if account in self._busy or len(self._checks) >= _MOST_CHECKS:
            text = "the report before is still being checked: wait for its answer"
            raise Refused(Code.RATE_LIMITED, text, 1.0)
        # Also a report that is refused costs the time of its check.
        owners, size = owners_of(session), len(request.matches) + len(request.whole)
        if not context.budget.has_room(owners, size, origin.now):
            text = f"an account may store {context.policy.stored_mb_per_hour:g} MB an hour"
            raise Refused(Code.RATE_LIMITED, f"{text}: continue later", 600.0)
        context.budget.charge(owners, size, origin.now)
        number = next(self._numbers)
        self._busy.add(account)
        self._checks[number] = request, session
        reporter = "" if request.rated else account
        context.do(CheckReport(number, reporter, request, origin.now + context.epoch))

    def checked(self, found: CheckedReport, now: float) -> None:
        """Store a checked report and answer, or refuse it."""
        context = self._context
        request, session = self._checks.pop(found.check)
        assert session.account
        account = session.account.id
        if found.fault:
            self._busy.discard(account)
            if session.connection is not None:
                refused = Refused(Code.BAD_TOURNAMENT, found.fault)
                context.decline(session.connection, refused, request.id)
            return
        context.budget.charge(owners_of(session), _RECORD_BYTES * len(found.records), now)
        for each in found.records:
            context.store(each)
        if found.over and found.records:
            text = "{name} has reported the tournament {tournament}"
            context.log(text, {"name": session.name, "tournament": found.tournament})

        def stored(_: float) -> None:
            self._busy.discard(account)
            if found.over:
                context.do(UpdateRatings())

        if found.records:
            context.when_stored(stored)
        else:
            self._busy.discard(account)
        answer = MatchesReported(
            re=request.id, tournament=found.tournament, matches=found.matches, over=found.over
        )
        context.send_to(session, answer)
