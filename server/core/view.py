"""What a page needs to draw a match: the board, its positions, and where to click.

Games of others may fail in any way, and then these functions raise what the game does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest

from msgspec import structs

from games import Game, State
from games.core.view import BoardView
from server.model.messages import Analysis, Board, Candidate, LegalMove, PositionView

#: Moves that are named of a line, and of those that a bot has looked at.
NAMED = 20


def board_of(game: Game) -> Board:
    """What is the same for all positions."""
    view = game.view(game.initial_state())
    return Board(
        rows=view.rows,
        columns=view.columns,
        geometry=view.geometry,
        piece=view.piece,
        block=view.block,
        column_labels=view.column_labels,
        row_labels=view.row_labels,
    )


def position_view_of(
    game: Game,
    states: Sequence[State],
    moves: Sequence[int],
    ply: int,
    info: Analysis | None = None,
) -> PositionView:
    """The position after `ply` moves; `info` is what the last of them was sent with."""
    view = game.view(states[ply])
    picture = PositionView(
        cells=tuple(map(int, view.cells)),  # such as numpy's cannot be sent
        last=(),
        note=view.note,
        pv=(),
        candidates=(),
        blocks=tuple(map(int, view.blocks)),
    )
    if ply == 0:
        return picture
    before, action = states[ply - 1], moves[ply - 1]
    last, name = _cells(game.view(before), action), game.action_name(before, action)
    picture = structs.replace(picture, last=last, name=name)
    return with_thought(picture, game, before, info) if info else picture


def with_thought(picture: PositionView, game: Game, before: State, info: Analysis) -> PositionView:
    """The picture, with what was thought of in the position before."""
    return structs.replace(
        picture,
        pv=tuple(_names(game, before, info.pv)),
        candidates=tuple(_tops(game, before, info)),
    )


def legal_moves_of(game: Game, state: State) -> tuple[LegalMove, ...]:
    """All that is legal."""
    view = game.view(state)
    return tuple(
        LegalMove(action=action, name=game.action_name(state, action), cells=_cells(view, action))
        for action in game.legal_actions(state)
    )


def _cells(view: BoardView, action: int) -> tuple[int, ...]:
    return tuple(map(int, view.clicks.get(action, ())))


def _names(game: Game, state: State, line: Sequence[int]) -> Iterator[str]:
    """How people write what a bot expects; up to what is not legal, for it may say anything."""
    for action in line[:NAMED]:
        if action not in game.legal_actions(state):
            return
        yield game.action_name(state, action)
        state = game.next_state(state, action)


def _tops(game: Game, state: State, info: Analysis) -> Iterator[Candidate]:
    """The most visited first."""
    view, legal = game.view(state), game.legal_actions(state)
    for action, visits, win_rate in nlargest(NAMED, info.actions, key=lambda each: each[1]):
        if action in legal:
            name = game.action_name(state, action)
            yield Candidate(action, name, _cells(view, action), visits, win_rate)
