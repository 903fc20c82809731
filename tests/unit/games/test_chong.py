"""Chong against a slow implementation of its rules, and against what is known of random play."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from playout import games
from playout.games import Position
from playout.games.chong import QUIET_PLIES
from playout.games.core.random import seeded
from support.scale import repetitions

Place = tuple[int, int]


@dataclass
class Slow:
    """A match of Chong, as its rules say it: pieces by their places, and all positions so far."""

    pawns: dict[int, Place] = field(default_factory=lambda: {1: (0, 3), 2: (7, 4)})
    stones: dict[int, set[Place]] = field(default_factory=lambda: {1: set(), 2: set()})
    mover: int = 1
    quiet: int = 0
    seen: Counter[object] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.seen[self.position()] += 1

    def position(self) -> object:
        """Return what two visits of a position have in common."""
        stones = (frozenset(self.stones[1]), frozenset(self.stones[2]))
        return self.mover, self.pawns[1], self.pawns[2], stones

    def is_free(self, place: Place) -> bool:
        occupied = {*self.pawns.values(), *self.stones[1], *self.stones[2]}
        return place not in occupied and min(place) >= 0 and max(place) <= 7

    def moves(self) -> list[int]:
        """Return the actions of the player to move, whether the match is over or not."""
        row, column = self.pawns[self.mover]
        found = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                near, far = (row + down, column + right), (row + 2 * down, column + 2 * right)
                if abs(down) + abs(right) == 1 and self.is_free(near):
                    found.append(8 * near[0] + near[1])
                if near in self.stones[self.mover] and self.is_free(far):
                    found.append(8 * far[0] + far[1])
        if len(self.stones[self.mover]) < {1: 6, 2: 7}[self.mover]:
            inner = [(r, c) for r in range(1, 7) for c in range(8)]
            found += [64 + 8 * r + c for r, c in inner if self.is_free((r, c))]
        return sorted(found)

    def play(self, action: int) -> None:
        place = divmod(action % 64, 8)
        if action < 64:
            self.pawns[self.mover] = place
            self.quiet += 1
        else:
            self.stones[self.mover].add(place)
            self.quiet = 0
        self.mover = 3 - self.mover
        self.seen[self.position()] += 1

    def outcome(self) -> int:
        if self.pawns[1][0] == 7:
            return 1
        if self.pawns[2][0] == 0:
            return 2
        if not self.moves():
            return 3 - self.mover
        return games.TIE if self.seen[self.position()] >= 3 or self.quiet >= QUIET_PLIES else 0


def test_random_matches_agree_at_every_ply() -> None:
    game, choose = games.load("chong"), random.Random(1)
    for _ in range(repetitions(1000, short=8)):
        state, slow = game.initial_state(), Slow()
        while True:
            assert game.winner(state) == slow.outcome()
            assert game.current_player(state) == slow.mover
            actions = game.legal_actions(state)
            assert list(actions) == ([] if slow.outcome() else slow.moves())
            if not actions:
                break
            action = choose.choice(actions)
            state = game.next_state(state, action)
            slow.play(action)


def test_random_play_is_as_long_and_ties_as_often_as_in_the_original() -> None:
    """Its own players and rules: 59 % ties, 58 plies on average."""
    game = games.load("chong")
    assert isinstance(game, games.KernelGame)
    rng, trace = seeded(1), np.empty(game.max_plies, dtype=np.int64)
    plies, outcomes = [], Counter[int]()
    for _ in range(2000):
        board = game.board()
        plies.append(game.kernels.playout(board, rng, trace))
        outcomes[int(board[1])] += 1
    assert 56 < sum(plies) / len(plies) < 60
    assert 0.55 < outcomes[games.TIE] / len(plies) < 0.63
    assert max(plies) < QUIET_PLIES


def test_playouts_count_the_positions_before_them() -> None:
    game, choose = games.load("chong"), random.Random(1)
    assert isinstance(game, games.KernelGame)
    rng, trace = seeded(1), np.empty(game.max_plies, dtype=np.int64)
    for _ in range(200):
        state, after = game.initial_state(), game.initial_state()
        for _ in range(choose.randrange(40)):
            if game.winner(after):
                break
            state = after
            moves = [action for action in game.legal_actions(state) if action < 64]
            after = game.next_state(state, choose.choice(moves))
        board = game.board(state)
        plies = game.kernels.playout(board, rng, trace)
        for action in trace[:plies].tolist():
            state = game.next_state(state, action)
        assert game.state(board) == state


def played(names: str) -> games.State:
    """Return the position after these moves."""
    game = games.load("chong")
    state = Position.from_names(game, names.split()).state
    return state


def test_the_third_visit_of_a_position_is_a_tie_unless_a_stone_was_put() -> None:
    there_and_back = "Pd1 Pe6 Pd0 Pe7 "
    assert games.load("chong").winner(played(2 * there_and_back)) == games.TIE
    assert games.load("chong").winner(played(there_and_back + "Pd1 Pe6 Pd0")) == 0
    with_stones = there_and_back + "a1 h1 " + there_and_back
    assert games.load("chong").winner(played(with_stones)) == 0
    assert games.load("chong").winner(played(with_stones + there_and_back)) == games.TIE


def test_a_pawn_jumps_over_an_own_stone_in_eight_directions_but_not_over_another() -> None:
    game, state = games.load("chong"), played("e1 d1")
    names = [game.action_name(state, action) for action in game.legal_actions(state)]
    assert [name for name in names if name.startswith("P")] == ["Pc0", "Pe0", "Pf2"]


def test_the_pawn_that_reaches_the_far_row_wins() -> None:
    state = played("Pd1 a1 Pd2 b1 Pd3 c1 Pd4 h2 Pd5 h3 Pd6 h4 Pd7")
    game = games.load("chong")
    assert game.winner(state) == 1
    assert game.legal_actions(state) == ()


def test_a_step_clicks_the_pawn_and_a_stone_its_cell_alone() -> None:
    chong = games.load("chong")
    first = chong.initial_state()
    assert chong.clicked(first, 0) == (3, 0)
    assert chong.clicked(first, 64) == (0,)
    assert chong.clicked(first, 64 + 63) == (63,)
