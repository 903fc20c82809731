"""Specifications and fixtures of small tournaments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.ratings.pairs import Key
from playout.server.tournament.ledger import Ledger

NAMES = ("Ann", "Bob", "Cem", "Dee", "Eva", "Fay")
#: The first pair of a tournament.
KEY = (1, 1, 1)


def spec(
    format_: str = "match", entrants: int | tuple[Entrant, ...] = 2, **fields: Any
) -> TournamentSpec:
    """Return a specification with this number of entrants, or with the given ones."""
    if isinstance(entrants, int):
        entrants = tuple(Entrant(name, "1") for name in NAMES[:entrants])
    given: dict[str, Any] = {"name": "a test", "games": ("nim",)}
    return TournamentSpec(**given | {"format": format_, "entrants": entrants} | fields)


def ledger_of(
    spec: TournamentSpec, fixtures: Iterable[Fixture], withdrawn: Iterable[int] = ()
) -> Ledger:
    """Return the ledger of a tournament with these matches."""
    ledger = Ledger("t", spec, withdrawn)
    for each in fixtures:
        ledger.put(each)
    return ledger


def fixture(key: Key, leg: Literal[1, 2], winner: int | None, **fields: Any) -> Fixture:
    given: dict[str, Any] = {"players": ("Ann", "Bob") if leg == 1 else ("Bob", "Ann")}
    if winner is not None:
        given["reason"] = Reason.VOID if winner == 0 else Reason.RULES
    return Fixture(
        tournament="t",
        round=key[0],
        board=key[1],
        number=key[2],
        leg=leg,
        match=f"{key}{leg}{fields.get('attempt', 1)}",
        game="nim",
        winner=winner,
        **given | fields,
    )


def pair(key: Key, first: int, second: int, **fields: Any) -> list[Fixture]:
    """Return the two matches of a pair with these winners."""
    return [fixture(key, 1, first, **fields), fixture(key, 2, second, **fields)]
