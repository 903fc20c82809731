"""Kills a player that does not react to a signal; a program of its own.

    python -I -S signal_guard.py SIGNALS PID SECONDS

SIGNALS is the reading end of a pipe, into which the system writes the number of each signal that
the player gets, also while compiled code keeps Python's global lock. The numbers are repeated on
the standard output, which wakes the player's event loop. The player writes a zero when it reacts.
If it does not within SECONDS, it is killed. The program ends with the player, when the writing end
is closed. It imports little, so that it starts in 20 ms.
"""

from __future__ import annotations

import os
import select
import signal
import sys

_TEXT = b"The code of the player lets nothing else run: the process is killed.\n"


def main(signals: int, pid: int, seconds: float) -> None:
    """Watch a process until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    poll = select.poll()
    poll.register(signals, select.POLLIN)
    while read := os.read(signals, 4096):
        pending = read.rpartition(b"\0")[2]
        if pending:
            _repeat(pending)
        if set(pending) & {signal.SIGINT, signal.SIGTERM} and not poll.poll(1000 * seconds):
            os.write(2, _TEXT)
            os.kill(pid, signal.SIGKILL)
            return


def _repeat(numbers: bytes) -> None:
    try:
        os.write(1, numbers)
    except BrokenPipeError:
        return  # the event loop of the player has ended: it is about to exit


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
