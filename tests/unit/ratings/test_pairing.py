"""playout.ratings.pairing: the next pair of contenders."""

from __future__ import annotations

from collections.abc import Mapping

from playout.ratings.pairing import Contender, Meeting, meeting, next_pair


def contenders(*ratings: float) -> list[Contender]:
    """Contenders of different accounts, free from the first match on."""
    return [Contender(index, f"a{index}", rating, 0) for index, rating in enumerate(ratings)]


def test_the_first_pair_is_of_neighbours() -> None:
    all_ = contenders(1000, 1400, 1410, 1900)
    assert next_pair(all_, all_[1:], {}) == (1, 2)


def test_the_one_that_has_waited_longest_comes_first() -> None:
    all_ = [each._replace(since=9 - each.number) for each in contenders(1000, 1100, 1200)]
    assert next_pair(all_, all_, {}) == (2, 1)


def test_neighbours_meet_in_turn() -> None:
    all_ = contenders(1000, 1100, 1200)
    met: dict[Meeting, int] = {}
    pairs = []
    for number in range(1, 7):
        found = next_pair(all_, all_, met)
        assert found is not None
        pairs.append(meeting(*found))
        met[meeting(*found)] = number
        all_ = [each._replace(since=number) if each.number in found else each for each in all_]
    assert sorted(pairs[:3]) == [(0, 1), (0, 2), (1, 2)]
    assert sorted(pairs[3:]) == [(0, 1), (0, 2), (1, 2)]


def test_two_that_have_just_met_wait_while_others_play() -> None:
    all_ = [each._replace(since=5) for each in contenders(1000, 1100, 1200, 1300)]
    met: Mapping[Meeting, int] = {(0, 1): 5}
    assert next_pair(all_, all_[:2], met, frozenset({(2, 3)})) is None
    assert next_pair(all_, all_[:2], met) == (0, 1)


def test_the_free_ones_wait_for_one_that_is_nearer() -> None:
    all_ = contenders(1000, 1001, 1002, 1003, 1004, 2000, 2001, 2002, 2003, 2004)
    free, running = [all_[0], all_[9]], frozenset({(1, 2), (5, 6)})
    assert next_pair(all_, free, {}, running) is None
    assert next_pair(all_, free, {}) == (0, 9), "nobody else will be free"


def test_versions_of_one_account_do_not_meet() -> None:
    one, other = contenders(1000, 1000)
    other = other._replace(account=one.account)
    assert next_pair([one, other], [one, other], {}) is None


def test_no_contender_meets_an_opponent_that_it_plays_already() -> None:
    all_ = contenders(1000, 1000)
    assert next_pair(all_, all_, {}, frozenset({(0, 1)})) is None
