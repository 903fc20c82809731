"""No data is lost when server, clients and database are killed, paused, held or filled.

With `--soak SECONDS`, there are as many kills and stalls as fit into a share of this time.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from playout.protocol.dice import Dice
from playout.server.core.policy import Policy
from playout.server.core.rate_limits import STORAGE_BURST_S
from soak.disturbed_run import (
    COUNTED_S,
    SQLITE,
    THINK_S,
    FaultPlan,
    KillRun,
    MoveRow,
    StallPlan,
    StoredRow,
    has_time,
    play_with_kills,
    play_with_stalls,
    stored,
    turns,
    violations,
    without,
)
from soak.full_disk import store_much
from soak.held_sockets import INPUTS, PATIENCE_S, hold_sockets
from soak.scripted_clients import ReceivedMatch
from support import scale
from support.postgres import Postgres
from support.scale import repetitions

pytestmark = pytest.mark.timeout(300 + scale.soak_s)

#: Seconds of a soak for a kill with the matches until the next one, and for a stall.
KILL_S, STALL_S = 10.0, 4.0
CLOCKS = ("3+0", "300+3")
SOAK_CLOCKS = ("0.05/move", "0.1/move", "1/move", *CLOCKS, "10+0.1")
SOAK_SOCKETS = sorted(INPUTS.keys() - {"none"})
#: The journal of SQLite, which does not grow with the number of records.
JOURNAL_BYTES = 6_000_000


def fault_plan(kills: int, share: float) -> FaultPlan:
    """Return a plan with `kills`, or with those that fit into a share of the soak."""
    if not scale.soak_s:
        return FaultPlan(clients=10, matches=repetitions(20, short=10), kills=kills)
    kills = max(kills, round(share * scale.soak_s / KILL_S))
    return FaultPlan(clients=24, matches=12 * kills, kills=kills)


def check(played: KillRun, plan: FaultPlan) -> None:
    assert played.lost == []
    assert played.matches >= plan.matches
    assert len(played.running) == plan.kills
    assert min(played.running) > 0, "no match was running at a kill"


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.long
def test_nothing_is_lost_with_sqlite() -> None:
    plan = fault_plan(repetitions(3, short=1), 0.2)
    check(play_with_kills(plan), plan)


@pytest.mark.skipif(not (scale.slow or scale.soak_s), reason="only with --slow or --soak")
@pytest.mark.usefixtures("copied_processes")
@pytest.mark.long
def test_no_roll_differs_after_kills() -> None:
    """All rolls follow from the keys, which `violations` checks; no match is lost."""
    plan = replace(fault_plan(30, 0.2), games=("backgammon", "pig", "einstein_wurfelt_nicht"))
    plan = replace(plan, clients=24, matches=max(plan.matches, 500))
    played = play_with_kills(plan)
    check(played, plan)
    print(f"{played.matches} matches, {plan.kills} kills and {played.again} during a start")


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.long
def test_nothing_is_lost_with_postgresql(postgres: Postgres) -> None:
    plan = fault_plan(repetitions(2, short=1), 0.2)
    played = play_with_kills(plan, postgres)
    check(played, plan)
    assert played.outages == 1


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.parametrize("clock", SOAK_CLOCKS if scale.soak_s else CLOCKS)
def test_nothing_is_lost_by_stalls(clock: str) -> None:
    if scale.soak_s:
        stalls = max(2, round(0.2 * scale.soak_s / len(SOAK_CLOCKS) / STALL_S))
        plan = StallPlan(clock, clients=4, matches=3 * stalls, stalls=stalls)
    else:
        matches, stalls = repetitions(6, short=3), repetitions(10, short=2)
        plan = StallPlan(clock, clients=4, matches=matches, stalls=stalls, longest_s=1.0)
    played = play_with_stalls(plan)
    assert played.lost == []
    assert len(played.stalls_s) == plan.stalls


@pytest.mark.usefixtures("copied_processes")
@pytest.mark.parametrize("name", SOAK_SOCKETS if scale.soak_s else ["half requests"])
def test_held_sockets_disturb_neither_players_nor_health(name: str) -> None:
    seconds = max(0.5, 0.02 * scale.soak_s)
    seen = hold_sockets(name, count=500 if scale.soak_s else 100, seconds=seconds)
    assert seen.opened >= 100
    assert 0 < seen.most_files < seen.opened
    assert seen.back_s < PATIENCE_S, "files of the server remain open"
    assert (seen.unanswered, seen.honest.fault) == (0, "")
    assert 0 < seen.health_work_s < 1.0
    assert seen.honest.matches >= 1


@pytest.mark.usefixtures("copied_processes")
def test_guests_store_no_more_than_is_allowed() -> None:
    seconds = max(1.0, 0.05 * scale.soak_s)
    done = store_much(seconds)
    assert done.moves > 0
    allowed = 2e6 * Policy().stored_mb_per_hour * (STORAGE_BURST_S + seconds) / 3600
    assert 0 < done.grown < allowed + JOURNAL_BYTES
    assert done.notified or seconds < 20.0


# Violations. Ann takes one chip of three, and Bob the other two.

NIM = "nim(chips=3)"
MATCH = StoredRow(
    game=NIM,
    players=("Ann", "Bob"),
    winner=2,
    returns=(0.0, 1.0),
    reason="rules",
    moves=[MoveRow(0, 1, 0), MoveRow(1, 2, 1)],
)
ENDED = {"winner": 2, "returns": [0.0, 1.0], "reason": "rules"}
ANN = ReceivedMatch(match="m", client="Ann", game=NIM, players=("Ann", "Bob"), seat=1, moves=[0, 1])
ANN.ended = ENDED
BOB = replace(ANN, client="Bob", seat=2)


def test_a_received_and_stored_match_is_not_lost() -> None:
    assert violations({"m": MATCH}, [ANN, BOB]) == []
    away = replace(BOB, moves=[0])
    assert violations({"m": MATCH}, [ANN, away]) == [], "its end came while Bob was away"


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (MATCH._replace(moves=[MoveRow(0, 1, 0)]), "by the rules it is ('rules', 0"),
        (MATCH._replace(moves=[MoveRow(0, 1, 0), MoveRow(2, 2, 1)]), "its plies are [0, 2]"),
        (MATCH._replace(moves=[MoveRow(0, 1, 0), MoveRow(0, 1, 0)]), "its plies are [0, 0]"),
        (MATCH._replace(moves=[MoveRow(0, 1, 0), MoveRow(1, 2, 2)]), "is illegal"),
        (MATCH._replace(moves=[MoveRow(0, 2, 0), MoveRow(1, 2, 1)]), "not by the player to move"),
        (MATCH._replace(moves=[MoveRow(0, 1, 1), MoveRow(1, 2, 0)]), "the moves were [0, 1]"),
        (MATCH._replace(winner=1, returns=(1.0, 0.0)), "by the rules it is ('rules', 2"),
        (MATCH._replace(reason="abandonment"), "by the rules it is ('rules', 2"),
        (MATCH._replace(winner=None, returns=(None, None), reason=None), "by the rules it is"),
        (MATCH._replace(players=("Bob", "Ann")), "between ('Ann', 'Bob')"),
    ],
)
def test_a_match_that_is_stored_differently_is_lost(match: StoredRow, shown: str) -> None:
    assert shown in "\n".join(violations({"m": match}, [ANN, BOB]))


def test_a_match_that_is_not_stored_is_lost() -> None:
    assert "not in the database" in "\n".join(violations({}, [ANN, BOB]))


# Bob's time is up before his first move; Ann moved at 10 s.

ON_TIME = MATCH._replace(moves=[MoveRow(0, 1, 0)], reason="void", winner=0, returns=(0.0, 0.0))
ENDED_ON_TIME = {"winner": 0, "returns": [0.0, 0.0], "reason": "void"}
SENT = [
    replace(ANN, moves=[0], ended=ENDED_ON_TIME, sent_at={-1: 0.0, 0: 10.0}, ended_at=12.0),
    replace(BOB, moves=[0], ended=ENDED_ON_TIME, sent_at={-1: 1.0}, ended_at=12.5),
]


def test_a_match_that_ends_by_time_is_lost_unless_its_client_was_late() -> None:
    assert "its result is" in "\n".join(violations({"m": ON_TIME}, SENT))
    assert violations({"m": ON_TIME}, SENT, late={"m"}) == []
    wrong = ON_TIME._replace(reason="time", winner=2, returns=(0.0, 1.0))
    assert "its result is" in "\n".join(violations({"m": wrong}, SENT, late={"m"}))
    running = ON_TIME._replace(reason="rules")
    assert "its result is" in "\n".join(violations({"m": running}, SENT))


def test_the_delays_of_a_client_count_within_its_turn_and_outside_pauses() -> None:
    delays = without([(9.5, 10.5), (11.0, 11.5), (12.2, 13.0)], [(11.1, 11.4), (13.0, 14.0)])
    assert delays == [(9.5, 10.5), (11.0, 11.1), (11.4, 11.5), (12.2, 13.0)]
    assert turns(ON_TIME, SENT, delays) == pytest.approx([0.5 + 0.2 + THINK_S + COUNTED_S])
    late = replace(SENT[1], sent_at={-1: 1.0, 1: 10.1})
    assert turns(ON_TIME, [SENT[0], late], delays) == pytest.approx([0.1 + THINK_S + COUNTED_S])
    assert turns(ON_TIME, SENT, without(delays, [(9.0, 13.0)])) == [THINK_S + COUNTED_S]


def test_a_client_is_late_if_its_clock_runs_out() -> None:
    assert [has_time("0.05/move", [each]) for each in (0.049, 0.051)] == [True, False]
    assert [has_time("1+0", [0.6, each]) for each in (0.3, 0.5)] == [True, False]
    assert [has_time("0.1/move", [0.2, each]) for each in (0.09, 0.11)] == [True, False]
    assert [has_time("1+0.2", [2.0, each]) for each in (0.1, 0.3)] == [True, False]
    assert THINK_S + COUNTED_S < 0.05, "a client without delays is never late"


KEY = "5e" * 32
PIG = replace(
    ANN,
    game="pig(winscore=20)",
    moves=[0, 2],
    ended=ENDED | {"reason": "resignation", "key": KEY},
    commitment=Dice("m", KEY).commitment,
)


def test_a_roll_that_does_not_follow_from_the_key_is_found() -> None:
    right = replace(PIG, moves=[0, Dice("m", KEY).at(1)(6)])
    wrong = replace(PIG, moves=[0, (right.moves[1] + 1) % 6])
    for record, expected in ((right, False), (wrong, True)):
        assert ("does not follow from the key" in "\n".join(violations({}, [record]))) is expected
    other = replace(right, commitment="0f" * 32)
    assert "does not belong to its commitment" in "\n".join(violations({}, [other]))


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ([ANN], "expected two clients with a record of it, not ['Ann']"),
        ([ANN, replace(BOB, ended=None)], "it has not ended"),
        ([ANN, replace(BOB, ended=ENDED | {"winner": 1})], "it ended with ('rules', 1"),
        ([ANN, replace(BOB, moves=[0, 1, 0])], "the moves were [0, 1, 0]"),
    ],
)
def test_a_match_that_clients_received_differently_or_not_at_all_is_lost(
    told: list[ReceivedMatch], shown: str
) -> None:
    assert shown in "\n".join(violations({"m": MATCH}, told))


TABLES = """
CREATE TABLE matches
    (id, game, first, second, winner, first_return, second_return, reason, dice_key);
CREATE TABLE moves ("match", ply, seat, action);
INSERT INTO matches VALUES ('m', 'nim(chips=3)', 'Ann', 'Bob', 2, 0.0, 1.0, 'rules', NULL);
INSERT INTO moves VALUES ('m', 1, 2, 1), ('m', 0, 1, 0);
"""


def test_the_database_is_read_without_the_server(tmp_path: Path) -> None:
    file = tmp_path / "matches.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(TABLES)
    assert stored(f"{SQLITE}{file}") == {"m": MATCH}
