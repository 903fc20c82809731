"""Bots that a server offers, in the notation of its option `--bot`.

`NAME:LEVEL=PLAYER`, as in `Playout Easy:easy=flat(simulations=30)`; the level may be left out, and
a specification of a player alone names the bot, too. Players for some games may follow, as in
`Max=uct(time=2);go=rave(time=2);hex=rave(time=2)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast, get_args

from msgspec import structs

from playout import games
from playout.games.core import spec
from playout.protocol.messages import Level, OfferedBot
from playout.protocol.names import LONGEST, BadName, normalised, skeleton
from playout.protocol.tournament_spec import without_folders

LEVELS: tuple[Level, ...] = get_args(Level)

#: The name and the level are before the first `=`, unless that is within the parentheses of a
#: player's specification.
_GIVEN_NAME = re.compile(r"([^=(]*)=(.*)", re.DOTALL)
#: Separates the players for some games; not within the parentheses of a specification.
_SEPARATOR = re.compile(r";(?![^()]*\))")


class BadBot(ValueError):
    """A bot that cannot be offered; the text says what was expected."""


def parse_offered_bot(text: str) -> OfferedBot:
    """Return the bot of `NAME:LEVEL=PLAYER`, `NAME=PLAYER` or `PLAYER`. Raises BadBot.

    `;GAME=PLAYER` may follow, several times. Only the syntax of players is checked, as the server
    does not import them.
    """
    usual, *others = _SEPARATOR.split(text)
    given = _GIVEN_NAME.fullmatch(usual)
    label, player = (given[1].strip(), given[2].strip()) if given else (None, usual.strip())
    try:
        players = dict(map(_for_game, others))
        move_s = _longest([player, *players.values()])
        if label is None:
            return OfferedBot(name=_name_of(player), player=player, move_s=move_s, players=players)
        name, colon, level = label.rpartition(":")
        if colon and level.strip() not in LEVELS:
            levels = ", ".join(LEVELS)
            raise BadBot(f"unknown level {level.strip()[:50]!r} (there are: {levels})")
        return OfferedBot(
            name=normalised(name.strip() if colon else label),
            player=player,
            level=cast(Level, level.strip()) if colon else None,
            move_s=move_s,
            players=players,
        )
    except (BadName, spec.SpecError) as fault:
        text = "write a bot as NAME:LEVEL=PLAYER or PLAYER, and ;GAME=PLAYER behind it"
        raise BadBot(f"{fault}; {text} for a game with another player") from fault


def for_game(bot: OfferedBot, game: str) -> OfferedBot:
    """Return the bot as it plays a game, which is given with its parameters."""
    player = bot.players.get(spec.parse(game).name, bot.player)
    return structs.replace(bot, player=player, players={}, move_s=_longest([player]))


def without_its_folders(bot: OfferedBot) -> OfferedBot:
    """Return the bot as everybody may see it: names of files without their folders."""
    players = {game: without_folders(player) for game, player in bot.players.items()}
    return structs.replace(bot, player=without_folders(bot.player), players=players)


def parse_offered_bots(texts: Iterable[str]) -> tuple[OfferedBot, ...]:
    """Return the bots, each once.

    Raises BadBot if the names of two look alike, or their players differ only in folders, which are
    not public.
    """
    found: dict[str, OfferedBot] = {}
    players: dict[str, str] = {}
    for text in texts:
        bot = parse_offered_bot(text)
        before = found.setdefault(skeleton(bot.name), bot)
        if before != bot:
            raise BadBot(
                f"two bots have names that look alike, {before.name!r} and {bot.name!r}: "
                "name them as in NAME=PLAYER"
            )
        for player in (bot.player, *bot.players.values()):
            if (other := players.setdefault(without_folders(player), player)) != player:
                raise BadBot(
                    f"two bots differ only in the folder of a file, {other!r} and {player!r}: "
                    "give the files different names"
                )
    return tuple(found.values())


def by_strength(bots: Sequence[OfferedBot]) -> list[OfferedBot]:
    """Return the bots, those of the highest level first, and of each level the last one."""
    levels = (None, *LEVELS)
    return sorted(bots, key=lambda bot: levels.index(bot.level))[::-1]


def _name_of(player: str) -> str:
    """The specification, if it is a name; otherwise the letters of the player's class."""
    try:
        return normalised(player)
    except BadName:
        stem = re.sub("[^A-Za-z0-9]", "", spec.parse(player).name.split(":")[-1])
        return stem[:LONGEST] or "bot"


def _for_game(text: str) -> tuple[str, str]:
    """A game, by its name, and the player for it. Raises SpecError."""
    game, equals, player = text.partition("=")
    if not equals:
        raise spec.SpecError(f"{text.strip()[:50]!r} is not GAME=PLAYER")
    if game.strip() not in games.names():
        raise spec.unknown("game", game.strip()[:50], games.names())
    return game.strip(), player.strip()


def _longest(players: Iterable[str]) -> float | None:
    """Maximum time of players for a move in seconds; None if one of them has no limit."""
    seconds = [_move_s(spec.parse(each).options) for each in players]
    return None if None in seconds else max(filter(None, seconds), default=None)


def _move_s(options: Mapping[str, str]) -> float | None:
    """The option `time` of a player, which is the maximum time for a move in seconds."""
    try:
        seconds = float(options["time"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) else None
