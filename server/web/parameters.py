"""Query parameters of a request, checked; each error says what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date

from twisted.web import http

from playout import games
from playout.protocol.names import LONGEST
from playout.protocol.time_control import CLOCK_CLASSES
from playout.ratings.leaderboard import ALL_CLOCKS
from playout.server.storage.results import RESULTS, MatchFilter
from playout.server.web.http import HttpError, HttpRequest

MAX_PAGE = 1_000_000
PER_PAGE = 50
MAX_PER_PAGE = 200

_ACTION = re.compile(r"[0-9]{1,10}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Parameters:
    """The query of a request (`?name=value`). All members raise HttpError for invalid values."""

    def __init__(self, request: HttpRequest, allowed: Collection[str]) -> None:
        """`allowed`: the names of parameters. An empty value counts as absent, as in a form."""
        self._values = {name: value for name, value in request.query.items() if value}
        unknown = sorted(set(request.query) - set(allowed))
        if unknown:
            hint = f"allowed are {', '.join(sorted(allowed))}" if allowed else "none are allowed"
            raise _bad_request(f"unknown parameter {unknown[0]!r}: {hint}")

    def number(self, name: str, default: int, most: int, least: int = 1) -> int:
        """A whole number from `least` to `most`."""
        text = self._values.get(name)
        if text is None:
            return default
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= number <= most:
            raise _bad_request(
                f"{name} must be a whole number from {least} to {most}, not {text!r}"
            )
        return number

    def actions(self, name: str, most: int) -> list[int]:
        """Up to `most` numbers of actions, separated by commas; an empty list by default."""
        text = self._values.get(name)
        texts = text.split(",") if text else []
        if len(texts) > most or not all(_ACTION.fullmatch(each) for each in texts):
            raise _bad_request(f"{name} must be up to {most} numbers of actions, such as 3,5")
        return [int(each) for each in texts]

    @property
    def page(self) -> int:
        """The number of the page of a list, from 1."""
        return self.number("page", 1, MAX_PAGE)

    @property
    def per_page(self) -> int:
        """The number of items on a page."""
        return self.number("per_page", PER_PAGE, MAX_PER_PAGE)

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of the allowed values."""
        text = self._values.get(name, default)
        if text not in allowed and text != default:
            raise _bad_request(f"{name} must be one of {', '.join(sorted(allowed))}, not {text!r}")
        return text

    @property
    def match_filter(self) -> MatchFilter:
        """A selection of matches by game, players, result, days and tournament."""
        return MatchFilter(
            game=self.game,
            player=self.player,
            opponent=self.opponent,
            result=self.choice("result", "", RESULTS) or None,
            since=self._day("since"),
            until=self._day("until"),
            tournament=self.tournament,
        )

    @property
    def game(self) -> str | None:
        """A game with its parameters, in canonical spelling."""
        return self._parsed("game", parse_game)

    @property
    def player(self) -> str | None:
        """The name of a player of the matches."""
        return self._parsed("player", parse_name)

    @property
    def opponent(self) -> str | None:
        """The name of the other player of the matches."""
        return self._parsed("opponent", parse_name)

    @property
    def clocks(self) -> str:
        """The scale of ratings: a class of clocks, or all."""
        return self.choice("clocks", ALL_CLOCKS, CLOCK_CLASSES)

    @property
    def reporter(self) -> str | None:
        """The name of the account that has reported matches."""
        return self._parsed("reporter", parse_name)

    @property
    def tournament(self) -> str | None:
        """The id of a tournament."""
        return self._parsed("tournament", parse_id)

    def _day(self, name: str) -> str | None:
        text = self._values.get(name)
        if text is None:
            return None
        try:
            return date.fromisoformat(text).isoformat()
        except ValueError as error:
            raise _bad_request(f"{name} must be a day such as 2026-11-22, not {text!r}") from error

    def _parsed(self, name: str, parse: Callable[[str], str]) -> str | None:
        text = self._values.get(name)
        return None if text is None else parse(text)


def parse_game(text: str) -> str:
    """A game with its parameters, in canonical spelling. Raises HttpError."""
    try:
        return str(games.load(text))
    except games.SpecError as error:
        raise _bad_request(str(error)) from error


def parse_name(text: str) -> str:
    """The text, if it can be the name of a player. Raises HttpError."""
    if len(text) > LONGEST or not text.isprintable():
        raise _bad_request(f"a player's name has at most {LONGEST} characters, all printable")
    return text


def parse_id(text: str) -> str:
    """The text, if it can be the id of a match or a tournament. Raises HttpError."""
    if not _ID.fullmatch(text):
        raise _bad_request(f"an id has at most 64 letters, digits, - and _, not {text[:64]!r}")
    return text


def _bad_request(text: str) -> HttpError:
    return HttpError(http.BAD_REQUEST, text)
