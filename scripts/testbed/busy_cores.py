"""Load on all cores, by processes that never wait."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

#: A program that runs until its parent process ends, for whatever reason.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Run a busy process per core until the end of the block."""
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
