"""A function applied to many things on all cores, by one worker process per group of cores."""

from __future__ import annotations

import contextlib
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar

import click

from testbed.piped_process import piped_process

T = TypeVar("T")
R = TypeVar("R")


class WorkerFailure(NamedTuple):
    """The answer of a worker whose function raised an exception."""

    trace: str


def run_on_cores(
    function: Callable[[T], R], things: Sequence[T], cores: int = 1
) -> Iterator[tuple[T, R]]:
    """Yield each thing with `function(thing)`, in the order of completion.

    Each worker process runs on its own `cores` cores. The workers end with this iterator, also
    after Ctrl-C. Raises ClickException if one fails.
    """
    todo = iter(things)
    with contextlib.ExitStack() as stack:
        groups = _groups(cores)[: len(things)]
        pipes = [stack.enter_context(piped_process(_work, function, group)) for group in groups]
        busy: dict[Connection, T] = {}
        for pipe, thing in zip(pipes, todo, strict=False):
            pipe.send(thing)
            busy[pipe] = thing
        while busy:
            ready = wait(list(busy))
            for pipe in [pipe for pipe in busy if pipe in ready]:
                thing, result = busy.pop(pipe), _answer(pipe)
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
            except Exception:  # the parent process reports it
                answer = WorkerFailure(traceback.format_exc())
            pipe.send(answer)


def _answer(pipe: Connection) -> Any:
    try:
        answer = pipe.recv()
    except EOFError:
        raise click.ClickException("a worker process ended before its work was done") from None
    if isinstance(answer, WorkerFailure):
        raise click.ClickException(f"a worker process failed:\n{answer.trace}")
    return answer
