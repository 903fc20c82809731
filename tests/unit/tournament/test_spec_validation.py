"""Validation of specifications: all faults, and the message for a client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playout.games import SpecError
from playout.protocol.tournament_spec import (
    Adjudication,
    Betting,
    Entrant,
    Openings,
    Sprt,
    TournamentSpec,
)
from playout.server.tournament import formats, spec_validation

ANN, BOB = Entrant("Ann", ""), Entrant("Bob", "2.1", player="uct(c=1.2)")
GOOD = TournamentSpec("a test", ("nim", "othello(size=6)"), "match", (ANN, BOB))


def named(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"entrant number {number}", "") for number in range(count))


def check_all(spec: TournamentSpec) -> None:
    for _ in spec_validation.check(spec):
        pass


def with_second(**fields: object) -> dict[str, object]:
    return {"entrants": (ANN, replace(BOB, **fields))}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", formats.names())
def test_a_specification_of_each_format_is_valid(name: str) -> None:
    sprt = Sprt() if formats.find(name).has_test else None
    betting = Betting() if formats.find(name).has_race else None
    spec = replace(GOOD, format=name, sprt=sprt, betting=betting, anchor="Bob")
    spec = replace(spec, openings=Openings(plies=2))
    assert list(spec_validation.faults(spec)) == []
    check_all(spec)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name: must be 1 to 200 visible characters"),
        ({"name": "a\x00b"}, "name: must be 1 to 200 visible characters"),
        ({"games": ()}, "games: must be a list of one or more, not an empty list"),
        ({"games": ("nim", "shogi")}, "games[1]: unknown game 'shogi'"),
        ({"games": ("nim", "nim")}, "games[1]: nim is there twice"),
        ({"games": ("mnk(m=8, n=8)",)}, "games[0]: 'mnk(m=8, n=8)' must be spelled 'mnk(m=8,n=8)'"),
        ({"format": "swis"}, "format: unknown format 'swis'; did you mean 'swiss'?"),
        ({"format": "race"}, "betting: the format 'race' needs the terms of its test"),
        ({"betting": Betting()}, "betting: only for the format 'race', not for 'match'"),
        ({"format": "sprt"}, "sprt: the format 'sprt' needs the terms of its test"),
        ({"sprt": Sprt()}, "sprt: only for the format 'sprt', not for 'match'"),
        ({"format": "sprt", "sprt": Sprt(5.0, 5.0)}, "sprt: elo0 must be below elo1, not 5 and 5"),
        (
            {"format": "sprt", "sprt": Sprt(alpha=float("nan"))},
            "sprt.alpha: must be a number between 0 and 0.5, not nan",
        ),
        (
            {"format": "sprt", "sprt": Sprt(elo1=1e308)},
            "sprt.elo1: must be a number from -1000 to 1000, not 1e+308",
        ),
        ({"entrants": (ANN,)}, "entrants: a tournament has two or more entrants, not 1"),
        (
            {"entrants": (ANN, BOB, Entrant("Cem", ""))},
            "entrants: the format 'match' is for two entrants, not 3",
        ),
        (with_second(name=""), "entrants[1].name: a name has 1 to 32 characters; this has 0"),
        (
            with_second(name="ANN"),
            "entrants[1].name: 'ANN' is taken: another entrant is called 'Ann', much alike",
        ),
        (
            with_second(name="Ann"),
            "entrants[1].name: 'Ann' is taken: another entrant has this name",
        ),
        (with_second(version=" "), "entrants[1].version: must be 1 to 64 visible characters"),
        (
            with_second(command="./bot"),
            "entrants[1].command: an entrant has a player or a command, not both",
        ),
        (with_second(threads=0), "entrants[1].threads: must be a whole number from 1 to 1024, not"),
        ({"rounds": 0}, "rounds: must be a whole number from 1 to 1000000, not 0"),
        ({"rounds": 10_001}, "rounds: the format 'match' allows at most 20,000 pairs, not 20,002"),
        (
            {"format": "round_robin", "entrants": named(64), "rounds": 5},
            "rounds: the format 'round_robin' allows at most 20,000 pairs, not 20,160",
        ),
        (
            {"format": "knockout", "entrants": named(256), "rounds": 2},
            "rounds: the format 'knockout' allows at most 2,500 pairs, not 3,060",
        ),
        (
            {"format": "swiss", "entrants": named(33), "rounds": 17},
            "rounds: the format 'swiss' allows at most 16 rounds with more than 32 entrants",
        ),
        (
            {"format": "swiss", "entrants": named(32), "rounds": 41},
            "rounds: the format 'swiss' allows at most 40 rounds, not 41",
        ),
        (
            {"format": "knockout", "entrants": named(257)},
            "entrants: there may be at most 256, not 257",
        ),
        (
            {"games": tuple(f"nim(chips={n})" for n in range(20, 41))},
            "games: there may be at most 20, not 21",
        ),
        ({"clock": "soon"}, "clock: cannot use the clock 'soon': write it as 1/move"),
        ({"concurrency": -1}, "concurrency: must be a whole number from 0 to 1024, not -1"),
        (
            {"adjudication": Adjudication(max_plies=-1)},
            "adjudication.max_plies: must be a whole number from 0 to 1000000, not -1",
        ),
        (
            {"adjudication": Adjudication(max_plies=2**64 - 1)},
            "adjudication.max_plies: must be a whole number from 0 to 1000000, not",
        ),
        (with_second(player="uct(c=\0)"), "entrants[1].player: cannot read 'uct(c=\\x00)'"),
        (with_second(version="a\0"), "entrants[1].version: must be 1 to 64 visible characters"),
        (
            with_second(player=None, command="a\0"),
            "entrants[1].command: must be 1 to 1000 visible characters",
        ),
        ({"openings": Openings(plies=60)}, "openings.plies: nim lasts at most 15 plies"),
        (
            {"openings": Openings(plies=2, near=3)},
            "openings.near: nim has no moves that are single cells of a grid",
        ),
        (
            {"games": ("gomoku",), "openings": Openings(near=3)},
            "openings.near: needs plies, the number of random moves",
        ),
        (
            {"games": ("gomoku(size=20)",), "openings": Openings(plies=5, near=1)},
            "openings.near: gomoku(size=20) has fewer than 5 cells so near to its centre",
        ),
        (
            {"games": ("gomoku",), "openings": Openings(plies=3, near=-1)},
            "openings.near: must be a whole number from 0 to 100, not -1",
        ),
        (
            {"games": ("nim",), "openings": Openings(2, {"nim": ((0,),)})},
            "openings: must be random plies or given openings, not both",
        ),
        (
            {"openings": Openings(lines={"mnk": ()})},
            "openings.lines: unknown game of the tournament 'mnk'",
        ),
        (
            {"openings": Openings(lines={"nim": ((0,), (0, 99))})},
            "openings.lines.nim[1]: the opening [0, 99] cannot be played: ",
        ),
        (
            {"games": ("nim(chips=1)",), "openings": Openings(lines={"nim(chips=1)": ((0,),)})},
            "openings.lines.nim(chips=1)[0]: after the opening [0] the game is over",
        ),
        ({"anchor": "Cem"}, "anchor: unknown entrant 'Cem' (there are: Ann, Bob)"),
    ],
)
def test_a_client_is_told_the_first_fault_and_where_it_is(
    fields: dict[str, object], message: str
) -> None:
    spec = replace(GOOD, **fields)  # type: ignore[arg-type]
    with pytest.raises(SpecError) as caught:
        check_all(spec)
    assert str(caught.value).startswith(message)


def test_all_faults_are_found() -> None:
    spec = replace(GOOD, name="", clock="soon", games=("shogi",), anchor="Cem", rounds=0)
    found = [str(each).partition(":")[0] for each in spec_validation.faults(spec)]
    assert found == ["name", "clock", "games[0]", "anchor", "rounds"]
