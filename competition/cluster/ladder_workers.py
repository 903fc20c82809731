"""The workers of a cluster, as the process of the competitions uses them for a ladder.

It submits a task for each bot that plays a pair of matches, and opens the session of the bot when
its process on the worker is ready. If a worker is lost, the matches of its sessions end without
result, and Dask starts its tasks on other workers.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from playout.cluster import on_worker
from playout.cluster.connection import DaskConnection, Message
from playout.cluster.worker_checks import WorkerChecks
from playout.commands.text import counted
from playout.competition.cluster import pair_task
from playout.competition.cluster.pair_process import (
    LadderWorker,
    PairOrder,
    PairReport,
    SubmittedBot,
)
from playout.competition.contestants import PAIR, AbortedSession, LadderBot, Operator, Show
from playout.protocol.messages import SessionOpened
from playout.protocol.tls import TlsSettings
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer.cluster import preflight
from playout.server.organizer.cluster.job import ClusterJob, tls_variables
from playout.server.organizer.cluster.preflight import CheckedWorker
from playout.server.tournament.competition_file import Competition

#: Seconds between two polls of the cluster.
_POLL_S = 0.1
_LOST = "the worker with a player was lost"


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
    """A pair of matches of a bot, as a task. `worker` has it, and `session` is that of its process.

    `done` gets the number of its `ended` matches, or None if the task has to be submitted again.
    """

    bot: ClusterLadderBot
    key: str
    future: Any
    done: Deferred[int | None]
    worker: str = ""
    session: SessionOpened | None = None
    ended: int = 0


class LadderWorkers:
    """The cluster of a competition's ladder, which is checked as that of a tournament."""

    def __init__(
        self, operator: Operator, competition: Competition, say: Callable[[str], None]
    ) -> None:
        """`say` gets lines for the operator of the server. Raises OSError, ValueError."""
        settings = competition.cluster
        assert settings
        self.operator = operator
        self._say = say
        tls = TlsSettings(settings.server[0], settings.ca) if settings.tls else None
        variables, files = tls_variables(tls)
        any_bot = Entrant("bot", "", command="true", protocol="lines", sandbox=True)
        spec = TournamentSpec(
            name=competition.title,
            games=competition.games,
            format=competition.final.format,
            entrants=(any_bot,),
            sandbox=competition.sandbox,
        )
        run = f"ladder-{secrets.token_hex(8)}"
        self._job = ClusterJob(spec, settings.server, {}, variables, files, run)
        self._connection = DaskConnection(settings.dask, at_once=False)
        self._connection.subscribe(self._job.topic)
        check = functools.partial(preflight.check, self._connection, self._job)
        self._checks: WorkerChecks[CheckedWorker] = WorkerChecks(self._connection, check)
        self._is_connected = True
        #: The cores of the workers without faults, by address.
        self._workers: dict[str, int] = {}
        #: What is wrong with the others.
        self._faults: dict[str, str] = {}
        #: Dask's futures of the packed files of bots, by their folders.
        self._files: dict[Path, Any] = {}
        self._pairs: dict[str, _Pair] = {}
        #: Due when there are workers.
        self._turns: list[Deferred[None]] = []
        #: The number of tasks that the cluster was given.
        self._given = 0

    def bot(
        self, order: PairOrder, show: Show, pause_s: float, submitted: SubmittedBot | None = None
    ) -> ClusterLadderBot:
        """Return a bot for the ladder; `show` gets its faults, and `pause_s` is its longest wait.

        It is a house bot unless it is a submitted one.
        """
        return ClusterLadderBot(self, order, show, pause_s, submitted)

    def known(self) -> list[LadderWorker]:
        """Return the workers that were checked, first those that play."""
        faulty = (LadderWorker(each, fault=text) for each, text in self._faults.items())
        return [*(LadderWorker(*each) for each in self._workers.items()), *faulty]

    async def run(self) -> None:
        """Use the cluster, as long as this process runs."""
        while True:
            self._poll(time.monotonic())
            await deferLater(self.operator.reactor, _POLL_S, lambda: None)

    async def play(self, bot: ClusterLadderBot) -> int:
        """Play a pair of matches; return how many have ended. Raises SessionRefused."""
        ended: int | None = None
        while ended is None and not bot.has_left:
            folder = bot.submitted and bot.submitted.folder
            packed = b""
            if folder and folder not in self._files:
                packed = await deferToThread(pair_task.packed, folder)
            await self._turn()
            if folder and packed:
                self._keep(folder, packed)
            if not bot.has_left and (folder is None or folder in self._files):
                ended = await self._submit(bot, folder and self._files[folder])
        return ended or 0

    def interrupt(self, bot: ClusterLadderBot) -> None:
        """Have a bot play no match after the present one, and forget its files."""
        if bot.submitted:
            self._files.pop(bot.submitted.folder, None)
        for each in [each for each in self._pairs.values() if each.bot is bot]:
            if each.worker:
                self._ask(each, pair_task.interrupt, each.key)
            else:
                self._cancel(each, 0)

    def _turn(self) -> Deferred[None]:
        """Wait until there are workers; the connection was just checked then."""
        turn: Deferred[None] = Deferred()
        self._turns.append(turn)
        return turn

    def _keep(self, folder: Path, packed: bytes) -> None:
        """Have the cluster keep the packed files in a folder."""
        # A further attempt needs another name: the one before may wait for a worker for ever.
        self._given += 1
        digest = hashlib.sha256(packed).hexdigest()
        key = f"{self._job.topic}-bot-{digest}-{self._given}"
        self._files[folder] = self._connection.keep(packed, key, on_worker.ENTRANT_CORES)

    def _submit(self, bot: ClusterLadderBot, files: Any) -> Deferred[int | None]:
        self._given += 1
        key = f"{self._job.topic}-pair-{self._given}"
        given = (self._job, bot.order, bot.submitted and bot.submitted.file, files)
        future = self._connection.submit(
            pair_task.play_pair, *given, key=key, cores=self._job.cores
        )
        done: Deferred[int | None] = Deferred()
        self._pairs[key] = _Pair(bot, key, future, done)
        return done

    def _ask(self, pair: _Pair, call: Callable[..., None], *arguments: object) -> None:
        """Call a function on the worker of a task."""
        on_it = functools.partial(self._connection.run, workers=[pair.worker])
        self._connection.ask_later(on_it, call, *arguments)

    def _cancel(self, pair: _Pair, ended: int | None) -> None:
        self._connection.later(self._connection.cancel, [pair.future])
        self._finish(pair, ended)

    def _finish(self, pair: _Pair, ended: int | None) -> None:
        del self._pairs[pair.key]
        pair.done.callback(ended)

    # The cluster.

    def _poll(self, now: float) -> None:
        was_connected, self._is_connected = self._is_connected, self._connection.poll(now)
        if was_connected and not self._is_connected:
            self._say("the ladder waits for a connection to the scheduler of Dask at "
                      f"{self._connection.address}; trying again")  # fmt: skip
            self._workers.clear()
            self._faults.clear()
            self._checks.clear()
            self._files.clear()
            for each in list(self._pairs.values()):
                self._lost(each)
                self._finish(each, None)
        elif self._is_connected and not was_connected:
            self._say(f"connected to the scheduler of Dask at {self._connection.address}")
        if self._is_connected:
            # Reports of a task arrive before its end.
            over = [each for each in self._pairs.values() if each.future.status != "pending"]
            for message in self._connection.messages():
                self._received(message)
            self._joined(self._checks.ended())
            for each in over:
                self._over(each)
        if self._workers:
            turns, self._turns = self._turns, []
            for turn in turns:
                turn.callback(None)

    def _received(self, message: Message) -> None:
        match message:
            case {"action": "add-worker", "worker": address}:
                self._checks.start([address])
            case {"action": "remove-worker", "worker": address}:
                self._worker_lost(address)
            case {"task": key, "worker": worker, "line": line} if key in self._pairs:
                self._reported(self._pairs[key], worker, line)

    def _joined(self, workers: Sequence[CheckedWorker]) -> None:
        for each in workers:
            self._faults.pop(each.address, None)
            if each.faults:
                self._faults[each.address] = "; ".join(each.faults)
            for fault in each.faults:
                self._say(f"worker {each.address} plays no matches: {fault}")
        if good := [each for each in workers if each.cores]:
            for each in good:
                self._say(f"worker {each.address} plays, with {counted(each.cores, 'core')}")
                self._workers[each.address] = each.cores
            if sum(self._workers.values()) < 2 * self._job.cores:
                self._say("the ladder waits for another worker: a match needs two cores")
            # Dask does not give new cores to tasks that wait already.
            self._files = {at: it for at, it in self._files.items() if it.status == "finished"}
            for pair in [pair for pair in self._pairs.values() if not pair.worker]:
                self._cancel(pair, None)

    def _worker_lost(self, address: str) -> None:
        self._checks.worker_lost(address)
        self._faults.pop(address, None)
        if address in self._workers:
            del self._workers[address]
            left = "" if self._workers else ": none is left, and the ladder waits for one"
            self._say(f"worker {address} is gone{left}")
        for each in self._pairs.values():
            if each.worker == address:
                self._lost(each)

    # Tasks.

    def _lost(self, pair: _Pair) -> None:
        """End the matches of a task without result: its process has ended."""
        if pair.session:
            AbortedSession(self.operator, pair.session, _LOST)
        pair.worker, pair.session = "", None

    def _reported(self, pair: _Pair, worker: str, line: bytes) -> None:
        if worker != pair.worker:
            self._lost(pair)  # Dask has moved it before the loss was noticed
            pair.worker = worker
        try:
            report = msgspec.json.decode(line, type=PairReport)
        except msgspec.DecodeError:
            self._say(f"{pair.bot.order.name} on {worker}: {line.decode(errors='replace').strip()}")
            return
        if report.is_ready:
            self._open(pair)
        pair.ended += report.ended
        if report.fault:
            pair.bot.show(report.fault)
        if report.use and pair.bot.submitted:
            pair.bot.submitted.used(report.use)

    def _open(self, pair: _Pair) -> None:
        """Open the session of a task whose process is ready."""

        worker = pair.worker

        def give(opened: SessionOpened) -> None:
            if pair.worker == worker:
                pair.session = opened
                self._ask(pair, pair_task.give_session, pair.key, opened.session)

        def refuse(failure: Any) -> None:
            if pair.key in self._pairs:
                del self._pairs[pair.key]
                self._connection.later(self._connection.cancel, [pair.future])
                pair.done.errback(failure)

        self.operator.session(pair.bot.order.name).addCallbacks(give, refuse)

    def _over(self, pair: _Pair) -> None:
        """Note the end of a task."""
        if pair.key not in self._pairs:
            return
        if pair.future.status == "error":
            error = str(pair.future.exception()).splitlines()
            self._say(f"a task of {pair.bot.order.name} has failed: {error[0] if error else '?'}")
        if pair.ended < PAIR:
            self._lost(pair)
        self._finish(pair, pair.ended)
