"""The ladder of a competition on the workers of a Dask cluster.

The process of the competitions submits a task for each bot that plays a pair of matches. The task
starts `pair_process` on a core of a worker, with the files of the bot in a folder of its own, and
sends what the process reports. When the process is ready, the session of the bot is opened. If a
worker is lost, the matches of its sessions end without result, and its tasks begin on other
workers.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from playout.bots.bot_file import BotFile
from playout.cluster.cluster import (
    Cluster,
    Content,
    Done,
    Event,
    Failed,
    Joined,
    Lost,
    Said,
    Task,
)
from playout.cluster.workers import RunningTask, kept_to_cores, packed, unpack
from playout.commands.child import Child, Program, stop
from playout.commands.subprocesses import PLAYER_NICENESS, own_environment
from playout.competition.contestants import PAIR, AbortedSession, LadderBot, Operator, Show
from playout.competition.pair_process import LadderWorker, PairOrder, PairReport, SubmittedBot
from playout.protocol.connection import TlsSettings
from playout.protocol.messages import SessionOpened
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer.cluster_entrants import need_of
from playout.server.organizer.core_set import ClusterJob, tls_variables
from playout.server.organizer.supervisor import engine_table
from playout.server.tournament.competition_file import Competition

#: Seconds between two polls of the cluster, and of whether a task is wanted.
_POLL_S = 0.1
_LOST = "the worker with a player was lost"
_PROGRAM = "playout.competition.pair_process:main"
#: Maximum number of lines of the output of a process that the operator is shown.
_TAIL_LINES = 20
#: The processes of this worker, by the keys of their tasks.
_here: dict[str, Child] = {}


class ClusterLadderBot(LadderBot):
    """A bot that plays on the workers: a house bot, or that of a submission."""

    def __init__(
        self,
        workers: LadderWorkers,
        order: PairOrder,
        show: Show,
        pause_s: float,
        submitted: SubmittedBot | None,
    ) -> None:
        super().__init__(workers.operator, order.name, show, pause_s)
        self.order = order
        self.show = show
        self.submitted = submitted
        self._workers = workers

    @property
    def has_left(self) -> bool:
        """Whether it is to play no more matches."""
        return self._left

    async def _play_pair(self) -> int:
        return await self._workers.play(self)

    def _interrupt(self) -> None:
        self._workers.interrupt(self)


@dataclass(eq=False)
class _Pair:
    """A pair of matches of a bot, as a task; `session` is the session of its process.

    `done` gets the number of its `ended` matches.
    """

    bot: ClusterLadderBot
    done: Deferred[int]
    session: SessionOpened | None = None
    ended: int = 0


class LadderWorkers:
    """The cluster of a competition's ladder, checked in the same way as a tournament's cluster."""

    def __init__(
        self, operator: Operator, competition: Competition, say: Callable[[str], None]
    ) -> None:
        """`say` gets lines for the operator of the server. Raises OSError, ValueError."""
        settings = competition.cluster
        assert settings
        self.operator = operator
        self._say = say
        tls = TlsSettings(settings.server[0], settings.ca) if settings.tls else None
        variables, authority = tls_variables(tls)
        any_bot = Entrant("bot", "", command="true", protocol="lines", sandbox=True)
        spec = TournamentSpec(
            name=competition.title,
            games=competition.games,
            format=competition.final.format,
            entrants=(any_bot,),
            sandbox=competition.sandbox,
        )
        run = f"ladder-{secrets.token_hex(8)}"
        self._job = ClusterJob(spec, settings.server, {}, variables, authority, run)
        self._cluster = Cluster(settings.dask, at_once=False)
        self._cluster.need(need_of(self._job, packed(Path(), ())))
        #: The packed files of bots, by their folders.
        self._files: dict[Path, Content] = {}
        self._pairs: dict[Task, _Pair] = {}

    def bot(
        self, order: PairOrder, show: Show, pause_s: float, submitted: SubmittedBot | None = None
    ) -> ClusterLadderBot:
        """Return a bot for the ladder; `show` gets its faults, and `pause_s` is its longest wait.

        It is a house bot unless it is a submitted one.
        """
        return ClusterLadderBot(self, order, show, pause_s, submitted)

    def known(self) -> list[LadderWorker]:
        """Return the workers that were checked, first those that play."""
        found = sorted(self._cluster.workers.values(), key=lambda each: bool(each.faults))
        return [LadderWorker(each.address, each.cores, "; ".join(each.faults)) for each in found]

    async def run(self) -> None:
        """Use the cluster, as long as this process runs."""
        while True:
            for event in self._cluster.poll(time.monotonic()):
                self._handle(event)
            await deferLater(self.operator.reactor, _POLL_S, lambda: None)

    async def play(self, bot: ClusterLadderBot) -> int:
        """Play a pair of matches; return how many have ended. Raises SessionRefused."""
        files = None
        if bot.submitted:
            folder = bot.submitted.folder
            files = self._files.get(folder) or Content(await deferToThread(_packed, folder))
            if bot.has_left:
                return 0
            self._files[folder] = files
        given = (self._job, bot.order, bot.submitted and bot.submitted.file, files)
        done: Deferred[int] = Deferred()
        task = Task("pair", play_pair, given, self._job.cores)
        self._pairs[task] = _Pair(bot, done)
        self._cluster.submit(task)
        return await done

    def interrupt(self, bot: ClusterLadderBot) -> None:
        """Have a bot play no match after the current one, and forget its files."""
        if bot.submitted:
            self._files.pop(bot.submitted.folder, None)
        for task in [task for task, pair in self._pairs.items() if pair.bot is bot]:
            if task.worker:
                self._cluster.tell(interrupt, task.key, worker=task.worker)
            else:
                self._cluster.cancel([task])
                self._pairs.pop(task).done.callback(0)

    # Events of the cluster.

    def _handle(self, event: Event) -> None:
        if isinstance(event, Lost | Said | Failed | Done) and event.task not in self._pairs:
            return  # its session was refused
        for line in self._cluster.news(event, "matches"):
            self._say(line)
        match event:
            case Joined() if self._cluster.cores < 2 * self._job.cores:
                self._say("the ladder waits for another worker: a match needs two cores")
            case Lost(task):
                self._lost(self._pairs[task])
            case Said(task, {"report": report}):
                self._reported(task, self._pairs[task], msgspec.convert(report, PairReport))
            case Failed(task, error):
                name = self._pairs[task].bot.order.name
                self._say(f"a task of {name} has failed: {error.splitlines()[0]}")
                self._over(task)
            case Done(task):
                self._over(task)

    def _lost(self, pair: _Pair) -> None:
        """End the matches of a task without result: its process has ended."""
        if pair.session:
            AbortedSession(self.operator, pair.session, _LOST)
        pair.session = None

    def _reported(self, task: Task, pair: _Pair, report: PairReport) -> None:
        if report.text:
            self._say(f"{pair.bot.order.name} on {task.worker}: {report.text}")
        if report.is_ready:
            self._open(task, pair)
        pair.ended += report.ended
        if report.fault:
            pair.bot.show(report.fault)
        if report.use and pair.bot.submitted:
            pair.bot.submitted.used(report.use)

    def _open(self, task: Task, pair: _Pair) -> None:
        """Open the session of a task whose process is ready."""
        key, worker = task.key, task.worker

        def give(opened: SessionOpened) -> None:
            if (task.key, task.worker) == (key, worker):
                pair.session = opened
                self._cluster.tell(give_session, key, opened.session, worker=worker)

        def refuse(failure: Any) -> None:
            if task in self._pairs:
                del self._pairs[task]
                self._cluster.cancel([task])
                pair.done.errback(failure)

        self.operator.session(pair.bot.order.name).addCallbacks(give, refuse)

    def _over(self, task: Task) -> None:
        """Note the end of a task."""
        pair = self._pairs.pop(task)
        if pair.ended < PAIR:
            self._lost(pair)
        pair.done.callback(pair.ended)


# The task, on a worker.


def play_pair(
    task: RunningTask, job: ClusterJob, order: PairOrder, bot: BotFile | None, files: bytes | None
) -> None:
    """Play a pair of matches; called as a task. A `bot` has its packed files."""
    with (
        tempfile.TemporaryDirectory(dir=task.folder) as name,
        kept_to_cores(job.cores, task.threads),
    ):
        folder = Path(name)
        if bot and files:
            order = _unpacked(order, bot, files, job, folder)
        child = _here[task.key] = _program(job, folder).start(talks=True)
        try:
            child.say(order)
            with contextlib.suppress(EOFError):
                while task.is_wanted():
                    if report := child.reply(PairReport, _POLL_S):
                        _say(task, report)
            for line in child.tail(_TAIL_LINES):
                _say(task, PairReport(text=line))
        finally:
            del _here[task.key]
            stop([child], 0.0)


def _say(task: RunningTask, report: PairReport) -> None:
    task.say(report=msgspec.to_builtins(report))


def _unpacked(
    order: PairOrder, bot: BotFile, files: bytes, job: ClusterJob, folder: Path
) -> PairOrder:
    """Unpack the files of a bot, and return the order with the file that describes it."""
    code, engines = folder / "bot", folder / "engines.toml"
    unpack(files, code)
    assert job.spec.sandbox
    entrant = bot.entrant(order.name, order.version, code)
    engines.write_text(engine_table(entrant, bot.sandbox(job.spec.sandbox), folder))
    return structs.replace(order, engines=str(engines))


def _program(job: ClusterJob, folder: Path) -> Program:
    """Return the program that plays for a bot."""
    host, port = job.address
    where = {"PLAYOUT_HOST": host, "PLAYOUT_PORT": str(port)}
    environment = own_environment() | where | job.variables_in(folder)
    return Program.own(_PROGRAM, environment=environment, niceness=PLAYER_NICENESS)


def give_session(key: str, session: str) -> None:
    """Give the process of a task its session; the host calls it outside of tasks."""
    if key in _here:
        _here[key].say(session)


def interrupt(key: str) -> None:
    """Have the process of a task leave after the current match; called outside of tasks."""
    if key in _here:
        _here[key].send(signal.SIGINT)


def _packed(folder: Path) -> bytes:
    return packed(folder, folder.iterdir())
