"""Leaderboards: which matches count, ratings that are found again, and histories."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.messages import Fixture
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.ratings.bradley_terry import ELO
from playout.ratings.leaderboard import (
    ANCHOR,
    POINTS,
    Leaderboard,
    NotedRating,
    PlayerVersion,
    RatedGame,
    RatedMatch,
    RatingBook,
    RatingPoint,
    TournamentVerdict,
    counted_game,
    due_entries,
    history,
)
from playout.server.tournament import formats
from playout.server.tournament.results import Results
from support.fixtures import NAMES, fixture, ledger_of, pair, spec

STRENGTHS = {"Ann": 0.0, "Bob": -200.0, "Cem": 120.0, "Dee": 300.0}
FIRST_MOVE = 50.0


def leaderboard_of(game: str, played: list[RatedGame]) -> Leaderboard:
    """The leaderboard of a book that got these games at once."""
    book = RatingBook(game)
    book.add(played)
    return book.leaderboard()


def simulated(seed: int, matches: int) -> list[RatedGame]:
    """Random matches by the model without ties; Ann plays most."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(matches):
        others = list(rng.choice(["Bob", "Cem", "Dee"], 2, replace=False))
        first, second = others if number % 4 == 0 else rng.permutation(["Ann", others[0]])
        ahead = (STRENGTHS[first] - STRENGTHS[second] + FIRST_MOVE) / ELO
        winner = 1 if rng.random() < 1 / (1 + math.exp(-ahead)) else 2
        found.append(RatedGame(((str(first), ""), (str(second), "")), winner, float(number)))
    return found


def rated_of(fixtures: list[Fixture]) -> list[RatedMatch]:
    """The same matches as the database would list them."""
    return [
        RatedMatch(each.match, each.players, each.players, each.winner, float(at), "t")
        for at, each in enumerate(fixtures)
        if each.winner
    ]


def verdict_of(spec: TournamentSpec, fixtures: list[Fixture]) -> TournamentVerdict:
    versions = {each.name: each.version for each in spec.entrants}
    return TournamentVerdict(ledger_of(spec, fixtures).counted_matches, versions)


def counted(rated: list[RatedMatch], verdict: TournamentVerdict | None) -> list[RatedGame]:
    return [game for each in rated if (game := counted_game(each, verdict))]


def noted_after(played: list[RatedGame], every: int) -> dict[PlayerVersion, list[NotedRating]]:
    """The points that are noted if the ratings are computed after so many matches each time."""
    book, matches = RatingBook("nim"), dict[PlayerVersion, int]()
    noted: dict[PlayerVersion, list[NotedRating]] = {}
    for first in range(0, len(played), every):
        book.add(played[first : first + every])
        board = book.leaderboard()
        assert board.anchor
        for each in due_entries(board, matches):
            player = each.name, each.version
            matches[player] = each.matches
            point = RatingPoint(each.last_at, each.rating, each.error, each.matches)
            noted.setdefault(player, []).append(NotedRating(point, board.anchor))
    return noted


def test_without_matches_nobody_is_rated() -> None:
    assert leaderboard_of("nim", []) == Leaderboard(game="nim")


@pytest.mark.parametrize("seed", range(5))
def test_known_strengths_are_within_the_error_bars(seed: int) -> None:
    """Each of 4 values of a seed is within its error in 95 %: of 20 in all, one is off at most."""
    found = leaderboard_of("nim", simulated(seed, 2000))
    assert found.anchor == ("Ann", "")
    off = [
        abs(each.rating - ANCHOR - STRENGTHS[each.name]) / each.error
        for each in found.entries
        if each.name != "Ann"
    ]
    assert found.first_move is not None
    assert found.first_move_error is not None
    off.append(abs(found.first_move - FIRST_MOVE) / found.first_move_error)
    assert sum(each > 1 for each in off) <= 1
    assert max(off) < 2
    assert [each.name for each in found.entries] == ["Dee", "Cem", "Ann", "Bob"]


def test_the_anchor_has_1500_and_all_matches_are_counted_for_both() -> None:
    played = [
        RatedGame((("Ann", ""), ("Bob", "")), 1, 1.0),
        RatedGame((("Bob", ""), ("Ann", "")), 1, 2.0),
        RatedGame((("Bob", ""), ("Cem", "")), -1, 3.0),
        RatedGame((("Cem", ""), ("Bob", "")), 2, 4.0),
    ]
    found = leaderboard_of("nim", played)
    counts = {e.name: (e.matches, e.won, e.tied, e.lost, e.last_at) for e in found.entries}
    assert counts == {"Ann": (2, 1, 0, 1, 2.0), "Bob": (4, 2, 1, 1, 4.0), "Cem": (2, 0, 1, 1, 4.0)}
    (bob,) = (each for each in found.entries if each.name == "Bob")
    assert (found.matches, found.anchor) == (4, ("Bob", ""))
    assert (bob.rating, bob.error) == (ANCHOR, 0)


def test_the_ratings_of_one_tournament_are_the_tournaments_own() -> None:
    whole = spec("round_robin", 4, rounds=3, anchor="Ann")
    fixtures, winners = [], itertools.cycle((1, 2, 1, -1, 1))
    for key, _, (one, other), _ in formats.load(whole).pairs({}):
        players = NAMES[one], NAMES[other]
        fixtures.append(fixture(key, 1, next(winners), players=players))
        fixtures.append(fixture(key, 2, next(winners), players=players[::-1]))
    own = Results(ledger_of(whole, fixtures)).report()
    verdict = verdict_of(whole, fixtures)
    found = leaderboard_of("nim", counted(rated_of(fixtures), verdict))
    assert found.anchor == ("Ann", "1")
    ours = {each.name: (each.rating - ANCHOR, each.error) for each in found.entries}
    for entrant, estimate in zip(own.entrants, own.ratings, strict=True):
        assert ours[entrant.name] == pytest.approx((estimate.value, estimate.error), abs=0.06)
    assert found.first_move == pytest.approx(own.first_move.value, abs=0.06)
    assert len({rating for rating, _ in ours.values()}) == 4


def test_only_whole_unrepeated_pairs_of_a_tournament_count() -> None:
    fixtures = [
        *pair((1, 1, 1), 1, 2),
        *pair((2, 1, 1), 1, 0),
        *pair((2, 1, 1), 1, 1, attempt=2),
        *pair((3, 1, 1), 1, 2, repeated=True),
        pair((4, 1, 1), 1, 2)[0],
    ]
    verdict = verdict_of(spec(rounds=4), fixtures)
    assert verdict.counted == {fixtures[place].match for place in (0, 1, 4, 5)}
    rated = rated_of(fixtures)
    assert len(counted(rated, verdict)) == 4
    assert len(counted(rated, None)) == len(rated), "of a tournament that is not known, all do"


def test_a_player_has_a_rating_for_each_version() -> None:
    entrants = (Entrant("Ann", "1"), Entrant("Bob", "2.0"))
    rated = [
        RatedMatch("m1", ("Ann", "Bob"), ("Anna", "Bob"), 1, 1.0, "t"),
        RatedMatch("m2", ("Bob", "Ann"), ("Bob", "Anna"), 1, 2.0, None),
        RatedMatch("m3", ("Bob", "Bot"), ("Bob", "Bot"), 1, 3.0, None, ("", "uct(time=1)")),
    ]
    verdict = TournamentVerdict({"m1"}, {each.name: each.version for each in entrants})
    played = counted(rated[:1], verdict) + counted(rated[1:], None)
    assert [each.players for each in played] == [
        (("Anna", "1"), ("Bob", "2.0")),
        (("Bob", ""), ("Anna", "")),
        (("Bob", ""), ("Bot", "uct(time=1)")),
    ]
    found = leaderboard_of("nim", played)
    assert {(each.name, each.version) for each in found.entries} == {
        ("Anna", "1"), ("Anna", ""), ("Bob", ""), ("Bob", "2.0"), ("Bot", "uct(time=1)")
    }  # fmt: skip


def test_a_match_of_a_ladder_counts_for_the_versions_of_its_players() -> None:
    one, other = ("Ann", "Bob"), ("1", "")
    (game,) = counted([RatedMatch("m", one, one, 1, 0.0, None, other)], None)
    assert game.players == (("Ann", "1"), ("Bob", ""))


def test_a_history_ends_with_the_present_rating_and_grows_surer() -> None:
    played = simulated(7, 600)
    board = leaderboard_of("nim", played)
    (dee,) = (each for each in board.entries if each.name == "Dee")
    points = history(board, dee, noted_after(played, 10)["Dee", ""])
    assert POINTS // 2 < len(points) <= POINTS
    assert (points[-1].rating, points[-1].error) == (dee.rating, dee.error)
    assert points[-1].matches == dee.matches
    assert [each.at for each in points] == sorted({each.at for each in points})
    errors = [each.error for each in points if each.error]  # 0 while Dee was the anchor
    assert errors[0] > 2 * errors[-1]
    middle = points[len(points) // 2]
    until = [each for each in played if each.at <= middle.at]
    assert middle.matches == sum("Dee" in (a[0], b[0]) for (a, b), *_ in until)


def test_a_player_of_few_matches_has_a_point_for_each() -> None:
    played = simulated(3, 8)
    board = leaderboard_of("nim", played)
    own = sum("Bob" in (a[0], b[0]) for (a, b), *_ in played)
    (bob,) = (each for each in board.entries if each.name == "Bob")
    assert len(history(board, bob, noted_after(played, 1)["Bob", ""])) == own


def test_noted_ratings_are_shown_against_the_present_anchor() -> None:
    """Bob plays most at first, and Ann from the third match on."""
    results = [("Ann", "Bob"), ("Cem", "Bob"), ("Cem", "Ann"), ("Ann", "Cem"), ("Ann", "Dee")]
    played = [
        RatedGame(((one, ""), (other, "")), 1, float(at)) for at, (one, other) in enumerate(results)
    ]
    board = leaderboard_of("nim", played)
    assert board.anchor == ("Ann", "")
    noted = noted_after(played, 1)["Cem", ""]
    assert noted[0].anchor == ("Bob", "")
    (bob, cem) = (each for name in ("Bob", "Cem") for each in board.entries if each.name == name)
    shown = history(board, cem, noted)
    assert shown[0].rating == pytest.approx(noted[0].point.rating + bob.rating - ANCHOR, abs=0.1)


@given(st.data())
def test_kept_ratings_are_those_computed_from_nothing(data: st.DataObject) -> None:
    """In whatever steps matches are added, of tournaments, too, whose matches are replaced."""
    played = simulated(data.draw(st.integers(0, 9)), 40)
    book = RatingBook("nim")
    ends = data.draw(st.lists(st.integers(0, 40), max_size=5).map(sorted))
    cup: list[RatedGame] = []
    for begin, end in itertools.pairwise([0, *ends, 40]):
        some = played[begin:end]
        match data.draw(st.sampled_from(("none", "added", "replaced"))):
            case "none":
                book.add(some)
            case "added":
                book.add(some, "cup")
                cup += some
            case "replaced":
                cup += some
                book.replace("cup", data.draw(st.permutations(cup)))
    assert book.leaderboard() == leaderboard_of("nim", played)
