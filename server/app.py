"""Puts a server together and runs it: storage, hub, workers, listeners, signals."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from msgspec import DecodeError
from sqlalchemy.exc import SQLAlchemyError
from twisted.internet import error
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from playout import games
from playout.commands import progress, signals
from playout.commands.progress import doing
from playout.protocol.endpoints import (
    TlsError,
    encrypted,
    endpoint,
    host_of,
    is_loopback,
    page_address,
    spelled,
    why_not_listening,
)
from playout.protocol.tournament_spec import loads
from playout.protocol.versions import installed, of_player
from playout.server.core.accounts import Directory, GivenAccount
from playout.server.core.effects import (
    CheckFile,
    CheckPassword,
    CheckReport,
    Effect,
    EndAnalysis,
    EndBot,
    KeepPush,
    PushNotice,
    RateLadder,
    StartAnalysis,
    StartBot,
    StartOrganizer,
    TellDisconnection,
)
from playout.server.core.hub import Hub
from playout.server.core.policy import Policy
from playout.server.ladder.state import StoredLadder
from playout.server.model.records import Account, StoredMatch, StoredTournament
from playout.server.net.connection import OutputLimits
from playout.server.net.driver import Driver, EffectWorkers
from playout.server.net.passwords import PasswordChecks
from playout.server.net.player_processes import (
    Analysts,
    BotProcesses,
    FileChecks,
    Organizers,
    PuzzleSearches,
)
from playout.server.net.push_sender import PushSender
from playout.server.net.rating_updates import LadderRatings, RatingUpdates
from playout.server.net.report_checks import ReportChecks
from playout.server.net.site_processes import (
    CompetitionOrders,
    KeptProcess,
    LaboratoryOrders,
    administrator,
    competition_process,
    laboratory_process,
)
from playout.server.net.tcp import TcpConnectionFactory
from playout.server.net.webhooks import ConnectionEvents, DatabaseEvents, Webhook
from playout.server.runtime import process
from playout.server.runtime.game_compilation import GameCompiler, all_are_compiled, in_order
from playout.server.runtime.process import ConnectionRoom, TooFewFiles, connection_room, raise_limit
from playout.server.runtime.reactor import LoopTime
from playout.server.runtime.reactor import install as install_reactor
from playout.server.runtime.scheduler import DelayMeter, LoopScheduler
from playout.server.storage import Database, StorageError
from playout.server.storage.client import StorageClient
from playout.server.storage.engine import first_line
from playout.server.storage.queries import Reader
from playout.server.storage.stored_ladders import stored_ladders
from playout.server.web.api import Api
from playout.server.web.archive import Archive
from playout.server.web.http import HandlerResource, error_as_json
from playout.server.web.http_server import MAX_CONNECTIONS, Access
from playout.server.web.match_data import MatchLookup
from playout.server.web.pages import pages
from playout.server.web.pages.source import error_as_page
from playout.server.web.site import make_site
from playout.server.web.texts import told_in
from playout.server.web.websocket import WebSocketResource

_log = Logger(namespace="server")

#: Seconds in which the last records must be stored: first while players are still connected, and
#: again after the reactor has stopped. To start a storage process takes 2 s, and more while other
#: work keeps all cores busy.
_PATIENCE_S = 8.0
#: Seconds after its end in which a tournament can still be watched.
_REMEMBERED_S = 24 * 3600.0
#: Maximum number of ended matches, besides those of running tournaments, whose luck is measured
#: after the start.
_MOST_UNMEASURED = 1000


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of the server that are not fields of `Policy`.

    `find_puzzles`: find puzzles in its matches while nobody plays. `warm`: the games that are
    loaded before it listens. `tournaments`: a second database, whose tournaments the page shows.
    `http_given`: whether `--http` was given. `open`: show the page in a browser. `keep_analysis`:
    seconds after which the analyses of ended matches are removed, None for never. `competition`:
    the files of competitions, whose pages are at `competition_http`. `lab`: the file of a queue of
    tests, whose pages are at `lab_http`. `benchmark`: the folders of benchmarks of language models,
    by name. `push`: the folder for notices through push services, and `push_contact` the operator's
    address for these. `webhooks`: the folder of the programs at the addresses `webhook`, which are
    told of events. `accounts`: those that the server adds, or changes, before it listens.
    """

    host: str | None
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    proxy_protocol: bool
    http: tuple[str, int] | None
    http_proxied: bool
    http_name: tuple[str, ...]
    embed_on: tuple[str, ...]
    benchmark: Mapping[str, Path]
    push: Path | None
    push_contact: str | None
    webhooks: Path | None
    webhook: tuple[str, ...]
    metrics_password: str | None
    find_puzzles: bool
    database: str
    tournaments: str | None
    warm: tuple[str, ...]
    keep_analysis: float | None
    unread_bytes: int
    unread_mb: float
    grace_s: float
    log_json: bool
    competition: tuple[Path, ...]
    competition_http: tuple[str, int]
    lab: Path | None
    lab_http: tuple[str, int]
    accounts: tuple[GivenAccount, ...]
    http_given: bool
    open: bool


def serve(settings: Settings, policy: Policy) -> None:
    """Run a server until it is asked to stop, then exit the process."""
    loop_time = LoopTime()
    install_reactor(loop_time)
    process.begin(as_json=settings.log_json)
    progress.say_by(_log.info)
    try:
        room = _room(settings, policy)
    except TooFewFiles as fault:
        click.echo(f"playout-server: {fault}", err=True)
        sys.exit(1)
    policy = dataclasses.replace(policy, connections=room.connections)
    scheduler = LoopScheduler(reactor())
    storage = None
    if policy.stored:
        keep_s = settings.keep_analysis
        storage = StorageClient(settings.database, reactor(), scheduler, keep_analysis_s=keep_s)
        storage.start()
    compiler = GameCompiler()
    games.check_before_loading(compiler.require)
    with doing("Loading the games"):
        _warm_up(settings.warm, compiler)
    try:
        if storage:
            with doing("Opening the database"):
                storage.wait()
        _Server(settings, policy, storage, scheduler, loop_time, room.http, compiler).run()
    except (StorageError, error.CannotListenError) as fault:
        click.echo(f"playout-server: {fault}", err=True)
        sys.exit(1)


class _CannotListen(Exception):
    """An address cannot be listened on; the text is for the operator."""


class _Server:
    """The hub, its driver, storage and listeners, from the start of the server to its end."""

    def __init__(
        self,
        settings: Settings,
        policy: Policy,
        storage: StorageClient | None,
        scheduler: LoopScheduler,
        loop_time: LoopTime,
        most_http: int,
        compiler: GameCompiler,
    ) -> None:
        """Restore what is stored, if there is `storage`. Raises StorageError, CannotListenError.

        `most_http`: the most HTTP connections.
        """
        self._settings = settings
        self._storage = storage
        self._scheduler = scheduler
        self._output = OutputLimits(settings.unread_bytes, round(settings.unread_mb * 1e6))
        self._most_http = most_http
        self._compiler = compiler
        self._code = 0
        self._listeners: list[Any] = []  # of IListeningPort
        self._stopping = False
        software = f"playout-server {version('playout')}"
        started_at = time.time()
        epoch = started_at - time.monotonic()
        #: The time since 1970, which grows even if the clock of the system is set back.
        self._clock = lambda: epoch + time.monotonic()
        found = _Stored()
        if storage:
            _give_accounts(settings.database, settings.accounts, started_at)
            found = _read_stored(settings.database, started_at - policy.reconnect_s)
            with doing("Loading the games of matches that continue"):
                compiler.wait(found.games)
        self._administrator, self._token = administrator(found.accounts)
        #: The processes that take what others hand in.
        self._hand_ins: list[KeptProcess] = []
        accounts = [*found.accounts, *([self._administrator] if settings.competition else [])]
        self._hub = Hub(
            policy,
            software=software,
            accounts=accounts,
            epoch=epoch,
            # Ids are in the order of creation, also after the clock was set back.
            started_at=max(started_at, found.ids_end),
            version_of=lambda player: of_player(player, lambda path: None, installed()),
        )
        self._driver = Driver(
            self._hub,
            reactor(),
            scheduler,
            self._finish,
            self._workers,
            storage.put if storage else None,
            loop_time,
        )
        compiler.call_when_ready(lambda name: reactor().callFromThread(self._game_ready, name))
        reactor().addSystemEventTrigger("after", "shutdown", compiler.close)
        if not settings.warm:
            compiler.compile(in_order(found.most_played))
        if storage:
            storage.attach(self._driver.storage_told)
            reactor().addSystemEventTrigger("before", "shutdown", storage.stop_restarting)
            self._hub.restore_tournaments(found.tournaments)
            self._driver.caller(self._hub.restore_ladders)(found.ladders)
            # Before the matches: a tournament that needs luck does not end.
            self._driver.caller(self._hub.measure_luck)(found.unmeasured)
            self._driver.caller(self._hub.restore_matches)(found.matches)

    def run(self) -> None:
        """Listen and serve until stopped, then exit the process."""
        # Before listening: a process that reads the address may stop the server at once.
        with signals.handled(reactor(), dict.fromkeys((signal.SIGTERM, signal.SIGINT), self._stop)):
            Deferred.fromCoroutine(self._open())
            DelayMeter(reactor(), self._driver.metrics.delayed).start()
            reactor().run(installSignalHandlers=False)
        if self._storage and not self._storage.close(_PATIENCE_S):
            click.echo("playout-server: the database does not answer: moves that were not "
                       "announced yet are lost", err=True)  # fmt: skip
            self._code = 1
        sys.exit(self._code)

    def _game_ready(self, name: str) -> None:
        self._driver.game_ready(name)
        if not self._compiler.progress():
            process.exclude_existing_objects()

    def _workers(self, driver: Driver) -> EffectWorkers:
        """The processes and threads that the settings ask for. Raises CannotListenError."""
        hub, policy, settings = self._hub, self._hub.policy, self._settings
        analysts = Analysts(reactor(), driver.caller(hub.analysis_reported))
        reactor().addSystemEventTrigger("after", "shutdown", analysts.close)
        checks = FileChecks(reactor(), driver.caller(hub.file_checked))
        reactor().addSystemEventTrigger("after", "shutdown", checks.close)
        carriers: dict[type[Effect], Callable[[Any], None]] = {
            RateLadder: LadderRatings(reactor(), driver.caller(hub.ladder_rated)).start,
            StartAnalysis: analysts.start,
            EndAnalysis: analysts.end,
            CheckPassword: PasswordChecks(reactor(), driver.caller(hub.password_checked)).start,
            CheckFile: checks.start,
        }
        if policy.stored:
            reports = ReportChecks(settings.database, reactor(), driver.caller(hub.report_checked))
            carriers[CheckReport] = reports.start
        if policy.bots:
            connections = TcpConnectionFactory(
                driver, self._scheduler, output=self._output, proxied=False, is_own=True
            )
            bots = BotProcesses(
                reactor(),
                connections,
                driver.caller(hub.bot_ended),
                driver.caller(hub.bot_starting),
            )
            reactor().addSystemEventTrigger("after", "shutdown", bots.close)
            ended, log_json = driver.caller(hub.organizer_ended), settings.log_json
            organizers = Organizers(reactor(), bots.port, ended, log_json=log_json)
            reactor().addSystemEventTrigger("after", "shutdown", organizers.close)
            carriers |= {
                StartBot: bots.start,
                EndBot: bots.end,
                StartOrganizer: organizers.start,
            }
        if settings.competition:
            self._prepare_competitions(driver)
        if settings.lab:
            self._hand_ins.append(
                laboratory_process(reactor(), self._laboratory_orders(settings.lab))
            )
        for each in self._hand_ins:
            reactor().addSystemEventTrigger("after", "shutdown", each.close)
        if settings.push:
            contact = settings.push_contact or ""
            push = PushSender(reactor(), settings.push, contact, told_in)
            carriers |= {KeepPush: push.keep, PushNotice: push.send}
        if settings.webhooks and self._storage:
            disconnections = ConnectionEvents()
            carriers[TellDisconnection] = disconnections.add
            for url in settings.webhook:
                for events in (DatabaseEvents(settings.database), disconnections):
                    Webhook(reactor(), settings.webhooks, url, events, self._clock)
        if settings.find_puzzles and self._storage:
            searches = PuzzleSearches(reactor(), settings.database, hub.rooms)
            reactor().addSystemEventTrigger("after", "shutdown", searches.close)
        if not (settings.http and self._storage):  # only pages show the ratings
            return EffectWorkers(carriers, None, self._compiler.progress)
        ratings = RatingUpdates(settings.database, reactor(), driver.caller(hub.store))
        return EffectWorkers(carriers, ratings.matches_ended, self._compiler.progress)

    def _prepare_competitions(self, driver: Driver) -> None:
        """Make the process of the competitions, which starts later. Raises CannotListenError."""
        settings = self._settings
        connections = TcpConnectionFactory(
            driver, self._scheduler, output=self._output, proxied=False, is_own=True
        )
        orders = CompetitionOrders(
            files=tuple(map(str, settings.competition)),
            name=self._administrator.name,
            token=self._token,
            ladder_matches=self._hub.policy.ladder_matches,
            **self._site_orders(settings.competition_http),
        )
        self._hand_ins.append(competition_process(reactor(), connections, orders))

    def _laboratory_orders(self, file: Path) -> LaboratoryOrders:
        settings = self._settings
        return LaboratoryOrders(
            file=str(file.absolute()),
            webhooks=str(settings.webhooks.absolute()) if settings.webhooks else "",
            webhook=settings.webhook,
            **self._site_orders(settings.lab_http),
        )

    def _site_orders(self, http: tuple[str, int]) -> dict[str, Any]:
        """Return the fields of `SiteOrders` for pages at the address `http`."""
        settings = self._settings
        return {
            "http": http,
            "names": settings.http_name,
            "proxied": settings.http_proxied,
            "database": settings.database,
            "token_days": self._hub.policy.token_days,
            "log_json": settings.log_json,
        }

    async def _open(self) -> None:
        """Listen for players and for HTTP, then print the addresses."""
        try:
            where = await self._open_for_players()
            page = await self._open_http()
        except (TlsError, _CannotListen) as fault:
            self._fail(str(fault))
            return
        _announce(f"listening on {where}")
        if page:
            _announce(f"page at {page}")
        is_direct = page and not self._settings.http_proxied
        for each in self._hand_ins:
            each.start(f":{urlsplit(page).port}" if page and is_direct else "")
        if self._settings.open and page:
            process.show(page)
        elif self._settings.open:
            click.echo("playout-server: there is no page to open, because its port is in use; "
                       "choose another with --http", err=True)  # fmt: skip

    async def _open_for_players(self) -> str:
        """Listen for players, and return the address. Raises TlsError, _CannotListen."""
        settings = self._settings
        factory: Any = TcpConnectionFactory(
            self._driver,
            self._scheduler,
            output=self._output,
            proxied=settings.proxy_protocol,
        )
        host = host_of(settings.host, encrypted=bool(settings.tls_cert))
        if settings.tls_cert and settings.tls_key:
            factory = encrypted(factory, settings.tls_cert, settings.tls_key)
        elif not settings.proxy_protocol:
            _log_reachability(host)
        where = endpoint(reactor(), host, settings.port, proxied=settings.proxy_protocol)
        return spelled(*await self._listen(where, factory, "cannot listen", "--port 0"))

    async def _open_http(self) -> str | None:
        """Listen for HTTP, and return the URL of the page; None if there is no page.

        Raises _CannotListen if the operator has given the address.
        """
        settings = self._settings
        if settings.http is None:
            return None
        host, port = settings.http
        sockets = WebSocketResource(
            self._driver,
            self._scheduler,
            reactor(),
            output=self._output,
            proxied=settings.http_proxied,
        )
        url = settings.database if self._storage else None
        archive = Archive(url, reactor(), settings.tournaments)
        lookup = MatchLookup(self._hub, archive)
        factory = make_site(
            self._driver.metrics,
            lambda: self._driver.fault,
            handlers=pages(self._hub, archive, lookup, settings.embed_on, settings.benchmark),
            socket=sockets,
            api=HandlerResource(Api(self._hub, archive, lookup), error_as_json),
            render_error=error_as_page,
            connections=self._most_http,
            access=Access.at(
                host,
                proxied=settings.http_proxied,
                names=settings.http_name,
                metrics_password=settings.metrics_password,
            ),
            warning=self._driver.warning,
        )
        where = endpoint(reactor(), host, port, proxied=False)
        text, free = "cannot listen for HTTP", f"--http {spelled(host, 0)}"
        try:
            return page_address(*await self._listen(where, factory, text, free))
        except _CannotListen as fault:
            if settings.http_given:
                raise
            # Another server uses the default port; this one runs without a page.
            _log.warn("{text}; the server runs without a page", text=str(fault))
            return None

    async def _listen(self, where: Any, factory: Any, text: str, free: str) -> tuple[str, int]:
        """Listen at an endpoint, and return host and port.

        Raises _CannotListen, whose message starts with `text`; `free` is the option that takes a
        free port.
        """
        try:
            listener = await where.listen(factory)
        except Exception as fault:
            raise _CannotListen(f"{text}: {why_not_listening(Failure(), free)}") from fault
        self._listeners.append(listener)
        at = listener.getHost()
        return at.host, at.port

    def _stop(self) -> None:
        if not self._listeners or self._stopping:
            _stop_reactor()
            return
        self._stopping = True
        for listener in self._listeners:
            listener.stopListening()
        self._driver.stop(self._settings.grace_s)
        reactor().callLater(self._settings.grace_s + _PATIENCE_S, _stop_reactor)

    def _finish(self) -> None:
        # Time for the system to send what was written.
        reactor().callLater(0.1, _stop_reactor)

    def _fail(self, text: str) -> None:
        click.echo(f"playout-server: {text}", err=True)
        self._code = 1
        reactor().callLater(0, _stop_reactor)


@dataclasses.dataclass(frozen=True)
class _Stored:
    """The accounts, matches, tournaments and ladders that an earlier server stored."""

    accounts: Sequence[Account] = ()
    matches: Sequence[StoredMatch] = ()
    tournaments: Sequence[StoredTournament] = ()
    ladders: Sequence[StoredLadder] = ()
    unmeasured: Sequence[StoredMatch] = ()
    most_played: Sequence[str] = ()
    ids_end: float = 0.0

    @property
    def games(self) -> set[str]:
        """The names of the games that are needed to continue."""
        texts = [
            *(each.started.game for each in self.matches),
            *(game for each in self.tournaments for game in _games_of(each)),
            *(each.game for each in self.ladders),
        ]
        return set(map(_name_of, texts))


def _read_stored(url: str, since: float) -> _Stored:
    """Read accounts, ladders, and matches and tournaments that run or ended after `since`.

    Raises StorageError.
    """
    database, reader = Database(url), Reader(url)
    try:
        known, _ = database.accounts()
        return _Stored(
            known,
            [*database.finished_since(since), *database.unfinished()],
            [
                stored
                for each in database.tournaments()
                if each.ended is None or each.ended.at >= since - _REMEMBERED_S
                if (stored := database.tournament(each.created.tournament))
            ],
            stored_ladders(database, since - _REMEMBERED_S),
            database.unmeasured(_MOST_UNMEASURED),
            reader.most_played(),
            database.ids_end(),
        )
    except SQLAlchemyError as error:
        raise StorageError(f"cannot read {database.shown}: {first_line(error)}") from error
    finally:
        database.close()
        reader.close()


def _give_accounts(url: str, accounts: Iterable[GivenAccount], at: float) -> None:
    """Store the accounts that the settings have. Raises StorageError."""
    if not accounts:
        return
    with contextlib.closing(Database(url)) as database:
        known = Directory(database.accounts()[0])
        for each in accounts:
            database.put_account(known.given(each, secrets.token_hex(8), at))


def _games_of(stored: StoredTournament) -> Sequence[str]:
    """The games of a tournament; none if an older version has stored what this one cannot read."""
    with contextlib.suppress(games.SpecError, DecodeError):
        return loads(stored.created.spec).games
    return ()


def _name_of(game: str) -> str:
    """The name of a game, without its parameters."""
    return game.partition("(")[0]


def _room(settings: Settings, policy: Policy) -> ConnectionRoom:
    """Return the number of connections, and log if it is smaller than the operator's limit.

    Raises TooFewFiles.
    """
    files = raise_limit()
    most_http = MAX_CONNECTIONS if settings.http else 0
    # The process that proves results for tournaments is one more.
    processes = policy.bots + policy.analyses + 1
    processes += bool(settings.competition) + bool(settings.lab) + settings.find_puzzles
    room = connection_room(files, processes=processes, most_http=most_http)
    if 0 < policy.connections <= room.connections:
        return dataclasses.replace(room, connections=policy.connections)
    text = "the limit on open files, {files}, allows {connections} connections and {http} of HTTP"
    _log.info(text, files=files, connections=room.connections, http=room.http)
    return room


def reactor() -> Any:
    """Return Twisted's reactor. Any: the methods of zope's interfaces have no `self`."""
    from twisted.internet import reactor

    return reactor


def _announce(text: str) -> None:
    click.echo(f"playout-server: {text}")
    sys.stdout.flush()


def _log_reachability(host: str) -> None:
    if is_loopback(host):
        text = "only this machine can connect, at {host}; to let others, see --host and --tls-cert"
        _log.info(text, host=host)
    else:
        text = "other machines can connect, at {host}, without encryption; see --tls-cert"
        _log.warn(text, host=host)


def _stop_reactor() -> None:
    with contextlib.suppress(error.ReactorNotRunning):
        reactor().stop()


def _warm_up(chosen: Sequence[str], compiler: GameCompiler) -> None:
    """Load games now: those that were chosen, or all if they were compiled before."""
    if chosen or all_are_compiled():
        compiler.wait(map(_name_of, chosen or games.names()))
    for text in chosen:
        try:
            games.load(text)
        except games.SpecError as fault:
            _log.warn("a game cannot be loaded: {fault}", fault=str(fault))
    process.exclude_existing_objects()
