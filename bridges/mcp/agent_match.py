"""Describes a match to an agent: its board as text, and the names of the legal moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from playout.games.core.view import cell_text, symbol
from playout.protocol.messages import (
    Board,
    ClockState,
    Ended,
    LegalMove,
    OfferClosed,
    Offered,
    OpenOffer,
    PositionView,
    Started,
    TakenBack,
    Update,
)

_OFFERS = {"draw": "a draw", "takeback": "to take a move back", "score": "to count the score"}
_NAMED = {"draw": "the draw", "takeback": "the takeback", "score": "the score"}


@dataclass
class AgentMatch:
    """A match that the agent plays, up to the last event."""

    started: Started
    ply: int
    to_move: int
    state: tuple[int, ...]
    clocks: tuple[ClockState, ClockState] | None
    view: PositionView | None
    legal_moves: dict[str, int]
    names: list[str] = field(default_factory=list)
    ended: Ended | None = None
    #: The open offers by the seats of their players.
    offers: dict[int, OpenOffer] = field(default_factory=dict)
    #: The outcome of the last offer, for the agent.
    answer: str = ""

    @classmethod
    def of(cls, started: Started) -> AgentMatch:
        """Return the match of an event `started`, also of a resumed one."""
        return cls(
            started,
            len(started.moves),
            started.to_move,
            started.state,
            started.clocks,
            started.view,
            _named(started.legal_moves, started.legal_actions),
            offers={each.player: each for each in started.offers},
        )

    def updated(self, update: Update) -> None:
        """Add a move; a repeated update changes nothing."""
        if update.ply < self.ply:
            return
        self.ply = update.ply + 1
        self.to_move, self.state, self.clocks = update.to_move, update.state, update.clocks
        self.view = update.view
        self.legal_moves = _named(update.legal_moves, update.legal_actions)
        name = update.view.name if update.view and update.view.name else str(update.action)
        self.names.append(f"{update.player}: {name}")

    def offered(self, event: Offered) -> None:
        """Note an offer of either player."""
        self.offers[event.player] = OpenOffer(
            event.offer, event.player, event.ply, event.dead, event.lead
        )
        self.answer = ""

    def offer_closed(self, event: OfferClosed) -> None:
        """Note that an offer was declined or withdrawn."""
        self.offers.pop(event.player, None)
        self.answer = f"{_NAMED[event.offer]} was {event.how}"

    def taken_back(self, event: TakenBack) -> None:
        """Return to an earlier position."""
        count = self.ply - event.ply
        del self.names[len(self.names) - min(count, len(self.names)) :]
        self.ply, self.to_move, self.state = event.ply, event.to_move, event.state
        self.clocks, self.view = event.clocks, event.view
        self.legal_moves = _named(event.legal_moves, event.legal_actions)
        self.offers.clear()
        taker = "your" if event.player == self.seat else "the opponent's"
        self.answer = f"{taker} last move was taken back"

    @property
    def own_offer(self) -> OpenOffer | None:
        """The agent's open offer, or None."""
        return self.offers.get(self.seat)

    @property
    def opponents_offer(self) -> OpenOffer | None:
        """The opponent's open offer, or None."""
        return self.offers.get(3 - self.seat)

    @property
    def seat(self) -> int:
        """The agent's seat: 1 moves first, 2 second."""
        assert self.started.seat is not None
        return self.started.seat

    @property
    def is_over(self) -> bool:
        """Whether the server has sent the result."""
        return self.ended is not None

    @property
    def waits_for_agent(self) -> bool:
        """Whether the agent is to move."""
        return not self.is_over and self.to_move == self.seat

    @property
    def needs_agent(self) -> bool:
        """Whether the match is over, or the agent is to move or may answer an offer."""
        return self.is_over or self.waits_for_agent or self.opponents_offer is not None

    def action(self, move: str) -> int | None:
        """Return the action of a legal move's name, or None.

        Case matters only between names that differ in nothing else, as in chess.
        """
        wanted = move.strip()
        if wanted in self.legal_moves:
            return self.legal_moves[wanted]
        alike = [name for name in self.legal_moves if name.casefold() == wanted.casefold()]
        return self.legal_moves[alike[0]] if len(alike) == 1 else None

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
            controls = self.started.both_time_controls
            periods_s = [each.period_s for each in controls] if controls else [0.0, 0.0]
            shown["seconds_left"] = [
                round(left.main_s + left.periods * period_s, 1)
                for left, period_s in zip(self.clocks, periods_s, strict=True)
            ]
        board = self.started.board
        if self.view and self.view.text:
            shown["board"] = self.view.text.splitlines()
        elif board and self.view:
            shown["board"] = list(_rows(board, self.view))
            shown["pieces"] = _legend(board, self.view)
        else:
            shown["state"] = list(self.state)
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


def _named(moves: tuple[LegalMove, ...] | None, actions: tuple[int, ...] | None) -> dict[str, int]:
    """Return the legal actions by name; a game without names has their numbers."""
    if moves is not None:
        return {move.name: move.action for move in moves}
    return {str(action): action for action in actions or ()}


def _rows(board: Board, view: PositionView) -> Iterator[str]:
    """Yield the lines of a board, with the labels of columns and rows; hexagons are sheared."""
    left = max(map(len, board.row_labels), default=0)
    texts = [cell_text(view, board, cell) for cell in range(len(view.cells))]
    names = () if board.geometry == "hex" else board.cell_labels
    width = max(map(len, (*board.column_labels, *names, *texts, ".")))
    if any(board.column_labels):
        yield _row("", board.column_labels, left, width)
    for row in range(board.rows):
        cells = texts[row * board.columns : (row + 1) * board.columns]
        line = _row(board.row_labels[row], cells, left, width)
        yield " " * row + line if board.geometry == "hex" else line


def _legend(board: Board, view: PositionView) -> str:
    """Return the meaning of the letters: their players, and the kinds of pieces on the board."""
    if view.counts:
        return "names of pits, and their seeds; capital letters are player 1, the others player 2"
    if not any(view.kinds):
        return "X is player 1, O is player 2"
    pieces = sorted({*zip(view.cells, view.kinds, strict=True)})
    kinds = sorted({kind for owner, kind in pieces if owner in (1, 2)})
    owned = [
        f"{symbol(player, kind, board.piece)} is a {kind} of player {player}"
        for player in (1, 2)
        for kind in kinds
    ]
    unowned = [f"{symbol(owner, kind)} stands for: {kind}" for owner, kind in pieces if owner > 2]
    return ", ".join(owned + unowned)


def _row(label: str, cells: Any, left: int, width: int) -> str:
    return " ".join([label.rjust(left), *(each.rjust(width) for each in cells)]).rstrip()
