"""A helper process with a pipe to it, for work that must not share the benchmark's process."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection


@contextlib.contextmanager
def piped_process(
    run: Callable[..., None], *arguments: object, method: str = "spawn"
) -> Iterator[Connection]:
    """Call `run(*arguments, pipe)` in a process until the end of the block; yield our end.

    `method`: how multiprocessing starts the process.
    """
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(  # type: ignore[attr-defined]
        target=run, args=(*arguments, there), daemon=True
    )
    # A terminal sends Ctrl-C to all its processes; the helper inherits that it is ignored.
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
