"""Applies a function to many things on all cores, in a worker process for each group of cores."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar

import click

from playout.players.core.player import PlayerError

T = TypeVar("T")
R = TypeVar("R")


class WorkerFailure(NamedTuple):
    """The answer of a worker whose function raised an exception."""

    text: str


def run_on_cores(
    function: Callable[[T], R], things: Iterable[T], cores: int = 1
) -> Generator[tuple[T, R], None, None]:
    """Yield each thing with the result of `function(thing)`, in the order of completion.

    Each worker process runs on its own `cores` cores. A thing is taken when a worker is free for
    it. The workers end with this iterator, also after Ctrl-C. Raises ClickException if one fails,
    with the text of its thing.
    """
    todo = iter(things)
    with contextlib.ExitStack() as stack:
        start = partial(piped_process, _work, function, method="forkserver")
        busy: dict[Connection, T] = {}
        for group, thing in zip(_groups(cores), todo, strict=False):
            pipe = stack.enter_context(start(group))
            pipe.send(thing)
            busy[pipe] = thing
        while busy:
            ready = wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                thing = busy.pop(pipe)
                result = _answer(pipe, thing)
                for following in itertools.islice(todo, 1):
                    pipe.send(following)
                    busy[pipe] = following
                yield thing, result


def _groups(cores: int) -> list[set[int]]:
    """Return the cores of each worker; with too few cores, one worker with all of them."""
    mine = sorted(os.sched_getaffinity(0))
    starts = range(0, max(len(mine) - cores, 0) + 1, cores)
    return [set(mine[start : start + cores]) for start in starts]


def _work(function: Callable[[T], R], cores: set[int], pipe: Connection) -> None:
    os.sched_setaffinity(0, cores)
    with contextlib.suppress(EOFError, OSError):  # the parent process has ended
        while True:
            thing: T = pipe.recv()
            try:
                answer: R | WorkerFailure = function(thing)
            except PlayerError as error:
                answer = WorkerFailure(str(error))
            except BaseException:  # the parent process reports it
                answer = WorkerFailure(traceback.format_exc())
            pipe.send(answer)


def _answer(pipe: Connection, thing: object) -> Any:
    try:
        answer = pipe.recv()
    except (EOFError, ConnectionError):
        raise click.ClickException(
            f"{thing}: the process ended before its work was done; the code of a player may have "
            "ended it (os._exit), or the system for want of memory"
        ) from None
    if isinstance(answer, WorkerFailure):
        raise click.ClickException(f"{thing}: a worker process failed:\n{answer.text}")
    return answer


@contextlib.contextmanager
def piped_process(
    run: Callable[..., None], *arguments: object, method: str = "spawn"
) -> Iterator[Connection]:
    """Call `run(*arguments, pipe)` in a process until the end of the block; yield our end.

    `method`: the way in which multiprocessing starts the process.
    """
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(  # type: ignore[attr-defined]
        target=run, args=(*arguments, there), daemon=True
    )
    # A terminal sends Ctrl-C to all its processes; the new one inherits that it is ignored.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
        there.close()
    try:
        yield here
    finally:
        process.terminate()
        process.join()
        here.close()
