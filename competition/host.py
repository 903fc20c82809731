"""The process of a server that runs its competitions: pages, queues, and bots on ladders.

The server starts it (`KeptProcess`), and ends it by SIGTERM. It ends with the server, and
with it everything that it has started. What was handed in is in the folders of the competitions, so
that the next process continues where this one stopped.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs
from twisted.internet.defer import Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.internet.task import deferLater
from twisted.logger import Logger

from playout import games
from playout.bots.builder import MachineFault, StageFault, for_author
from playout.bots.uploads import Accounts, UploadSite
from playout.commands.connect_options import ServerAddress
from playout.commands.cores import usable_cores
from playout.competition.contestants import (
    LadderBot,
    LocalLadderBot,
    MatchFault,
    MatchInterrupted,
    Operator,
    PlayerOf,
    SessionRefused,
    Show,
    Used,
    play_match,
    submission_player,
)
from playout.competition.pair_process import LadderWorker, PairOrder, SubmittedBot
from playout.competition.site import Pages
from playout.competition.stages import Stages
from playout.competition.submissions import FolderInUse, Submission, Submissions
from playout.games.core import spec
from playout.players.client.agent import PlayerCache
from playout.players.engines.process import MatchUse
from playout.protocol.messages import EnterLadder, Seek
from playout.sandbox import machine
from playout.server.net.site_processes import CompetitionOrders, run_host
from playout.server.tournament.competition_file import (
    Competition,
    CompetitionFileError,
    HouseBot,
    read,
)
from playout.server.web.http_server import Access

if TYPE_CHECKING:  # it imports Dask, which is optional
    from playout.competition.ladder_cluster import LadderWorkers

_HOST = "127.0.0.1"
#: Seconds between two looks at an empty queue, and at what belongs on the ladder.
_IDLE_S = 0.2
#: Maximum number of threads in which bots think or are waited for.
_THREADS = 128

_log = Logger(namespace="server")


def main() -> int:
    """Run the competitions of the orders on the standard input, until SIGTERM."""
    faults = (CompetitionFileError, FolderInUse, games.SpecError)
    if run_host(CompetitionHost, CompetitionOrders, faults) is None:
        return 1
    os._exit(0)  # threads may wait for programs, which end with this process


class CompetitionHost:
    """The competitions of a server, and its connection to the server."""

    def __init__(self, reactor: Any, orders: CompetitionOrders) -> None:
        """Read the competitions. Raises CompetitionFileError, FolderInUse, SpecError."""
        self._reactor = reactor
        self._http = orders.http
        address = ServerAddress(_HOST, orders.port)
        self._operator = Operator(reactor, address, orders.name, orders.token)
        self._runs = {}
        accounts = Accounts(orders.database, orders.token_days)
        refusals = {}
        for file in orders.files:
            submissions = Submissions(read(Path(file)), _fail)
            submissions.lock()
            competition = submissions.competition
            if refusal := taken_name(competition, accounts) or refusal_of(competition):
                refusals[competition.name] = refusal
                _fail(f"{file}: submissions are refused: {refusal}")
            run = CompetitionRun(reactor, self._operator, submissions, bool(refusal))
            self._runs[competition.name] = run
        pages = Pages(
            {name: each.submissions for name, each in self._runs.items()},
            orders,
            refusals,
            {name: each.workers for name, each in self._runs.items()},
        )
        access = Access.at(orders.http[0], proxied=orders.proxied, names=orders.names)
        self._site = UploadSite(pages, pages.room, accounts, access)

    def start(self) -> None:
        """Listen, connect to the server, then handle submissions and let bots play."""
        self._reactor.suggestThreadPoolSize(_THREADS)
        if self._site.listen(self._reactor, self._http, "competitions"):
            self._operator.open()
            _run(self._reactor, self._play())

    async def _play(self) -> None:
        await self._operator.ready
        for each in self._runs.values():
            each.begin()


class CompetitionRun:
    """One competition: its bots on the ladder, and its queue."""

    def __init__(
        self, reactor: Any, operator: Operator, submissions: Submissions, is_refused: bool
    ) -> None:
        """`is_refused`: no submission is run. Raises SpecError without a player of a house bot."""
        self.submissions = submissions
        self._is_refused = is_refused
        self._reactor = reactor
        self._operator = operator
        self._competition = submissions.competition
        self._stages = Stages(reactor, submissions, self._play_house, _fail)
        self._house = [(each, _house_player(each)) for each in self._competition.house]
        self._workers = None if is_refused else _workers(operator, self._competition)
        #: The bots on the ladders of each team, and the number of their submission.
        self._entered: dict[str, tuple[int, list[LadderBot]]] = {}

    def workers(self) -> Sequence[LadderWorker]:
        """Return the workers for the ladder, without a cluster this machine."""
        return self._workers.known() if self._workers else [LadderWorker("", usable_cores())]

    def begin(self) -> None:
        """Let all bots enter the ladders, and handle the queue."""
        if self._is_refused:
            return
        if self._workers:
            _run(self._reactor, self._workers.run())
        for each, player_of in self._house:
            for game in self._competition.games:
                order = PairOrder(each.name, game, each.player[:64], player=each.player)
                self._enter(order, player_of, lambda text: None)
        _run(self._reactor, self._handle_queue())
        _run(self._reactor, self._keep_ladder())

    async def _keep_ladder(self) -> None:
        """Keep the ladder and the logs up to date, as long as this process runs."""
        while True:
            self._update_ladder()
            self.submissions.write()
            await deferLater(self._reactor, _IDLE_S, lambda: None)

    async def _handle_queue(self) -> None:
        """Handle submissions, one after the other, as long as this process runs."""
        while True:
            if submission := self.submissions.next_queued():
                await self._stages.handle(submission)
            else:
                await deferLater(self._reactor, _IDLE_S, lambda: None)

    def _update_ladder(self) -> None:
        """Let the last accepted submissions play on the ladders, and no others."""
        accepted = self.submissions.accepted()
        for team, (number, bots) in list(self._entered.items()):
            if team not in accepted or accepted[team].id != number:
                for bot in bots:
                    bot.leave()
                del self._entered[team]
        for team in accepted.keys() - self._entered.keys():
            submission = accepted[team]
            orders = [PairOrder(team, game, submission.version) for game in self._competition.games]
            show = partial(self._log, submission)
            player_of = self._player_of(submission)
            bots = [self._enter(order, player_of, show, submission) for order in orders]
            self._entered[team] = submission.id, bots

    def _enter(
        self,
        order: PairOrder,
        player_of: PlayerOf,
        show: Show,
        submission: Submission | None = None,
    ) -> LadderBot:
        """Let a bot enter the ladder: a submission, or without one a house bot."""
        pause_s = self._competition.pause_s
        bot: LadderBot
        if self._workers is None:
            request = EnterLadder(game=order.game, version=order.version)
            bot = LocalLadderBot(self._operator, order.name, request, player_of, show, pause_s)
        elif submission:
            assert submission.bot
            code = self.submissions.code(submission)
            submitted = SubmittedBot(submission.bot, code, self._used(submission))
            bot = self._workers.bot(order, show, pause_s, submitted)
        else:
            bot = self._workers.bot(order, show, pause_s)
        _run(self._reactor, bot.run())
        return bot

    async def _play_house(self, submission: Submission) -> Submission:
        """Play each game from each side against the first house bot.

        Raises StageFault, MachineFault.
        """
        house, _ = self._house[0]
        player_of = self._player_of(submission)
        played: list[str] = []
        for game, seat in itertools.product(self._competition.games, (1, 2)):
            seek = Seek(
                game=game,
                clock=self._competition.clock,
                opponent=house.name,
                seat=1 if seat == 1 else 2,
            )
            show = partial(self._log, submission)
            try:
                match = await play_match(
                    self._operator, seek, submission.team, player_of, _house_player(house), show
                )
            except MatchFault as fault:
                raise StageFault(str(fault)) from fault
            except (MatchInterrupted, SessionRefused) as fault:
                raise MachineFault(str(fault)) from fault
            played.append(match)
        return structs.replace(submission, matches=tuple(played))

    def _player_of(self, submission: Submission) -> PlayerOf:
        engines = str(self.submissions.place(submission, "engines.toml"))
        return submission_player(engines, self._used(submission), self._competition.cores)

    def _used(self, submission: Submission) -> Used:
        """Return a function for any thread that stores the resource usage of a submission."""

        def used(use: MatchUse) -> None:
            use = structs.replace(use, end=for_author(use.end))
            self._reactor.callFromThread(self.submissions.record, submission, use)

        return used

    def _log(self, submission: Submission, text: str) -> None:
        self.submissions.log(submission, for_author(text))


def refusal_of(competition: Competition) -> str:
    """Return why this machine runs no bots of a competition; empty if it does."""
    try:
        machine.require(competition.sandbox, network=bool(competition.build_hosts))
    except machine.SandboxError as error:
        return str(error)
    return ""


def taken_name(competition: Competition, accounts: Accounts) -> str:
    """Return in words which name of a bot is the account of somebody else; empty if none."""
    for name in competition.others:
        if (account := accounts.like(name)) and account.digest:
            return f"the name of the house bot {name!r} is an account: choose another name"
    for team in {each.team for each in (competition.roster or {}).values()}:
        account = accounts.like(team)
        owner = competition.contestant(account.name) if account else None
        if account and account.digest and (owner is None or owner.team != team):
            return f"the name of the team {team!r} is an account that is not in this team"
    return ""


def _workers(operator: Operator, competition: Competition) -> LadderWorkers | None:
    """Return the cluster of a ladder; None without one. Raises CompetitionFileError."""
    if competition.cluster is None:
        return None
    module = importlib.import_module("playout.competition.ladder_cluster")  # it needs Dask

    def say(text: str) -> None:
        _log.info("{name}: {text}", name=competition.name, text=text)

    try:
        workers: LadderWorkers = module.LadderWorkers(operator, competition, say)
    except (OSError, ValueError) as error:
        raise CompetitionFileError(f"the cluster of {competition.name}: {error}") from error
    return workers


def _house_player(bot: HouseBot) -> PlayerOf:
    """Return the function that makes a house bot. Raises SpecError."""
    return PlayerCache(spec.parse(bot.player))


def _run(reactor: Any, coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine, and end this process if it fails: the server starts another."""

    def failed(failure: Any) -> None:
        _log.failure("the process of the competitions ends", failure)
        with contextlib.suppress(ReactorNotRunning):
            reactor.stop()

    Deferred.fromCoroutine(coroutine).addErrback(failed)


def _fail(text: str) -> None:
    """Tell the operator a fault."""
    _log.error("{text}", text=text)
