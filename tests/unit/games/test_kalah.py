"""Kalah of any size, which OpenSpiel has not, against a slow implementation of its rules."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from playout import games
from support.scale import repetitions

Place = tuple[int, int]  # the player whose row it is, and the pit; pit `houses` is the store


class SlowKalah:
    """A match of Kalah, as its rules say it: seeds by place."""

    def __init__(self, houses: int, seeds: int) -> None:
        self.houses, self.mover = houses, 1
        self.seeds = Counter({(p, pit): seeds for p in (1, 2) for pit in range(houses)})

    def moves(self) -> list[Place]:
        return [(self.mover, pit) for pit in range(self.houses) if self.seeds[self.mover, pit]]

    def play(self, place: Place) -> None:
        path = [(p, pit) for p in (1, 2) for pit in range(self.houses + (p == self.mover))]
        hand, self.seeds[place] = self.seeds[place], 0
        for _ in range(hand):
            place = path[(path.index(place) + 1) % len(path)]
            self.seeds[place] += 1
        player, pit = place
        opposite = 3 - player, self.houses - 1 - pit
        captures = player == self.mover and pit < self.houses and self.seeds[place] == 1
        if captures and self.seeds[opposite]:
            self.seeds[player, self.houses] += 1 + self.seeds[opposite]
            self.seeds[place] = self.seeds[opposite] = 0
        if pit < self.houses:
            self.mover = 3 - self.mover

    def outcome(self) -> int:
        rows = [[self.seeds[p, pit] for pit in range(self.houses + 1)] for p in (1, 2)]
        if any(rows[0][:-1]) and any(rows[1][:-1]):
            return 0
        first, second = map(sum, rows)
        return games.TIE if first == second else 1 if first > second else 2


@pytest.mark.parametrize(("houses", "seeds"), [(1, 5), (3, 6), (4, 2), (6, 4)])
def test_random_matches_agree_at_every_ply(houses: int, seeds: int) -> None:
    game, choose = games.load(f"kalah(houses={houses},seeds={seeds})"), random.Random(houses)
    for _ in range(repetitions(1000, short=5)):
        state, slow = game.initial_state(), SlowKalah(houses, seeds)
        while True:
            assert game.winner(state) == slow.outcome()
            assert game.current_player(state) == slow.mover
            actions = game.legal_actions(state)
            if not actions:
                break
            first = 1 if slow.mover == 1 else houses + 2
            assert [(slow.mover, action - first) for action in actions] == slow.moves()
            action = choose.choice(actions)
            state = game.next_state(state, action)
            slow.play((slow.mover, action - first))
