"""`/matches`: lists of matches, by game, players, result, days and tournament.

`/matches/ID`: a match, running or finished; `/matches/ID.pgn`: the same as a file;
`/matches/ID/positions.json?ply=12&moves=3,5`: positions after moves that a person tries.
`/matches/ID/rolls`: the rolls of a match with chance, with their luck, verified in the browser.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, structs
from twisted.web import http

from playout import games
from playout.games import Position
from playout.protocol.messages import LegalMove, Reason, Seat
from playout.server.core.policy import Policy
from playout.server.core.view import drawn, legal_moves_of, position_view_of
from playout.server.export import backgammon, jsonl, sgf, writer
from playout.server.model.offered_bots import by_strength
from playout.server.runtime.game_compilation import described_games
from playout.server.storage.database import whole_analysis
from playout.server.storage.results import RESULTS, MatchFilter
from playout.server.web.archive import Archive
from playout.server.web.http import (
    JSON,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
)
from playout.server.web.http_server import content_policy
from playout.server.web.match_data import (
    MatchData,
    PositionData,
    encoded,
    public,
)
from playout.server.web.pages.source import PageSource, render_page
from playout.server.web.parameters import Parameters, parse_id
from playout.server.web.templates import modules
from playout.server.web.texts import Language

#: Maximum number of names that the form suggests.
_SUGGESTED = 100


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """A list of matches, with a form that filters them."""
    parameters = Parameters(request, (*MatchFilter._fields, "page"))
    match_filter = parameters.match_filter
    chosen = {match_filter.game} if match_filter.game else set()
    described, missing = await source.archive.run_in_thread(described_games)
    hosted = {*(each.name for each in described), *missing}
    return await source.render(
        "matches.html",
        request.language,
        match_filter=match_filter,
        query={name: value for name, value in match_filter._asdict().items() if value},
        games=sorted(hosted | chosen | {*(await source.archive.games())[:_SUGGESTED]}),
        players=await source.archive.latest_players(_SUGGESTED),
        results=RESULTS,
        running=source.lookup.running(match_filter),
        ended=await source.archive.matches(match_filter, parameters.page),
    )


# Moves that a person tries from a position of a match.


#: Maximum number of moves that can be tried after a position of a match.
MAX_MOVES = 400


class Continuation(Struct, frozen=True, kw_only=True):
    """The positions after each of the tried moves, and the legal moves in the last one.

    `actions` has all moves since the start of the match. `to_move` is 0 when the game is over, and
    `winner` until then; it is -1 for a tie.
    """

    positions: tuple[PositionData, ...]
    actions: tuple[int, ...]
    to_move: int
    winner: int
    legal_moves: tuple[LegalMove, ...]


def continuation(match: MatchData, ply: int, moves: Sequence[int]) -> Continuation:
    """Try moves after the first `ply` moves of a match. Raises HttpError for an illegal one."""
    game = games.load(match.game)
    played = match.positions[1 : ply + 1]
    position = Position(game, (each.action for each in played if each.action is not None))
    positions = []
    for action in moves:
        mover = cast(Seat, position.to_move)
        if position.winner or action not in position.legal_actions:
            text = f"move {position.ply + 1}, action {action}, is not legal"
            raise HttpError(http.BAD_REQUEST, text)
        position = position.play(action)
        view = position_view_of(position)
        positions.append(PositionData(ply=position.ply, view=view, action=action, player=mover))
    over = position.winner
    return Continuation(
        positions=tuple(positions),
        actions=position.moves,
        to_move=0 if over else position.to_move,
        winner=over,
        legal_moves=() if over else legal_moves_of(position),
    )


# Matches as files to download, in the formats of `playout.server.export`.


#: The format and the media type by the suffix of the file name.
FORMATS = {
    "json": ("jsonl", JSON),
    "pgn": ("pgn", "application/vnd.chess-pgn; charset=utf-8"),
    "sgf": ("sgf", "application/x-go-sgf; charset=utf-8"),
    "mat": ("mat", "text/plain; charset=utf-8"),
}
#: The formats that only some games have: whether they suit a game.
_SUITS = {"sgf": sgf.suits, "mat": backgammon.suits}


async def _download(archive: Archive, name: str) -> HttpResponse:
    """The file of the name `MATCH.SUFFIX`. Raises HttpError."""
    match, _, suffix = name.partition(".")
    if suffix not in FORMATS:
        names = ", ".join(f"{match}.{each}" for each in FORMATS)
        raise HttpError(http.NOT_FOUND, f"unknown format; the files of a match are {names}")
    format_, media_type = FORMATS[suffix]
    stored = await archive.match(parse_id(match), whole_analysis if format_ == "jsonl" else None)
    if stored is None:
        raise HttpError(http.NOT_FOUND, f"there is no match {match!r}, or it is not stored yet")
    headers = {"Content-Disposition": f'attachment; filename="{match}.{suffix}"'}

    def respond() -> HttpResponse:
        shown = public(stored)
        body = jsonl.encoded(shown) if format_ == "jsonl" else writer(format_)(shown).encode()
        return cacheable_response(body, media_type, headers=headers)

    try:
        return await archive.run_in_thread(respond)
    except ValueError as error:
        text = f"match {match} cannot be written as {suffix}: {error}"
        raise HttpError(http.NOT_FOUND, text) from error


async def framed(source: PageSource, request: HttpRequest, match: str) -> HttpResponse:
    """The page of a match, which only the operator's chosen sites may frame."""
    data = await source.lookup.data(match)
    shown = structs.replace(data, positions=data.positions[-1:])
    language, policy = request.language, content_policy(source.embed_on)

    def respond() -> HttpResponse:
        page = render_page("embed.html", language, match=shown, modules=modules("embed.js"))
        return replace(page, headers={**page.headers, **policy})

    return await source.frames.get(data, lambda: source.archive.run_in_thread(respond), language)


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a match, or one of its files."""
    if len(request.path) == 2 and request.path[1] == "positions.json":
        return await _positions(source, request)
    if len(request.path) == 2 and request.path[1] == "rolls":
        return await _rolls(source, request)
    name = "/".join(request.path)
    if "." in name:
        return await _download(source.archive, name)
    data, policy, language = await source.lookup.data(name), source.hub.policy, request.language
    return await source.matches.get(
        data,
        lambda: source.archive.run_in_thread(lambda: match_page(data, policy, language)),
        language,
    )


async def _positions(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The positions after moves that a person tries."""
    parameters = Parameters(request, ("ply", "moves"))
    match = await source.lookup.data(request.path[0])
    last = len(match.positions) - 1
    ply = parameters.number("ply", last, last, least=0)
    moves = parameters.actions("moves", MAX_MOVES)

    def respond() -> HttpResponse:
        return cacheable_response(msgspec.json.encode(continuation(match, ply, moves)), JSON)

    return await source.archive.run_in_thread(respond)


async def _rolls(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The rolls of a match with their luck. Raises HttpError for a game without chance."""
    data = await source.lookup.data(request.path[0])
    if data.commitment is None:
        raise HttpError(http.NOT_FOUND, f"match {data.match} has no rolls")
    shown = {name: getattr(data, name) for name in ("commitment", "key", "match", "rolls")}
    moves = [{"ply": each.ply, "player": each.player} for each in data.positions]
    return await source.render(
        "rolls.html",
        request.language,
        match=data,
        data=msgspec.json.encode(shown | {"opening": data.opening, "positions": moves}),
        luck=total_luck(data),
    )


def total_luck(data: MatchData) -> float | None:
    """The luck of player 1 in all rolls, in points; None if it is not known."""
    known = [each.luck for each in data.rolls or () if each.luck is not None]
    return sum(known) if data.rolls is not None and len(known) == len(data.rolls) else None


def match_page(
    data: MatchData, policy: Policy, language: Language, **analysis: Any
) -> HttpResponse:
    """The page of a match. In that of its analysis, `analysis` has what the form there shows."""
    return render_page(
        "match.html",
        language,
        is_analysis=bool(analysis),
        **analysis,
        match=data,
        data=encoded(data),
        numbers=move_numbers(data),
        status_text=_status_text(data, language),
        reason=_reason(data, language),
        formats=_formats(data) if policy.stored else [],
        text=drawn(data.board, data.positions[-1].view),
        luck=total_luck(data),
        modules=modules("match.js"),
        analysts=[bot.name for bot in by_strength(policy.offered)] if policy.analyses else [],
        analysis_s=policy.analysis_s,
    )


def move_numbers(data: MatchData) -> list[str]:
    """The number of each move, as players of the game write it.

    Several steps of a player in a row have one number. On checkered boards, a move of each player
    counts as one: "29." and "29…". A roll belongs to the move after it, and where players choose to
    roll, to the one before it.
    """
    movers = [position.player for position in data.positions[1:]]
    pairs = data.board.surface == "checkered"
    before = _with_rolls(movers, data.board.geometry == "scores")
    begins = (
        at == 0 or (mover != before[at - 1] and (mover == 1 or not pairs))
        for at, mover in enumerate(before)
    )
    numbers = itertools.accumulate(map(int, begins))
    if not pairs:
        return [str(number) for number in numbers]
    return [
        f"{each}{'.' if mover == 1 else '…'}" for each, mover in zip(numbers, movers, strict=True)
    ]


def _with_rolls(movers: list[Seat | Literal[0] | None], asked: bool) -> list[Any]:
    """The player of each move, for a roll the player of the move before or after it."""
    found = [*movers]
    order = range(len(found)) if asked else range(len(found) - 1, -1, -1)
    step = -1 if asked else 1
    for at in order:
        if found[at] == 0 and 0 <= at + step < len(found):
            found[at] = found[at + step]
    return found


def _status_text(data: MatchData, language: Language) -> str:
    """The player to move, or the result."""
    gettext = language.gettext
    if data.result is None:
        return gettext("%(name)s to move") % {"name": data.players[data.to_move - 1]}
    if data.result.winner > 0:
        return gettext("%(name)s won") % {"name": data.players[data.result.winner - 1]}
    return gettext("A tie") if data.result.winner < 0 else gettext("No result")


def _reason(data: MatchData, language: Language) -> str:
    """Why the match ended so, "" where the rules decided it."""
    if data.result is None or data.result.reason == Reason.RULES:
        return ""
    return language.told(data.result.text)


def _formats(data: MatchData) -> list[str]:
    """The suffixes of the files that are offered for this game."""
    game = games.load(data.game)
    return [each for each in FORMATS if each not in _SUITS or _SUITS[each](game)]
