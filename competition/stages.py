"""Brings a submission from the queue to its end: unpacked, built, checked, played, accepted.

Each stage runs what was handed in outside of this process: `archive` unpacks it, with limits; the
build, the check and the matches run in a sandbox. A stage that fails refuses the submission, with a
reason for its author. If this process is killed, so are those that it has started, and the
submission starts again with the first stage.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from twisted.internet.task import deferLater

from playout.commands.subprocesses import (
    begin,
    how_it_ended,
    last_lines,
    others_environment,
    own,
    own_environment,
    send,
)
from playout.commands.text import plain
from playout.competition.archive import Unpacked
from playout.competition.submissions import STAGES, Stage, State, Submission, Submissions
from playout.protocol.tournament_spec import TournamentSpec
from playout.sandbox.bubblewrap import Sandbox
from playout.server.organizer.supervisor import engine_table

#: The longest time of each stage that a process of its own runs, in seconds.
LONGEST_S: Mapping[Stage, float] = {"unpack": 60.0, "build": 300.0, "check": 120.0}
#: How many times larger than an archive its files may be.
UNPACKED = 8
_POLL_S = 0.05
#: Seconds between two attempts to store the state of a submission.
_RETRY_S = 1.0
#: The most characters of a reason.
_MOST_REASON = 1000
_MB = 2**20
#: The file with the result of a build.
_BUILT = "built.tar"
#: Checks a program in the rows of `playout-bridge comply` for players.
_CHECK = "playout.bridges.comply.player_checks:main"
#: Copies the folder of the bot, builds it there, and writes the result to the standard output.
_BUILD = (
    'cp -r . /tmp/build && cd /tmp/build && chmod -R u+w . && sh -c "$1" >&2 </dev/null '
    "&& exec tar -cf - ."
)
#: The place of a log on this machine, in an error of an engine.
_LOG_PLACE = re.compile(r", in /\S+:")
#: What a program was given, in an error of an engine; the log has it.
_GIVEN = re.compile(r", given '.*?'(?=; its last error|$)")

Runner = Callable[[Submission], Coroutine[Any, Any, Submission]]


class StageFault(Exception):
    """A submission has failed at a stage; the message is for its author."""


class Stages:
    """Handles the submissions of a competition, one after the other."""

    def __init__(
        self, reactor: Any, submissions: Submissions, matches: Runner, log: Callable[[str], None]
    ) -> None:
        """`matches` is the last stage, and raises StageFault; `log` gets faults of this program."""
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
        """Run all stages; return the submission, which is accepted or refused."""
        self._remove_code(submission)  # of a process that was killed
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

    def _remove_code(self, submission: Submission) -> None:
        for each in ("code", "built", "state"):
            shutil.rmtree(self._submissions.place(submission, each), ignore_errors=True)
        self._submissions.place(submission, _BUILT).unlink(missing_ok=True)

    async def _end(self, submission: Submission, state: State, reason: str) -> Submission:
        reason = plain(reason)[:_MOST_REASON]
        if state != "accepted":  # its upload stays
            self._remove_code(submission)
        submission = structs.replace(submission, state=state, reason=reason, ended_at=time.time())
        await self._put(submission)  # before the log: after a kill, it would have two ends
        self._submissions.log(submission, f"== {state}{': ' if reason else ''}{reason}")
        return submission

    # The stages.

    async def _unpack(self, submission: Submission) -> Submission:
        folder = self._submissions.place(submission)
        found = await self._unpacked(submission, folder / "upload", submission.file, "code")
        bot = found.bot
        if bot.protocol not in self._competition.protocols:
            allowed = ", ".join(self._competition.protocols)
            raise StageFault(f"the protocol {bot.protocol} is not allowed here: {allowed}")
        root = str(Path("code", found.root))
        return structs.replace(submission, digest=found.digest, root=root, bot=bot)

    async def _build(self, submission: Submission) -> Submission:
        assert submission.bot
        if not submission.bot.build:
            return submission
        if not self._competition.builds:
            raise StageFault("this competition builds nothing: hand in files that can be started")
        folder = self._submissions.place(submission)
        code = self._submissions.code(submission)
        hosts = self._competition.build_hosts
        sandbox = Sandbox(self._competition.sandbox, code, code, hosts)
        words = sandbox.words(["sh", "-c", _BUILD, "sh", submission.bot.build])
        built = folder / _BUILT
        fault = await self._run("build", submission, words, others_environment(), built)
        if fault:
            raise StageFault(f"the build command {fault}")
        await self._unpacked(submission, built, _BUILT, "built")
        built.unlink()
        shutil.rmtree(folder / "code")
        return structs.replace(submission, root="built")

    async def _check(self, submission: Submission) -> Submission:
        spec = tournament_spec(self._submissions, [submission])
        engines = self._submissions.place(submission, "engines.toml")
        assert spec.sandbox
        table = engine_table(spec.entrants[0], spec.sandbox, engines.parent)
        engines.write_text(table, encoding="utf-8")
        for game in self._competition.games:
            await self._check_game(submission, str(engines), game)
        return submission

    async def _check_game(self, submission: Submission, engines: str, game: str) -> None:
        """Check a program by the table of `playout-bridge comply --player`. Raises StageFault."""
        words = own(_CHECK, engines, self._competition.clock, game)
        output = self._submissions.place(submission, "check.txt")
        state = self._submissions.place(submission, "state")
        environment = own_environment() | {"XDG_STATE_HOME": str(state)}
        fault = await self._run("check", submission, words, environment, output)
        with contextlib.ExitStack() as files:
            errors = [files.enter_context(each.open("rb")) for each in state.rglob("*.log")]
            written = [line for each in errors for line in last_lines(each, 20)]
            told = last_lines(files.enter_context(output.open("rb")), 20)
        shutil.rmtree(state, ignore_errors=True)
        output.unlink()
        rows = [f"{game}, clock {self._competition.clock}:", *map(for_author, told)]
        self._submissions.log(submission, "\n".join((*map(for_author, written), *rows)))
        if fault:
            row, failed, reason = rows[-1].partition("FAILED: ")
            reason = _GIVEN.sub("", reason).replace("the engine program ", "the program ", 1)
            reason = reason if failed else f"the check {fault}"
            where = (game, row.strip()) if len(self._competition.games) > 1 else (row.strip(),)
            raise StageFault(f"{', '.join(where)}: {reason}")

    async def _unpacked(
        self, submission: Submission, archive: Path, name: str, target: str
    ) -> Unpacked:
        """Unpack a file into a folder of the submission. Raises StageFault."""
        folder = self._submissions.place(submission)
        most = str(self._competition.submission_mb * UNPACKED * _MB)
        words = own(
            "playout.competition.archive:main", str(archive), name, str(folder / target), most
        )
        output = folder / "unpacked.json"
        fault = await self._run("unpack", submission, words, own_environment(), output)
        text = output.read_text(errors="replace").strip()
        output.unlink()
        if fault:
            raise StageFault(text or f"the file cannot be unpacked: the program {fault}")
        return msgspec.json.decode(text, type=Unpacked)

    async def _run(
        self,
        stage: Stage,
        submission: Submission,
        words: Sequence[str],
        environment: Mapping[str, str],
        output: Path,
    ) -> str:
        """Run a program to its end, with its errors in the log; return its fault, or nothing.

        The errors of a check are part of its output, with the reason in the last line.
        """
        errors = output.with_name("errors.txt")
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out if stage == "check" else err,
                cwd=output.parent,
                env=environment,
                process_group=0,
                # It takes no lock that another thread could hold at this moment. Its niceness is
                # that of this process.
                preexec_fn=partial(begin, os.getpid(), signal.SIGKILL, 0),  # noqa: PLW1509
            )
        fault = ""
        until = time.monotonic() + LONGEST_S[stage]
        try:
            while process.poll() is None and not fault:
                if time.monotonic() > until:
                    fault = f"has not ended after {LONGEST_S[stage]:g} seconds"
                await deferLater(self._reactor, _POLL_S, lambda: None)
        finally:
            send(process, signal.SIGKILL)
            process.wait()
        with errors.open("rb") as file:
            self._submissions.log(submission, "\n".join(last_lines(file, 50)))
        errors.unlink()
        return fault or (how_it_ended(process) if process.returncode else "")


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


def for_author(text: str) -> str:
    """Return an error of a program without places on this machine."""
    return _LOG_PLACE.sub(":", text)
