"""The match of a client of the original system on a Playout server.

`ClientLine` is the connection to the client, with lines of JSON that end in CR LF. `BridgedMatch`
plays the match.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import structs
from twisted.internet.protocol import connectionDone
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from playout.commands.identity import HELLO, Identity, Login
from playout.games import IllegalAction, Position
from playout.players.engines.original_json import (
    ClientFault,
    IllegalMessage,
    OriginalRules,
    answer_of,
    message,
    position_fields,
    result_fields,
)
from playout.protocol.connection import ServerConnection
from playout.protocol.followed_match import MatchByRules
from playout.protocol.messages import (
    Analysis,
    ChallengeBot,
    Code,
    Ended,
    Error,
    Event,
    Move,
    Notice,
    Ping,
    Pong,
    Resign,
    Seek,
    Started,
    Update,
    Welcome,
)

#: The ids of requests; those of moves are their plies.
_PLAY, _PING, _RESIGN = "play", "ping", "resign"
#: The illegal actions of a client in a match after which the next one resigns it. Some Boards of
#: the original, such as that of t3, let people enter illegal ones.
MOST_ILLEGAL = 3
#: Maximum number of bytes of a line: an action with the statistics of a search has some thousands.
MAX_LINE = 64 * 1024
#: Seconds in which a client must read the last message and close the connection.
PATIENCE_S = 5.0


class ClientLine(LineOnlyReceiver):
    """Sends messages to a client, and passes its lines on until `end`.

    The original client computes for ever if its connection closes before a result or a refusal.
    """

    delimiter = b"\n"
    MAX_LENGTH = MAX_LINE

    transport: Any
    listener: BridgedMatch | None = None
    #: The reason why a client without listener is declined at once.
    refusal = ""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._ended = False
        self._deadline: Any = None

    def send(self, kind: str, **fields: object) -> None:
        """Send a message, unless the connection was ended."""
        if not self._ended:
            self.transport.write(message(kind, **fields).encode() + b"\r\n")

    def decline(self, text: str) -> None:
        """Decline the client with a text, and close the connection."""
        self.send("decline", message=text)
        self.end()

    def end(self) -> None:
        """Close the connection after everything was sent; abort it if the client does not read."""
        if not self._ended:
            self._ended = True
            self._deadline = self._reactor.callLater(PATIENCE_S, self.transport.abortConnection)
            self.transport.loseConnection()

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        if self.listener:
            self.listener.begin()
        else:
            self.decline(self.refusal)

    def lineReceived(self, line: bytes) -> None:
        if self.listener and not self._ended:
            self.listener.line(line.rstrip(b"\r"))

    def lineLengthExceeded(self, line: bytes) -> None:
        if self.listener and not self._ended:
            self.listener.fault(f"a line has at most {MAX_LINE} bytes")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._ended = True
        if self._deadline and self._deadline.active():
            self._deadline.cancel()
        if self.listener:
            self.listener.hung_up()


class BridgedMatch:
    """One client: seeks a match for it, tells it when it is to move, and sends its moves.

    A position is sent once, because the client would think about it again; it is sent again after
    an illegal action. Any other error of the client resigns its own match. This is a
    `ServerListener`, and handles the events of the client's connection.
    """

    def __init__(
        self,
        reactor: Any,
        rules: OriginalRules,
        request: Seek | ChallengeBot,
        identity: Identity,
        client: ClientLine,
        done: Callable[[BridgedMatch], None],
        show: Callable[[str], None],
    ) -> None:
        """`done` is called once, when both connections are closed; `show` informs the operator."""
        self._reactor = reactor
        self._rules = rules
        self._request = request
        self._identity = identity
        self._client = client
        self._done = done
        self._show = show
        self._match: MatchByRules | None = None
        #: Whether the server has sent the match on the current connection.
        self._is_current = False
        #: The ply of the last question to the client, and its answer.
        self._asked = -1
        self._answer: Move | None = None
        self._illegal = 0
        self._failed = self._over = False

    def use(self, server: ServerConnection) -> None:
        """Play over this connection; to be called first."""
        self._server = server
        self._login = Login(self._identity, server, self._reactor.callLater, self.unusable)

    def begin(self) -> None:
        """Connect to the server: the client has connected."""
        self._server.open()

    def stop(self) -> None:
        """End the match, because the bridge stops."""
        self._fail("The bridge has been stopped.")

    # Called by the connection to the client.

    def line(self, line: bytes) -> None:
        """Handle a line of the client: its action, if it is to move."""
        match = self._match
        if match is None or self._asked != match.ply or self._answer is not None:
            self.fault("it is not your turn")
            return
        try:
            action, info = answer_of(self._rules, match.position.state, line)
        except IllegalMessage as error:
            self._client.send("illegal", message=error.action)
            self._ask_again(match.position)
        except ClientFault as error:
            self.fault(str(error))
        else:
            self._move(match, action, info)

    def _ask_again(self, position: Position) -> None:
        """Ask for another action, or resign the match after too many."""
        self._illegal += 1
        if self._illegal > MOST_ILLEGAL:
            self._fail("Your action is illegal: you have resigned.")
        else:
            self._client.send("update", **position_fields(self._rules, position))

    def fault(self, text: str) -> None:
        """Report an error to the client, and resign its match."""
        self._client.send("error", message=text)
        self._fail(f"You have violated the protocol: {text}.")

    def hung_up(self) -> None:
        """Resign, as the client cannot return to its match."""
        if not self._over and not self._failed:
            self._show(f"{self._identity.name} has closed the connection")
            self._fail("")

    # Called by the connection to the server.

    def connected(self) -> None:
        """Log in as a guest."""
        self._is_current = False
        self._login.begin()

    def disconnected(self, reason: str) -> None:
        """Wait for the next connection; the client is not told."""
        self._is_current = False

    def retrying(self, text: str) -> None:
        """Tell the operator that the server does not answer yet."""
        self._show(text)

    def unreachable(self, reason: str) -> None:
        """Decline the client, as there is no server."""
        self._show(f"the server cannot be reached: {reason}")
        self._leave("The server cannot be reached.")

    def unusable(self, reason: str) -> None:
        """Give up: another attempt would fail, too."""
        self._show(reason)
        self._leave("The server cannot be used.")

    def received(self, event: Event) -> None:
        """Handle an event of the server."""
        if self._over:
            return
        match event:
            case Welcome():
                self._login.welcomed(event)
                self._server.send(Ping(id=_PING))
                if self._match is None and not self._failed:
                    self._server.send(structs.replace(self._request, id=_PLAY))
            case Pong(re=re) if re == _PING and self._match and not self._is_current:
                self._leave("The server no longer knows the match.")
            case Started(seat=int()):
                self._started(event)
            case Update() if self._match and event.match == self._match.started.match:
                self._updated(self._match, event)
            case Ended() if self._match and event.match == self._match.started.match:
                self._ended(self._match.position, event)
            case Error():
                self._refused(event)
            case Notice(code="bot_failed"):
                self._leave(event.text)

    def _started(self, event: Started) -> None:
        if self._match is None:
            position = Position(self._rules.game)
            self._match = MatchByRules(started=event, latest=event, position=position)
            self._client.send("player", message=event.seat)
            first, second = event.players
            self._show(f"match {event.match}: {first} against {second}, {event.clock}")
        self._is_current = True
        for action in event.moves[self._match.ply :]:
            if not self._played(partial(self._match.play, action)):
                break
        if self._failed:
            self._server.send(Resign(id=_RESIGN, match=event.match))
        elif self._answer:  # it may have been lost with the connection
            self._server.send(self._answer)
        else:
            self._advance(self._match)

    def _updated(self, match: MatchByRules, event: Update) -> None:
        if event.ply == match.ply and self._played(partial(match.updated, event)):
            self._advance(match)

    def _played(self, play: Callable[[], object]) -> bool:
        """Add a move of the server by the rules of the bridge; return whether they allow it."""
        try:
            play()
        except IllegalAction as error:
            self._fail(f"The server's rules differ from those of the bridge: {error}.")
            return False
        self._answer = None
        return True

    def _advance(self, match: MatchByRules) -> None:
        """If the client is to move, ask it for its move, or pass for it."""
        position = match.position
        if self._failed or position.winner or position.to_move != match.seat:
            return
        first = position.legal_actions[0]
        if self._rules.action_json(position.state, first) is None:
            self._move(match, first, None)
        elif self._asked != position.ply:
            self._asked = position.ply
            self._client.send("update", **position_fields(self._rules, position))

    def _move(self, match: MatchByRules, action: int, info: Analysis | None) -> None:
        name, ply = match.started.match, match.ply
        self._answer = Move(id=ply, match=name, ply=ply, action=action, info=info)
        self._server.send(self._answer)

    def _ended(self, position: Position, event: Ended) -> None:
        self._show(f"match {event.match}: {event.text} ({event.reason})")
        if event.winner == 0 or self._failed:
            self._leave(f"The match has no result: {event.text}")
            return
        result = result_fields(self._rules, position.state, event.winner)
        self._client.send("update", **position_fields(self._rules, position), **result)
        self._leave("")

    def _refused(self, error: Error) -> None:
        if error.re == HELLO:
            if not self._login.refused(error):
                self._leave(f"The server refuses: {error.text}")
        elif error.re == _PLAY:
            self._leave(f"The server refuses the match: {error.text}")
        elif isinstance(error.re, int) and error.code is Code.ILLEGAL_ACTION:
            self._fail("The server refuses the action: you have resigned.")

    # The end.

    def _fail(self, text: str) -> None:
        """Resign the match and decline the client; leave when the server has ended the match."""
        if self._failed or self._over:
            return
        self._failed = True
        self._client.decline(text)
        if self._match is None:
            self._leave("")
        else:
            self._server.send(Resign(id=_RESIGN, match=self._match.started.match))

    def _leave(self, text: str) -> None:
        """Close both connections; a `text` declines a client without a result."""
        if self._over:
            return
        self._over = True
        if text:
            self._client.decline(text)
        self._client.end()
        self._server.close()
        self._done(self)
