"""Start positions: random openings, and a position from the middle of a match."""

from __future__ import annotations

import itertools
import random
import statistics

import click

from games import Game, State

ATTEMPTS = 1000
#: The middle of a match, in per cent of the median plies of random matches.
MIDDLE_PERCENT = 40
RANDOM_MATCHES = 101


def opening(game: Game, plies: int, seed: int) -> list[int]:
    """Return `plies` random legal moves; equal seeds give equal moves.

    After them the match is not over, and the player to move cannot win at once. Raises
    ClickException if ATTEMPTS attempts find no such moves.
    """
    choose = random.Random(seed)
    for _ in range(ATTEMPTS):
        moves, state = _random_moves(game, plies, choose)
        if len(moves) == plies and _quiet(game, state):
            return moves
    raise click.ClickException(f"{game} has no opening of {plies} plies without an immediate win")


def middle(game: Game) -> list[int]:
    """Return moves that lead to the middle of a match, always the same.

    There is a choice of moves: OpenSpiel's search returns at once where only one is legal.
    """
    choose = random.Random(1)
    lengths = [len(_random_moves(game, game.max_plies, choose)[0]) for _ in range(RANDOM_MATCHES)]
    plies = int(statistics.median(lengths) * MIDDLE_PERCENT / 100)
    found = (opening(game, plies, seed=seed) for seed in itertools.count(1))
    return next(
        moves for moves in found if len(game.legal_actions(states_after(game, moves)[-1])) > 1
    )


def states_after(game: Game, moves: list[int]) -> list[State]:
    """Return the states of a match after `moves`, including the first one."""
    states = [game.initial_state()]
    for move in moves:
        states.append(game.next_state(states[-1], move))
    return states


def _random_moves(game: Game, most: int, choose: random.Random) -> tuple[list[int], State]:
    moves, state = list[int](), game.initial_state()
    while len(moves) < most and (actions := game.legal_actions(state)):
        moves.append(choose.choice(actions))
        state = game.next_state(state, moves[-1])
    return moves, state


def _quiet(game: Game, state: State) -> bool:
    mover = game.current_player(state)
    return not game.winner(state) and all(
        game.winner(game.next_state(state, action)) != mover for action in game.legal_actions(state)
    )
