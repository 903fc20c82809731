"""`/analysis/ID`: a match with a tree of variations; `/analysis?game=chess&text=1. e4`: own moves.

`/analysis/positions.json?game=chess&ply=1&moves=3,5`: positions after moves that a person tries.
`/analysis/variations.pgn?game=chess&tree=3 5 ( 4 2 ) 6`: a tree of variations, also as `.sgf`.
"""

from __future__ import annotations

import msgspec
from msgspec import structs
from twisted.web import http

from playout import games
from playout.games import Game, Position
from playout.games.core import spec
from playout.protocol.messages import Reason
from playout.server.core.policy import Policy
from playout.server.core.view import board_of, position_view_of
from playout.server.export import backgammon, sgf, variations
from playout.server.runtime.game_compilation import FIRST_GAME, described_games
from playout.server.tournament import opening_file
from playout.server.tournament.opening_file import BadOpening
from playout.server.web.http import JSON, HttpError, HttpRequest, HttpResponse, cacheable_response
from playout.server.web.match_data import MatchData, MatchResult, PositionData
from playout.server.web.pages.matches import FORMATS, MAX_MOVES, continuation, match_page
from playout.server.web.pages.source import PageSource
from playout.server.web.parameters import Parameters, parse_game
from playout.server.web.texts import Language


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of moves that a person pastes, or of a game without moves."""
    Parameters(request, ("game", "text", "ply", "moves"))  # ply and moves are for the script
    chosen, text = request.query.get("game") or FIRST_GAME, request.query.get("text", "").strip()
    policy, language = source.hub.policy, request.language
    names = language.gettext("Player 1"), language.gettext("Player 2")

    def respond() -> HttpResponse:
        game, fault = games.load(parse_game(chosen)), ""
        actions: tuple[int, ...] = ()
        try:
            if text:
                game, actions = opening_file.pasted(text, game, MAX_MOVES)
        except BadOpening as error:
            fault = language.told(str(error))
        data = own_moves(game, actions, names)
        return _page(data, policy, language, chosen, text, fault)

    return await source.archive.run_in_thread(respond)


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a match, or the positions after own moves."""
    if request.path == ("positions.json",):
        return await _positions(source, request)
    if len(request.path) == 1 and request.path[0] in _WRITERS:
        return await _variations(source, request)
    data = await source.lookup.data("/".join(request.path))
    policy, language = source.hub.policy, request.language

    def respond() -> HttpResponse:
        return _page(data, policy, language, data.game)

    return await source.archive.run_in_thread(respond)


def _page(
    data: MatchData,
    policy: Policy,
    language: Language,
    chosen: str,
    written: str = "",
    fault: str = "",
) -> HttpResponse:
    described, _ = described_games()
    game = games.load(data.game)
    return match_page(
        data,
        policy,
        language,
        games=described,
        chosen=chosen,
        written=written,
        fault=fault,
        takes_positions="fen" in spec.parameters_of(type(game)),
        tree_formats=[each for each in ("pgn", "sgf") if each == "pgn" or _is_of_stones(game)],
    )


def _is_of_stones(game: Game) -> bool:
    return sgf.suits(game) and not backgammon.suits(game)


async def _positions(source: PageSource, request: HttpRequest) -> HttpResponse:
    parameters = Parameters(request, ("game", "ply", "moves"))
    ply = parameters.number("ply", 0, MAX_MOVES, least=0)
    moves = parameters.actions("moves", MAX_MOVES)

    def respond() -> HttpResponse:
        game = games.load(parameters.game or FIRST_GAME)
        found = continuation(own_moves(game), 0, moves)
        found = structs.replace(found, positions=found.positions[ply:])
        return cacheable_response(msgspec.json.encode(found), JSON)

    return await source.archive.run_in_thread(respond)


#: The writer and the media type of a tree of variations, by the name of its file.
_WRITERS = {
    "variations.pgn": (variations.write_pgn, FORMATS["pgn"][1]),
    "variations.sgf": (variations.write_sgf, FORMATS["sgf"][1]),
}


async def _variations(source: PageSource, request: HttpRequest) -> HttpResponse:
    """A tree of variations as a file to download. Raises HttpError."""
    parameters = Parameters(request, ("game", "tree"))
    (name,) = request.path
    write, media_type = _WRITERS[name]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}

    def respond() -> HttpResponse:
        game = games.load(parameters.game or FIRST_GAME)
        try:
            text = write(game, variations.read(request.query.get("tree", "")))
        except ValueError as error:
            raise HttpError(http.BAD_REQUEST, str(error)) from error
        return cacheable_response(text.encode(), media_type, headers=headers)

    return await source.archive.run_in_thread(respond)


def own_moves(
    game: Game, actions: tuple[int, ...] = (), players: tuple[str, str] = ("", "")
) -> MatchData:
    """The data of moves that belong to no match. Raises HttpError for an illegal one."""
    position = Position(game)
    first = MatchData(
        match="",
        game=str(game),
        players=players,
        linked=(False, False),
        clock="none",
        started_at=0.0,
        to_move=position.to_move,
        board=board_of(game),
        positions=(PositionData(ply=0, view=position_view_of(position)),),
    )
    if not actions:
        return first
    after = continuation(first, 0, actions)
    over = MatchResult(
        winner=after.winner, returns=(0, 0), reason=Reason.RULES, text="", missing=None, at=0.0
    )
    return structs.replace(
        first,
        positions=(*first.positions, *after.positions),
        to_move=after.to_move,
        result=over if after.winner else None,
    )
