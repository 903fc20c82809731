"""What is played and proven in positions whose value is known, and how soon an end is solved.

The positions of Connect Four are those of `tests/data/connect_four.txt`, with the exact value of
each move. *Kept* are those where the player's move is worth as much as the position; *proven* those
where it says what that is, and *wrong* those where what it says, of the position or of any action,
is not so: there may be none. `uct` is given one position after the other, with nothing kept between
them.

Ends of Othello are positions after random moves with twelve empty cells and somebody to move. What
`minimax` takes to prove their value is compared with a second.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from testbed.bench import Bench
from testbed.measure import Sample
from testbed.result_table import Column, ResultTable, Target
from testbed.solved_positions import SolvedPosition, solved

import games
import players
from games import Game, State
from players import Info, Limit, Player

SOLVED = "connect_four"
ENDS = "othello"
EMPTY = 12
WITHIN_S = 1.0
#: When an end is not solved by then, it is given up.
PATIENCE_S = 10.0


class Trial(NamedTuple):
    """Who is asked about which positions, for how long each."""

    player: str
    kind: str
    seconds: float
    at_least: float


TRIALS = (
    Trial("uct(seed=1)", "easy", 0.2, 0.99),
    Trial("uct(seed=1)", "hard", 0.3, 0.8),
    Trial("minimax(seed=1)", "hard", 1.0, 0.99),
)
SOLVER = "minimax(seed=1)"

VALUES = (
    Column("player", "player"),
    Column("kind", "positions"),
    Column("count", "how many"),
    Column("ms", "ms each"),
    Column("proven", "proven", ".1%"),
    Column("wrong", "wrong"),
    Column("kept", "kept", ".1%"),
)
SOLVING = (
    Column("what", f"{ENDS}, {EMPTY} empty, solved by minimax"),
    Column("value", "", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """A row for each player and kind of positions; rows for what ends take."""
    tables = [_values(bench)]
    if bench.can_play(SOLVER, ENDS):
        tables.append(_ends(bench))
    return tables


def _values(bench: Bench) -> ResultTable:
    table = ResultTable(f"Positions of {SOLVED}", VALUES)
    trials = [trial for trial in TRIALS if bench.can_play(trial.player, SOLVED)]
    for player, kind, seconds, at_least in bench.track(trials):
        positions = solved(kind)[: bench.pick(None, 20)]
        infos = _asked(players.load(player, games.load(SOLVED)), positions, seconds)
        answers = list(zip(positions, infos, strict=True))
        table.add(
            Target("kept", at_least=at_least),
            player=player,
            kind=kind,
            count=len(answers),
            ms=1e3 * sum(info.seconds for info in infos) / len(infos),
            proven=sum(info.proven is not None for info in infos) / len(infos),
            wrong=sum(not _right(each, info) for each, info in answers),
            kept=sum(each.kept_by(info.pv[0]) for each, info in answers) / len(answers),
        )
    return table


def _asked(player: Player, positions: list[SolvedPosition], seconds: float) -> list[Info]:
    return [_info(player, each.states[-1], seconds) for each in positions]


def _info(player: Player, state: State, seconds: float) -> Info:
    choice = player.choose([state], Limit(seconds=seconds))
    assert choice.info is not None
    assert choice.info.pv[0] == choice.action
    return choice.info


def _right(position: SolvedPosition, info: Info) -> bool:
    return info.proven in (None, position.value) and all(
        each.proven in (None, position.values[each.action]) for each in info.actions
    )


def _ends(bench: Bench) -> ResultTable:
    """How long each takes."""
    game, choose = games.load(ENDS), random.Random(1)
    player, taken, proven = players.load(SOLVER, game), list[float](), 0
    _info(player, game.initial_state(), 0.01)  # memory is touched, caches are warm
    for _ in range(bench.pick(50, 10)):
        state = _end(game, choose)
        started = time.perf_counter()
        proven += _info(player, state, PATIENCE_S).proven is not None
        taken.append(time.perf_counter() - started)
    table = ResultTable(f"{len(taken)} ends of {ENDS}", SOLVING)
    table.add(Target("value", at_least=1), what="proven, of all", value=proven / len(taken))
    table.add(what="median, s", value=Sample(taken))
    table.add(Target("value", at_most=WITHIN_S), what="worst, s", value=max(taken))
    return table


def _end(game: Game, choose: random.Random) -> State:
    """A position after random moves, with so many empty cells."""
    while True:
        state = game.initial_state()
        while not game.winner(state):
            if state.count(0) - 1 == EMPTY:  # the outcome is 0 too
                return state
            state = game.next_state(state, choose.choice(game.legal_actions(state)))
