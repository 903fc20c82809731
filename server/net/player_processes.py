"""The processes in which players work for a running server: bots, analysts, searches for puzzles.

Each bot plays one match, over a connection to a listener of its own. Analysts analyse positions,
prove results and measure luck, and exchange messages with the server. `playout-server puzzles`
finds puzzles while nobody plays.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from twisted.logger import Logger

from playout.commands.child import Child, Program, stop
from playout.commands.identity import SESSION_FD
from playout.commands.subprocesses import (
    FEW_THREADS,
    LOWEST_NICENESS,
    PLAYER_NICENESS,
    own_environment,
)
from playout.commands.text import utc
from playout.protocol.analyst import AnalysisOrder, AnalysisReport, StopOrder, Work
from playout.protocol.messages import TournamentDraft, TournamentFault
from playout.server.core.effects import (
    CheckFile,
    EndAnalysis,
    EndBot,
    OrganizerFault,
    StartAnalysis,
    StartBot,
    StartOrganizer,
)
from playout.server.core.match_room import MatchRoom

_HOST = "127.0.0.1"
_PLAYER = "playout.commands.entry_points:player"
_ANALYST = "playout.players.analyst.analyst_process:main"
_ORGANIZER = "playout.server.organizer.hosted:main"
_CHECK = "playout.server.organizer.hosted:check"
_COMMAND = "playout.commands.entry_points:server"
#: The last line of a bot's output while it prepares to play.
_DOING = re.compile(r"(?:Compiling|Loading|Preparing) .* \.\.\.( [0-9]+ s)?$")
#: Seconds between two looks at a bot's output, and in which a bot may prepare to play.
_LOOK_AT_BOTS_S, _MOST_START_S = 2.0, 900.0
#: Seconds in which a bot that has lost its connection tries to reconnect.
_RETRY_S = 5
#: Players have priority. Proofs save time of a tournament, which may also wait for the luck of its
#: matches: both have priority over analyses.
ANALYST_NICENESS, PROVER_NICENESS = LOWEST_NICENESS, 10
#: Seconds without an order after which an analyst is killed, because its trees take memory.
IDLE_S = 60.0
#: Seconds in which an analyst must end an analysis when it is asked to.
_STOP_S = 5.0
#: Seconds between two checks whether an analyst with an order is stopped, as by SIGSTOP.
_CHECK_S = 0.5
#: Seconds between two checks whether somebody plays, from the end of a search for puzzles to the
#: next one, and in which a search may end by itself.
_LOOK_S, _PAUSE_S, _END_S = 1.0, 3600.0, 2.0
#: A search for puzzles includes matches that started this long before the last complete one.
_OVERLAP_S = 24 * 3600.0

_log = Logger(namespace="server")


class BotProcesses:
    """Starts the processes of bots, ends them, and reports those that have exited.

    Bots connect to their own listener, on loopback and unencrypted: they cannot know the address,
    the proxy or the certificate of the server's listener. A bot resumes the session that the hub
    has made for it, with its token.
    """

    def __init__(
        self,
        reactor: Any,
        factory: Any,
        ended: Callable[[str, str], None],
        starting: Callable[[str, str], None],
    ) -> None:
        """`factory` makes the connections; `ended` is given the bot's id and why it exited.

        `starting` is called with the id of a bot and its work, in words, while it is not ready: it
        may have functions to compile. Raises CannotListenError.
        """
        self._reactor = reactor
        self._ended = ended
        self._starting = starting
        self._running: dict[str, Child] = {}
        self._listener = reactor.listenTCP(0, factory, interface=_HOST)

    def start(self, order: StartBot) -> None:
        """Start the process of a bot; `ended` is called if that fails."""
        variables = {
            "PLAYOUT_HOST": _HOST,
            "PLAYOUT_PORT": str(self._listener.getHost().port),
            "PLAYOUT_NAME": order.name,
            SESSION_FD: "0",
        }
        # No options follow `--`: a player's name may begin with a hyphen.
        options = ("--guest", "--quiet", "--takebacks", "--retry-s", str(_RETRY_S))
        words = (*options, "--", order.game, order.player)
        program = Program.own(
            _PLAYER,
            *words,
            environment=own_environment() | FEW_THREADS | variables,
            niceness=PLAYER_NICENESS,
            secret=order.token,
        )
        try:
            child = program.start()
        except OSError as error:
            self._reactor.callLater(0, self._ended, order.bot, f"it cannot be started: {error}")
            return
        self._running[order.bot] = child
        child.when_exited(self._reactor, partial(self._exited, order.bot))
        self._look(order.bot, self._reactor.seconds(), "")

    def end(self, order: EndBot) -> None:
        """Kill the process of a bot, which has nothing to save."""
        if child := self._running.get(order.bot):
            child.send(signal.SIGKILL)

    @property
    def port(self) -> int:
        """The port on loopback at which processes of the server connect."""
        return int(self._listener.getHost().port)

    def close(self) -> None:
        """Kill the processes of all bots, and wait until they have exited."""
        stop(self._running.values(), 0.0)

    def _look(self, bot: str, started_at: float, before: str) -> None:
        """Report what a bot does if it has said more about it since the last look."""
        child, elapsed_s = self._running.get(bot), self._reactor.seconds() - started_at
        if child is None or elapsed_s > _MOST_START_S:
            return
        line = "".join(child.tail(1))
        if line != before and (doing := _DOING.match(line)):
            is_compiling = doing[0].startswith("Compiling")
            what = "is compiled for this machine, once" if is_compiling else "is being started"
            self._starting(bot, f"{what}: {elapsed_s:.0f} s so far")
        self._reactor.callLater(_LOOK_AT_BOTS_S, self._look, bot, started_at, line)

    def _exited(self, bot: str) -> None:
        self._ended(bot, f"it {self._running.pop(bot).why()}")


class Organizers:
    """Starts the organizers of tournaments that the server hosts, and reports their exits.

    An organizer ends when its tournament is over, and its entrants end with it.
    """

    def __init__(
        self, reactor: Any, port: int, ended: Callable[[str, str], None], *, log_json: bool
    ) -> None:
        """They connect at the `port`; `ended` is given the tournament and why its one exited."""
        self._reactor = reactor
        self._ended = ended
        self._arguments = str(port), "json" if log_json else "text"
        self._running: dict[str, Child] = {}
        #: What organizers have said, until they have exited.
        self._faults: dict[str, str] = {}

    def start(self, order: StartOrganizer) -> None:
        """Start an organizer; `ended` is called if that fails."""
        program = Program.own(
            _ORGANIZER,
            *self._arguments,
            environment=own_environment(),
            niceness=0,
        )
        try:
            child = program.start(sys.stderr.buffer, talks=True)
        except OSError as error:
            why = f"cannot be started: {error}"
            self._reactor.callLater(0, self._ended, order.tournament, why)
            return
        self._running[order.tournament] = child
        child.listen(self._reactor, OrganizerFault, partial(self._failed, order.tournament))
        child.when_exited(self._reactor, partial(self._exited, order.tournament))
        child.say(order)

    def close(self) -> None:
        """Kill all organizers with their entrants, which have nothing to save."""
        stop(self._running.values(), 0.0)

    def _failed(self, tournament: str, fault: OrganizerFault) -> None:
        self._faults[tournament] = fault.text

    def _exited(self, tournament: str) -> None:
        fault = self._faults.pop(tournament, "")
        how = self._running.pop(tournament).how_it_ended()
        self._ended(tournament, ": ".join(filter(None, (how, fault))))


class FileChecks:
    """Checks files of tournaments, each in a process of its own: the files come from others."""

    def __init__(self, reactor: Any, checked: Callable[[int, TournamentDraft], None]) -> None:
        """`checked` is called with the number of each check and its result."""
        self._reactor = reactor
        self._checked = checked
        self._running: dict[int, Child] = {}

    def start(self, order: CheckFile) -> None:
        """Check a file; `checked` is called later in any case."""
        program = Program.own(_CHECK, environment=own_environment(), niceness=PLAYER_NICENESS)
        try:
            child = program.start(talks=True)
        except OSError as error:
            self._reactor.callLater(0, self._fail, order, f"it cannot be checked: {error}")
            return
        self._running[order.check] = child
        child.listen(self._reactor, TournamentDraft, partial(self._received, order))
        child.when_exited(self._reactor, partial(self._exited, order))
        child.say(order)

    def close(self) -> None:
        """Kill all checks, which have nothing to save."""
        stop(self._running.values(), 0.0)

    def _received(self, order: CheckFile, draft: TournamentDraft) -> None:
        if self._running.pop(order.check, None):
            self._checked(order.check, draft)

    def _exited(self, order: CheckFile) -> None:
        if child := self._running.pop(order.check, None):
            _log.error("the check of a tournament {how}", how=child.why())
            self._fail(order, "the server failed to check it; its log says why")

    def _fail(self, order: CheckFile, why: str) -> None:
        faults = (TournamentFault((), 1, why),)
        draft = TournamentDraft(toml=order.toml, values=order.values or {}, faults=faults)
        self._checked(order.check, draft)


class Analysts:
    """Gives each order to an idle process of its niceness, and starts one if none is idle."""

    def __init__(self, reactor: Any, reported: Callable[[AnalysisReport], None]) -> None:
        """`reported` is called with each report; the last one of an order has `over` set."""
        self._reactor = reactor
        self._reported = reported
        self._processes: set[_Analyst] = set()

    def start(self, effect: StartAnalysis) -> None:
        """Have an order worked on; its last report follows in any case."""
        order = effect.order
        niceness = ANALYST_NICENESS if isinstance(order, AnalysisOrder) else PROVER_NICENESS
        idle = (each for each in self._processes if each.order is None and not each.is_killed)
        analyst = next((each for each in idle if each.niceness == niceness), None)
        if analyst is None:
            try:
                analyst = self._new(niceness)
            except OSError as error:
                text = f"the analysis cannot be started: {error}"
                failed = AnalysisReport(order.analysis, over=True, error=text)
                self._reactor.callLater(0, self._reported, failed)
                return
        analyst.give(order)

    def end(self, effect: EndAnalysis) -> None:
        """End an analysis, whose last report follows."""
        for each in self._processes:
            if each.order and each.order.analysis == effect.analysis:
                each.stop(effect.analysis)

    def close(self) -> None:
        """Kill all processes, which have nothing to save, and wait until they have exited."""
        stop([each.child for each in self._processes], 0.0)

    def _new(self, niceness: int) -> _Analyst:
        environment = own_environment() | FEW_THREADS
        child = Program.own(_ANALYST, environment=environment, niceness=niceness).start(talks=True)
        analyst = _Analyst(self._reactor, child, niceness, self._reported, self._processes.remove)
        self._processes.add(analyst)
        return analyst


class _Analyst:
    """A process, and its order."""

    def __init__(
        self,
        reactor: Any,
        child: Child,
        niceness: int,
        reported: Callable[[AnalysisReport], None],
        exited: Callable[[_Analyst], None],
    ) -> None:
        self.child = child
        self.niceness = niceness
        #: The order that it works on; None while it is idle.
        self.order: Work | None = None
        #: Whether it was killed: until its exit is known, it may still report, but takes no order.
        self.is_killed = False
        self._reactor = reactor
        self._reported = reported
        self._has_exited = exited
        #: Kills the process if it is idle or does not end an analysis.
        self._kill_timer: Any = None
        self._check_timer: Any = None
        child.listen(reactor, AnalysisReport, self._received)
        child.when_exited(reactor, self._exited)

    def give(self, order: Work) -> None:
        """Give it an order; it must be idle."""
        self.order = order
        self._kill_after(None)
        self.child.say(order)
        if not (self._check_timer and self._check_timer.active()):
            self._check()

    def stop(self, analysis: str) -> None:
        """Ask it to end an analysis, and kill it if it does not within seconds."""
        self.child.say(StopOrder(analysis))
        self._kill_after(_STOP_S)

    def _received(self, report: AnalysisReport) -> None:
        if report.over:
            self.order = None
            self._kill_after(IDLE_S)
        self._reported(report)

    def _exited(self) -> None:
        self._kill_after(None)
        if self._check_timer and self._check_timer.active():
            self._check_timer.cancel()
        self._has_exited(self)
        if self.order:
            text = f"the analysis has failed: the process {self.child.why()}"
            self._reported(AnalysisReport(self.order.analysis, over=True, error=text))

    def _check(self) -> None:
        """Kill the process if it is stopped while it has an order: it would never report again."""
        if self.order is None:
            return
        if self.child.is_stopped:
            self._kill()
        else:
            self._check_timer = self._reactor.callLater(_CHECK_S, self._check)

    def _kill_after(self, seconds: float | None) -> None:
        if self._kill_timer and self._kill_timer.active():
            self._kill_timer.cancel()
        if seconds is not None:
            self._kill_timer = self._reactor.callLater(seconds, self._kill)

    def _kill(self) -> None:
        self.is_killed = True
        self.child.send(signal.SIGKILL)


class PuzzleSearches:
    """Searches all stored matches, then every hour the new ones."""

    def __init__(self, reactor: Any, database: str, rooms: Mapping[str, MatchRoom]) -> None:
        """`database` is the URL of the database, and `rooms` has the running matches.

        A search ends when a match begins that is not by correspondence.
        """
        self._reactor = reactor
        self._database = database
        self._rooms = rooms
        self._child: Child | None = None
        #: Kills the search that somebody's match has interrupted; None while it may go on.
        self._kill_timer: Any = None
        self._due_at = self._started_at = 0.0
        #: The earliest start of matches that the next search includes, None for all.
        self._since: float | None = None
        self._next_poll = reactor.callLater(0, self._poll)

    def _is_idle(self) -> bool:
        return all(each.is_correspondence for each in self._rooms.values())

    def _poll(self) -> None:
        if self._child and not self._is_idle():
            self._interrupt(self._child)
        elif self._child is None and self._is_idle() and self._reactor.seconds() >= self._due_at:
            self._start()
        self._next_poll = self._reactor.callLater(_LOOK_S, self._poll)

    def _start(self) -> None:
        self._started_at = time.time()
        since = ("--since", f"{utc(self._since):%Y-%m-%dT%H:%M:%S}") if self._since else ()
        # Others can read the arguments of a process, and the URL may have a password.
        environment = own_environment() | {"PLAYOUT_DATABASE": self._database}
        program = Program.own(
            _COMMAND, "puzzles", *since, environment=environment, niceness=LOWEST_NICENESS
        )
        try:
            self._child = child = program.start()
        except OSError as error:
            self._due_at = self._reactor.seconds() + _PAUSE_S
            _log.warn("the search for puzzles cannot be started: {error}", error=error)
            return
        child.when_exited(self._reactor, partial(self._ended, child))

    def _interrupt(self, child: Child) -> None:
        """End a search early, without a wait; the next one begins when nobody plays."""
        if self._kill_timer is None:
            child.send(signal.SIGTERM)
            self._kill_timer = self._reactor.callLater(_END_S, child.send, signal.SIGKILL)

    def _ended(self, child: Child) -> None:
        self._child = None
        if self._kill_timer:
            self._forget_kill_timer()
            return
        self._due_at = self._reactor.seconds() + _PAUSE_S
        if child.code == 0:
            self._since = self._started_at - _OVERLAP_S
        else:
            text = "the search for puzzles {how}; to see why, run: playout-server puzzles"
            _log.warn(text, how=child.how_it_ended())

    def close(self) -> None:
        """End the search, and start no other."""
        self._next_poll.cancel()
        self._forget_kill_timer()
        if self._child:
            stop([self._child], _END_S)

    def _forget_kill_timer(self) -> None:
        if self._kill_timer and self._kill_timer.active():
            self._kill_timer.cancel()
        self._kill_timer = None
