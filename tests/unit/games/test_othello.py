"""Othello on boards of any size, against a slow implementation of its rules."""

from __future__ import annotations

import random

import pytest

from playout import games
from support.scale import repetitions

Place = tuple[int, int]
WAYS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


class SlowOthello:
    """A match of Othello, as its rules say it: the owners of discs by their places."""

    def __init__(self, size: int) -> None:
        low, high = size // 2 - 1, size // 2
        self.size, self.mover = size, 1
        self.discs = {(low, low): 2, (high, high): 2, (low, high): 1, (high, low): 1}

    def turned(self, player: int, place: Place) -> list[Place]:
        """Return the discs that change sides when the player puts a disc on a place."""
        found = []
        for down, right in WAYS:
            line = [(place[0] + down, place[1] + right)]
            while self.discs.get(line[-1]) == 3 - player:
                line.append((line[-1][0] + down, line[-1][1] + right))
            if self.discs.get(line[-1]) == player:
                found += line[:-1]
        return found

    def moves(self, player: int) -> list[int]:
        """Return the cells where a player can put a disc."""
        places = [divmod(cell, self.size) for cell in range(self.size**2)]
        free = [place for place in places if place not in self.discs]
        return [row * self.size + col for row, col in free if self.turned(player, (row, col))]

    def play(self, action: int) -> None:
        if action < self.size**2:
            place = divmod(action, self.size)
            turned = self.turned(self.mover, place)
            self.discs.update(dict.fromkeys([place, *turned], self.mover))
        self.mover = 3 - self.mover

    def outcome(self, passes: bool) -> int:
        if self.moves(self.mover) or (passes and self.moves(3 - self.mover)):
            return 0
        first, second = (list(self.discs.values()).count(player) for player in (1, 2))
        return games.TIE if first == second else 1 if first > second else 2


@pytest.mark.parametrize(
    ("size", "passes"), [(4, False), (6, True), (10, True), (12, False), (14, True), (16, True)]
)
def test_random_matches_agree_at_every_ply(size: int, passes: bool) -> None:
    game = games.load(f"othello(size={size},passes={passes})")
    choose = random.Random(size)
    for _ in range(repetitions(1000 if size < 10 else 100, short=1)):
        state, slow = game.initial_state(), SlowOthello(size)
        while True:
            actions = game.legal_actions(state)
            assert game.winner(state) == slow.outcome(passes)
            assert game.current_player(state) == slow.mover
            assert [state[2 + cell] for cell in range(size**2)] == [
                slow.discs.get(divmod(cell, size), 0) for cell in range(size**2)
            ]
            if not actions:
                break
            assert list(actions) == (slow.moves(slow.mover) or [size**2])
            action = choose.choice(actions)
            state = game.next_state(state, action)
            slow.play(action)
