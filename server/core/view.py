"""The positions of a match as clients are sent them: states, boards, views, the cells to click.

A game of another package may raise any exception. The functions here pass it on; `MatchView`
queues an event for the fault, and leaves out what the game cannot give.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from heapq import nlargest
from itertools import chain
from typing import NamedTuple, TypeVar

from msgspec import structs

from playout.games import Game, Position
from playout.games.core.view import BoardView, draw
from playout.protocol.messages import (
    Analysis,
    Board,
    Candidate,
    ClockState,
    LegalMove,
    MoveAnalysis,
    MoveSequence,
    PositionView,
    RequestId,
    Seat,
    TakenBack,
    Update,
)
from playout.server.core.context import Context, FeatureEvent
from playout.server.core.guarded_game import GameFault, faults_of
from playout.server.core.match import Match
from playout.server.model.records import MovePlayed, converted

#: Moves of a principal variation that are named, and candidates that are shown.
NAMED = 20
#: The analysis of a move is shown after this many further moves, or when the match is over, so that
#: it helps nobody to play. So many moves of its pv are shown until then: they were made since.
DELAY_PLIES = 10
#: Moves of a player in a row whose cells are shown as the last ones, such as those of a capture.
IN_A_ROW = 10

#: The times that both players have left.
Clocks = tuple[ClockState, ClockState]

T = TypeVar("T")


class Audience(NamedTuple):
    """The parts of messages that some sessions are sent.

    `analysis`: whether they are sent the analyses of moves. Players are not, nor spectators with
    the name of a player, nor those that show a small board.
    """

    legal_actions: bool
    views: bool
    analysis: bool


@dataclass(frozen=True)
class GameFailed(FeatureEvent):
    """The game of a match has failed: a function of the rules, or one that draws positions."""

    match: str
    fault: GameFault
    is_drawing: bool = False


class MatchView:
    """The positions of a match as clients are sent them.

    The board, positions and legal moves are None once the game has failed to draw one, and so are
    legal actions that the game cannot give.
    """

    def __init__(self, context: Context, match: Match) -> None:
        """Faults of the rules, and the first one of drawing, are queued as `GameFailed`."""
        self._context = context
        self._match = match
        self._works = True
        self._last: tuple[int, PositionView | None] | None = None

    def board(self) -> Board | None:
        """The part that is the same for all positions."""
        return self._guarded(0, lambda: board_of(self._match.game))

    def position(self, ply: int) -> PositionView | None:
        """The position after `ply` moves."""
        match = self._match
        if self._last is None or self._last[0] != ply:
            plain = self._guarded(ply, lambda: position_view_of(match.position.at(ply)))
            self._last = ply, plain
        return self._last[1]

    def legal_moves(self, ply: int) -> tuple[LegalMove, ...] | None:
        """The legal moves after `ply` moves."""
        match = self._match
        return self._guarded(ply, lambda: legal_moves_of(match.position.at(ply)))

    def legal_actions(self, ply: int | None = None) -> tuple[int, ...] | None:
        """The legal actions now, or after `ply` moves."""
        try:
            return self._match.legal_actions(ply)
        except GameFault as fault:
            self._context.queue(GameFailed(self._match.id, fault))
            return None

    def moves_taken_back(self) -> None:
        """Forget the last position: another one may have its number."""
        self._last = None

    def update(
        self,
        ply: int,
        clocks: Clocks | None,
        audience: Audience,
        re: RequestId | None = None,
        legal_moves: tuple[LegalMove, ...] | None = None,
    ) -> Update:
        """The message about move number `ply`, with the clocks after it."""
        match, rolls = self._match, self._match.rolls_after(ply)
        after = ply + 1 + len(rolls)
        views: tuple[PositionView | None, ...] = ()
        if rolls and audience.views:
            views = tuple(map(self.position, range(ply + 1, after)))
        return Update(
            re=re,
            match=match.id,
            ply=ply,
            player=_player(match, ply),
            action=match.position.moves[ply],
            rolls=rolls,
            state=match.position.states[after],
            to_move=match.to_move_at(after),
            clocks=clocks,
            legal_actions=self.legal_actions(after) if audience.legal_actions else None,
            views=tuple(filter(None, views)) if views else (),
            view=self.position(after) if audience.views else None,
            legal_moves=legal_moves,
        )

    def analysis(self, move: MovePlayed, audience: Audience) -> MoveAnalysis:
        """The message about the analysis that was sent with a move."""
        match, ply, info = self._match, move.ply, move.analysis
        assert info is not None
        info = structs.replace(info, pv=info.pv[:DELAY_PLIES])
        pv: tuple[str, ...] = ()
        candidates: tuple[Candidate, ...] = ()
        if audience.views and self._works:
            # Its moves come from a client: the game may be right to refuse them.
            with contextlib.suppress(Exception):
                pv, candidates = named(match.position.at(ply), info, match.position.moves[ply])
        return MoveAnalysis(
            match=match.id,
            ply=ply,
            player=_player(match, ply),
            info=info,
            pv=pv,
            candidates=candidates,
        )

    def taken_back(
        self,
        seat: Seat,
        clocks: Clocks | None,
        audience: Audience,
        re: RequestId | None = None,
        legal_moves: tuple[LegalMove, ...] | None = None,
    ) -> TakenBack:
        """The message about a takeback of `seat` to the current position."""
        match = self._match
        return TakenBack(
            re=re,
            match=match.id,
            ply=match.ply,
            player=seat,
            state=match.state,
            to_move=match.to_move,
            clocks=clocks,
            legal_actions=self.legal_actions() if audience.legal_actions else None,
            view=self.position(match.ply) if audience.views else None,
            legal_moves=legal_moves,
        )

    def _guarded(self, ply: int, make: Callable[[], T]) -> T | None:
        """Draw the position after `ply` moves; None once the game has failed."""
        match = self._match
        if not self._works:
            return None
        try:
            with faults_of(match.game, "view or action_name", match.position.states[ply]):
                return make()
        except GameFault as fault:
            self._works = False
            self._context.queue(GameFailed(match.id, fault, is_drawing=True))
            return None


def _player(match: Match, ply: int) -> Seat:
    """The player who made move number `ply`, which is no roll."""
    return 1 if match.mover(ply) == 1 else 2


def board_of(game: Game) -> Board:
    """The board of a game: the part of its view that is the same for all positions."""
    view = game.view(game.initial_state())
    more = {"material": dict(game.material), "komi": game.komi, "has_chance": game.has_chance}
    return converted(Board, view, **more)


def drawn(board: Board, position: PositionView) -> str:
    """A position as text, from its messages to clients."""
    values = structs.asdict(board) | structs.asdict(position)
    values |= {"column_names": board.column_labels, "row_names": board.row_labels}
    known = [each.name for each in fields(BoardView) if each.name in values]
    return draw(BoardView(**{name: values[name] for name in known}))


def position_view_of(position: Position, info: Analysis | None = None) -> PositionView:
    """The view of a position; `info` was sent with the last move."""
    shape = position.game.view(position.state)
    view = PositionView(
        cells=tuple(map(int, shape.cells)),  # numpy's integers cannot be sent
        last=(),
        note=shape.note,
        pv=(),
        candidates=(),
        blocks=tuple(map(int, shape.blocks)),
        kinds=shape.kinds,
        text=shape.text,
        winning=tuple(map(int, shape.winning)),
        counts=tuple(map(int, shape.counts)),
        checked=tuple(map(int, shape.checked)),
        areas=tuple(map(int, shape.areas)),
        dice=tuple(map(int, shape.dice)),
        cube=tuple(map(int, shape.cube)),
    )
    if position.last_move is None:
        return view
    view = structs.replace(view, last=_last_cells(position), name=position.move_name())
    if shape.geometry == "scores" and position.game.current_player(position.states[-2]) == 0:
        view = structs.replace(view, dice=(int(position.move_name()),))
    if info is None:
        return view
    return with_analysis(view, position.at(position.ply - 1), info, position.last_move)


def _last_cells(position: Position) -> tuple[int, ...]:
    """The cells of the last move, after those of the moves just before it by the same player.

    Rolls after it are no moves on the board.
    """
    game, states, ply = position.game, position.states, position.ply
    while ply > 0 and game.current_player(states[ply - 1]) == 0:
        ply -= 1
    if ply == 0:
        return ()
    mover = game.current_player(states[ply - 1])
    first = ply - 1
    while first > max(0, ply - IN_A_ROW) and game.current_player(states[first - 1]) == mover:
        first -= 1
    plies = range(first, ply)
    cells = (_cells(game.view(states[at]), position.moves[at]) for at in plies)
    return tuple(dict.fromkeys(chain.from_iterable(cells)))


def with_analysis(
    view: PositionView, before: Position, info: Analysis, played: int
) -> PositionView:
    """The view with the names of the moves analysed in the position `before` the last move."""
    pv, candidates = named(before, info, played)
    return structs.replace(view, pv=pv, candidates=candidates)


def named(
    position: Position, info: Analysis, played: int
) -> tuple[tuple[str, ...], tuple[Candidate, ...]]:
    """The names of the moves of the pv, and the candidates, of an analysis of a position."""
    return position.names(info.pv[:NAMED]), tuple(_candidates(position, info, played))


def legal_moves_of(position: Position) -> tuple[LegalMove, ...]:
    """All legal moves of a position."""
    game, state = position.game, position.state
    view, ways, name_of = game.view(state), game.ways(state), game.action_name
    long: dict[int, tuple[MoveSequence, ...]] = {}
    for name, cells, (first, *others) in game.long_moves(state):
        long[first] = (*long.get(first, ()), MoveSequence(name, cells, tuple(others)))
    return tuple(
        LegalMove(
            action,
            name_of(state, action),
            _cells(view, action),
            ways.get(action, ()),
            long.get(action, ()),
        )
        for action in position.legal_actions
    )


def _cells(view: BoardView, action: int) -> tuple[int, ...]:
    return tuple(map(int, view.clicks.get(action, ())))


def best_actions(info: Analysis, most: int, played: int | None) -> list[tuple[int, int, float]]:
    """The most visited actions of an analysis, and the one that was played if it is analysed."""
    best = nlargest(most, info.actions, key=lambda each: each[1])
    if any(action == played for action, _, _ in best):
        return best
    return [*best, *(each for each in info.actions if each[0] == played)]


def _candidates(position: Position, info: Analysis, played: int) -> Iterator[Candidate]:
    """The most visited legal moves, the most visited first, and the one that was played."""
    view = position.game.view(position.state)
    priors = dict(info.policy)
    for action, visits, win_rate in best_actions(info, NAMED, played):
        if action in position.legal_actions:
            cells, prior = _cells(view, action), priors.get(action)
            yield Candidate(action, position.name(action), cells, visits, win_rate, prior)
