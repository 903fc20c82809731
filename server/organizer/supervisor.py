"""The processes that play for a tournament's entrants: started, kept, and started again."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from server.client.tls import TlsSettings
from server.model.tournament_spec import Entrant, TournamentSpec
from server.runtime.subprocesses import (
    PLAYER_NICENESS,
    LogFolder,
    Process,
    Program,
    how_it_ended,
    others_environment,
    own,
    own_environment,
    send,
    stop,
)

#: How long it waits before a process is started again, first and at most.
BACK_OFF_S, LONGEST_BACK_OFF_S = 0.5, 30.0
#: Who ended so often, with no match played properly in between, is not started again.
CRASHES = 5
#: How long processes may take to end when they are asked to.
_PATIENCE_S = 2.0
#: How long a player goes on trying to reach the server.
_RETRY_S = 3600

#: Starts a process of an entrant, by its number, which writes to this log. Raises OSError.
Start = Callable[[Entrant, int, Path], Process]


def starter(spec: TournamentSpec, folder: Path, address: tuple[str, int], tournament: str,
            tokens: Mapping[str, str], security: TlsSettings | None = None) -> Start:  # fmt: skip
    """How the entrants of a tournament are started: in that folder, with what they need to know.

    `tokens`: those of their accounts, by name; players keep their own where there is none.
    """
    host, port = address
    safely = security.environment if security else {}

    def start(entrant: Entrant, number: int, log: Path) -> Process:
        told = {
            "PLAYOUT_HOST": host,
            "PLAYOUT_PORT": str(port),
            "PLAYOUT_NAME": entrant.name,
            "PLAYOUT_TOURNAMENT": tournament,
            "PLAYOUT_PROCESS": str(number),
            **safely,
        }
        if token := tokens.get(entrant.name):
            told["PLAYOUT_TOKEN"] = token
        if entrant.player is not None:
            ready = [word for game in spec.games for word in ("--warm", game)]
            options = ("--quiet", "--retry-s", str(_RETRY_S), *ready)
            # Before a `--` there are options; the player's name may look like one.
            words = own("players.client.main:main", *options, "--", "any", entrant.player)
            environment = own_environment() | told
        else:
            words = shlex.split(entrant.command or "")
            environment = others_environment() | told
        return Program(words, folder, environment, niceness=PLAYER_NICENESS).start(log)

    return start


class EntrantProcess:
    """One process of an entrant, for as long as the entrant takes part."""

    def __init__(self, entrant: Entrant, number: int, log: Path) -> None:
        self.entrant = entrant
        self.number = number
        self.process: Process | None = None
        self.crashes = 0
        self.again_at = 0.0
        self.log = log

    def __str__(self) -> str:
        return f"{self.entrant.name} ({self.number})"


class Supervisor:
    """The processes of all entrants that are started here. Time comes in."""

    def __init__(
        self,
        entrants: Iterable[Entrant],
        start: Start,
        logs: LogFolder,
        say: Callable[[str], None],
        suspend: Callable[[str], None],
    ) -> None:
        """`suspend` is called with the name of one who keeps crashing."""
        self._start = start
        self._logs = logs
        self._say = say
        self._suspend = suspend
        self._slots: dict[str, list[EntrantProcess]] = {
            each.name: [] for each in entrants if each.player or each.command
        }
        self._entrants = {each.name: each for each in entrants}

    @property
    def processes(self) -> list[Process]:
        """Those that were started and have not been seen to end."""
        return [slot.process for slot in self._all() if slot.process]

    def count(self, name: str) -> int:
        """How many an entrant has, or is to have again."""
        return len(self._slots.get(name, ()))

    def process(self, name: str, number: int | None) -> Process | None:
        """The process of an entrant that has this number, if it runs."""
        slots = self._slots.get(name, ())
        return next((slot.process for slot in slots if slot.number == number), None)

    def add(self, name: str) -> None:
        """One more for an entrant, if it is one that is started here and takes part."""
        if name in self._slots:
            slots = self._slots[name]
            number = len(slots) + 1
            place = list(self._entrants).index(name) + 1  # of names, files keep only plain letters
            log = self._logs.of(f"{place}-{name}-{number}")
            slots.append(EntrantProcess(self._entrants[name], number, log))

    def look(self, now: float, *, reachable: bool) -> None:
        """Note who has ended, and start who is to be started.

        While the server is not `reachable`, to end is no fault.
        """
        for slot in self._all():
            if slot.entrant.name not in self._slots:
                continue  # as another process of its has just shown
            if slot.process and slot.process.poll() is not None:
                self._ended(slot, how_it_ended(slot.process), now, blamed=reachable)
            elif slot.process is None and now >= slot.again_at:
                try:
                    slot.process = self._start(slot.entrant, slot.number, slot.log)
                except OSError as error:
                    self._ended(slot, f"cannot be started: {error}", now, blamed=True)

    def played(self, name: str) -> None:
        """An entrant has come to the end of a match, whoever won."""
        for slot in self._slots.get(name, ()):
            slot.crashes = 0

    def dismiss(self, name: str) -> None:
        """An entrant takes part no more."""
        stop((slot.process for slot in self._slots.pop(name, ()) if slot.process), 0.0)

    def stop(self) -> None:
        """End all."""
        stop(self.processes, _PATIENCE_S)

    def _all(self) -> list[EntrantProcess]:
        return [slot for slots in self._slots.values() for slot in slots]

    def _ended(self, slot: EntrantProcess, how: str, now: float, *, blamed: bool) -> None:
        if slot.process:
            send(slot.process, signal.SIGKILL)  # what it has started is of no use without it
            slot.process = None
        slot.crashes += blamed
        wait_s = min(LONGEST_BACK_OFF_S, BACK_OFF_S * 2 ** max(0, slot.crashes - 1))
        slot.again_at = now + wait_s
        if not blamed:
            return
        self._logs.wanted = True
        if slot.crashes < CRASHES:
            self._say(f"{slot} {how}; it is started again in {wait_s:g} s. {self._output(slot)}")
            return
        name = slot.entrant.name
        self._say(f"{slot} {how}, {CRASHES} times without playing a match: "
                  f"{name} is suspended. {self._output(slot)}")  # fmt: skip
        self.dismiss(name)
        self._suspend(name)

    def _output(self, slot: EntrantProcess) -> str:
        """Where it is what a process has said, and the end of it."""
        last = self._logs.tail(slot.log.stem).splitlines()[-1:]
        return (
            f"Its output, in {slot.log}, ends: {last[0][:200]}" if last else "It has said nothing"
        )
