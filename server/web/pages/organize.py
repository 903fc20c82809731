"""`/organize`: the form of a tournament, whose fields are the keys of a tournament's file.

The page has no data: its script asks the server, which checks each request.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import groupby

from playout import games
from playout.commands.toml_table import Check, OneOf
from playout.server.tournament.spec_parser import FileKey, file_keys
from playout.server.tournament.spec_validation import NOT_HOSTED
from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource

#: The tables whose values the form leaves to the file, and those keys of entrants.
_FILE_ONLY = ("defaults", "entrants.defaults")
_BOUNDS = re.compile(r"must be a (whole )?number (?:from|between) (\S+) (?:to|and) ([^\s,]+),")
#: The first fields of an entrant.
_FIRST = ("name", "player")
#: The labels of keys and of tables that are no words of people, by the last key.
_LABELS = {
    "concurrency": "Matches at once",
    "seed": "Seed of drawn openings",
    "draw_offers": "Players may agree on a draw",
    "delay": "Last moves hidden from spectators",
    "anchor": "Entrant whose rating is 0",
    "plies": "Random moves",
    "near": "Largest distance from the centre",
    "order": "Order of the openings",
    "shipped": "Near-even positions of this program",
    "adjudication": "Early ends of matches",
    "max_plies": "Moves until a tie",
    "proofs": "End a match when its result is proven",
    "resign_moves": "Moves until a loss by win rates",
    "resign_below": "Highest win rate of a lost player",
    "draw_moves": "Moves until a tie by win rates",
    "draw_within": "Largest distance from 0.5 of a tie",
    "draw_after": "Moves before a tie by win rates",
    "sprt": "Sequential test",
    "elo0": "Elo if it is not stronger",
    "elo1": "Elo if it is stronger",
    "alpha": "Probability of a wrong acceptance",
    "beta": "Probability of a wrong rejection",
    "model": "Scale of the Elo",
    "without_luck": "Use scores without luck",
    "betting": "Race",
    "tried": "Candidates tested before",
    "player": "Bot",
    "since": "First round",
    "starts": "Time of the start",
}


@dataclass(frozen=True)
class FormField:
    """A field of the form: the path of its key, its kind, its choices or bounds, its default.

    The kinds are "text", "truth", "whole", "number", "moment", "choice" and "games".
    """

    path: str
    kind: str
    choices: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    default: str = ""
    needed: bool = False

    @property
    def label(self) -> str:
        """What people call the key."""
        return label_of(self.path)


def label_of(path: str) -> str:
    """The label of a key or of a table, for people: some keys are words already."""
    key = path.rpartition(".")[2]
    return _LABELS.get(key, key.capitalize())


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The form, for all; the server hosts tournaments of administrators only."""
    tables, entrant = form_fields()
    return await source.render(
        "organize.html",
        request.language,
        groups=tables,
        entrant=entrant,
        games=games.names(),
    )


@functools.cache
def form_fields() -> tuple[tuple[tuple[str, tuple[FormField, ...]], ...], tuple[FormField, ...]]:
    """The fields of each table, needed ones first and with "" for the top; those of an entrant."""
    found = [(key.path, each) for key in file_keys() if (each := _field(key))]
    top = sorted((each for path, each in found if len(path) == 1), key=lambda each: not each.needed)
    inner = [(path[0], each) for path, each in found if len(path) > 1 and path[0] != "entrants"]
    tables = [
        (label_of(name), tuple(each for _, each in some)) for name, some in groupby(inner, _first)
    ]
    entrant = [_within(each) for path, each in found if path[0] == "entrants"]
    entrant.sort(key=lambda each: _FIRST.index(each.path) if each.path in _FIRST else len(_FIRST))
    return (("", tuple(top)), *tables), tuple(entrant)


def _first(item: tuple[str, FormField]) -> str:
    return item[0]


def _within(field: FormField) -> FormField:
    """The field of an entrant, with the path within its table."""
    path = field.path.partition(".")[2]
    return FormField(**vars(field) | {"path": path})


def _field(key: FileKey) -> FormField | None:
    """The field of a key; None if it is a table, or not for the form."""
    path = ".".join(key.path)
    if any(path == each or path.startswith(f"{each}.") for each in (*NOT_HOSTED, *_FILE_ONLY)):
        return None
    shown = "" if key.default is None or key.default == "" or key.needed else str(key.default)
    if path == "games":
        return FormField(path, "games", needed=True)
    if isinstance(key.check, OneOf):
        return FormField(path, "choice", tuple(key.check.allowed), default=shown, needed=key.needed)
    words = _expected(key.check)
    if words.startswith("must be true or false"):
        return FormField(path, "truth")
    if words.startswith("must be a date and time"):
        return FormField(path, "moment")
    if found := _BOUNDS.match(words):
        kind = "whole" if found[1] else "number"
        return FormField(path, kind, (), found[2], found[3], shown)
    if words.startswith("must be text"):
        return FormField(path, "text", default=shown, needed=key.needed)
    return None


def _expected(check: Check[object]) -> str:
    """The error of a check for a value of no type that a file has: it says what is expected."""
    try:
        check(object())
    except ValueError as error:
        return str(error)
    return ""
