"""Ataxx against a slow implementation of its rules."""

from __future__ import annotations

import random

import pytest

from playout import games
from support.scale import repetitions

Place = tuple[int, int]


class SlowAtaxx:
    """A match of Ataxx, as its rules say it: the owners of pieces by place."""

    def __init__(self, size: int) -> None:
        self.size, self.mover, self.quiet = size, 1, 0
        end = size - 1
        self.pieces = {(0, 0): 1, (end, end): 1, (0, end): 2, (end, 0): 2}

    def near(self, place: Place, steps: int) -> list[Place]:
        """Return the places of the board that are so many steps away."""
        row, column = place
        around = range(-steps, steps + 1)
        at = [(row + down, column + right) for down in around for right in around
              if max(abs(down), abs(right)) == steps]  # fmt: skip
        return [(r, c) for r, c in at if 0 <= r < self.size and 0 <= c < self.size]

    def moves(self, player: int) -> list[int]:
        """Return the actions that are no passes."""
        found = set()
        for place, owner in self.pieces.items():
            if owner == player:
                for steps in (1, 2):
                    for target in self.near(place, steps):
                        if target not in self.pieces:
                            found.add((target if steps == 1 else place, target))
        cells, size = self.size**2, self.size
        return sorted((a * size + b) * cells + c * size + d for (a, b), (c, d) in found)

    def play(self, action: int) -> None:
        self.quiet += 1
        if action < self.size**4:
            begin, target = (divmod(each, self.size) for each in divmod(action, self.size**2))
            if begin == target:
                self.quiet = 0
            else:
                del self.pieces[begin]
            self.pieces[target] = self.mover
            for place in self.near(target, 1):
                if place in self.pieces:
                    self.pieces[place] = self.mover
        self.mover = 3 - self.mover

    def outcome(self) -> int:
        first, second = (list(self.pieces.values()).count(player) for player in (1, 2))
        if first and second and (self.moves(1) or self.moves(2)):
            return games.TIE if self.quiet >= 100 else 0
        return games.TIE if first == second else 1 if first > second else 2


@pytest.mark.parametrize("size", [3, 4, 7, 8])
def test_random_matches_agree_at_every_ply(size: int) -> None:
    game, choose = games.load(f"ataxx(size={size})"), random.Random(size)
    for _ in range(repetitions(1000 if size < 7 else 100, short=1)):
        state, slow = game.initial_state(), SlowAtaxx(size)
        while True:
            actions = game.legal_actions(state)
            assert game.winner(state) == slow.outcome()
            assert game.current_player(state) == slow.mover
            assert {divmod(c, size): owner for c, owner in enumerate(state[2:-1]) if owner} == (
                slow.pieces
            )
            if not actions:
                break
            assert list(actions) == (slow.moves(slow.mover) or [size**4])
            action = choose.choice(actions)
            state = game.next_state(state, action)
            slow.play(action)


def test_moves_are_written_as_in_uai() -> None:
    game = games.load("ataxx")
    state = game.initial_state()
    names = sorted(game.action_name(state, action) for action in game.legal_actions(state))
    assert " ".join(names) == (
        "a6 a7a5 a7b5 a7c5 a7c6 a7c7 b6 b7 f1 f2 g1e1 g1e2 g1e3 g1f3 g1g3 g2"
    )
