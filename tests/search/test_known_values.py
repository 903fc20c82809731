"""Games whose values are published are proven by our own searches."""

from __future__ import annotations

import pytest

from playout import games, players
from playout.games import Position
from playout.players import Limit
from support import scale

#: 1 if the first player wins, -1 if the second does, 0 for a tie.
VALUES = {
    "hex(size=2)": 1,
    "hex(size=3)": 1,
    "hex(size=3,swap=true)": -1,
    "hex(size=4)": 1,
    "breakthrough(rows=4,columns=3)": 1,
    "breakthrough(rows=5,columns=3)": 1,
    "breakthrough(rows=4,columns=4)": 1,
    "breakthrough(rows=5,columns=4)": 1,
    "breakthrough(rows=4,columns=5)": 1,
    "clobber(rows=2,columns=5)": 1,
    "clobber(rows=3,columns=4)": -1,
    "clobber(rows=4,columns=4)": 1,
    "clobber(rows=4,columns=5)": 1,
    "clobber(rows=3,columns=6)": -1,
    "y(size=3)": 1,
    "y(size=4)": 1,
    "havannah(size=2)": 1,
    "havannah(size=2,swap=true)": -1,
    "dots_and_boxes(rows=1,columns=2)": 0,
    "dots_and_boxes(rows=2,columns=2)": 1,
    "dots_and_boxes(rows=2,columns=3)": -1,
}
#: Proofs that take about a second or more: only under --slow.
LONG = {
    ("dots_and_boxes(rows=2,columns=2)", "uct"),
    ("dots_and_boxes(rows=2,columns=3)", "minimax"),
    ("dots_and_boxes(rows=2,columns=3)", "uct"),
    ("hex(size=4)", "minimax"),
    ("breakthrough(rows=5,columns=4)", "uct"),
    *((f"clobber({sides})", player) for sides in ("rows=4,columns=5", "rows=3,columns=6")
      for player in ("minimax", "uct")),
}  # fmt: skip


PROOFS = [
    (spec, player)
    for spec in VALUES
    for player in ("minimax", "uct")
    if scale.slow or (spec, player) not in LONG
]


@pytest.mark.parametrize(("spec", "player"), PROOFS)
def test_the_value_of_a_small_board_is_proven(spec: str, player: str) -> None:
    game = games.load(spec)
    search = players.load(f"{player}(seed=1)", game)
    info = search.choose(Position(game), Limit(seconds=600)).info
    assert info
    assert info.proven == VALUES[spec]
