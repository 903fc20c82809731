"""Work for all cores: one process on each, that leaves when it is not wanted any more."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar

import click

T = TypeVar("T")
R = TypeVar("R")


class WorkerFailure(NamedTuple):
    """What is answered instead of a result."""

    trace: str


def each(function: Callable[[T], R], things: Sequence[T], cores: int = 1) -> Iterator[tuple[T, R]]:
    """Every thing with `function(thing)`, in the order in which they are done.

    Each worker has `cores` cores to itself. The workers end with this iterator, Ctrl-C included.
    Raises ClickException when one fails.
    """
    todo = iter(things)
    with contextlib.ExitStack() as stack:
        groups = _groups(cores)[: len(things)]
        lines = [stack.enter_context(_worker(function, group)) for group in groups]
        busy: dict[Connection, T] = {}
        for line, thing in zip(lines, todo, strict=False):
            line.send(thing)
            busy[line] = thing
        while busy:
            ready = wait(list(busy))
            for line in [line for line in busy if line in ready]:
                thing, result = busy.pop(line), _answer(line)
                for following in itertools.islice(todo, 1):
                    line.send(following)
                    busy[line] = following
                yield thing, result


def _groups(cores: int) -> list[set[int]]:
    """The cores of each worker; at least one worker, with all there are."""
    mine = sorted(os.sched_getaffinity(0))
    starts = range(0, max(len(mine) - cores, 0) + 1, cores)
    return [set(mine[start : start + cores]) for start in starts]


@contextlib.contextmanager
def _worker(function: Callable[[T], R], cores: set[int]) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(function, cores, there), daemon=True)
    # Ctrl-C goes to all processes of a terminal; a worker inherits that it does not mind.
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


def _work(function: Callable[[T], R], cores: set[int], line: Connection) -> None:
    os.sched_setaffinity(0, cores)
    with contextlib.suppress(EOFError, OSError):  # who asked is gone
        while True:
            thing: T = line.recv()
            try:
                answer: R | WorkerFailure = function(thing)
            except Exception:  # whatever it is, who asked will say it
                answer = WorkerFailure(traceback.format_exc())
            line.send(answer)


def _answer(line: Connection) -> Any:
    try:
        answer = line.recv()
    except EOFError:
        raise click.ClickException("a worker process ended before its work was done") from None
    if isinstance(answer, WorkerFailure):
        raise click.ClickException(f"a worker process failed:\n{answer.trace}")
    return answer
