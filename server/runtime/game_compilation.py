"""Compiles games at their first use on a machine, while the server runs.

Processes of lower priority compile the games one after the other. Each has a thread of the server,
which gives it the names of the games, and then loads them from the cache: the event loop never
compiles. Until a game is loaded, `games.load` raises NotReady.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numba
import platformdirs
from twisted.logger import Logger

from playout import games
from playout.commands.child import Child, Program, stop
from playout.commands.cores import usable_cores
from playout.commands.subprocesses import (
    FEW_THREADS,
    LOWEST_NICENESS,
    PLAYER_NICENESS,
    Parent,
    own_environment,
)
from playout.games.core import compilation_cache, plugins
from playout.games.core.description import Description

#: The game that the lobby selects: one that most people know.
FIRST_GAME = "connect_four"
#: Maximum number of processes that compile at once; each takes about 300 MB.
MAX_PROCESSES = 8
#: How often a game is compiled if its process ends, as when the system has too little memory.
MOST_ATTEMPTS = 2
#: The seconds that a game takes, until some were compiled.
_FIRST_ESTIMATE_S = 8.0
#: Other compiled functions that the server calls.
_MODULE = "playout.ratings.opening_generator"
#: Seconds in which a thread ends after its process.
_END_S = 2.0

_log = Logger(namespace="server")


class GameCompiler:
    """Compiles and loads the games of this process; its methods may be called in any thread.

    Games that somebody waits for have processes of their own, whose priority is higher.
    """

    def __init__(self) -> None:
        self._ready: Callable[[str], object] = lambda name: None
        self._changed = threading.Condition()
        #: The games that are not ready, and those among them that cannot be.
        self._left = {name for name in games.names() if not _is_loaded(name)}
        self._failed: set[str] = set()
        #: The games to be compiled by the niceness of the process, the next one first.
        self._queues: dict[int, list[str]] = {}
        #: When the compilation of a game has begun, and the seconds that those before it took.
        self._begun: dict[str, float] = {}
        self._taken_s: list[float] = []
        self._workers: list[_Worker] = []

    def call_when_ready(self, ready: Callable[[str], object]) -> None:
        """Call `ready` with each game that is ready or cannot be compiled, in any thread."""
        self._ready = ready

    def require(self, name: str) -> None:
        """Raise NotReady if a game is not ready, SpecError if it cannot be; it is compiled next."""
        with self._changed:
            if name in self._failed:
                text = f"the game {name!r} cannot be compiled on the server, whose log says why"
                raise games.SpecError(text)
            if name in self._left:
                self._add([name], PLAYER_NICENESS)
                raise games.NotReady(name, functools.partial(self._text, name))

    def compile(self, names: Iterable[str]) -> None:
        """Compile these games in this order, while nothing else needs the processor."""
        with self._changed:
            self._add(names, LOWEST_NICENESS)

    def wait(self, names: Iterable[str]) -> None:
        """Compile games, and wait until each is ready or has failed."""
        wanted = set(names)
        with self._changed:
            self._add(sorted(wanted), 0)
            self._changed.wait_for(lambda: not wanted & self._left - self._failed)

    def progress(self) -> str | None:
        """Return how many games are ready, while others are being compiled; otherwise None."""
        with self._changed:
            if not (self._begun or any(self._queues.values())):
                return None
            number = len(games.names())
            return (
                f"{number - len(self._left)} of {number} games are ready; the others are being "
                "compiled for this machine, once"
            )

    def close(self) -> None:
        """End all processes, and wait for the threads."""
        with self._changed:
            self._queues.clear()
            workers = list(self._workers)
        for each in workers:
            each.kill()
        for each in workers:
            each.thread.join(_END_S)

    # Called by the workers.

    def next(self, worker: _Worker) -> str | None:
        """Return the game that a worker is to compile; None if there is none, so that it ends."""
        with self._changed:
            if queue := self._queues.get(worker.niceness):
                name = queue.pop(0)
                self._begun[name] = time.monotonic()
                return name
            self._workers.remove(worker)
            return None

    def done(self, name: str, fault: str, *, is_new: bool) -> None:
        """Note that a game is ready, or why it cannot be; `is_new` if it was not in the cache."""
        with self._changed:
            seconds = time.monotonic() - self._begun.pop(name)
            if fault:
                self._failed.add(name)
            else:
                self._left.discard(name)
                if is_new:
                    self._taken_s.append(seconds)
            self._changed.notify_all()
        if fault:
            _log.error("the game {name} cannot be compiled: {fault}", name=name, fault=fault)
        elif is_new:
            left = len(self._left)
            _log.info("{name} is ready after {s:.0f} s; {n} to go", name=name, s=seconds, n=left)
        self._ready(name)

    def _add(self, names: Iterable[str], niceness: int) -> None:
        """Add games to a queue, except those that are ready, being compiled or in one before it."""
        before = [
            name for nice, queue in self._queues.items() if nice <= niceness for name in queue
        ]
        done = {*before, *self._begun, *self._failed}
        new = [name for name in names if name in self._left and name not in done]
        for queue in self._queues.values():
            queue[:] = [name for name in queue if name not in new]
        queue = self._queues.setdefault(niceness, [])
        queue += new
        busy = sum(each.niceness == niceness for each in self._workers)
        for _ in range(min(len(new), min(usable_cores(), MAX_PROCESSES) - busy)):
            worker = _Worker(self, niceness)
            self._workers.append(worker)
            worker.thread.start()

    def _text(self, name: str) -> str:
        """Say how long a game will take: those before it, and itself."""
        with self._changed:
            if name not in self._left:
                return f"{name} is ready"
            took_s = self._taken_s
            each_s = sum(took_s) / len(took_s) if took_s else _FIRST_ESTIMATE_S
            before = next((q.index(name) for q in self._queues.values() if name in q), 0)
            left_s = each_s * (1 + before / min(usable_cores(), MAX_PROCESSES))
            past_s = time.monotonic() - self._begun.get(name, time.monotonic())
            seconds = round(max(left_s - past_s, past_s / 2, 1))
        return f"{name} is being compiled for this machine, once: wait about {seconds} s"


class _Worker:
    """A thread that has games compiled by a process, and loads them."""

    def __init__(self, compiler: GameCompiler, niceness: int) -> None:
        self.niceness = niceness
        self.thread = threading.Thread(target=self._run, name="game compiler", daemon=True)
        self._compiler = compiler
        self._process: Child | None = None
        self._killed = False

    def kill(self) -> None:
        """Kill the process, after which this worker ends."""
        self._killed = True
        if process := self._process:
            process.send(signal.SIGKILL)

    def _run(self) -> None:
        while name := self._compiler.next(self):
            is_new = not _is_compiled(name)
            try:
                fault = self._make(name)
            except Exception as error:  # the game or its class may raise anything
                fault = repr(error)
            if self._killed:
                return
            self._compiler.done(name, fault, is_new=is_new)
        if self._process:
            stop([self._process], 0.0)

    def _make(self, name: str) -> str:
        """Compile and load a game; return the fault, or an empty text."""
        if not _is_compiled(name) and (fault := self._compiled(name)):
            return fault
        importlib.import_module(_MODULE)
        with contextlib.suppress(games.SpecError):  # of a library; whoever loads it gets the error
            games.load_class(name)
        return ""

    def _compiled(self, name: str) -> str:
        fault = ""
        for _ in range(MOST_ATTEMPTS):
            self._process = self._process or _compiling(self.niceness)
            self._process.say(name)
            try:
                answer = self._process.reply(str)
            except EOFError:
                fault, self._process = self._process.why(), None
            else:
                if not answer:
                    _note_compiled(name)
                return answer or ""
            if self._killed:
                break
            _log.warn("a process that compiles {name} {fault}", name=name, fault=fault)
        return f"its process {fault}"


def _compiling(niceness: int) -> Child:
    """Start a process that compiles a game for each message with a name, and replies its fault."""
    environment = own_environment() | FEW_THREADS
    program = Program.own(f"{__name__}:main", environment=environment, niceness=niceness)
    return program.start(talks=True)


def main() -> None:
    """Compile the games that the parent process names; reply with the fault, if any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    server = Parent()
    with contextlib.suppress(EOFError, OSError):  # the server has ended
        while name := server.receive(str):
            server.say(_fault_of(name))


def _fault_of(name: str) -> str:
    """Compile a game, and return the fault in one line, if any."""
    try:
        importlib.import_module(_MODULE)
        if games.describe(name).example == name:  # others are games of libraries
            games.load(name)
    except games.SpecError:
        return ""
    except Exception as error:
        return " ".join(repr(error).split())
    return ""


def all_are_compiled() -> bool:
    """Return whether all games were compiled before on this machine."""
    return all(map(_is_compiled, games.names()))


def described_games() -> tuple[list[Description], list[str]]:
    """Return the descriptions of the games that are ready, and the names of the other games.

    To be called in a thread: it asks for the compilation of games that nobody has asked for.
    """
    found, missing = [], []
    for name in games.names():
        try:
            found.append(games.describe(name))
        except games.NotReady:
            missing.append(name)
        except games.SpecError:
            pass
    return found, missing


def in_order(played: Sequence[str]) -> list[str]:
    """Return the names of all games: first those of `played`, then the others as in the lobby."""
    order = (*played, FIRST_GAME, *games.names())
    return list(dict.fromkeys(name for name in order if name in games.names()))


def _is_loaded(name: str) -> bool:
    return f"{games.__name__}.{name}" in sys.modules or name in plugins.registered()


def _is_compiled(name: str) -> bool:
    return bool(numba.config.DISABLE_JIT) or (_records() / name).exists()


def _note_compiled(name: str) -> None:
    with contextlib.suppress(OSError):  # without a cache folder, each process compiles for itself
        _records().mkdir(parents=True, exist_ok=True)
        (_records() / name).touch()


@functools.cache
def _records() -> Path:
    """Return the folder with a file for each game that is compiled here in its current version.

    It is removed when it is old, as are the compiled functions beside it.
    """
    digest = hashlib.sha256(compilation_cache.platform().encode())
    folder = Path(games.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    if (found := importlib.util.find_spec(_MODULE)) and found.origin:
        digest.update(Path(found.origin).read_bytes())
    name = f"all-{digest.hexdigest()[:16]}"
    return platformdirs.user_cache_path("playout") / "compiled" / name
