"""An agent's session on a Playout server: its requests, and the matches that it plays.

A match is described to the agent by its board as text and the names of the legal moves.
"""

from __future__ import annotations

import asyncio
import itertools
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from playout.commands.agent_tools import AgentError
from playout.commands.identity import HELLO, Identity, Login
from playout.games.core.view import BoardView, draw, legend
from playout.protocol.connection import ServerConnection
from playout.protocol.followed_match import OFFER_NAMES, FollowedMatch
from playout.protocol.messages import (
    AnalysisQueued,
    AnalysisUpdate,
    Board,
    Ended,
    Error,
    Event,
    Notice,
    OfferClosed,
    Offered,
    OpenOffer,
    PositionView,
    Request,
    RequestId,
    Resign,
    Started,
    StopAnalysis,
    TakenBack,
    Update,
    Welcome,
)

_OFFERS = {"draw": "a draw", "takeback": "to take a move back", "score": "to count the score"}


@dataclass(kw_only=True)
class AgentMatch(FollowedMatch):
    """A match that the agent plays, up to the last event."""

    #: The names of the moves and rolls that were seen, with the seats of the players.
    names: list[str] = field(default_factory=list)
    ended: Ended | None = None
    #: The outcome of the last offer, for the agent.
    answer: str = ""

    @classmethod
    def of(cls, started: Started) -> AgentMatch:
        """Return the match of an event `started`, also of a resumed one."""
        match = cls(started=started, latest=started)
        for offer in started.offers:
            match.offered(offer)
        return match

    def updated(self, event: Update) -> bool:
        """Add a move; return False for a repeated event, which changes nothing."""
        if not super().updated(event):
            return False
        views = *event.views, event.view
        for number, action in enumerate((event.action, *event.rolls)):
            view = views[number] if number < len(views) else None
            name = view.name if view and view.name else str(action)
            self.names.append(f"roll: {name}" if number else f"{event.player}: {name}")
        return True

    def offered(self, event: Offered | OpenOffer) -> OpenOffer:
        """Note an offer of either player, and return it."""
        self.answer = ""
        return super().offered(event)

    def offer_closed(self, event: OfferClosed) -> None:
        """Note that an offer was declined or withdrawn."""
        super().offer_closed(event)
        self.answer = f"{OFFER_NAMES[event.offer]} was {event.how}"

    def taken_back(self, event: TakenBack) -> None:
        """Return to an earlier position."""
        count = self.ply - event.ply
        del self.names[len(self.names) - min(count, len(self.names)) :]
        super().taken_back(event)
        taker = "your" if event.player == self.seat else "the opponent's"
        self.answer = f"{taker} last move was taken back"

    @property
    def view(self) -> PositionView | None:
        """The current position as people see it, for games that have it."""
        return self.latest.view

    @property
    def legal_moves(self) -> dict[str, int]:
        """The legal actions by name; a game without names has their numbers."""
        if (moves := self.latest.legal_moves) is not None:
            return {move.name: move.action for move in moves}
        return {str(action): action for action in self.latest.legal_actions or ()}

    @property
    def is_over(self) -> bool:
        """Whether the server has sent the result."""
        return self.ended is not None

    @property
    def waits_for_agent(self) -> bool:
        """Whether the agent is to move."""
        return not self.is_over and self.latest.to_move == self.seat

    @property
    def needs_agent(self) -> bool:
        """Whether the match is over, or the agent is to move or may answer an offer."""
        return self.is_over or self.waits_for_agent or self.opponents_offer is not None

    def action(self, move: str) -> int | None:
        """Return the action of a legal move's name, or None.

        Case matters only between names that differ in nothing else, as in chess.
        """
        wanted, legal = move.strip(), self.legal_moves
        if wanted in legal:
            return legal[wanted]
        alike = [name for name in legal if name.casefold() == wanted.casefold()]
        return legal[alike[0]] if len(alike) == 1 else None

    def described(self) -> dict[str, Any]:
        """Return the match for the agent, as a map for JSON."""
        shown: dict[str, Any] = {
            "match": self.started.match,
            "game": self.started.game,
            "players": list(self.started.players),
            "you": self.seat,
            "status": self._status(),
            "plies": self.ply,
            "moves_seen": self.names,
        }
        if self.ended:
            shown["winner"] = self.ended.winner
        if self.clocks:
            shown["seconds_left"] = [round(seconds, 1) for seconds in self.left_s]
        board = self.started.board
        if self.view and self.view.text:
            shown["board"] = self.view.text.splitlines()
        elif board and self.view:
            shown["board"] = board_rows(board, self.view)
            shown["pieces"] = legend(self.view, board)
        else:
            shown["state"] = list(self.latest.state)
        if self.view and self.view.note:
            shown["note"] = self.view.note
        if offer := self._offer():
            shown["offer"] = offer
        if self.waits_for_agent:
            shown["legal_moves"] = list(self.legal_moves)
        return shown

    def _offer(self) -> str:
        """Return the open offer, or the outcome of the last one."""
        if self.is_over:
            return ""
        if offer := self.opponents_offer:
            return f"the opponent offers {_OFFERS[offer.offer]}: call answer_offer, or move"
        if offer := self.own_offer:
            return f"you have offered {_OFFERS[offer.offer]}"
        return self.answer

    def _status(self) -> str:
        if self.ended:
            return f"over: {self.ended.text} ({self.ended.reason})"
        return "your move" if self.waits_for_agent else "the opponent is to move"


def board_rows(board: Board, view: PositionView) -> list[str]:
    """Return the lines of a board as terminals show it, without a margin."""
    drawn = BoardView(
        board.rows,
        board.columns,
        view.cells,
        geometry=board.geometry,
        piece=board.piece,
        kinds=view.kinds,
        counts=view.counts,
        cell_labels=board.cell_labels,
        block=board.block,
        edges=board.edges,
        column_names=board.column_labels,
        row_names=board.row_labels,
    )
    return [line.rstrip() for line in textwrap.dedent(draw(drawn)).splitlines()]


#: Longest time to wait for an answer, and for the connection.
_ANSWER_S = 30.0


class AgentSession:
    """Logs in, keeps the connection, and follows the matches of this session."""

    def __init__(self, identity: Identity, warn: Callable[[str], None]) -> None:
        """`warn` shows a line to the operator of the bridge."""
        #: The last `welcome`; None without a connection.
        self.welcome: Welcome | None = None
        #: The matches of this session by identifier, also ended ones.
        self.matches: dict[str, AgentMatch] = {}
        self._connection: ServerConnection
        self._identity = identity
        self._warn = warn
        self._numbers = itertools.count(1)
        self._answers: dict[RequestId, asyncio.Future[Event]] = {}
        self._changed = asyncio.Event()
        #: The last updates of analyses that are waited for, by id.
        self._analyses: dict[str, AnalysisUpdate] = {}
        #: The reason why no connection is possible.
        self._problem: str | None = None
        #: The last notice of the server, such as that a bot could not be started.
        self.failure: str | None = None

    def open(self, connection: ServerConnection) -> None:
        """Connect; to be called first, within the event loop."""
        self._connection = connection
        call_later = asyncio.get_running_loop().call_later
        self._login = Login(
            self._identity, connection, call_later, self.unusable, legal_actions=True, views=True
        )
        connection.open()

    def close(self) -> None:
        """Resign the running matches, and disconnect."""
        for match in self.matches.values():
            if not match.is_over:
                self._connection.send(Resign(match=match.started.match))
        self._connection.close()

    async def ready(self) -> Welcome:
        """Wait for the connection, and return the server's `welcome`. Raises AgentError."""
        await self.until(lambda: bool(self.welcome or self._problem), _ANSWER_S)
        if self.welcome is None:
            raise AgentError(self._problem or "The server does not answer; try again later.")
        return self.welcome

    async def ask(self, request: Request) -> Event:
        """Send a request, and return its answer. Raises AgentError."""
        await self.ready()
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._connection.send(structs.replace(request, id=number))
        try:
            event: Event = await asyncio.wait_for(answer, _ANSWER_S)
        except TimeoutError as error:
            raise AgentError("The server does not answer; try again later.") from error
        finally:
            self._answers.pop(number, None)
        if isinstance(event, Error):
            raise AgentError(f"{event.text} ({event.code})")
        return event

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, at most some seconds; return whether it holds."""
        give_up_at = time.monotonic() + seconds
        while not condition():
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), give_up_at - time.monotonic())
            except TimeoutError:
                return False
        return True

    async def analysis(self, analysis: str, seconds: float) -> AnalysisUpdate:
        """Wait for the end of an analysis, and return its last update. Raises AgentError."""
        latest = self._analyses.get
        lost = AnalysisUpdate(analysis=analysis, over=True)
        try:
            if not await self.until(lambda: latest(analysis, lost).over, seconds):
                self._connection.send(StopAnalysis(analysis=analysis))
                raise AgentError("The analysis waits for others; try again later.")
            if analysis not in self._analyses:
                raise AgentError("The connection was lost; ask again.")
            return self._analyses[analysis]
        finally:
            self._analyses.pop(analysis, None)

    # The listener of the connection.

    def connected(self) -> None:
        """Log in; ask for views, so that a board can be shown."""
        self._login.begin()

    def disconnected(self, reason: str) -> None:
        """Let pending requests fail; the connection is being made again."""
        self.welcome = None
        self._analyses.clear()  # the server ends them with the connection
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(AgentError("The connection was lost; call state."))
        self._changed.set()

    def retrying(self, text: str) -> None:
        """Tell the operator that the server does not answer yet."""
        self._warn(text)

    def unreachable(self, reason: str) -> None:
        """Tell the operator and the agent that the server cannot be reached."""
        self.unusable(f"The server cannot be reached: {reason}. Start one with: playout-server")

    def unusable(self, reason: str) -> None:
        """Note why no connection is possible."""
        self._problem, self.welcome = reason, None
        self._analyses.clear()
        self._warn(reason)
        self._connection.close()
        self._changed.set()

    def received(self, event: Event) -> None:
        """Handle an event, and wake the tasks that wait."""
        match event:
            case Welcome():
                self._welcomed(event)
            case Error(re=re) if re == HELLO:
                self._refused(event)
            case Started(seat=int()):
                self._started(event)
            case Update() if event.match in self.matches:
                self.matches[event.match].updated(event)
            case Offered() if event.match in self.matches:
                self.matches[event.match].offered(event)
            case OfferClosed() if event.match in self.matches:
                self.matches[event.match].offer_closed(event)
            case TakenBack() if event.match in self.matches:
                self.matches[event.match].taken_back(event)
            case Ended() if event.match in self.matches:
                self.matches[event.match].ended = event
            case AnalysisQueued() if event.re in self._answers:  # not of a new place
                self._analyses[event.analysis] = AnalysisUpdate(analysis=event.analysis)
            case AnalysisUpdate() if event.analysis in self._analyses:
                info = event.info or self._analyses[event.analysis].info
                self._analyses[event.analysis] = structs.replace(event, info=info)
            case Notice():
                self.failure = event.text
        answer = None if event.re is None else self._answers.get(event.re)
        if answer and not answer.done():
            answer.set_result(event)
        self._changed.set()

    def _welcomed(self, welcome: Welcome) -> None:
        self.welcome = welcome
        if text := self._login.welcomed(welcome):
            self._warn(text)

    def _refused(self, error: Error) -> None:
        """Log in again under another name or session, if that may succeed."""
        if not self._login.refused(error):
            self.unusable(f"{error.text} ({error.code}). {self._identity.advice(error) or ''}")

    def _started(self, started: Started) -> None:
        """Add a match; a resumed one keeps the names of earlier moves."""
        known = self.matches.get(started.match)
        match = self.matches[started.match] = AgentMatch.of(started)
        if known:
            match.names = known.names
