"""Luck of rolls: its expectation is 0, and results without it have the same one."""

from __future__ import annotations

import functools
import random
from fractions import Fraction

import numpy as np
import pytest

from playout import games
from playout.games import Game, Position, State
from playout.ratings.luck import (
    MOST,
    Expectation,
    interval,
    luck,
    luck_of_rolls,
    shares_without_luck,
)
from playout.ratings.pairs import Pair, PairScore


def result(game: Game, state: State) -> float:
    first, second = game.returns(state)
    return first - second


def perfect(game: Game) -> Expectation:
    """Return the expected result of player 1 if both play as well as possible."""

    @functools.cache
    def value(state: State) -> float:
        if game.winner(state):
            return result(game, state)
        after = [value(game.next_state(state, each)) for each in game.legal_actions(state)]
        if state[0] == 0:
            return float(np.dot(game.chances(state), after)) / sum(game.chances(state))
        return max(after) if state[0] == 1 else min(after)

    return value


def guessed(state: State) -> float:
    """Return a value that says nothing of the position, but is always the same for it."""
    return random.Random(str(state)).choice([-1.0, 1.0])


def matches(game: Game) -> list[tuple[Fraction, Position]]:
    """Return all matches of a policy with their probabilities: the parity of the state decides."""
    found, waiting = [], [(Fraction(1), Position(game))]
    while waiting:
        chance, position = waiting.pop()
        if position.winner:
            found.append((chance, position))
            continue
        actions = position.legal_actions
        if position.to_move == 0:
            weights = game.chances(position.state)
            shares = [Fraction(weight, sum(weights)) for weight in weights]
            outcomes = zip(shares, actions, strict=True)
            waiting += [(chance * share, position.play(each)) for share, each in outcomes]
        else:
            waiting.append((chance, position.play(actions[sum(position.state) % len(actions)])))
    return found


GAME = games.load("pig(winscore=5,diceoutcomes=3,horizon=6)")


@pytest.mark.parametrize("expected", [guessed, perfect(GAME)], ids=["guessed", "perfect"])
def test_results_without_luck_have_the_same_expectation(expected: Expectation) -> None:
    """Whatever the values, by all matches of players that are far from perfect."""
    found = matches(GAME)
    assert len(found) > 30
    assert sum(chance for chance, _ in found) == 1
    mean = sum(float(chance) * result(GAME, each.state) for chance, each in found)
    lucks = [luck(each, expected) for _, each in found]
    of_luck = sum(float(chance) * one for (chance, _), one in zip(found, lucks, strict=True))
    assert of_luck == pytest.approx(0, abs=1e-12)
    assert abs(mean) > 0.01
    assert max(map(abs, lucks)) <= MOST + 1e-12
    if expected is guessed:  # the bound is reached, and keeps the expectation
        assert max(map(abs, lucks)) == pytest.approx(MOST)


def test_between_perfect_players_all_is_luck_but_the_value_of_the_game() -> None:
    expected, draw, seen = perfect(GAME), random.Random(1), set()
    for _ in range(20):
        position = Position(GAME)
        while not position.winner:
            sign = 3 - 2 * position.to_move

            def after(action: int, before: Position = position, sign: int = sign) -> float:
                return sign * expected(before.play(action).state)

            position = position.play(max(position.legal_actions, key=after)).rolled(draw.randrange)
        seen.add(position.winner)
        without = GAME.returns(position.state)[0] - luck(position, expected)
        assert without == pytest.approx((1 + expected(GAME.initial_state())) / 2)
    assert {1, 2} <= seen


def test_rolls_of_backgammon_count_by_their_weights() -> None:
    """A value of 1 after doubles alone: they have 6 of 36 chances, and 21 outcomes."""
    game = games.load("backgammon")
    position = Position(game, (0, 0, 30, 109))  # the opening roll 21, a move, 11 and its first half

    def doubles(state: State) -> float:
        return float(state[3] == state[4] != 0)

    found = dict(luck_of_rolls(position, doubles))
    assert found == {0: 0.0, 2: pytest.approx(5 / 6 / 2)}
    assert not dict(luck_of_rolls(position, doubles, opening=3))


def test_the_luck_of_a_pair_is_taken_from_the_points_of_its_first_entrant() -> None:
    """One of 1 point is worth half of the share; the second entrant had the opposite luck."""
    first, second = Pair((1, 1, 1), "pig", (0, 1), 0), Pair((1, 1, 2), "pig", (1, 0), 0)
    played = [(first, PairScore(1, 0.5)), (second, PairScore(0, 0))]
    luck = {(1, 1, 1): 0.5, (1, 1, 2): -0.25}
    assert shares_without_luck(0, played, luck) == [0.5, 1 - 0.125]
    assert shares_without_luck(1, played, luck) == [0.5, 0.125]
    assert shares_without_luck(1, played, {(1, 1, 1): 0.5}) == [0.5]


def test_intervals_of_tournaments_of_equal_players_contain_the_true_share() -> None:
    """With luck and without it: in 95 % of 300 simulated tournaments."""
    found, expected, draw = matches(GAME), perfect(GAME), random.Random(1)
    ended = [(GAME.returns(each.state)[0], luck(each, expected)) for _, each in found]
    weights = [float(chance) for chance, _ in found]
    contained, widths = [0, 0], [0.0, 0.0]
    for _ in range(300):
        played, lucks = [], {}
        drawn = iter(draw.choices(ended, weights, k=80))
        for number, ((first, own), (second, other)) in enumerate(zip(drawn, drawn, strict=True)):
            pair = Pair((1, 1, number), "pig", (0, 1), 0)
            played.append((pair, PairScore(first, 1 - second)))
            lucks[pair.key] = own - other
        without = shares_without_luck(0, played, lucks)
        for at, shares in enumerate(([score.total / 2 for _, score in played], without)):
            _, low, high = interval(shares)
            assert low is not None
            assert high is not None
            contained[at] += low <= 0.5 <= high
            widths[at] += high - low
    assert all(0.92 <= each / 300 <= 0.98 for each in contained), contained
    assert widths[1] < 0.95 * widths[0]


def test_an_interval_is_that_of_students_distribution() -> None:
    found = interval([0.4, 0.5, 0.6])
    assert found.mean == pytest.approx(0.5)
    assert (found.low, found.high) == (
        pytest.approx(0.25159, abs=1e-4),
        pytest.approx(0.74841, abs=1e-4),
    )
    assert interval([0.3]) == (0.3, None, None)


def test_an_interval_of_shares_is_within_0_to_1() -> None:
    assert interval([0.2, 0.8]) == (0.5, 0.0, 1.0)
    assert interval([1.4, 1.5]) == (1.0, pytest.approx(0.81469, abs=1e-4), 1.0)
    assert interval([-0.1]) == (0.0, None, None)
