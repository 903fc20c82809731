"""Bots that a server offers, as its option `--bot` spells them.

`NAME:LEVEL=PLAYER`, as in `Playout Easy:easy=flat(simulations=30)`; the level may be left out, and
a specification of a player alone names the bot, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import cast, get_args

from games.core import spec
from server.model.messages import Level, OfferedBot
from server.model.names import LONGEST, BadName, normalised, skeleton

LEVELS: tuple[Level, ...] = get_args(Level)

#: The name and the level before a player's specification: what is before the first `=`, unless that
#: is within the parentheses of the specification.
_GIVEN_NAME = re.compile(r"([^=(]*)=(.*)", re.DOTALL)


class BadBot(ValueError):
    """A bot that cannot be offered; the text says what was expected."""


def parse_offered_bot(text: str) -> OfferedBot:
    """Return the bot of `NAME:LEVEL=PLAYER`, `NAME=PLAYER` or `PLAYER`. Raises BadBot.

    Players are not known here, so that only the syntax of the specification is checked.
    """
    given = _GIVEN_NAME.fullmatch(text)
    label, player = (given[1].strip(), given[2].strip()) if given else (None, text)
    try:
        options = spec.parse(player).options
        if label is None:
            return OfferedBot(name=_name_of(player), player=player, move_s=_move_s(options))
        name, colon, level = label.rpartition(":")
        if colon and level.strip() not in LEVELS:
            levels = ", ".join(LEVELS)
            raise BadBot(f"unknown level {level.strip()!r} in {text!r} (there are: {levels})")
        return OfferedBot(
            name=normalised(name.strip() if colon else label),
            player=player,
            level=cast(Level, level.strip()) if colon else None,
            move_s=_move_s(options),
        )
    except (BadName, spec.SpecError) as fault:
        raise BadBot(f"{fault}; write a bot as NAME:LEVEL=PLAYER or PLAYER") from fault


def parse_offered_bots(texts: Iterable[str]) -> tuple[OfferedBot, ...]:
    """Return the bots, each once. Raises BadBot if the names of two look alike."""
    found: dict[str, OfferedBot] = {}
    for text in texts:
        bot = parse_offered_bot(text)
        before = found.setdefault(skeleton(bot.name), bot)
        if before != bot:
            raise BadBot(
                f"two bots have names that look alike, {before.name!r} and {bot.name!r}: "
                "name them as in NAME=PLAYER"
            )
    return tuple(found.values())


def _name_of(player: str) -> str:
    """The specification, if it is a name; otherwise the letters of the player's class."""
    try:
        return normalised(player)
    except BadName:
        stem = re.sub("[^A-Za-z0-9]", "", spec.parse(player).name.split(":")[-1])
        return stem[:LONGEST] or "bot"


def _move_s(options: Mapping[str, str]) -> float | None:
    """The option `time` of a player, which is the most seconds that it takes for a move."""
    try:
        seconds = float(options["time"])
    except (KeyError, ValueError):
        return None
    return seconds if math.isfinite(seconds) else None
