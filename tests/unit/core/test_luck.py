"""Luck on a hub: which matches an analyst measures, and what follows from its reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from playout.protocol.messages import Notice
from playout.protocol.tournament_spec import Betting, Openings, Sprt
from playout.ratings.sequential_tests import EProcess
from playout.server.ladder.standings import ladder_table
from playout.server.model.records import LuckMeasured, MatchEnded, MatchStarted, TournamentEnded
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import writer
from playout.server.tournament.results import Results
from support.hub_harness import HubHarness, MemoryClient
from support.ladders import LadderPlay
from support.tournaments import (
    NAMES,
    Bots,
    last,
    member,
    new_tournament,
    spec_of,
    stored_tournament,
)

GAME = "pig(diceoutcomes=3,horizon=12,winscore=5)"


def playing(harness: HubHarness, game: str = GAME, **fields: Any) -> tuple[MemoryClient, Bots]:
    """A tournament of two entrants, its watcher and the entrants."""
    zoe, _ = new_tournament(harness, spec_of(games=(game,), openings=Openings(), **fields))
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:2]))
    bots.join()
    return zoe, bots


def is_over(harness: HubHarness) -> bool:
    return any(isinstance(each, TournamentEnded) for each in harness.stored)


def test_a_tournament_waits_for_the_luck_of_its_matches() -> None:
    harness = HubHarness()
    zoe, bots = playing(harness, evaluation="/evaluations/pig.npz")
    bots.play()
    assert not harness.matches
    assert not is_over(harness)
    for luck in (0.25, -0.5):
        (order,) = harness.lucks
        assert (order.game, order.evaluation) == (GAME, "/evaluations/pig.npz")
        harness.measured((luck, 0.0))
    assert is_over(harness)
    assert [each.luck for each in last(zoe).values()] == [0.25, -0.5]
    stored = stored_tournament(harness.stored)
    assert [each.ended and each.ended.luck for each in stored.matches] == [
        "0.2500 0.0000",
        "-0.5000 0.0000",
    ]
    ledger = Ledger.restored(stored)
    assert ledger.luck == {(1, 1, 1): 0.75}
    (both,) = Results(ledger).head_to_heads()
    (score,) = ledger.results.values()
    assert both.without_luck
    assert both.without_luck.score == pytest.approx((score.total - 0.75) / 2)
    assert (both.without_luck.pairs, both.without_luck.low) == (1, None)
    report = Results(ledger).report()
    csv = writer("csv")(report).splitlines()
    assert csv[0].endswith(",without_luck,without_luck_low,without_luck_high")
    shares = [float(line.split(",")[-3]) for line in csv[1:]]
    assert sum(shares) == 1
    assert both.without_luck.score in shares
    assert "score without luck" in writer("html")(report)
    assert json.loads(writer("json")(report))["standings"][0]["without_luck"]["pairs"] == 1


def test_a_report_shows_the_interval_of_scores_without_luck() -> None:
    """Of two pairs with the shares 0.47 and 0.53."""
    harness = HubHarness()
    _, bots = playing(harness, rounds=2)
    while not is_over(harness):
        bots.play(1)
        while harness.lucks:
            stored = stored_tournament(harness.stored)
            (match,) = (each for each in stored.matches if each.ended and not each.ended.luck)
            assert match.ended
            share = 0.47 if (match.started.fixture or "").startswith("1.1.1.") else 0.53
            is_first = match.started.players[0] == NAMES[0]
            harness.measured((match.ended.returns[0] - (share if is_first else 1 - share),))
    (both,) = Results(Ledger.restored(stored_tournament(harness.stored))).head_to_heads()
    assert both.without_luck
    assert both.without_luck.score == pytest.approx(0.5)
    assert both.without_luck.high == pytest.approx(0.5 + 12.7062 * 0.03, abs=1e-3)
    assert both.without_luck.variance == pytest.approx(0.0018)


def test_matches_without_rolls_have_no_luck() -> None:
    harness = HubHarness()
    _, bots = playing(harness, "tic_tac_toe")
    bots.play()
    assert not harness.lucks
    assert is_over(harness)


def test_a_failed_measurement_is_tried_again_and_then_given_up() -> None:
    """The tournament ends without the luck of that match; the next start measures it."""
    harness = HubHarness()
    zoe, bots = playing(harness)
    bots.play()
    first = harness.lucks[0]
    harness.measured(None, "the process has exited")
    harness.wait(0.6)
    harness.measured((0.5,))
    assert harness.lucks == [first]
    harness.measured(None, "the process has exited")
    harness.wait(1.1)
    harness.measured(None, "the process has exited")
    assert [each.luck for each in last(zoe).values()] == [None, 0.5]
    assert [each.code for each in zoe.heard(Notice)] == ["luck_unknown"]
    assert is_over(harness)
    stored = stored_tournament(harness.stored)
    assert Results(Ledger.restored(stored)).head_to_heads()[0].without_luck is None
    again = HubHarness()
    unknown = [each for each in stored.matches if each.ended and each.ended.luck is None]
    again.do(again.hub.measure_luck(unknown, again.now))
    assert [each.moves for each in again.lucks] == [first.moves]


def test_a_tournament_waits_for_luck_after_a_restart_too() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    bots.play()
    harness.measured((0.5,))
    stored = stored_tournament(harness.stored)
    unknown = [each for each in stored.matches if each.ended and each.ended.luck is None]
    again = HubHarness()
    again.hub.restore_tournaments([stored])
    again.do(again.hub.measure_luck(unknown, again.now))
    again.do(again.hub.restore_matches([], again.now))
    again.wait(0.1)  # pairs are made in slices
    assert not is_over(again)
    again.measured((0.25,))
    again.wait(0.1)
    assert is_over(again)


def test_matches_of_running_tournaments_are_measured_first() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    bots.play()
    old = [
        structs.replace(
            each, started=structs.replace(each.started, match=f"old-{number}", tournament=None)
        )
        for number, each in enumerate(stored_tournament(harness.stored).matches)
    ]
    again = HubHarness()
    again.do(again.hub.measure_luck(old, again.now))
    _, bots = playing(again)
    bots.play()
    for _ in range(3):  # the first old match was begun before
        again.measured((0.0,))
    assert is_over(again)
    assert [each.analysis for each in again.lucks] == ["old-1"]


def test_a_game_without_evaluation_is_not_measured_again() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    bots.play()
    for _ in range(2):
        harness.measured((), "there is no evaluation of it")
    assert is_over(harness)
    assert {each.luck for each in harness.stored if isinstance(each, LuckMeasured)} == {"none"}


def test_a_test_without_luck_ends_if_luck_cannot_be_measured() -> None:
    harness = HubHarness()
    test = Sprt(without_luck=True)
    zoe, bots = playing(harness, format="sprt", rounds=0, sprt=test, concurrency=1)
    bots.play(30)
    while not harness.lucks:
        bots.play(10)
    harness.measured((), "/srv/olga/pig.npz is for go, not for pig")
    assert is_over(harness)
    assert zoe.heard(Notice)[-1].text.endswith(
        "the luck of matches: pig.npz is for go, not for pig"
    )


@pytest.mark.parametrize(
    "terms",
    [
        {"format": "sprt", "sprt": Sprt(elo0=0, elo1=200, without_luck=True)},
        {"format": "race", "betting": Betting(elo1=200, without_luck=True)},
    ],
    ids=["sprt", "race"],
)
def test_a_test_without_luck_counts_pairs_when_their_luck_is_known(terms: dict[str, Any]) -> None:
    """Whoever wins was lucky: without luck, the second entrant scores 80 % of the points."""
    harness = HubHarness()
    _, bots = playing(harness, rounds=40, concurrency=1, **terms)
    tested: list[int] = []
    while not is_over(harness):
        bots.play(1)
        while harness.lucks:
            stored = stored_tournament(harness.stored)
            ledger = Ledger.restored(stored)
            tested.append(len(ledger.llrs) + sum(len(e.curve) for e in curves(ledger)))
            assert tested[-1] == len(ledger.luck)
            (match,) = (each for each in stored.matches if each.ended and not each.ended.luck)
            assert match.ended
            second = match.started.players.index(NAMES[1])
            harness.measured((match.ended.returns[0] - (0.2, 0.8)[1 - second],))
    assert 1 < max(tested) < 35
    ledger = Ledger.restored(stored_tournament(harness.stored))
    decided = {"sprt": ledger.accepted == "H0", "race": bool(ledger.race and ledger.race.winner)}
    assert decided[ledger.spec.format]


def curves(ledger: Ledger) -> list[EProcess]:
    return list(ledger.race.processes.values()) if ledger.race else []


def test_a_ladder_shows_ratings_without_luck_also_after_a_restart(tmp_path: Path) -> None:
    """Ann wins most matches, all by luck: without it she scores 45 to 52 % of the points."""
    play = LadderPlay(tmp_path, {"Ann": 200.0, "Bob": 0.0}, GAME)
    for name in ("Ann", "Bob"):
        play.enter(name)
    for number in range(8):
        play.play(1)
        ended = [each for each in play.harness.stored if isinstance(each, MatchEnded)][-1]
        share = 0.45 + 0.01 * number
        first = share if started_of(play, ended.match).first == "Ann" else 1 - share
        play.harness.measured((ended.returns[0] - first,))
    found = []
    for _ in range(2):
        table = ladder_table(play.ladder.state, str, (), clock="none")
        found.append({each.name: each for each in table.standings})
        play.kill()
    ann = found[0]["Ann"]
    assert ann.without_luck
    assert ann.without_luck_error
    assert ann.error
    assert ann.without_luck < 1500 < ann.rating
    assert ann.without_luck_error < 0.6 * ann.error
    assert found[0]["Bob"].without_luck == pytest.approx(3000 - ann.without_luck, abs=0.11)
    assert [(each.without_luck, each.without_luck_error) for each in found[1].values()] == [
        (each.without_luck, each.without_luck_error) for each in found[0].values()
    ]


def started_of(play: LadderPlay, match: str) -> MatchStarted:
    stored = (each for each in play.harness.stored if isinstance(each, MatchStarted))
    return next(each for each in stored if each.match == match)
