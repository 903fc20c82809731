"""`playout-bridge json`: listens for clients of the original system."""

from __future__ import annotations

import importlib
import signal
import sys
from functools import partial
from typing import Any, Literal

import click
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from playout.bridges.original.bridged_match import BridgedMatch, ClientLine
from playout.commands import signals
from playout.commands.connect_options import ServerAddress, server_option
from playout.commands.identity import Identity, random_name, software
from playout.commands.text import printable
from playout.games import SpecError
from playout.players.engines.original_json import RULES, OriginalRules, rules_named
from playout.protocol.endpoints import endpoint, spelled, why_not_listening
from playout.protocol.messages import ChallengeBot, Seek
from playout.protocol.time_control import TimeControlError, parse_time_control

#: Longest time to reach the server, at the start of a match and after a lost connection.
PATIENCE_S = 10.0

_EPILOG = f"""
\b
Examples:
  playout-bridge json connect_four --port 4243
  board-play.py connect_four jrb.mcts.uct 127.0.0.1 4243   a client of the original
  playout-bridge json reversi --port 0 --challenge-bot "Playout Medium"
  playout-bridge json t3 --clock 600+10 --seat 1
  playout-bridge json "original(board=go)" --port 4243

\b
Games: {", ".join(f"{name} ({each.spec})" for name, each in RULES.items())},
and original(board=NAME) for each installed Board of the original.

Each client plays one match as a guest, and leaves. A client knows no clock:
the clock is 60/move by default, and a client thinks for 30 s by default.
"""


class Bridge(Factory):
    """Plays a match for each client that connects, at most `clients` at a time."""

    noisy = False

    def __init__(
        self,
        reactor: Any,
        rules: OriginalRules,
        request: Seek | ChallengeBot,
        server: ServerAddress,
        clients: int,
    ) -> None:
        self._reactor = reactor
        self._rules = rules
        self._request = request
        self._server = server
        self._most = clients
        self._matches: set[BridgedMatch] = set()
        self._stopping_with: int | None = None

    def buildProtocol(self, addr: IAddress | None) -> ClientLine:
        client = ClientLine(self._reactor)
        if len(self._matches) >= self._most or self._stopping_with is not None:
            client.refusal = f"This bridge has {self._most} clients already."
            return client
        program = software("playout-bridge")
        identity = Identity(random_name("json"), "bot", program, any_name=True)
        match = BridgedMatch(
            self._reactor, self._rules, self._request, identity, client, self._done, _echo
        )
        match.use(self._server.connection(self._reactor, match, PATIENCE_S, repeats_requests=True))
        client.listener = match
        self._matches.add(match)
        return client

    def stop(self, code: int) -> None:
        """Resign all matches, decline the clients, and end the program with this exit code."""
        if self._stopping_with is None and self._matches:
            self._stopping_with = code
            for match in list(self._matches):
                match.stop()
            self._reactor.callLater(2.0, self._exit, code)
        else:
            self._exit(code)

    def _done(self, match: BridgedMatch) -> None:
        self._matches.discard(match)
        if self._stopping_with is not None and not self._matches:
            self._reactor.callLater(0.05, self._exit, self._stopping_with)

    def _exit(self, code: int) -> None:
        self._stopping_with = code
        if self._reactor.running:
            self._reactor.stop()

    @property
    def exit_code(self) -> int:
        """The exit code of the program."""
        return self._stopping_with or 0


@click.command("json", epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("game")
@click.option(
    "--port", required=True, type=click.IntRange(0, 65535), help="Port for clients; 0: a free one."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address of this machine for clients."
)
@server_option("The Playout server.", default="127.0.0.1:4242")
@click.option("--clock", default="60/move", show_default=True, help="Time control of the matches.")
@click.option("--seat", type=click.IntRange(1, 2), help="Clients move first (1) or second (2).")
@click.option("--opponent", help="Play only against the player of this name.")
@click.option("--challenge-bot", metavar="BOT", help="Play against a bot of the server.")
@click.option(
    "--clients", default=32, show_default=True, type=click.IntRange(1, 1000), help="At a time."
)
def command(
    game: str,
    port: int,
    host: str,
    server: ServerAddress,
    clock: str,
    seat: Literal[1, 2] | None,
    opponent: str | None,
    challenge_bot: str | None,
    clients: int,
) -> None:
    """Let clients of the original system (boardgame-socketplayer) play GAME, unmodified."""
    if opponent is not None and challenge_bot is not None:
        raise click.UsageError("give --opponent or --challenge-bot, not both")
    rules = _rules(game)
    _check_clock(clock)
    spec = str(rules.game)
    request: Seek | ChallengeBot = Seek(game=spec, clock=clock, opponent=opponent, seat=seat)
    if challenge_bot is not None:
        request = ChallengeBot(player=challenge_bot, game=spec, clock=clock, seat=seat)
    reactor: Any = importlib.import_module("twisted.internet.reactor")
    bridge = Bridge(reactor, rules, request, server, clients)
    _listen(reactor, bridge, host, port, rules)
    numbers = (signal.SIGINT, signal.SIGTERM)
    with signals.handled(reactor, {each: partial(bridge.stop, 128 + each) for each in numbers}):
        reactor.run(installSignalHandlers=False)
    sys.exit(bridge.exit_code)


def _listen(reactor: Any, bridge: Bridge, host: str, port: int, rules: OriginalRules) -> None:
    def listening(found: Any) -> None:
        where = spelled(host, found.getHost().port)
        click.echo(f"playout-bridge: listening on {where} for clients of {rules.name}")
        sys.stdout.flush()

    def failed(failure: Failure) -> None:
        click.echo(f"Error: {why_not_listening(failure, '--port 0')}", err=True)
        bridge.stop(1)

    begun = endpoint(reactor, host, port, proxied=False).listen(bridge)
    reactor.callWhenRunning(lambda: begun.addCallbacks(listening, failed))


def _rules(game: str) -> OriginalRules:
    try:
        return rules_named(game)
    except SpecError as error:
        raise click.UsageError(str(error)) from error


def _check_clock(clock: str) -> None:
    """Raise UsageError for a clock that never ends the match of a silent client."""
    try:
        if parse_time_control(clock) is not None:
            return
        text = "--clock none is not possible: the match of a silent client would never end"
    except TimeControlError as error:
        text = str(error)
    raise click.UsageError(text)


def _echo(text: str) -> None:
    """Print a text that may contain text of a server."""
    click.echo(printable(text))
