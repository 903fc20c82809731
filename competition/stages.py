"""Brings a submission from the queue to its end: unpacked, built, checked, played, accepted.

A `Builder` runs the first three stages, outside of this process. A stage that fails refuses the
submission, with a reason for its author. If this process is killed, so are those that it has
started, and the submission starts again with the first stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs
from twisted.internet.task import deferLater

from playout.bots.builder import Builder, BuildTerms, MachineFault, StageFault
from playout.commands.text import plain
from playout.competition.submissions import STAGES, Stage, State, Submission, Submissions
from playout.protocol.tournament_spec import TournamentSpec

#: Seconds between two attempts to store the state of a submission.
_RETRY_S = 1.0
#: Seconds before the stages run again after a fault of this machine.
_TRY_AGAIN_S = (1.0, 5.0, 30.0)
#: Maximum number of characters of a reason.
_MOST_REASON = 1000

Runner = Callable[[Submission], Coroutine[Any, Any, Submission]]


class Stages:
    """Handles the submissions of a competition, one after the other."""

    def __init__(
        self, reactor: Any, submissions: Submissions, matches: Runner, log: Callable[[str], None]
    ) -> None:
        """`matches` is the last stage; `log` gets faults of this program.

        `matches` raises StageFault, MachineFault.
        """
        self._reactor = reactor
        self._submissions = submissions
        self._competition = submissions.competition
        self._log = log
        self._runners: Mapping[Stage, Runner] = {
            "unpack": self._unpack,
            "build": self._build,
            "check": self._check,
            "matches": matches,
        }

    async def handle(self, submission: Submission) -> Submission:
        """Run all stages; return the submission, which is accepted or refused.

        After a fault of this machine they run again, as soon as its disk has room; if it has faults
        again and again, the submission has failed, and the operator may try again.
        """
        for seconds in (*_TRY_AGAIN_S, 0.0):
            builder = self._builder(submission)
            builder.remove_code()  # of a process that was killed, or of an attempt
            try:
                return await self._attempt(submission)
            except (MachineFault, OSError) as fault:
                self._log(f"submission {submission.id} is interrupted by this machine: {fault}")
                builder.remove_code()
                if seconds:
                    self._submissions.log(submission, "== interrupted by a fault of the server")
                    await self._wait_for_room(builder, seconds)
        reason = "faults of the server, again and again: its operator can try again"
        return await self._end(submission, "failed", reason)

    async def _wait_for_room(self, builder: Builder, seconds: float) -> None:
        """Wait some seconds, and until the disk has room."""
        await deferLater(self._reactor, seconds, lambda: None)
        while not builder.has_room():
            await deferLater(self._reactor, _RETRY_S, lambda: None)

    async def _attempt(self, submission: Submission) -> Submission:
        """Run all stages. Raises MachineFault, OSError."""
        try:
            for stage in STAGES:
                if submission.team in self._submissions.changes.banned:
                    raise StageFault(f"the operator has banned {submission.team}")
                submission = structs.replace(submission, state="running", stage=stage)
                await self._put(submission)
                self._submissions.log(submission, f"== {stage}")
                submission = await self._runners[stage](submission)
                await self._put(submission)
        except StageFault as fault:
            return await self._end(submission, "refused", str(fault))
        except (MachineFault, OSError):
            raise
        except Exception as fault:  # nothing may block the queue
            self._log(f"submission {submission.id} has met a fault of this program: {fault!r}")
            reason = "a fault of the server: its operator can try again"
            return await self._end(submission, "failed", reason)
        return await self._end(submission, "accepted", "")

    async def _put(self, submission: Submission) -> None:
        """Store the state of a submission, as soon as the disk allows it."""
        while True:
            try:
                self._submissions.put(submission)
            except OSError as fault:
                self._submissions.tell(fault)
                await deferLater(self._reactor, _RETRY_S, lambda: None)
            else:
                self._submissions.tell(None)
                return

    async def _end(self, submission: Submission, state: State, reason: str) -> Submission:
        reason = plain(reason)[:_MOST_REASON]
        if state != "accepted":  # its upload stays
            self._builder(submission).remove_code()
        # Not before it was tried again, even if the clock was set back since.
        ended_at = max(time.time(), self._submissions.retried_at(submission))
        submission = structs.replace(submission, state=state, reason=reason, ended_at=ended_at)
        await self._put(submission)  # before the log: after a kill, it would have two ends
        self._submissions.log(submission, f"== {state}{': ' if reason else ''}{reason}")
        return submission

    # The stages.

    def _builder(self, submission: Submission) -> Builder:
        competition = self._competition
        terms = BuildTerms(
            competition.games,
            competition.clock,
            competition.sandbox,
            competition.build_hosts,
            competition.submission_mb,
        )
        return Builder(
            terms,
            self._submissions.place(submission),
            partial(self._submissions.log, submission),
            lambda child, seconds: child.exit_within(self._reactor, seconds),
        )

    async def _unpack(self, submission: Submission) -> Submission:
        found = await self._builder(submission).unpack(submission.file)
        if found.bot.protocol not in self._competition.protocols:
            allowed = ", ".join(self._competition.protocols)
            raise StageFault(f"the protocol {found.bot.protocol} is not allowed here: {allowed}")
        return structs.replace(submission, digest=found.digest, root=found.root, bot=found.bot)

    async def _build(self, submission: Submission) -> Submission:
        assert submission.bot
        if submission.bot.build and not self._competition.builds:
            raise StageFault("this competition builds nothing: hand in files that can be started")
        root = await self._builder(submission).build(submission.root, submission.bot)
        return structs.replace(submission, root=root)

    async def _check(self, submission: Submission) -> Submission:
        assert submission.bot
        await self._builder(submission).check(submission.root, submission.bot)
        return submission


def tournament_spec(
    submissions: Submissions, entered: Sequence[Submission], **fields: Any
) -> TournamentSpec:
    """Return a tournament of submissions in sandboxes, in that order; without a valid format."""
    competition = submissions.competition
    sandbox = competition.sandbox
    entrants = []
    for each in entered:
        assert each.bot
        entrants.append(each.bot.entrant(each.team, each.version, submissions.code(each)))
        sandbox = each.bot.sandbox(sandbox)
    return TournamentSpec(
        name=competition.title,
        games=competition.games,
        format=competition.final.format,
        entrants=tuple(entrants),
        sandbox=sandbox,
        clock=competition.clock,
        **fields,
    )
