"""Signals wake the event loop, whichever thread of the process gets them."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from support.commands import PATIENCE_S

_PROGRAM = """
import signal, sys, threading
from twisted.internet import reactor
from playout.commands import signals

number = int(sys.argv[1])
heard = []
earlier = signal.getsignal(number), signal.set_wakeup_fd(-1)
other = threading.Thread(target=threading.Event().wait, daemon=True)
other.start()

def send():
    # From a third thread, when the main thread waits for events.
    threading.Timer(0.2, signal.pthread_kill, (other.ident, number)).start()

def end():
    heard.append(number)
    reactor.stop()

with signals.handled(reactor, {number: end}):
    reactor.callWhenRunning(send)
    reactor.run(installSignalHandlers=False)
assert (signal.getsignal(number), signal.set_wakeup_fd(-1)) == earlier
print(heard)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_another_thread_is_handled_at_once(number: signal.Signals) -> None:
    """Without the pipe the event loop waits for ever: nothing else happens in this process."""
    words = [sys.executable, "-P", "-c", _PROGRAM, str(int(number))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.strip() == f"[{int(number)}]", done.stderr
