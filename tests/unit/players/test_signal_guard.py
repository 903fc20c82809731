"""The guard of a player, as a process with the pipes of a player."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from playout.players.client import signal_guard


def test_a_signal_after_the_end_of_the_event_loop_is_no_fault() -> None:
    signals, writing = os.pipe()
    echoes, echoing = os.pipe()
    words = [sys.executable, "-I", "-S", signal_guard.__file__, str(signals), str(os.getpid()), "9"]
    with subprocess.Popen(
        words, stdout=echoing, stderr=subprocess.PIPE, text=True, pass_fds=(signals,)
    ) as guard:
        for each in (signals, echoing, echoes):
            os.close(each)
        os.write(writing, bytes([signal.SIGTERM]))
        os.close(writing)  # the player exits
        assert guard.stderr
        assert guard.stderr.read() == ""
        assert guard.wait() == 0
