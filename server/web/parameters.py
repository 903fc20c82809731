"""What may be asked for behind the question mark: checked, and explained where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Collection

from twisted.web import http

import games
from server.model.names import LONGEST
from server.storage.results import MatchFilter
from server.web.http import HttpError, HttpRequest

PAGES = 1_000_000
PER_PAGE = 50
MOST_PER_PAGE = 200

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Parameters:
    """The `?name=value` of a request. Every method raises Refused for what cannot be."""

    def __init__(self, asked: HttpRequest, allowed: Collection[str]) -> None:
        """What is empty counts as left out, as in a form where nothing was chosen."""
        self._given = {name: value for name, value in asked.query.items() if value}
        unknown = sorted(set(asked.query) - set(allowed))
        if unknown:
            allows = f"allowed are {', '.join(sorted(allowed))}" if allowed else "there are none"
            raise _bad(f"there is no parameter {unknown[0]!r} here: {allows}")

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 to `most`."""
        text = self._given.get(name)
        if text is None:
            return default
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
        if not 1 <= number <= most:
            raise _bad(f"{name} is a whole number from 1 to {most}, not {text!r}")
        return number

    @property
    def page(self) -> int:
        """Which page of a list."""
        return self.number("page", 1, PAGES)

    @property
    def per_page(self) -> int:
        """How many items are on one."""
        return self.number("per_page", PER_PAGE, MOST_PER_PAGE)

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of some words."""
        text = self._given.get(name, default)
        if text not in allowed:
            raise _bad(f"{name} is one of {', '.join(sorted(allowed))}, not {text!r}")
        return text

    @property
    def matches(self) -> MatchFilter:
        """Which of them."""
        return MatchFilter(self.game, self.player, self.opponent, self.tournament)

    @property
    def game(self) -> str | None:
        """A game with its parameters, in its one spelling."""
        text = self._given.get("game")
        if text is None:
            return None
        try:
            return str(games.load(text))
        except games.SpecError as error:
            raise _bad(str(error)) from error

    @property
    def player(self) -> str | None:
        """A name."""
        return self._name("player")

    @property
    def opponent(self) -> str | None:
        """That of one who played against the other."""
        return self._name("opponent")

    @property
    def tournament(self) -> str | None:
        """The id of one."""
        text = self._given.get("tournament")
        return text if text is None else id_of(text)

    def _name(self, name: str) -> str | None:
        text = self._given.get(name)
        return text if text is None else name_of(text)


def name_of(text: str) -> str:
    """A text that may be the name of a player. Raises Refused."""
    if len(text) > LONGEST or not text.isprintable():
        raise _bad(f"the name of a player has at most {LONGEST} characters that can be seen")
    return text


def id_of(text: str) -> str:
    """A text that may be the id of a match or a tournament. Raises Refused."""
    if not _ID.fullmatch(text):
        raise _bad(f"an id consists of at most 64 letters, digits, - and _, not {text[:64]!r}")
    return text


def _bad(text: str) -> HttpError:
    return HttpError(http.BAD_REQUEST, text)
