"""Cores that have something else to do."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

#: Ends with its parent, whatever ends that.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """A process on each core that never waits, until the end of the block."""
    with contextlib.ExitStack() as stack:
        for _ in os.sched_getaffinity(0):
            stack.enter_context(_spinning())
        yield


@contextlib.contextmanager
def _spinning() -> Iterator[None]:
    command = [sys.executable, "-P", "-S", "-c", SPIN]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield
        finally:
            process.kill()
