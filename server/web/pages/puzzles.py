"""`/puzzles`: the games that have puzzles, and the puzzle of the day.

`/puzzles/GAME`: the page on which a person solves puzzles of a game; `?puzzle=ID` leads to one.
`/puzzles/GAME/puzzles.json?player=Ada`: the puzzles of a game with their ratings, and what the
player has tried; `/puzzles/GAME/ID.json?moves=3,5`: a puzzle after moves of its solver, with the
replies; `&solution=yes`: the rest of the solution, too.
"""

from __future__ import annotations

import time
from typing import Literal

import msgspec
from msgspec import Struct
from twisted.web import http

from playout import games
from playout.commands.text import utc
from playout.games import Position
from playout.protocol.analyst import Puzzle, attempt, main_line
from playout.protocol.messages import Board, LegalMove, Seat
from playout.protocol.names import skeleton
from playout.ratings.bradley_terry import AVERAGE
from playout.server.core.view import board_of, drawn, legal_moves_of, position_view_of
from playout.server.storage.results import PuzzleRatings, PuzzleRow
from playout.server.web.http import (
    JSON,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
    error_as_json,
)
from playout.server.web.match_data import PositionData
from playout.server.web.pages.source import PageSource, render_page
from playout.server.web.parameters import Parameters, parse_game, parse_id, parse_name
from playout.server.web.templates import modules

#: Maximum number of moves of a solver.
_MAX_MOVES = 100
_LIST = "puzzles.json"


class PuzzleList(Struct, frozen=True, kw_only=True):
    """The puzzles of a game; the player's rating, and the ids of those that it has tried."""

    puzzles: tuple[PuzzleRow, ...]
    rating: float
    tried: frozenset[str]


class PuzzleState(Struct, frozen=True, kw_only=True):
    """A puzzle after moves of its solver.

    `start` has the cells of the game's first position. `positions` begins with that of the puzzle;
    then follows one for each move of the solver and of the opponent. `state` says whether the last
    move of the solver keeps the win.
    """

    puzzle: str
    board: Board
    start: tuple[int, ...]
    solver: Seat
    turns: int
    timed: bool
    match: str | None
    state: Literal["open", "wrong", "solved"]
    positions: tuple[PositionData, ...]
    legal_moves: tuple[LegalMove, ...]


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The games that have puzzles, and the puzzle of the day."""
    Parameters(request, ())
    now = time.time()
    puzzle = await source.archive.puzzle_of_day(f"{utc(now):%Y-%m-%d}")
    counts = await source.archive.puzzle_counts()

    def respond() -> HttpResponse:
        text, drawing = puzzle_drawing(puzzle) if puzzle else ("", None)
        return render_page(
            "puzzles.html",
            request.language,
            day=request.language.day(now),
            puzzle=puzzle,
            text=text,
            drawing=drawing,
            counts=counts,
        )

    return await source.archive.run_in_thread(respond)


def puzzle_drawing(puzzle: Puzzle) -> tuple[str, dict[str, object] | None]:
    """The position of a puzzle as text and for a drawing.

    There is neither while its game is being compiled, or if it is not installed any more.
    """
    try:
        state = puzzle_state(puzzle, [])
    except (games.NotReady, games.SpecError):
        return "", None
    view = state.positions[0].view
    return drawn(state.board, view), msgspec.to_builtins({"board": state.board, "view": view})


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a game, the list of its puzzles, or one of them."""
    *spelled, last = request.path
    if last.endswith(".json"):
        try:
            if last == _LIST:
                return await _list(source, request, parse_game("/".join(spelled)))
            return await _state(source, request, last.removesuffix(".json"))
        except HttpError as error:
            return error_as_json(error)
    Parameters(request, ("puzzle",))
    game = parse_game("/".join(request.path))
    ratings = await source.archive.puzzle_ratings(game)
    if ratings is None or not ratings.puzzles:
        raise HttpError(http.NOT_FOUND, f"this server has no puzzles of {game}")
    return await source.render(
        "puzzle.html", request.language, game=game, modules=modules("puzzle.js")
    )


async def _list(source: PageSource, request: HttpRequest, game: str) -> HttpResponse:
    parameters = Parameters(request, ("player",))
    name = skeleton(parse_name(parameters.player or ""))
    found = await source.archive.puzzle_ratings(game) or PuzzleRatings()
    shown = PuzzleList(
        puzzles=found.puzzles,
        rating=found.solvers.get(name, AVERAGE),
        tried=found.tried.get(name, frozenset()),
    )
    return await source.archive.run_in_thread(
        lambda: cacheable_response(msgspec.json.encode(shown), JSON)
    )


async def _state(source: PageSource, request: HttpRequest, puzzle: str) -> HttpResponse:
    parameters = Parameters(request, ("moves", "solution"))
    moves = parameters.actions("moves", _MAX_MOVES)
    is_shown = parameters.choice("solution", "no", ("yes", "no")) == "yes"
    found = await source.archive.puzzle(parse_id(puzzle))
    if found is None:
        raise HttpError(http.NOT_FOUND, f"there is no puzzle {puzzle!r}")
    known = found

    def respond() -> HttpResponse:
        state = puzzle_state(known, moves, with_solution=is_shown)
        return cacheable_response(msgspec.json.encode(state), JSON)

    return await source.archive.run_in_thread(respond)


def puzzle_state(puzzle: Puzzle, moves: list[int], *, with_solution: bool = False) -> PuzzleState:
    """The puzzle after moves of its solver, the opponent's replies and, if asked, the solution.

    Raises HttpError for an illegal move.
    """
    game = games.load(puzzle.game)
    tried = attempt(puzzle, moves)
    rest = main_line(tried.then or ()) if with_solution else ()
    position = Position(game)
    for action in (*puzzle.actions, *tried.actions, *rest):
        if action not in position.legal_actions:
            raise HttpError(http.BAD_REQUEST, f"action {action} is not legal")
        position = position.play(action)
    first, states = len(puzzle.actions), position.states
    is_open = bool(tried.then) and not with_solution
    return PuzzleState(
        puzzle=puzzle.id,
        board=board_of(game),
        start=tuple(map(int, game.view(states[0]).cells)),
        solver=_seat(game.current_player(states[first])),
        turns=puzzle.turns,
        timed=puzzle.timed,
        match=puzzle.match,
        state="wrong" if tried.then is None else "open" if is_open else "solved",
        positions=tuple(
            PositionData(
                ply=ply,
                view=position_view_of(position.at(ply)),
                action=position.moves[ply - 1] if ply else None,
                player=_seat(game.current_player(states[ply - 1])) if ply else None,
            )
            for ply in range(first, len(states))
        ),
        legal_moves=legal_moves_of(position) if is_open else (),
    )


def _seat(player: int) -> Seat:
    return 1 if player == 1 else 2
