"""Entrants on a worker of a Dask cluster: the orders for core sets, and the tasks that run them.

A *core set* is a task that holds as many cores as a match needs, and keeps a process of each
entrant running there. It ends when the runner cancels it, when the scheduler has lost the runner,
or when the worker has lost the scheduler. Its processes end with it, or with the worker if that is
killed.

A core set gets cores of its own if the worker has enough. A process runs on the cores of the thread
that started it. Otherwise the system sometimes wakes the player to move on a core where a player of
another match is thinking.
"""

from __future__ import annotations

import os
import shlex
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playout.cluster.workers import RunningTask, kept_to_cores, unpack
from playout.commands.child import LogFolder
from playout.commands.cores import Cores, move
from playout.games.core import spec as notation
from playout.protocol.connection import TlsSettings
from playout.protocol.tournament_spec import Entrant, Openings, SandboxSettings, TournamentSpec
from playout.sandbox import machine
from playout.server.organizer.spec_file import missing_program
from playout.server.organizer.supervisor import Supervisor, starter

#: The resource of Dask that core sets ask for.
ENTRANT_CORES = "playout-cores"
#: The file with the certificate of a private authority, in the folder of the entrants.
_CA_FILE = "playout-ca.pem"
#: Seconds between two polls of the processes, and of whether they are still wanted.
_POLL_INTERVAL_S = 0.2
#: Seconds to wait for an answer of the server after the exit of a process, and before the first.
_REACH_S, _FIRST_REACH_S = 2.0, 5.0
#: The largest tolerated difference of a worker's clock: certificates and logs depend on it, matches
#: do not.
_CLOCK_S = 60.0
#: The core sets of this worker, to which the runner sends names of entrants.
_here: set[CoreSet] = set()


@dataclass(frozen=True)
class ClusterJob:
    """The order for all core sets of a tournament.

    `tokens` are by the names of the entrants. `variables` are further environment variables of the
    processes, `authority` is the certificate of a private authority for TLS. `tournament` is its
    id, empty before it is created. A match needs `cores` cores.
    """

    spec: TournamentSpec
    address: tuple[str, int]
    tokens: Mapping[str, str]
    variables: Mapping[str, str]
    authority: bytes = b""
    tournament: str = ""
    cores: int = 1

    @property
    def outline(self) -> ClusterJob:
        """The order without openings, of which there may be thousands, for a check."""
        return replace(self, spec=replace(self.spec, openings=Openings()))

    def variables_in(self, folder: Path) -> dict[str, str]:
        """Write the certificate into a folder, and return the variables. Raises OSError."""
        if not self.authority:
            return dict(self.variables)
        path = folder / _CA_FILE
        path.write_bytes(self.authority)
        return {**self.variables, "PLAYOUT_CA": str(path)}


def tls_variables(tls: TlsSettings | None) -> tuple[dict[str, str], bytes]:
    """Return the environment variables about TLS, and the certificate of a private authority.

    Raises OSError if that cannot be read.
    """
    variables = dict(tls.environment) if tls else {}
    authority = variables.get("PLAYOUT_CA")
    return variables, Path(authority).read_bytes() if authority else b""


def named_files(entrants: Iterable[Entrant], folder: Path, more: Iterable[str] = ()) -> list[Path]:
    """Return the files in the folder that entrants name, and `more` files and folders.

    Entrants name them as words of a command, as the module of a `module:Class`, and as options of a
    player.
    """
    named = [*more, *(path for each in entrants for path in _named(each))]
    return sorted({path for name in named for path in _files_below(folder, name)})


def _named(entrant: Entrant) -> Iterator[str]:
    """Yield the words of an entrant that may be files."""
    if entrant.folder:
        yield entrant.folder
    elif entrant.command:
        yield from shlex.split(entrant.command)
    if entrant.player:
        wanted = notation.parse(entrant.player)
        module, colon, _ = wanted.name.partition(":")
        if colon:
            yield module.replace(".", "/") + ".py"
        yield from wanted.options.values()


def _files_below(folder: Path, name: str) -> Iterator[Path]:
    """Yield the file of that name in the folder, or the files of the folder of that name."""
    path = folder / name
    if not name or not path.resolve().is_relative_to(folder.resolve()) or path == folder:
        return
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (each for each in path.rglob("*") if each.is_file())


def entrant_faults(job: ClusterJob, files: bytes, time_s: float) -> list[str]:
    """Return the reasons why this worker cannot run the entrants; called on the worker.

    `files` are those of the entrants, which may be empty, in an archive. `time_s` is the clock of
    the runner, in seconds since 1970.
    """
    return [*_missing(job, files), *_sandbox(job), *_unreached(job), *_clock(time_s)]


def _missing(job: ClusterJob, files: bytes) -> Iterator[str]:
    """Yield a fault for each program that does not exist here, also not in the files."""
    with tempfile.TemporaryDirectory(prefix="playout-check-") as folder:
        unpack(files, Path(folder))
        commands = [each for each in job.spec.entrants if each.command]
        found = dict.fromkeys(missing_program(each, Path(folder)) for each in commands)
    for program in filter(None, found):
        yield f"there is no program {program!r} that can be run: install it there"


def _sandbox(job: ClusterJob) -> Iterator[str]:
    if any(each.sandbox for each in job.spec.entrants):
        try:
            machine.require(job.spec.sandbox or SandboxSettings())
        except machine.SandboxError as error:
            yield str(error)


def _unreached(job: ClusterJob) -> Iterator[str]:
    if reason := unreachable(job.address, _FIRST_REACH_S):
        host, port = job.address
        yield (
            f"it cannot connect to the server at {host}:{port} ({reason}): use a server that it "
            "can reach, by --server HOST:PORT or [cluster] of a competition"
        )


def _clock(time_s: float) -> Iterator[str]:
    ahead_s = time.time() - time_s
    if abs(ahead_s) > _CLOCK_S:
        how = "ahead" if ahead_s > 0 else "behind"
        yield f"its clock is {abs(ahead_s) / 60:.0f} minutes {how}: set it, for example with NTP"


def run_core_set(task: RunningTask, job: ClusterJob, number: int, files: bytes) -> None:
    """Keep the entrants' processes running as long as they are wanted; called as a task.

    `files` are those of the entrants, in an archive.
    """
    with (
        tempfile.TemporaryDirectory(dir=task.folder) as folder,
        kept_to_cores(job.cores, task.threads),
    ):
        unpack(files, Path(folder))
        core_set = CoreSet(job, number, Path(folder), task)
        _here.add(core_set)
        try:
            core_set.run()
        finally:
            _here.discard(core_set)


def remove_entrant(tournament: str, name: str) -> None:
    """End the processes of an entrant on this worker; the runner calls it outside of tasks."""
    for each in _of(tournament):
        each.removed.append(name)


def forget_crashes(tournament: str, name: str) -> None:
    """Forget the crashes of an entrant on this worker; the runner calls it outside of tasks."""
    for each in _of(tournament):
        each.succeeded.append(name)


def _of(tournament: str) -> list[CoreSet]:
    return [each for each in tuple(_here) if each.job.tournament == tournament]


class CoreSet:
    """The processes of the entrants on some cores of a worker."""

    def __init__(self, job: ClusterJob, number: int, folder: Path, task: RunningTask) -> None:
        self.job = job
        #: Names that the runner has sent since the last poll, added by another thread.
        self.removed: list[str] = []
        self.succeeded: list[str] = []
        self._task = task
        self._logs = LogFolder()
        more = {"PLAYOUT_CORE_SET": str(number), **job.variables_in(folder)}
        start = starter(job.spec, folder, job.address, job.tournament, job.tokens, more)
        self._supervisor = Supervisor(
            job.spec.entrants, start, self._logs, self._show, self._withdraw
        )
        for each in job.spec.entrants:
            self._supervisor.add(each.name, number)

    def run(self) -> None:
        """Start the processes, and start exited ones again, as long as they are wanted."""
        try:
            while self._task.is_wanted():
                self._poll(time.monotonic())
                time.sleep(_POLL_INTERVAL_S)
        finally:
            # At once: if both players of a match leave, neither loses it.
            self._supervisor.stop(0.0)
            self._logs.close()

    def _poll(self, now: float) -> None:
        while self.removed:
            self._supervisor.remove(self.removed.pop())
        while self.succeeded:
            self._supervisor.match_played(self.succeeded.pop())
        some_ended = any(each.code is not None for each in self._supervisor.processes)
        self._supervisor.poll(now, reachable=not some_ended or not unreachable(self.job.address))

    def _show(self, text: str) -> None:
        self._task.say(said=text)

    def _withdraw(self, name: str) -> None:
        self._task.say(crashing=name)


def unreachable(address: tuple[str, int], patience_s: float = _REACH_S) -> str:
    """Return why this machine cannot connect to an address; empty if it can."""
    try:
        socket.create_connection(address, patience_s).close()
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    return ""


def keep_to_one(dask_worker: Any) -> None:
    """Restrict a worker of a cluster on this machine to one core, by its number."""
    if cores := sorted(Cores().usable):
        move(os.getpid(), {cores[int(dask_worker.name) % len(cores)]})
