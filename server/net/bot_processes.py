"""Starts and ends the processes of the server's bots, and listens for their connections."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

from playout.commands.child import Child, Program, stop
from playout.commands.identity import SESSION_FD
from playout.commands.subprocesses import FEW_THREADS, PLAYER_NICENESS, own_environment
from playout.server.core.effects import EndBot, StartBot

_HOST = "127.0.0.1"
_PLAYER = "playout.players.client.player_command:main"
#: Seconds in which a bot that has lost its connection tries to reconnect.
_RETRY_S = 5


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
        self._running: dict[str, Child] = {}
        self._listener = reactor.listenTCP(0, factory, interface=_HOST)

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
        program = Program.own(
            _PLAYER,
            *words,
            environment=own_environment() | FEW_THREADS | variables,
            niceness=PLAYER_NICENESS,
            secret=order.token,
        )
        try:
            child = program.start()
        except OSError as error:
            self._reactor.callLater(0, self._ended, order.bot, f"it cannot be started: {error}")
            return
        self._running[order.bot] = child
        child.when_exited(self._reactor, partial(self._exited, order.bot))

    def end(self, order: EndBot) -> None:
        """Kill the process of a bot, which has nothing to save."""
        if child := self._running.get(order.bot):
            child.send(signal.SIGKILL)

    def close(self) -> None:
        """Kill the processes of all bots, and wait until they have exited."""
        stop(self._running.values(), 0.0)

    def _exited(self, bot: str) -> None:
        self._ended(bot, f"it {self._running.pop(bot).why()}")
