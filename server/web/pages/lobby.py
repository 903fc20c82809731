"""The lobby: players, seeks, running matches and the latest results; and the links to seeks."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins

from playout import games
from playout.games import Description
from playout.protocol.messages import Outcome, Overview
from playout.server.runtime.game_compilation import FIRST_GAME, described_games
from playout.server.storage.results import MatchRow
from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource
from playout.server.web.worker_pool import WorkUnavailable

#: The number of results on the page.
RESULTS = 10


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page, which its script keeps up to date."""
    described, missing = await source.archive.run_in_thread(described_games)
    descriptions = _as_data(tuple(described))
    stored: Sequence[MatchRow] = ()
    popular: Sequence[str] = ()
    with contextlib.suppress(WorkUnavailable):  # people can still play
        stored = await source.archive.latest_matches(RESULTS)
        popular = await source.archive.most_played() or ()
    overview = source.hub.lobby_feed.overview()
    names = [each["name"] for each in descriptions]
    return await source.render(
        "lobby.html",
        request.language,
        overview=overview,
        seeks=[seek for seek in overview.seeks if not seek.opponent],
        results=_results(overview, stored),
        games=[{**each, "rank": _rank(popular, each["name"])} for each in descriptions],
        groups={
            name: title
            for name, title in games.GROUPS.items()
            if any(name in each["groups"] for each in descriptions)
        },
        missing=missing,
        first_game=FIRST_GAME if FIRST_GAME in names else next(iter(names), None),
        data={"games": descriptions, "bots": to_builtins(source.hub.bots.offered)},
    )


def _rank(popular: Sequence[str], game: str) -> int:
    return popular.index(game) if game in popular else len(popular)


@functools.lru_cache(1)
def _as_data(descriptions: tuple[Description, ...]) -> list[dict[str, Any]]:
    return list(map(asdict, descriptions))


def _results(overview: Overview, stored: Sequence[MatchRow]) -> Sequence[Outcome | MatchRow]:
    """Results, the latest first; those of the overview may not be stored."""
    latest: dict[str, Outcome | MatchRow] = {
        each.match: each for each in reversed(overview.outcomes)
    }
    older = (each for each in stored if each.match not in latest)
    return [*latest.values(), *older][:RESULTS]


async def seek(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a link to a seek, whose script accepts it; it may be open later."""
    found = source.hub.lobby.get("/".join(request.path))
    return await source.render("seek.html", request.language, seek=found and found.to_message())
