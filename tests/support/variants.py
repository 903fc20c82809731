"""Games with unusual parameters, for tests that every game passes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterable
from multiprocessing.connection import Connection

import pytest
from numba.core import event

from playout import games
from playout.agents.variants import variant
from playout.games import Position
from support import scale

VARIANTS = [
    "nim(chips=1)",
    "nim(chips=7,max_take=7)",
    "nim(chips=40,max_take=5)",
    "nim(piles=1;3;5;7)",
    "kalah(houses=3,seeds=5)",
    "oware(houses=4,seeds=3)",
    "othello(size=4)",
    "othello(size=6)",
    "othello(size=10)",
    "othello(passes=false)",
    "mnk(m=3,n=3,k=3)",
    "mnk(m=6,n=6,k=4)",
    "mnk(m=6,n=5,k=3,exact=true)",
    "mnk(m=8,n=8,k=5)",
    "mnk(m=20,n=9,k=5,exact=true)",
    "mnk(m=1,n=7,k=3)",
    "mnk(m=20,n=2,k=20)",
    "gomoku(size=20)",
    "go(size=2,superko=true)",
    "go(size=5,komi=0.5)",
    "go(size=6,superko=true)",
    "go(size=4,counting=true)",
    "go(size=3,scoring=territory)",
    "go(size=7,komi=0.5,handicap=4,scoring=territory,counting=true)",
    "gomoku(size=1,connect=1)",
    "hex(size=1)",
    "hex(size=3,swap=true)",
    "breakthrough(rows=2,columns=2)",
    "breakthrough(rows=6,columns=3)",
    "clobber(rows=1,columns=2)",
    "clobber(rows=6,columns=3)",
    "chess(fen=3nk3/1P6/8/8/8/8/6p1/R3K3 b Q - 0 40)",
    "ataxx(size=4)",
    "amazons(size=6)",
    "dots_and_boxes(rows=1,columns=1)",
    "dots_and_boxes(rows=3,columns=2)",
    "havannah(size=2)",
    "havannah(size=3,swap=true)",
    "y(size=4)",
    "backgammon(points=3)",
    "pig(diceoutcomes=3,horizon=9,winscore=7)",
]


#: Parameters with which matches are short, for tests in a browser; other games have their defaults.
SMALL: dict[str, dict[str, int | str]] = {
    "othello": {"size": 4},
    "mnk": {"m": 5, "n": 4, "k": 3},
    "gomoku": {"size": 5, "connect": 4},
    "go": {"size": 3},
    "hex": {"size": 4},
    "breakthrough": {"rows": 4, "columns": 3},
    "clobber": {"rows": 3, "columns": 4},
    "ataxx": {"size": 4},
    "amazons": {"size": 6},
    "dots_and_boxes": {"rows": 2, "columns": 2},
    "havannah": {"size": 3},
    "y": {"size": 3},
    "kalah": {"houses": 3, "seeds": 2},
    "oware": {"houses": 3, "seeds": 2},
    "pig": {"horizon": 40, "winscore": 15},
    "open_spiel": {"game": "clobber", "rows": 3, "columns": 4},
}


def small(name: str) -> str:
    """Return the specification of a game with small parameters."""
    parameters = ",".join(f"{key}={value}" for key, value in SMALL.get(name, {}).items())
    return f"{name}({parameters})" if parameters else name


#: Each game once; required parameters have their first choice.
EXAMPLES = [games.describe(name).example for name in games.names()]
#: The games whose rules are compiled, without those of other libraries.
COMPILED = [name for name in EXAMPLES if name in games.names()]

#: The games with chance, and those without it.
CHANCE = [name for name in COMPILED if games.load(name).has_chance]
WITHOUT_CHANCE = [name for name in EXAMPLES if name not in CHANCE]

if scale.slow:
    #: The parameters of a variant of each game that is drawn for language models.
    VARIANTS += sorted(
        {str(variant(games.load(name), 1, 2).game) for name in COMPILED} - {*COMPILED, *VARIANTS}
    )

every_compiled_game = pytest.mark.parametrize("spec", COMPILED + VARIANTS)
every_game = pytest.mark.parametrize("spec", EXAMPLES + VARIANTS)

#: Maximum number of plies of a match of `compiled_by_matches`.
_SHOWN_PLIES = 400

#: Games like other games: only `--slow` plays them in a browser and over TCP.
ALIKE = {
    "amazons",
    "ataxx",
    "breakthrough",
    "chong",
    "clobber",
    "dots_and_boxes",
    "draughts",
    "havannah",
    "lines_of_action",
    "mnk",
    "oware",
    "pentago",
    "tic_tac_toe",
}


def seen(names: Iterable[str]) -> list[str]:
    """Return a game of each kind of board, or all with `--slow`, for browsers and whole matches."""
    return [name for name in names if scale.slow or name.partition("(")[0] not in ALIKE]


def compiled_by_matches(found: Connection) -> None:
    """Send the functions that are compiled while a match of each game is played and shown."""
    compiled = {}
    for name in COMPILED + VARIANTS:
        game = games.load(name)
        position = Position(game)
        with event.install_recorder("numba:compile") as recorder:
            draw = random.Random(1)
            while not position.winner and position.ply < _SHOWN_PLIES:
                if position.ply % 20 == 0:
                    game.view(position.state)
                position = position.play(draw.choice(position.legal_actions))
            game.view(position.state)
            game.lead(position.state)
            with contextlib.suppress(ValueError):  # no points are counted
                game.lead_without(position.state, [])
        if names := {each.data["dispatcher"].py_func.__name__ for _, each in recorder.buffer}:
            compiled[name] = sorted(names)
    found.send(compiled)
