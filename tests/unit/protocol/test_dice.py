"""Dice: the numbers that follow from a key, without bias, and rolls that are verified."""

from __future__ import annotations

import hashlib
import hmac
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2_contingency, chisquare

from playout import games
from playout.games import Position
from playout.protocol.dice import Dice, numbers_of, verified_rolls
from support.scale import repetitions
from support.variants import CHANCE

DICE = Dice("34735dab09", "0f" * 32)


def test_the_number_of_a_ply_is_the_documented_one() -> None:
    digest = hmac.new(b"\x0f" * 32, b"34735dab09:7:0", hashlib.sha256).hexdigest()
    assert DICE.at(7)(36) == int(digest, 16) % 36
    assert DICE.commitment == hashlib.sha256(b"\x0f" * 32).hexdigest()


@pytest.mark.parametrize("name", CHANCE)
def test_an_outcome_has_the_numbers_that_select_it(name: str) -> None:
    game = games.load(name)
    position = Position(game).rolled(random.Random(1).randrange)
    for state in (position.states[0], position.state):
        if game.current_player(state) == 0:
            selected = [
                game.roll(state, lambda n, number=number: number)
                for number in range(sum(game.chances(state)))
            ]
            for outcome in set(selected):
                n, numbers = numbers_of(game, state, outcome)
                assert n == len(selected)
                assert [number for number in range(n) if selected[number] == outcome] == list(
                    numbers
                )


def test_each_match_and_ply_has_another_number() -> None:
    many = 2**128
    numbers = {DICE.at(ply)(many) for ply in range(50)}
    numbers |= {
        replace(DICE, match="34735dab0a").at(1)(many),
        Dice(DICE.match, "0e" * 32).at(1)(many),
    }
    assert len(numbers) == 52


def test_numbers_of_the_last_incomplete_multiple_are_rejected() -> None:
    """With more than half of all numbers as one multiple, nearly every second one is rejected."""
    n, key = 2**255 + 1, b"\x0f" * 32
    rejected = 0
    for ply in range(40):
        counter = 0
        while True:
            text = f"{DICE.match}:{ply}:{counter}".encode()
            number = int(hmac.new(key, text, hashlib.sha256).hexdigest(), 16)
            if number < n:
                break
            counter += 1
        rejected += counter
        assert DICE.at(ply)(n) == number
    assert rejected > 10


def test_the_key_is_not_shown_by_accident() -> None:
    assert DICE.key not in repr(DICE) + str(DICE)


@pytest.mark.parametrize("spec", CHANCE)
def test_a_wrong_roll_is_found(spec: str) -> None:
    game, draw = games.load(spec), random.Random(1)
    position, wrong = Position(game), None
    while not position.winner and position.ply < 60:
        if position.to_move:
            position = position.play(draw.choice(position.legal_actions))
            continue
        right = game.roll(position.state, DICE.at(position.ply))
        others = [each for each in position.legal_actions if each != right]
        if wrong is None and position.ply > 20:
            wrong, right = position.ply, others[0]
        position = position.play(right)
    found = list(verified_rolls(position, DICE))
    assert [each.ply for each in found if not each.is_right] == [wrong]
    assert all(position.game.current_player(position.states[each.ply]) == 0 for each in found)
    later = list(verified_rolls(position, DICE, opening=wrong or 0))
    assert later == [each for each in found if each.ply >= (wrong or 0)]


def test_rolls_have_their_chances_by_value_by_pair_and_by_player() -> None:
    """Goodness of fit and independence, for rolls of backgammon; a million with --slow."""
    game, count, plies = games.load("backgammon"), repetitions(1_000_000, short=8000), 100
    start = Position(game, [0])
    state = start.play(start.legal_actions[0]).state
    assert state[0] == 0
    place = {outcome: at for at, outcome in enumerate(game.legal_actions(state))}
    chances = np.array(game.chances(state)) / sum(game.chances(state))
    drawn = random.Random(1)
    values, pairs = np.zeros((2, len(place))), np.zeros((len(place), len(place)))
    for match in range(count // plies):
        dice = Dice(f"{match:x}", f"{drawn.getrandbits(256):064x}")
        rolls = [place[game.roll(state, dice.at(ply))] for ply in range(plies)]
        for ply, value in enumerate(rolls):
            values[ply % 2, value] += 1  # the players take turns
        for one, other in pairwise(rolls):
            pairs[one, other] += 1
    by_pair = np.outer(chances, chances)
    found = {
        "value": chisquare(values.sum(axis=0), count * chances),
        "pair": chisquare(pairs.ravel(), (pairs.sum() * by_pair).ravel()),
        "player 1": chisquare(values[0], count / 2 * chances),
        "player 2": chisquare(values[1], count / 2 * chances),
        "both players": chi2_contingency(values),
    }
    print({name: round(float(each.pvalue), 3) for name, each in found.items()})
    assert all(0.001 < each.pvalue < 0.999 for each in found.values())
