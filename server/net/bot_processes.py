"""The processes of the bots that the server starts, and the way by which they come to it."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from server.core.effects import StartBot
from server.runtime.subprocesses import (
    PLAYER_NICENESS,
    Process,
    how_it_ended,
    last_lines,
    own_environment,
    send,
    start_own,
    stop,
)

_HOST = "127.0.0.1"
_PLAYER = "players.client.main:main"
#: How often it is looked whether one has ended.
_LOOK_EVERY_S = 0.1
#: How long one that is cut off goes on trying.
_RETRY_S = 5
#: Otherwise numpy's library starts as many threads as there are cores, to do nothing.
_FEW_THREADS = {"OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class _Running:
    process: Process
    said: IO[bytes]


class BotProcesses:
    """Starts them, ends them, and notices when one ends by itself.

    They come by a listener of their own, on loopback and not encrypted: the server's may be on an
    address, behind a proxy or for a name in a certificate that they cannot know. What lets one in
    is the token of the session that the hub has made for it.
    """

    def __init__(self, reactor: Any, factory: Any, ended: Callable[[str, str], None]) -> None:
        """`factory` makes the lines; `ended` is told which has ended by itself, and how.

        Raises CannotListenError.
        """
        self._reactor = reactor
        self._ended = ended
        self._running: dict[str, _Running] = {}
        #: Those that were killed, until they are gone.
        self._dying: list[Process] = []
        self._listener = reactor.listenTCP(0, factory, interface=_HOST)
        self._looking: Any = None

    def start(self, order: StartBot) -> None:
        """Let one come."""
        told = {
            "PLAYOUT_HOST": _HOST,
            "PLAYOUT_PORT": str(self._listener.getHost().port),
            "PLAYOUT_NAME": order.name,
            "PLAYOUT_SESSION": order.token,
        }
        # Before a `--` there are options; the player's name may look like one.
        words = ("--guest", "--quiet", "--retry-s", str(_RETRY_S), "--", order.game, order.player)
        said = tempfile.TemporaryFile()  # noqa: SIM115 - until the process has ended
        try:
            process = start_own(
                _PLAYER,
                *words,
                environment=own_environment() | _FEW_THREADS | told,
                niceness=PLAYER_NICENESS,
                log=said,
            )
        except OSError as error:
            said.close()
            self._reactor.callLater(0, self._ended, order.bot, f"it cannot be started: {error}")
            return
        self._running[order.bot] = _Running(process, said)
        self._keep_looking()

    def end(self, bot: str) -> None:
        """It is not wanted any more; it has nothing to lose."""
        if running := self._running.pop(bot, None):
            running.said.close()
            send(running.process, signal.SIGKILL)
            self._dying.append(running.process)

    def close(self) -> None:
        """End all."""
        stop([*(each.process for each in self._running.values()), *self._dying], 0.0)

    def _keep_looking(self) -> None:
        if self._looking is None and (self._running or self._dying):
            self._looking = self._reactor.callLater(_LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        self._looking = None
        self._dying = [process for process in self._dying if process.poll() is None]
        for bot, running in list(self._running.items()):
            if running.process.poll() is not None:
                del self._running[bot]
                self._ended(bot, _why(running))
        self._keep_looking()


def _why(running: _Running) -> str:
    with running.said as said:
        last = last_lines(said, 1)
    return ": ".join([f"it {how_it_ended(running.process)}", *last])
