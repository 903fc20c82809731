"""A Dask cluster on this machine, whose scheduler and workers can be killed and started again."""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import threading
import time
import venv
from collections.abc import Mapping
from pathlib import Path

from support.commands import PATIENCE_S, Command, start
from support.forked import OTHERS, ForkedCommand
from support.waiting import wait_until
from testbed.machine import children, reserve_port, runs

#: Workers without the measurements of Dask, which no test needs.
_ENVIRONMENT = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
#: The modules of the processes of entrants, and of bots on the ladder of a competition.
_ENTRANTS = ("playout.players.client.player_command", "playout.competition.pair_process")


class DaskCluster:
    """A scheduler, and workers with one thread each, as processes."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.port = reserve_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[Command] = []
        #: The processes of entrants that were seen.
        self.entrants: set[int] = set()
        self._folder = folder
        self._left: list[Command] = []
        self._scheduler = self._start_scheduler()
        for _ in range(workers):
            self.start_worker()

    def start_worker(self, *options: str, **more: object) -> None:
        """Start one more worker; `more` are options of `start`."""
        self.workers.append(self._start("dask-worker", *self._options, *options, **more))

    def start_installed_worker(self, environment: Path) -> None:
        """Start one more worker with the packages of a virtual environment alone."""
        python = str(environment / "bin" / "python")
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        words = [python, "-P", "-m", OTHERS["dask-worker"], *self._options]
        with (self._folder / "dask.log").open("ab") as log:
            worker = subprocess.Popen(words, stdout=log, stderr=log, text=True, env=variables)
        self.workers.append(worker)

    def kill_worker(self, place: int) -> None:
        """Kill a worker, by its place in the list."""
        self.see_entrants()
        self._kill(self.workers.pop(place))

    def restart(self) -> None:
        """Kill the scheduler, and start it and the same number of workers."""
        number = len(self.workers)
        self.kill_scheduler()
        self.start_scheduler()
        for _ in range(number):
            self.start_worker()

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        self.see_entrants()
        self._kill(self._scheduler)
        self._left += self.workers  # its workers end by themselves, after their tasks
        self.workers = []

    def start_scheduler(self) -> None:
        """Start the scheduler again, after `kill_scheduler`, at the same address."""
        self._scheduler = self._start_scheduler()

    @property
    def _options(self) -> tuple[str, ...]:
        usual = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        where = ("--host", "127.0.0.1", "--local-directory", str(self._folder))
        return self.address, *usual, *where

    def see_entrants(self) -> None:
        """Note the processes of entrants that run."""
        workers = (*self.workers, *self._left)
        here = [child for worker in workers for child in children(worker.pid)]
        self.entrants.update(filter(_is_entrant, here))

    def entrants_left(self) -> list[int]:
        """The processes of entrants that still run, of those that were ever seen."""
        self.see_entrants()
        return list(filter(_is_entrant, self.entrants))

    def stop(self) -> None:
        """Kill the processes that still run."""
        for process in (*self.workers, *self._left, self._scheduler):
            self._kill(process)

    def _start_scheduler(self) -> ForkedCommand:
        usual = ("--port", str(self.port), "--host", "127.0.0.1", "--no-dashboard", "--no-show")
        return self._start("dask-scheduler", *usual)

    def _start(
        self, command: str, *words: str, env: Mapping[str, str] = os.environ, **more: object
    ) -> ForkedCommand:
        with (self._folder / "dask.log").open("ab") as log:
            return start(command, *words, stdout=log, env={**env, **_ENVIRONMENT}, **more)

    def _kill(self, process: Command) -> None:
        process.kill()
        process.communicate()


def _is_entrant(process: int) -> bool:
    return any(runs(process, each) for each in _ENTRANTS)


def wait_for_workers(cluster: DaskCluster, number: int) -> None:
    """Wait until the scheduler knows that number of workers."""

    from distributed import Client

    def connected() -> bool:
        try:
            with Client(cluster.address, timeout=5, set_as_default=False) as client:
                return len(client.nthreads()) == number
        except OSError:
            return False

    wait_until(connected, f"{number} workers", PATIENCE_S)


def environment_without_playout(folder: Path) -> Path:
    """Make a virtual environment with all that is installed here but Playout; return its folder."""
    dask = importlib.util.find_spec("distributed")
    assert dask
    assert dask.origin
    venv.create(folder, symlinks=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    for each in Path(dask.origin).parents[1].iterdir():
        if "playout" not in each.name:
            (packages / each.name).symlink_to(each)
    return folder


def tasks_started(cluster: DaskCluster, worker: str) -> int:
    """The number of tasks that have begun on a worker, by the scheduler's events."""

    from distributed import Client

    with Client(cluster.address, timeout=PATIENCE_S, set_as_default=False) as client:
        events = client.get_events()
    topics = [each for each in events if each.startswith("playout-")]
    messages = [message for topic in topics for _, message in events[topic]]
    return sum("started" in each and each["worker"] == worker for each in messages)


def play_for_ever(*_: object) -> None:
    """A shard that a worker never completes."""
    threading.Event().wait()


_python = platform.python_version


def answer_later(folder: Path) -> str:
    """The version of Python of a worker that makes the file `asked`, and then waits for `ready`."""
    (folder / "asked").touch()
    wait_until((folder / "ready").exists, "the file that a worker waits for")
    return _python()


_time = time.time


def return_done(_: object) -> str:
    """The function of a task; in this module, because workers can import it."""
    return "done"


def an_hour_behind() -> float:
    """The clock of a worker that is set wrongly."""
    return _time() - 3600
