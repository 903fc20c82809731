"""Runs a tournament to its end, from its start or from the point where it was interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec import structs
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from playout.commands import signals
from playout.commands.child import LogFolder
from playout.commands.identity import HELLO
from playout.protocol.codec import MAX_FRAME, encode
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import (
    Abort,
    Code,
    CreateTournament,
    Error,
    Event,
    Fixture,
    Hello,
    Notice,
    Ping,
    Pong,
    RequestId,
    Tournament,
    WatchTournament,
    Welcome,
    Withdraw,
)
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer.console import TournamentDisplay
from playout.server.organizer.entrants import Entrants, EntrantsFactory, RunnerCalls
from playout.server.organizer.local_server import TEMPORARY, LocalServer, LocalServerError, refusal
from playout.server.organizer.progress import TournamentProgress
from playout.server.tournament.ledger import Ledger

#: Seconds between two polls of the processes.
_POLL_INTERVAL_S = 0.2
#: The ids of requests.
_CREATE, _WATCH, _WITHDRAW = "create_tournament", "watch_tournament", "withdraw"
_PING, _ABORT = "ping", "abort"
_NEEDS_ADMINISTRATOR = (
    "the operator of the server makes the organizer an administrator with: "
    "playout-server accounts admin NAME"
)


@dataclass(frozen=True)
class RunRequest:
    """A tournament to create, or, with its id, to resume. `notes` are shown in its report.

    `match_ended` is called with each ended match, also with those before a resumption. Without
    `anyway`, a tournament is not resumed with other versions of its entrants. When `is_enough`
    returns True after a match, the run ends as if it was over; it can be resumed. A race counts at
    most `pair_limit` pairs. With `at_once`, it plays no more matches at once, although the
    tournament may. `program` is the command that the user has started, `to_resume` the one that
    goes on, with `{id}` for the tournament; None if it is no user who goes on.

    The other fields are for a local server, whose database can be read: `created` returns the id of
    the tournament if the server stored it but its answer was lost, otherwise None; `stored` reads a
    tournament that is over, so that the server has forgotten it; `abandoned` are running matches
    whose players will not return now, as those of other tournaments.
    """

    spec: TournamentSpec
    tournament: str | None = None
    notes: tuple[str, ...] = ()
    created: Callable[[], str | None] | None = None
    stored: Callable[[str], Ledger] | None = None
    abandoned: tuple[str, ...] = ()
    match_ended: Callable[[Fixture], None] = lambda fixture: None
    anyway: bool = False
    is_enough: Callable[[Ledger], bool] = lambda ledger: False
    pair_limit: int | None = None
    at_once: int | None = None
    program: str = "playout-tournament"
    to_resume: str | None = "playout-tournament resume {id}"


class Runner:
    """Watches one tournament on a server, and keeps the server and the entrants running."""

    def __init__(
        self,
        reactor: Any,
        request: RunRequest,
        entrants_of: EntrantsFactory,
        local_server: LocalServer | None,
        display: TournamentDisplay,
        logs: LogFolder,
        *,
        stay: bool = False,
    ) -> None:
        """`entrants_of` makes the entrants of a tournament that was created or resumed.

        With `stay`, the local server continues to run after a success.
        """
        self.progress: TournamentProgress | None = None
        #: The exit code, once `run` has returned.
        self.code = 1
        #: Why it has failed, or empty.
        self.fault = ""
        self._reactor = reactor
        self._request = request
        self._entrants_of = entrants_of
        self._local_server = local_server
        self._display = display
        self._logs = logs
        self._stay = stay
        self._tournament = request.tournament
        #: The specification in the last message.
        self._sent: TournamentSpec | None = None
        self._is_creating = False
        self._entrants: Entrants | None = None
        self._crashing: set[str] = set()
        self._is_ending = False
        self._frame_bytes = MAX_FRAME
        self._loop = LoopingCall(self._poll)
        self._loop.clock = reactor

    def use(self, connection: ServerConnection, hello: Hello) -> None:
        """Log in with `hello` over this connection; to be called first."""
        self._connection = connection
        self._hello = hello

    def run(self) -> None:
        """Run the reactor until the tournament is over, fails or is interrupted."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: partial(self._interrupt, number) for number in numbers}
        self._reactor.callWhenRunning(self._begin)
        with signals.handled(self._reactor, handlers):
            self._reactor.run(installSignalHandlers=False)
        self._display.close()
        # First the server: when it has stopped, no entrant loses a match by leaving.
        if self._local_server and not (self._stay and self.code == 0):
            self._local_server.stop()
        if self._entrants:
            self._entrants.stop()

    # The connection.

    def connected(self) -> None:
        """Log in as the organizer."""
        self._connection.send(self._hello)

    def disconnected(self, reason: str) -> None:
        """Tell the user; the connection makes itself anew."""
        if self.progress:
            self._display.show(f"The server cannot be reached ({reason}); trying again ...")

    def retrying(self, text: str) -> None:
        """Tell the user, except about a local server, which takes seconds to start."""
        if not self._local_server:
            self._display.show(text)

    def unreachable(self, reason: str) -> None:
        """End with exit code 1."""
        self._fail(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        """End with exit code 1: another attempt would fail, too."""
        self._fail(reason)

    def received(self, event: Event) -> None:
        """React to an event of the server."""
        match event:
            case Welcome():
                self._welcomed(event)
            case Tournament():
                self._tournament_changed(event)
            case Fixture():
                self._fixture_changed(event)
            case Pong(re=re) if re == _PING:
                self._caught_up()
            case Notice():
                self._display.show(f"The server says: {event.text}")
            case Error() if event.re == HELLO or not self._connection.is_open:
                self._hello_refused(event)
            case Error():
                self._refused(event)

    def _welcomed(self, welcome: Welcome) -> None:
        """Create the tournament, or watch it."""
        self._frame_bytes = welcome.frame_bytes or MAX_FRAME
        if self._local_server:
            self._local_server.logged_in()
        if self._tournament is None and self._is_creating:
            if self._request.created is None:
                self._fail("the connection was lost before the server confirmed the tournament; "
                           "ask its operator for the ID, then: resume ID")  # fmt: skip
                return
            self._tournament = self._request.created()
        for match in self._request.abandoned:  # so that they are replayed, not lost on time
            self._abort(match, "its players do not return")
        self._create_or_watch()

    def _create_or_watch(self) -> None:
        if self._tournament is not None:
            self._connection.send(WatchTournament(id=_WATCH, tournament=self._tournament))
            return
        create = CreateTournament(id=_CREATE, spec=self._request.spec)
        if (size := len(encode(create))) > self._frame_bytes:
            self._fail(
                f"the tournament, with its openings, is a message of {size:,} bytes; the server "
                f"takes at most {self._frame_bytes:,} from an account that is no administrator; "
                f"{_NEEDS_ADMINISTRATOR}"
            )
            return
        self._is_creating = True
        self._connection.send(create)

    # Events.

    def _tournament_changed(self, event: Tournament) -> None:
        if self.progress is None:
            if event.re is None:
                return
            self._start(event)
        if self.progress is None:
            return
        for place in event.withdrawn[len(self.progress.ledger.withdrawn) :]:
            name = event.spec.entrants[place].name
            self._display.show(f"{name} is withdrawn; the others play on")
            if self._entrants:
                self._entrants.remove(name)
        if event.spec != self._sent:
            self._spec_changed(self.progress.ledger, event)
        self.progress.update(event)
        self._ask_to_withdraw(self._crashing)
        # The answer comes after the fixtures that the server is sending.
        self._connection.send(Ping(id=_PING))

    def _start(self, event: Tournament) -> None:
        """Start the entrants of a tournament that was created or resumed."""
        if changed := self._changed(event.spec):
            self._fail(changed)
            return
        self._sent = event.spec
        # The event's specification has only what is public, and no given openings.
        own = self._request.spec
        given = {each.name: each for each in own.entrants}
        entrants = tuple(
            replace(given.get(each.name, each), version=each.version)
            for each in event.spec.entrants
        )
        spec = replace(event.spec, entrants=entrants, openings=own.openings, sandbox=own.sandbox)
        event = structs.replace(event, spec=spec)
        ledger = Ledger(event.tournament, spec, event.withdrawn)
        ledger.pair_limit = self._request.pair_limit
        self.progress = self._progress_of(ledger)
        self._tournament = event.tournament
        show = self._display.show
        show(f"Tournament {event.tournament}: {event.spec.name}")
        if self._local_server and (page := self._local_server.page_of(event.tournament)):
            show(f"Watch it at {page}")
        calls = RunnerCalls(show, self._withdraw, self._abort, self._connection.send)
        if (most := self._request.at_once) and most < spec.concurrency:
            event = structs.replace(event, spec=replace(spec, concurrency=most))
        self._entrants = self._entrants_of(event, calls)
        self._reactor.callLater(0, self._poll)  # starts them

    def _spec_changed(self, ledger: Ledger, event: Tournament) -> None:
        """Continue with another specification; start the entrants that are new in it.

        Only a tournament that the server hosts says what is started.
        """
        before, now = self._sent.entrants if self._sent else (), event.spec.entrants
        known = {each.name: each for each in ledger.spec.entrants}
        new = {
            each.name: each if event.hosted else Entrant(each.name, each.version, since=each.since)
            for each in now
            if each not in before
        }
        entrants = tuple(new.get(each.name) or known[each.name] for each in now)
        spec = replace(ledger.spec, entrants=entrants, rounds=event.spec.rounds,
                       anchor=event.spec.anchor)  # fmt: skip
        self._sent = event.spec
        ledger.change(spec)
        assert self._entrants
        for name in known.keys() - {each.name for each in now}:
            self._entrants.remove(name)
        for each in new.values():
            self._display.show(f"{each.name} plays from now on")
            self._entrants.add(each)

    def _changed(self, began: TournamentSpec) -> str | None:
        """Return why a tournament is not resumed: the entrants with another version, or None."""
        if self._request.tournament is None or self._request.anyway:
            return None
        versions = {each.name: each.version for each in began.entrants}
        changed = [
            each.name
            for each in self._request.spec.entrants
            if versions.get(each.name, each.version) != each.version
        ]
        if not changed:
            return None
        return (
            f"{', '.join(changed)}: not the version with which the tournament began; --anyway "
            "continues with the present version"
        )

    def _progress_of(self, ledger: Ledger) -> TournamentProgress:
        return TournamentProgress(ledger, self._reactor.seconds(), self._request.notes)

    def _fixture_changed(self, fixture: Fixture) -> None:
        progress = self.progress
        if progress is None or self._entrants is None:
            return
        self._entrants.place(fixture)
        if not progress.ledger.put(fixture):
            self._end_if_enough(progress)  # its luck may be known now
            return
        self._request.match_ended(fixture)
        if progress.is_caught_up:
            self._display.match_ended(progress, fixture)
        self._entrants.match_played(fixture)
        self._end_if_enough(progress)

    def _caught_up(self) -> None:
        assert self.progress is not None
        self.progress.catch_up()
        if self.progress.ledger.over:
            self._over(self.progress)
        else:
            self._end_if_enough(self.progress)

    def _end_if_enough(self, progress: TournamentProgress) -> None:
        if progress.is_caught_up and self._request.is_enough(progress.ledger):
            self._end(0)

    # Refusals.

    def _hello_refused(self, error: Error) -> None:
        if error.code in TEMPORARY:
            self._connection.reconnect()
        else:
            self._fail(refusal(error))

    def _refused(self, error: Error) -> None:
        if error.code in TEMPORARY:
            self._is_creating = False
            self._reactor.callLater(1 + (error.seconds or 0), self._repeat, error.re)
        elif error.re == _WITHDRAW:
            self._display.show(f"The server does not withdraw an entrant: {error.text}")
        elif error.re == _CREATE and error.code is Code.NOT_ALLOWED:
            self._fail(f"{error.text}; {_NEEDS_ADMINISTRATOR}")
        elif error.re == _WATCH and error.code is Code.UNKNOWN_TOURNAMENT:
            self._not_running(error)
        elif error.re in (_CREATE, _WATCH):
            self._fail(error.text)

    def _not_running(self, error: Error) -> None:
        """Look for a tournament that the server does not know: it may be over, and stored."""
        if self._request.stored and self._tournament:
            self.progress = self._progress_of(self._request.stored(self._tournament))
            if self.progress.ledger.over:
                self._over(self.progress)
                return
        self._fail(error.text)

    def _repeat(self, request: RequestId | None) -> None:
        """Send a request again after a temporary refusal."""
        if not self._connection.is_open:  # all requests are repeated after the next `welcome`
            return
        if request == _WITHDRAW:
            self._ask_to_withdraw(self._crashing)
        elif request == _PING:
            self._connection.send(Ping(id=_PING))
        elif request == _WATCH or (
            request == _CREATE and not self._is_creating and self._tournament is None
        ):
            self._create_or_watch()

    # Called by the entrants.

    def _abort(self, match: str, text: str) -> None:
        self._connection.send(Abort(id=_ABORT, match=match, text=text))

    def _withdraw(self, name: str) -> None:
        self._crashing.add(name)
        self._ask_to_withdraw({name})

    def _ask_to_withdraw(self, names: set[str]) -> None:
        """Ask for the withdrawal of these entrants, except of withdrawn ones."""
        assert self.progress is not None
        ledger = self.progress.ledger
        for name in names.difference(_withdrawn(ledger)):
            self._connection.send(Withdraw(id=_WITHDRAW, tournament=ledger.id, entrant=name))

    # From start to end.

    def _begin(self) -> None:
        self._loop.start(_POLL_INTERVAL_S).addErrback(self._broken)
        self._connection.open()

    def _poll(self) -> None:
        now = self._reactor.seconds()
        try:
            if self._local_server and (text := self._local_server.poll(now)):
                self._display.show(text)
        except LocalServerError as error:
            self._fail(str(error))
            return
        if self._entrants and self.progress:
            self._entrants.poll(self.progress, now, reachable=self._connection.is_open)
        if self.progress:
            place = self._entrants.description(self.progress, now) if self._entrants else ""
            self._display.refresh(self.progress, now, place)
        elif self._local_server:
            self._display.wait("Starting the server ...", now)
        else:
            self._display.wait("Logging in to the server ...", now)

    def _over(self, progress: TournamentProgress) -> None:
        """End with exit code 0, or 1 if no match was played because of withdrawals."""
        withdrawn = _withdrawn(progress.ledger)
        if self._is_ending:
            return
        if progress.ledger.ended or not withdrawn:
            self._end(0)
            return
        names = ", ".join(withdrawn)
        self._display.show(
            f"{self._request.program}: no match was played to its end, because of withdrawals: "
            f"{names}"
        )
        self._end(1)

    def _interrupt(self, number: int) -> None:
        if self._is_ending:
            return
        what = "Interrupted" if number == signal.SIGINT else "Terminated"
        self._display.show(f"{what}. The matches played so far are stored.")
        self._show_how_to_resume()
        self._end(128 + number)

    def _fail(self, text: str) -> None:
        self.fault = text
        self._display.show(f"{self._request.program}: {text}")
        self._show_how_to_resume()
        self._end(1)

    def _show_how_to_resume(self) -> None:
        if self._tournament and self._request.to_resume:
            go_on = self._request.to_resume.format(id=self._tournament)
            self._display.show(f"Go on with: {go_on}")

    def _broken(self, failure: Failure) -> None:
        self._logs.wanted = True
        self._fail(f"an internal error: {failure.getTraceback()}")

    def _end(self, code: int) -> None:
        if self._is_ending:
            return
        self._is_ending = True
        self.code = code
        if self._loop.running:
            self._loop.stop()
        self._connection.close()
        self._reactor.callLater(0.05, self._reactor.stop)


def _withdrawn(ledger: Ledger) -> list[str]:
    """Return the names of the entrants that were withdrawn."""
    return [ledger.spec.entrants[place].name for place in ledger.withdrawn]
