"""Starts the processes of a tournament's entrants, and starts exited ones again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import tomli_w

from playout.commands.child import Child, KeptChild, LogFolder, Program, stop
from playout.commands.identity import TOKEN_FD
from playout.commands.prepared import PLAYER
from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import (
    PLAYER_NICENESS,
    others_environment,
    own,
    own_environment,
)
from playout.protocol.tournament_spec import Entrant, SandboxSettings, TournamentSpec

BACK_OFF = BackOff(first_s=0.5, longest_s=30.0)
#: The number of crashes of a process in a row, without a match played to its end, after which its
#: entrant is withdrawn.
CRASHES = 5
#: Seconds that processes may take to exit after SIGTERM: more than a player takes to react, to end
#: its threads, and to give its engine the time in which it may leave.
_STOP_S = 6.0
#: Seconds for which a player keeps trying to reach the server.
_RETRY_S = 3600

#: No further environment variables.
NOTHING: Mapping[str, str] = MappingProxyType({})

#: Starts a process of an entrant, given its number and the file for its output. Raises OSError.
Start = Callable[[Entrant, int, Path], Child]


def starter(
    spec: TournamentSpec,
    folder: Path,
    address: tuple[str, int],
    tournament: str,
    tokens: Mapping[str, str],
    more: Mapping[str, str] = NOTHING,
) -> Start:
    """Return the function that starts the entrants' processes, in that folder.

    `tokens` are those of their accounts, by name, which they read from their standard input; a
    player without one uses its stored token. `more` are further environment variables, such as
    those about TLS.
    """
    host, port = address

    def start(entrant: Entrant, number: int, log: Path) -> Child:
        variables = {
            "PLAYOUT_HOST": host,
            "PLAYOUT_PORT": str(port),
            "PLAYOUT_NAME": entrant.name,
            "PLAYOUT_TOURNAMENT": tournament,
            "PLAYOUT_PROCESS": str(number),
            **more,
        }
        token = tokens.get(entrant.name)
        if token:
            variables[TOKEN_FD] = "0"
        options = ("--quiet", "--retry-s", str(_RETRY_S))
        if entrant.player is not None or entrant.protocol:
            words = entrant_words(entrant, spec, folder, log.with_suffix(".toml"), *options)
            environment = own_environment() | variables
        else:
            words = shlex.split(entrant.command or "")
            environment = others_environment() | variables
        where = folder if entrant.protocol else folder / (entrant.folder or "")
        program = Program(words, environment, where, niceness=PLAYER_NICENESS, secret=token)
        return program.start(log)

    return start


def entrant_words(
    entrant: Entrant, spec: TournamentSpec, folder: Path, file: Path, *options: str
) -> list[str]:
    """Return the words of `playout-player` for an entrant with a player or a protocol.

    For a program with a protocol, the player is `engine`, and `file` is written for it. Raises
    OSError.
    """
    if entrant.player is not None:
        return player_words(entrant.player, spec.games, *options)
    file.write_text(
        engine_table(entrant, spec.sandbox or SandboxSettings(), folder.absolute()),
        encoding="utf-8",
    )
    return player_words("engine(name=program)", spec.games, "--engines", str(file), *options)


def engine_table(entrant: Entrant, sandbox: SandboxSettings, folder: Path) -> str:
    """Return the description of an entrant's program as the content of an `engines.toml`."""
    keys: dict[str, object] = {"command": entrant.command, "protocol": entrant.protocol}
    if entrant.folder or not entrant.sandbox:
        keys["folder"] = str(folder / (entrant.folder or ""))
    if entrant.sandbox:
        reads = [str(folder / each) for each in sandbox.reads]
        uses = sandbox.uses and str(folder / sandbox.uses)
        keys["sandbox"] = sandbox_table(replace(sandbox, reads=tuple(reads), uses=uses))
    return tomli_w.dumps({"program": keys})


def entrant_table(entrant: Entrant) -> dict[str, object]:
    """Return the keys of an entrant in the file of a tournament, without its threads."""
    values = asdict(entrant)
    del values["threads"]
    return {key: value for key, value in values.items() if value not in (None, "", False)}


def sandbox_table(sandbox: SandboxSettings) -> dict[str, object]:
    """Return the keys of a sandbox in a TOML file."""
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in asdict(sandbox).items()
        if value
    }


def player_words(player: str, games: Iterable[str], *options: str) -> list[str]:
    """Return the words of `playout-player` for a player of a tournament with these games."""
    warm = [word for game in games for word in ("--warm", game)]
    # Options end at `--`: a player's name may look like one.
    words = (*options, *warm, "--", "any", player)
    return own(PLAYER, *words)


class EntrantProcess(KeptChild):
    """A process of an entrant, which is started again as long as the entrant takes part."""

    def __init__(self, entrant: Entrant, number: int, log: Path, start: Start) -> None:
        super().__init__(partial(start, entrant, number, log), Restarts(BACK_OFF, limit=CRASHES))
        self.entrant = entrant
        self.number = number
        self.log = log

    def __str__(self) -> str:
        return f"{self.entrant.name} ({self.number})"


class Supervisor:
    """Keeps the processes of the entrants of this machine running."""

    def __init__(
        self,
        entrants: Iterable[Entrant],
        start: Start,
        logs: LogFolder,
        show: Callable[[str], None],
        withdraw: Callable[[str], None],
    ) -> None:
        """`show` shows a line to the user; `withdraw` withdraws an entrant that keeps crashing."""
        self._start = start
        self._logs = logs
        self._show = show
        self._withdraw = withdraw
        self._entrants = {each.name: each for each in entrants}
        self._by_name: dict[str, list[EntrantProcess]] = {
            name: [] for name, each in self._entrants.items() if each.player or each.command
        }

    def put(self, entrant: Entrant) -> None:
        """Add an entrant, or replace the one of this name; its processes are added by `add`."""
        self.remove(entrant.name)
        self._entrants[entrant.name] = entrant
        if entrant.player or entrant.command:
            self._by_name[entrant.name] = []

    @property
    def processes(self) -> list[Child]:
        """The started processes that had not exited at the last `poll`."""
        return [each.child for each in self._all() if each.child and each.runs]

    def count(self, name: str) -> int:
        """Return the number of an entrant's processes, including those that wait for a restart."""
        return len(self._by_name.get(name, ()))

    def process(self, name: str, number: int | None) -> Child | None:
        """Return the process of an entrant with this number, None if it is not running."""
        mine = self._by_name.get(name, ())
        return next((each.child for each in mine if each.number == number and each.runs), None)

    def logs_of(self, name: str) -> list[Path]:
        """Return the files with the output of an entrant's processes."""
        return [each.log for each in self._by_name.get(name, ())]

    def add(self, name: str, number: int | None = None) -> None:
        """Add a process of an entrant, if this machine starts it and it takes part.

        Without a `number`, the processes of an entrant are numbered from 1.
        """
        if name in self._by_name:
            mine = self._by_name[name]
            number = number or len(mine) + 1
            # File names have only ASCII letters, so that those of two entrants may be equal.
            place = list(self._entrants).index(name) + 1
            log = self._logs.of(f"{place}-{name}-{number}")
            mine.append(EntrantProcess(self._entrants[name], number, log, self._start))

    def poll(self, now: float, *, reachable: bool) -> None:
        """Notice exited processes, and start those that are due.

        An exit while the server is not `reachable` does not count as a crash.
        """
        for each in self._all():
            if each.entrant.name not in self._by_name:
                continue  # it was removed in this loop, because of another process
            how = each.poll(now, counts=reachable)
            if how and reachable:
                self._crashed(each, how)

    def match_played(self, name: str) -> None:
        """Forget the crashes of an entrant that has played a match to its end."""
        for each in self._by_name.get(name, ()):
            each.restarts.succeeded()

    def remove(self, name: str) -> None:
        """End the processes of an entrant that no longer takes part."""
        stop((each.child for each in self._by_name.pop(name, ()) if each.child), 0.0)

    def stop(self, patience_s: float = _STOP_S) -> None:
        """End the processes of all entrants, after `patience_s` seconds by SIGKILL."""
        stop(self.processes, patience_s)

    def _all(self) -> list[EntrantProcess]:
        return [each for mine in self._by_name.values() for each in mine]

    def _crashed(self, crashed: EntrantProcess, how: str) -> None:
        self._logs.wanted = True
        if not crashed.restarts.exhausted:
            wait_s = crashed.restarts.wait_s
            self._show(f"{crashed} {how}; it is started again in {wait_s:g} s. {_output(crashed)}")
            return
        name = crashed.entrant.name
        self._show(
            f"{crashed} {how}, {CRASHES} times without playing a match: "
            f"{name} is withdrawn. {_output(crashed)}"
        )
        self.remove(name)
        self._withdraw(name)


def _output(crashed: EntrantProcess) -> str:
    """Return a sentence with the log of a process and its last line."""
    last = crashed.child.tail(1) if crashed.child else ()
    if not last:
        return "It has written no output"
    return f"The last line of its output, in {crashed.log}: {last[0][:200]}"
