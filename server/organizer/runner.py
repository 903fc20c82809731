"""A tournament from its beginning, or from where it was left, to its end."""

from __future__ import annotations

import math
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from server.client.connection import ServerConnection
from server.model.codec import MAX_FRAME, encode
from server.model.messages import (
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
    Reason,
    Tournament,
    WatchTournament,
    Welcome,
    Withdraw,
)
from server.model.tournament_spec import TournamentSpec
from server.organizer.adjudicator import Adjudicator
from server.organizer.affinity import Cores
from server.organizer.console import TournamentDisplay
from server.organizer.local_server import LocalServer, LocalServerError
from server.organizer.login import HELLO, TEMPORARY, refusal
from server.organizer.progress import TournamentProgress
from server.organizer.supervisor import Start, Supervisor
from server.runtime.subprocesses import LogFolder
from server.tournament import formats

#: How often processes are looked after.
_EVERY_S = 0.2
_ORGANIZE, _FOLLOW, _SUSPEND, _TOLD = "organize", "follow", "suspend", "told"
_ABORT = "abort"
#: Who loses a match like this may have crashed.
_ABSENT = (Reason.TIME, Reason.ABANDONMENT)
_MAKE_ONE = (
    "whoever operates the server makes the organizer one with: playout-server accounts admin NAME"
)


@dataclass(frozen=True)
class RunRequest:
    """What to run: a tournament by its id, or one that is to begin.

    `begun` finds the id of one that may have begun, when the answer was lost, or None; `stored`
    tells how one stands that the server does not know any more, because it is over. `others` are
    matches of other tournaments that were left: nobody comes back to them now. All three are for a
    server of one's own, whose database is at hand.
    """

    spec: TournamentSpec
    tournament: str | None = None
    begun: Callable[[], str | None] | None = None
    stored: Callable[[str], TournamentProgress] | None = None
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Runner:
    """Follows one tournament, and sees to it that its entrants are there."""

    def __init__(
        self,
        reactor: Any,
        wish: RunRequest,
        starter: Callable[[TournamentSpec, str], Start],
        embedded: LocalServer | None,
        screen: TournamentDisplay,
        logs: LogFolder,
        *,
        stay: bool = False,
    ) -> None:
        """`starter` gives, for a tournament and its id, how its entrants are started.

        With `stay`, the server is left running if all goes well.
        """
        self.progress: TournamentProgress | None = None
        self.code = 1
        self._reactor = reactor
        self._wish = wish
        self._starter = starter
        self._embedded = embedded
        self._screen = screen
        self._logs = logs
        self._stay = stay
        self._tournament = wish.tournament
        self._organizing = False
        self._crew: Supervisor | None = None
        self._cores: Cores | None = None
        self._adjudicator: Adjudicator | None = None
        self._keep_crashing: set[str] = set()
        self._ending = False
        self._frame_bytes = MAX_FRAME
        self._loop = LoopingCall(self._look)
        self._loop.clock = reactor

    def use(self, connection: ServerConnection, hello: Hello) -> None:
        """Log in with `hello` over this connection; to be called first."""
        self._connection = connection
        self._hello = hello

    def run(self) -> None:
        """Until it is over, or somebody stops it. `code` is the exit code then."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(
                number, lambda number, _: self._reactor.callFromThread(self._stop, number)
            )
        self._reactor.callWhenRunning(self._begin)
        self._reactor.run(installSignalHandlers=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        self._screen.close()
        # First the server: with it gone, nobody loses for leaving.
        if self._embedded and not (self._stay and self.code == 0):
            self._embedded.stop()
        if self._crew:
            self._crew.stop()

    # The connection.

    def connected(self) -> None:
        """Log in."""
        self._connection.send(self._hello)

    def _welcomed(self, welcome: Welcome) -> None:
        """Create the tournament, or watch it."""
        self._frame_bytes = welcome.frame_bytes or MAX_FRAME
        if self._embedded:
            self._embedded.reached()
        if self._tournament is None and self._organizing:
            if self._wish.begun is None:
                self._fail("the line broke before the server said whether the tournament begins; "
                           "whoever operates it can tell, and then: resume ID")  # fmt: skip
                return
            self._tournament = self._wish.begun()
        for match in self._wish.others:  # so that they are played again, and not lost on time
            self._connection.send(
                Abort(id=_ABORT, match=match, text="another tournament was played")
            )
        self._ask()

    def _ask(self) -> None:
        if self._tournament is not None:
            self._connection.send(WatchTournament(id=_FOLLOW, tournament=self._tournament))
            return
        wanted = CreateTournament(id=_ORGANIZE, spec=self._wish.spec)
        if (size := len(encode(wanted))) > self._frame_bytes:
            self._fail(
                f"the tournament, with its openings, is a message of {size:,} bytes; from who is "
                f"no administrator the server takes at most {self._frame_bytes:,}; "
                f"{_MAKE_ONE}"
            )
            return
        self._organizing = True
        self._connection.send(wanted)

    def disconnected(self, reason: str) -> None:
        """Tell the user; the connection makes itself anew."""
        if self.progress:
            self._screen.say(f"The server cannot be reached ({reason}); trying again ...")

    def unreachable(self, reason: str) -> None:
        """Give up."""
        self._fail(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        """Give up: another attempt would fail, too."""
        self._fail(reason)

    def _hello_refused(self, error: Error) -> None:
        if error.code in TEMPORARY:
            self._connection.reconnect()
        else:
            self._fail(refusal(error))

    def received(self, event: Event) -> None:
        """React to an event of the server."""
        if self._adjudicator:
            self._adjudicator.received(event)
        match event:
            case Welcome():
                self._welcomed(event)
            case Tournament():
                self._told(event)
            case Fixture():
                self._fixture(event)
            case Pong(re=re) if re == _TOLD:
                self._caught_up()
            case Notice():
                self._screen.say(f"The server says: {event.text}")
            case Error() if event.re == HELLO or not self._connection.is_open:
                self._hello_refused(event)
            case Error():
                self._declined(event)

    # What becomes of it.

    def _told(self, event: Tournament) -> None:
        if event.re is None and self.progress is None:
            return
        if self.progress is None:
            self.progress = TournamentProgress(event, self._reactor.seconds(), self._wish.notes)
            self._tournament = event.tournament
            self._screen.say(f"Tournament {event.tournament}: {event.spec.name}")
            if self._embedded and (page := self._embedded.page_of(event.tournament)):
                self._screen.say(f"Watch it at {page}")
            self._start_crew(event)
            self._start_adjudicator(event.spec)
        for place in event.withdrawn[len(self.progress.out) :]:
            name = event.spec.entrants[place].name
            self._screen.say(f"{name} is suspended; the rest goes on")
            if self._crew:
                self._crew.dismiss(name)
        self.progress.tell(event)
        for name in self._keep_crashing:
            self._ask_to_suspend(name)
        # When this is answered, all that comes before it has been told.
        self._connection.send(Ping(id=_TOLD))

    def _fixture(self, fixture: Fixture) -> None:
        progress = self.progress
        if progress is None:
            return
        self._place(fixture)
        if not progress.put(fixture):
            return
        if progress.is_caught_up:
            self._screen.ended(progress, fixture)
        if self._crew:
            for seat, name in enumerate(fixture.players, 1):
                if not (fixture.reason in _ABSENT and fixture.winner == 3 - seat):
                    self._crew.played(name)

    def _place(self, fixture: Fixture) -> None:
        """See to it that matches do not get in each other's way."""
        if self._cores is None or self._crew is None:
            return
        if fixture.winner is not None:
            self._cores.ended(fixture.match)
            return
        who = zip(fixture.players, fixture.processes, strict=True)
        playing = [self._crew.process(name, number) for name, number in who]
        self._cores.begun(fixture.match, [process for process in playing if process])

    def _caught_up(self) -> None:
        assert self.progress is not None
        self.progress.caught_up()
        if self.progress.over:
            self._end(0)

    def _declined(self, error: Error) -> None:
        match error.re, error.code:
            case _, code if code in TEMPORARY:
                self._organizing = False
                self._reactor.callLater(1 + (error.seconds or 0), self._ask_again, error.re)
            case "follow", Code.UNKNOWN_TOURNAMENT if self._wish.stored and self._tournament:
                self.progress = self._wish.stored(self._tournament)
                if self.progress.over:
                    self._end(0)
                else:
                    self._fail(error.text)
            case "organize", Code.NOT_ALLOWED:
                self._fail(f"{error.text}; {_MAKE_ONE}")
            case "organize" | "follow", _:
                self._fail(error.text)
            case "suspend", _:
                self._screen.say(f"The server does not suspend anybody: {error.text}")

    def _ask_again(self, re: object) -> None:
        if not self._connection.is_open:  # all is asked anew when it is
            return
        match re:
            case "organize" if not self._organizing and self._tournament is None:
                self._ask()
            case "follow":
                self._ask()
            case "suspend":
                for name in self._keep_crashing:
                    self._ask_to_suspend(name)
            case "told":
                self._connection.send(Ping(id=_TOLD))

    # Those who play.

    def _start_crew(self, event: Tournament) -> None:
        spec = event.spec
        start = self._starter(spec, event.tournament)
        entrants = [
            each for place, each in enumerate(spec.entrants) if place not in event.withdrawn
        ]
        self._crew = Supervisor(entrants, start, self._logs, self._screen.say, self._suspend)
        self._cores = Cores(spec)
        for name, count in at_first(spec).items():
            for _ in range(count):
                self._crew.add(name)

    def _start_adjudicator(self, spec: TournamentSpec) -> None:
        if spec.adjudication.proofs:
            say = self._screen.say
            self._adjudicator = Adjudicator(self._reactor, self._connection.send, say, self._logs)

    def _reinforce(self) -> None:
        """Another process for who plays with all it has, if more could be played at once."""
        progress, crew = self.progress, self._crew
        if progress is None or crew is None or not progress.is_caught_up:
            return
        running = progress.running
        busy = Counter(name for each in running.values() for name in each.players)
        most = progress.spec.concurrency
        if len(running) >= most or (progress.matches or math.inf) <= progress.ended + len(running):
            return
        for name, matches in busy.items():
            if matches >= crew.count(name) < most:
                crew.add(name)

    def _suspend(self, name: str) -> None:
        self._keep_crashing.add(name)
        self._ask_to_suspend(name)

    def _ask_to_suspend(self, name: str) -> None:
        assert self.progress is not None
        out = [self.progress.spec.entrants[place].name for place in self.progress.out]
        if name not in out:
            self._connection.send(Withdraw(id=_SUSPEND, tournament=self.progress.id, entrant=name))

    # From begin to end.

    def _begin(self) -> None:
        self._loop.start(_EVERY_S).addErrback(self._broken)
        self._connection.open()

    def _look(self) -> None:
        now = self._reactor.seconds()
        try:
            if self._embedded and (said := self._embedded.look(now)):
                self._screen.say(said)
        except LocalServerError as error:
            self._fail(str(error))
            return
        if self._crew:
            self._reinforce()
            self._crew.look(now, reachable=self._connection.is_open)
        if self._adjudicator:
            self._adjudicator.look(now)
        if self.progress:
            self._screen.look(self.progress, now)

    def _stop(self, number: int) -> None:
        if self._ending:
            return
        what = "Interrupted" if number == signal.SIGINT else "Terminated"
        self._screen.say(f"{what}. What was played is kept.")
        if self._tournament:
            self._screen.say(f"Go on with: playout-tournament resume {self._tournament}")
        self._end(128 + number)

    def _fail(self, text: str) -> None:
        self._screen.say(f"playout-tournament: {text}")
        if self._tournament:
            self._screen.say(f"Go on with: playout-tournament resume {self._tournament}")
        self._end(1)

    def _broken(self, failure: Failure) -> None:
        self._logs.wanted = True
        self._fail(f"a fault of its own: {failure.getTraceback()}")

    def _end(self, code: int) -> None:
        if self._ending:
            return
        self._ending = True
        self.code = code
        if self._loop.running:
            self._loop.stop()
        self._connection.close()
        if self._adjudicator:
            self._adjudicator.stop()
        self._reactor.callLater(0.05, self._reactor.stop)


def at_first(spec: TournamentSpec) -> Mapping[str, int]:
    """How many processes of each entrant are started at first: as many as are surely useful."""
    names = [each.name for each in spec.entrants]
    return dict(zip(names, formats.load(spec).processes(), strict=True))
