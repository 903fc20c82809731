"""Starts and ends the processes of the server's bots, and listens for their connections."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from playout.commands.identity import SESSION_FD
from playout.commands.subprocesses import (
    FEW_THREADS,
    PLAYER_NICENESS,
    Process,
    how_it_ended,
    input_with,
    last_lines,
    own_environment,
    send,
    start_own,
    stop,
)
from playout.server.core.effects import EndBot, StartBot

_HOST = "127.0.0.1"
_PLAYER = "playout.players.client.player_command:main"
#: Seconds between two checks whether a process has exited.
_POLL_S = 0.1
#: The same after a process was killed: another bot may wait for its exit.
_KILLED_POLL_S = 0.01
#: Seconds in which a bot that has lost its connection tries to reconnect.
_RETRY_S = 5


@dataclass(frozen=True)
class _Running:
    process: Process
    output: IO[bytes]


class BotProcesses:
    """Starts the processes of bots, ends them, and reports those that have exited.

    Bots connect to their own listener, on loopback and unencrypted: they cannot know the address,
    the proxy or the certificate of the server's listener. A bot resumes the session that the hub
    has made for it, with its token.
    """

    def __init__(self, reactor: Any, factory: Any, ended: Callable[[str, str], None]) -> None:
        """`factory` makes the connections; `ended` is given the bot's id and why it exited.

        Raises CannotListenError.
        """
        self._reactor = reactor
        self._ended = ended
        self._running: dict[str, _Running] = {}
        #: Processes that were killed and have not exited yet.
        self._killed: dict[str, Process] = {}
        self._listener = reactor.listenTCP(0, factory, interface=_HOST)
        self._next_poll: Any = None

    def start(self, order: StartBot) -> None:
        """Start the process of a bot; `ended` is called if that fails."""
        variables = {
            "PLAYOUT_HOST": _HOST,
            "PLAYOUT_PORT": str(self._listener.getHost().port),
            "PLAYOUT_NAME": order.name,
            SESSION_FD: "0",
        }
        # No options follow `--`: a player's name may begin with a hyphen.
        options = ("--guest", "--quiet", "--takebacks", "--retry-s", str(_RETRY_S))
        words = (*options, "--", order.game, order.player)
        output = tempfile.TemporaryFile()  # noqa: SIM115 - until the process has exited
        try:
            with input_with(order.token) as input_:
                process = start_own(
                    _PLAYER,
                    *words,
                    environment=own_environment() | FEW_THREADS | variables,
                    niceness=PLAYER_NICENESS,
                    log=output,
                    input_=input_,
                )
        except OSError as error:
            output.close()
            self._reactor.callLater(0, self._ended, order.bot, f"it cannot be started: {error}")
            return
        self._running[order.bot] = _Running(process, output)
        self._schedule_poll()

    def end(self, order: EndBot) -> None:
        """Kill the process of a bot, which has nothing to save."""
        if running := self._running.pop(order.bot, None):
            running.output.close()
            send(running.process, signal.SIGKILL)
            self._killed[order.bot] = running.process
            if self._next_poll:
                self._next_poll.reset(_KILLED_POLL_S)

    def close(self) -> None:
        """Kill the processes of all bots, and wait until they have exited."""
        stop([*(each.process for each in self._running.values()), *self._killed.values()], 0.0)

    def _schedule_poll(self) -> None:
        if self._next_poll is None and (self._running or self._killed):
            wait_s = _KILLED_POLL_S if self._killed else _POLL_S
            self._next_poll = self._reactor.callLater(wait_s, self._poll)

    def _poll(self) -> None:
        self._next_poll = None
        for bot, process in list(self._killed.items()):
            if process.poll() is not None:
                del self._killed[bot]
                self._ended(bot, "it was ended")
        for bot, running in list(self._running.items()):
            if running.process.poll() is not None:
                del self._running[bot]
                self._ended(bot, _why(running))
        self._schedule_poll()


def _why(running: _Running) -> str:
    with running.output as output:
        last = last_lines(output, 1)
    return ": ".join([f"it {how_it_ended(running.process)}", *last])
