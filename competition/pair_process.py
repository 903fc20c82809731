"""The process of a bot on a worker of a cluster, for a pair of matches on the ladder.

It gets the order, and when it has reported that it is ready, the session that the server has
prepared. `ladder_cluster` starts it.
"""

from __future__ import annotations

import importlib
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from playout.bots.bot_file import BotFile
from playout.commands import signals
from playout.commands.connect_options import ServerAddress, server_options
from playout.commands.subprocesses import Parent
from playout.competition.contestants import (
    PAIR,
    START_S,
    ContestantConsole,
    Used,
    play,
    submission_player,
    wait_for_programs,
)
from playout.games.core import spec
from playout.players.client.agent import PlayerCache, PlayRequest
from playout.players.engines.process import MatchUse
from playout.protocol.messages import Ended, EnterLadder, SessionOpened

#: Seconds in which the connection is closed at the end.
_CLOSE_S = 0.05


class PairOrder(msgspec.Struct, frozen=True):
    """A bot for the ladder of a game: a player of Playout, or the program in a file of engines."""

    name: str
    game: str
    version: str
    player: str = ""
    engines: str = ""


class LadderWorker(msgspec.Struct, frozen=True):
    """A machine with the number of its cores for matches, or its fault.

    The address of the server's machine is empty.
    """

    address: str
    cores: int = 0
    fault: str = ""


class SubmittedBot(NamedTuple):
    """A submission: its bot file, its folder, and the function that gets its resource usage."""

    file: BotFile
    folder: Path
    used: Used


class PairReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reports the end of a match, or the resource usage of a program in one.

    `is_ready`: whether the bot waits for its session. `fault` is for its author, `text` for the
    operator.
    """

    is_ready: bool = False
    ended: bool = False
    fault: str = ""
    text: str = ""
    use: MatchUse | None = None


class _Console(ContestantConsole):
    """Reports the matches and the faults of the bot; faults before them are for the operator."""

    def __init__(self, parent: Parent) -> None:
        super().__init__(self._tell, ladder=True)
        self._parent = parent

    def _tell(self, text: str) -> None:
        self._parent.say(PairReport(fault=text) if self.match else PairReport(text=text))

    def ended(self, event: Ended) -> None:
        super().ended(event)
        self._parent.say(PairReport(ended=True))


@click.command()
@server_options
def main(server: ServerAddress) -> None:
    """Play the matches that the parent process orders; the environment names the server."""
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))
    parent = Parent()
    order = parent.order(PairOrder)
    assert order
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    player_of = (
        PlayerCache(spec.parse(order.player))
        if order.player
        else submission_player(order.engines, lambda use: parent.say(PairReport(use=use)))
    )
    player_of(order.game)  # its rules are compiled before a clock runs
    parent.say(PairReport(is_ready=True))
    session = parent.order(str, START_S)
    if session is None:
        sys.exit("no session was given")
    opened = SessionOpened(session=session, name=order.name)
    request = PlayRequest(EnterLadder(game=order.game, version=order.version), PAIR)
    console = _Console(parent)
    agent, ended = play(reactor, server, opened, player_of, request, console)

    def leave_without_opponent() -> None:  # another bot gets the core
        if console.match == (console.ends[-1].match if console.ends else ""):
            agent.leave(0)
        reactor.callLater(START_S, leave_without_opponent)

    reactor.callLater(START_S, leave_without_opponent)
    ended.addCallback(lambda _: reactor.callLater(_CLOSE_S, reactor.stop))
    with signals.handled(reactor, {signal.SIGINT: agent.interrupt}):
        reactor.run(installSignalHandlers=False)
    wait_for_programs()
