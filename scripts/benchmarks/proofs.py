"""Moves and proofs in positions with known values, and the time to solve endgames of Othello.

The positions of Connect Four are those of `tests/data/connect_four.txt`, with the exact value of
each move. *Kept* is the share of positions where the player's move preserves the value; *proven*
the share where the player proves it; *wrong* the number of positions where a proof, of the position
or of an action, is wrong: it must be zero. Players get the positions one by one and reuse no tree.

Forced wins are the positions of `tests/data/forced_wins.txt`. A move is right if `minimax` proves
that it wins; it has many times more time than the player.

Endgames of Othello are positions after random moves with twelve empty cells before the end of the
game. The time in which `minimax` proves their value is compared with one second.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from playout import games, players
from playout.agents.solved_positions import SolvedPosition
from playout.games import Game, Position, State
from playout.players import Info, Limit, Player
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample
from testbed.positions import Judge, forced_wins, solved

SOLVED = "connect_four"
ENDS = "othello"
EMPTY = 12
WITHIN_S = 1.0
#: Time limit for an endgame.
PATIENCE_S = 10.0


class Trial(NamedTuple):
    """A player, a kind of positions, the seconds for each, and the target share, if any."""

    player: str
    kind: str
    seconds: float
    at_least: float | None


TRIALS = (
    Trial("uct(seed=1)", "easy", 0.2, 0.99),
    Trial("uct(seed=1)", "hard", 0.3, 0.8),
    Trial("minimax(seed=1)", "hard", 1.0, 0.99),
    Trial("alphazero(seed=1)", "easy", 0.2, 0.99),
    Trial("alphazero(seed=1)", "hard", 0.3, None),
    Trial("uct(seed=1,proof=0.7)", "hard", 0.3, None),
    Trial("minimax(seed=1)", "hard", 0.3, None),
    Trial("alphazero(seed=1,proof=0.7)", "hard", 0.3, 0.92),
)


class WinTrial(NamedTuple):
    """A player, a game with forced wins, and the target share of the moves that win, if any."""

    player: str
    game: str
    at_least: float | None


WIN_TRIALS = (
    WinTrial("alphazero(seed=1)", "mnk(m=6,n=6,k=4)", 0.99),
    WinTrial("uct(seed=1)", "mnk(m=6,n=6,k=4)", None),
    WinTrial("alphazero(seed=1)", "mnk(m=8,n=8,k=5)", 0.97),
    WinTrial("uct(seed=1)", "mnk(m=8,n=8,k=5)", None),
)
WIN_SECONDS = 0.2
SOLVER = "minimax(seed=1)"

VALUES = (
    Column("player", "player"),
    Column("kind", "positions"),
    Column("count", "count"),
    Column("ms", "ms each"),
    Column("proven", "proven", ".1%"),
    Column("wrong", "wrong"),
    Column("kept", "kept", ".1%"),
)
WINS = (
    Column("game", "game"),
    Column("player", "player"),
    Column("count", "positions"),
    Column("ms", "ms each"),
    Column("proven", "proven", ".1%"),
    Column("won", "moves that win", ".1%"),
)
SOLVING = (
    Column("what", f"{ENDS}, {EMPTY} empty, solved by minimax"),
    Column("value", "", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each player and kind of positions or game, then rows for the endgames."""
    tables = [_values(bench), _wins(bench)]
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
            None if at_least is None else Target("kept", at_least=at_least),
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
    return [_info(player, each.position.state, seconds) for each in positions]


def _info(player: Player, state: State, seconds: float) -> Info:
    choice = player.choose(Position(player.game, start=state), Limit(seconds=seconds))
    assert choice.info is not None
    assert choice.info.pv[0] == choice.action
    return choice.info


def _wins(bench: Bench) -> ResultTable:
    """Return the table of forced wins."""
    table = ResultTable("Forced wins within nine plies", WINS)
    trials = [trial for trial in WIN_TRIALS if bench.can_play(trial.player, trial.game)]
    for text, spec, at_least in bench.track(trials, lambda trial: f"{trial.player}, {trial.game}"):
        game = games.load(spec)
        states = [each.state for each in forced_wins(game)[: bench.pick(None, 20)]]
        player, judge = players.load(text, game), Judge(game)
        infos = [_info(player, state, WIN_SECONDS) for state in states]
        player.close()
        won = [judge.wins(*each) for each in zip(states, (i.pv[0] for i in infos), strict=True)]
        judge.close()
        table.add(
            None if at_least is None else Target("won", at_least=at_least),
            game=spec,
            player=text,
            count=len(infos),
            ms=1e3 * sum(info.seconds for info in infos) / len(infos),
            proven=sum(info.proven == 1 for info in infos) / len(infos),
            won=sum(won) / len(won),
        )
    return table


def _right(position: SolvedPosition, info: Info) -> bool:
    return info.proven in (None, position.value) and all(
        each.proven in (None, position.values[each.action]) for each in info.actions
    )


def _ends(bench: Bench) -> ResultTable:
    """Return the table of the times to solve endgames."""
    game, choose = games.load(ENDS), random.Random(1)
    player, taken, proven = players.load(SOLVER, game), list[float](), 0
    _info(player, game.initial_state(), 0.01)  # to touch memory and warm the caches
    for _ in range(bench.pick(50, 10)):
        state = _end(game, choose)
        started = time.perf_counter()
        proven += _info(player, state, PATIENCE_S).proven is not None
        taken.append(time.perf_counter() - started)
    table = ResultTable(f"{len(taken)} endgames of {ENDS}", SOLVING)
    table.add(Target("value", at_least=1), what="proven, of all", value=proven / len(taken))
    table.add(what="median, s", value=Sample(taken))
    table.add(Target("value", at_most=WITHIN_S), what="worst, s", value=max(taken))
    return table


def _end(game: Game, choose: random.Random) -> State:
    """Return a position after random moves with EMPTY empty cells."""
    while True:
        state = game.initial_state()
        while not game.winner(state):
            if state.count(0) - 1 == EMPTY:  # the outcome is 0 too
                return state
            state = game.next_state(state, choose.choice(game.legal_actions(state)))
