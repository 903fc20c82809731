"""Checks of a player without a connection: the rows of `comply --player`, and of competitions.

    python -m playout.bridges.comply.player_checks ENGINES CLOCK GAME

checks the program of a file `engines.toml`, in its sandbox if it has one. In the other situations
of `comply`, a player behind `playout-player` cannot fail: they test the connection.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

import playout.games
from playout import games, players
from playout.commands.text import counted
from playout.games import TIE, Game, Position, SpecError
from playout.games.core.spec import Spec
from playout.players.core.player import Limit, Player, PlayerError, PlayResult, Resigned
from playout.protocol.time_control import parse_time_control
from playout.server.core.clock import Clock

#: The limit of each move.
_LIMIT_S = 1.0
#: Seconds after which a match is not played to its end.
_MATCH_S = 15.0
#: Seconds in which the player is made: its first use on a machine compiles its search.
_MAKE_S = 600.0
#: The folder of Playout's own code.
_OWN = Path(playout.games.__file__).parents[1]

T = TypeVar("T")


@dataclass(frozen=True)
class PlayerCheck:
    """A match against random moves, with a new player, which is asked for at most `moves` moves.

    It begins in the first position, or at this `share` of another match, and then with the player
    to move.
    """

    name: str
    about: str
    duty: str
    seat: int = 0
    share: float = 0.0
    moves: int = 10_000


CHECKS = (
    PlayerCheck("seat 1", "It moves first.", "play to the end, in time", seat=1),
    PlayerCheck("seat 2", "It moves second.", "play to the end, in time", seat=2),
    PlayerCheck(
        "resumed",
        "It is started when moves have been played, as after an opening or an interruption.",
        "play two moves, in time",
        share=0.7,
        moves=2,
    ),
)
_WIDTH = max(len(each.name) for each in CHECKS) + 2


def main() -> int:
    """Check a program; return the exit code."""
    engines, clock, name = sys.argv[1:]
    game, wanted = games.load(name), Spec("engine", {"name": "program", "file": engines})
    return 0 if passes(lambda: players.load(wanted, game), game, clock) else 1


def passes(make: Callable[[], Player], game: Game, clock: str) -> bool:
    """Print a row for each check up to the first that fails; return whether none has failed."""
    for check in CHECKS:
        click.echo(f"{check.name:{_WIDTH}}", nl=False)
        try:
            click.echo(f"passed: {_seen(check, make, game, clock)}")
        except (PlayerError, SpecError) as problem:
            click.echo(f"FAILED: {problem}")
            return False
        except Exception as error:  # the player may be any program
            click.echo(f"FAILED: it raised {described(error)}")
            return False
    return True


def described(error: BaseException) -> str:
    """Return an exception with the place in the author's file where it was raised."""
    name = f"{type(error).__name__}: {error}".rstrip(": ")
    own = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if not Path(each.filename).is_relative_to(_OWN)
    ]
    return f"{name}, in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else name


def within(seconds: float, what: str, call: Callable[[], T]) -> T:
    """Return the result of a call, made in a thread of its own.

    Raises PlayerError if it takes longer; it then goes on, until the process ends.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise PlayerError(f"{what} has not returned after {seconds:.0f} s")
    if errors and not isinstance(errors[0], Exception):  # it would end this process
        raise PlayerError(f"{what} raised {described(errors[0])}")
    if errors:
        raise errors[0]
    return results[0]


def _seen(check: PlayerCheck, make: Callable[[], Player], game: Game, clock: str) -> str:
    """Play the match of a check; return the observation. Raises PlayerError, SpecError."""
    player = within(_MAKE_S, "the constructor of the player", make)
    try:
        return _played(check, player, game, clock)
    finally:
        player.close()


def _played(check: PlayerCheck, player: Player, game: Game, clock: str) -> str:
    chance = random.Random(1)
    position = _random_match(game, chance, check.share)
    seat = check.seat or position.to_move
    control = parse_time_control(clock)
    its_clock = Clock(control) if control else None
    player.started(seat, "referee", position)
    began, moves, longest_s = time.monotonic(), 0, 0.0
    while not (winner := position.winner) and moves < check.moves:
        asked = time.monotonic()
        if position.to_move == 0:
            action = game.roll(position.state, chance.randrange)
        elif position.to_move != seat:
            action = _lasting(position, chance)
        elif asked - began > _MATCH_S:
            break
        else:
            # Its start takes longer on a busy machine, and is no part of its first move.
            start_s = 0.0 if moves else player.start_s
            timed = None if start_s else its_clock
            if timed:
                timed.start(seat, asked)
            try:
                flag_at = timed.flag_at() if timed else None
                left_s = _MATCH_S if flag_at is None else flag_at - asked
                chosen = within(
                    max(left_s, start_s) + _LIMIT_S,
                    f"choose, at its move {moves + 1},",
                    partial(player.choose, position, Limit(_LIMIT_S)),
                )
                action = _action(chosen)
            except Resigned:
                return f"resigned after {moves} moves"
            moves, now = moves + 1, time.monotonic()
            longest_s = max(longest_s, now - asked)
            if timed and not timed.stop(now):
                raise PlayerError(f"its time was up at its move {moves}, after {now - asked:.1f} s")
            if action not in position.legal_actions:
                raise PlayerError(f"its move {moves}, the action {action}, is not legal")
        position = position.play(action)
    end = {0: "not played to the end", seat: "won", TIE: "tied"}.get(winner, "lost")
    return f"{counted(moves, 'move')}, the longest {longest_s:.2f} s; {end}"


def _action(chosen: object) -> int:
    """Return the action in the result of `choose`. Raises PlayerError."""
    if not isinstance(chosen, PlayResult):
        raise PlayerError(f"choose must return a PlayResult, not {chosen!r}")
    return chosen.action


def _random_match(game: Game, chance: random.Random, share: float) -> Position:
    """Return the position after this share of the moves of a random match."""
    position = Position(game).rolled(chance.randrange)
    while share and not position.winner:
        position = position.play(_lasting(position, chance)).rolled(chance.randrange)
    return position.at(round(share * position.ply)).rolled(chance.randrange)


def _lasting(position: Position, chance: random.Random) -> int:
    """Return a random action, if possible one that does not end the match."""
    actions = [*position.legal_actions]
    chance.shuffle(actions)
    return next((each for each in actions if not position.play(each).winner), actions[0])
