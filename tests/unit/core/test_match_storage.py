"""What is stored of matches: budgets of addresses and accounts, limits of matches and of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.protocol.messages import (
    Analysis,
    Code,
    CreateTournament,
    EnterLadder,
    MatchesReported,
    Move,
    Notice,
    ReportMatches,
    Seek,
    Update,
    Welcome,
)
from playout.server.core.match_storage import MATCH_BYTES, MOVE_BYTES, analysis_bytes
from playout.server.core.policy import Policy
from playout.server.core.rate_limits import STORAGE_BURST_S
from playout.server.model.records import (
    MovePlayed,
    Record,
    stored_analysis,
)
from playout.server.storage import Database
from support.hub_harness import HubHarness, MemoryClient, administrator, hello_of, match_between
from support.match_records import match_records
from support.restarts import restarted
from support.tournaments import Bots, member, new_tournament, spec_of

LONG = "nim(chips=1000)"
#: As much analysis as a move may have.
FULL = Analysis(
    win_rate=0.5123456789,
    pv=tuple(2**30 + each for each in range(100)),
    actions=tuple((2**30 + each, 2**40, 0.123456789) for each in range(400)),
    policy=tuple((2**30 + each, 0.123456789) for each in range(400)),
)
LITTLE = Analysis(win_rate=0.5, simulations=1000)
FULL_BYTES = analysis_bytes(stored_analysis(FULL))
#: An hour's worth of this number of bytes is 1 in `STORAGE_BURST_S` seconds.
MB_PER_HOUR = 1e-6 * 3600 / STORAGE_BURST_S


class TwoGuests:
    """Two guests at two addresses, who take one chip at a time, with analysis."""

    def __init__(self, harness: HubHarness, addresses: tuple[str, str]) -> None:
        self.harness = harness
        (ann, first), (bob, second) = (
            guest(harness, name, address)
            for name, address in zip(("Ann", "Bob"), addresses, strict=True)
        )
        self.clients, self.tokens = (ann, bob), (first, second)
        self.match = match_between(*self.clients, game=LONG)
        self.ply = 0

    def move(self, info: Analysis | None) -> MovePlayed:
        """Make the next move, and return the record that is stored."""
        client = self.clients[self.ply % 2]
        client.ask(Move(match=self.match, ply=self.ply, action=0, info=info), Update)
        self.ply += 1
        record = self.harness.stored[-1]
        assert isinstance(record, MovePlayed)
        return record


def guest(harness: HubHarness, name: str, address: str) -> tuple[MemoryClient, str]:
    """A guest, and the token of its session."""
    client = harness.connect(address)
    return client, client.ask(hello_of(name), Welcome).session


def two_guests(first: str = "192.0.2.1", second: str = "192.0.2.2", **policy: float) -> TwoGuests:
    return TwoGuests(HubHarness(stored=True, **policy), (first, second))


def dropped(client: MemoryClient) -> list[str]:
    """The texts of the notices that analysis is dropped."""
    return [each.text for each in client.heard(Notice) if each.code == "analysis_dropped"]


def bytes_of(records: list[Record]) -> int:
    """The bytes of analysis in some records."""
    return sum(
        analysis_bytes(each.info) for each in records if isinstance(each, MovePlayed) and each.info
    )


# Addresses and accounts.


def test_analysis_beyond_the_budget_of_an_address_is_dropped_and_the_match_goes_on() -> None:
    room_for = 3 * FULL_BYTES + MATCH_BYTES + 100 * MOVE_BYTES
    guests = two_guests(stored_mb_per_hour=room_for * MB_PER_HOUR)
    infos = [guests.move(FULL).analysis for _ in range(20)]
    assert infos == [FULL] * 6 + [None] * 14
    for client in guests.clients:
        (text,) = dropped(client)
        assert "an address or account may store" in text
    assert guests.harness.hub.analyses_dropped == 14
    assert not guests.harness.paused
    guests.harness.wait(STORAGE_BURST_S)
    assert [guests.move(FULL).analysis for _ in range(2)] == [FULL, FULL]


def test_two_guests_of_an_address_share_its_budget() -> None:
    room_for = 3 * FULL_BYTES + 2 * MATCH_BYTES + 100 * MOVE_BYTES
    guests = two_guests("192.0.2.1", "192.0.2.1", stored_mb_per_hour=room_for * MB_PER_HOUR)
    assert [guests.move(FULL).analysis for _ in range(5)] == [FULL] * 3 + [None] * 2


def test_sessions_of_an_account_share_its_budget_whatever_their_address() -> None:
    room_for = 2 * FULL_BYTES + 2 * (MATCH_BYTES + 100) + 100 * MOVE_BYTES
    harness = HubHarness(stored=True, stored_mb_per_hour=room_for * MB_PER_HOUR)
    infos = []
    for number in range(3):
        client = harness.connect(f"192.0.2.{number}")
        if number == 0:
            welcome = client.ask(hello_of("Ann", guest=False), Welcome)
        else:
            client.ask(hello_of("Ann", token=welcome.token), Welcome)
        other, _ = guest(harness, f"Bob {number}", f"198.51.100.{number}")
        match = match_between(client, other, game=LONG)
        client.ask(Move(match=match, ply=0, action=0, info=FULL), Update)
        infos.append(harness.stored[-1].analysis)  # type: ignore[union-attr]
    assert infos == [FULL, FULL, None]


def test_moves_that_overdraw_a_budget_are_read_more_slowly() -> None:
    room_for = MATCH_BYTES + 100 + 10 * MOVE_BYTES
    guests = two_guests(stored_mb_per_hour=room_for * MB_PER_HOUR)
    for _ in range(20):
        guests.move(None)
    assert not guests.harness.paused
    while not guests.harness.paused:
        guests.move(None)
    (paused,) = guests.harness.paused
    assert paused[0] in [client.number for client in guests.clients]
    assert 0 < paused[1] <= MOVE_BYTES / room_for * STORAGE_BURST_S


@pytest.mark.parametrize("policy", [{"stored_mb_per_hour": 0.0}, {}])
def test_no_limit_and_the_usual_limit_drop_nothing_of_a_usual_match(
    policy: dict[str, float],
) -> None:
    guests = two_guests("192.0.2.1", "192.0.2.1", **policy)
    assert [guests.move(LITTLE).analysis for _ in range(500)] == [LITTLE] * 500
    assert not guests.harness.paused


def test_matches_of_tournaments_have_no_budget_but_a_limit_of_each_match() -> None:
    harness = HubHarness(stored=True, stored_mb_per_hour=1e-9)
    new_tournament(harness, spec_of(2))
    bots = Bots(harness, *(member(harness, name) for name in ("Ann", "Bob")))
    bots.join(matches=2)
    bots.play()
    assert not harness.paused


# A match, and the whole database.


def test_a_match_has_a_limit_of_analysis() -> None:
    guests = two_guests(analysis_mb_per_match=2.5e-6 * FULL_BYTES)
    assert [guests.move(FULL).analysis for _ in range(4)] == [FULL, FULL, None, None]
    assert guests.move(LITTLE).analysis == LITTLE
    assert ["a match may have" in text for text in dropped(guests.clients[0])] == [True]


def test_a_full_database_stores_no_analysis_and_begins_no_match() -> None:
    guests = two_guests(database_mb=10.0)
    harness, (ann, bob) = guests.harness, guests.clients
    assert guests.move(LITTLE).analysis == LITTLE
    harness.do(harness.hub.database_measured(10_000_000, harness.now))
    assert guests.move(LITTLE).analysis is None
    (text,) = dropped(bob)
    assert "has reached its limit of 10 MB" in text
    assert ann.refused(Seek(game=LONG)) is Code.TOO_MANY
    zoe = administrator(harness, "Zoe")
    assert zoe.refused(EnterLadder(game=LONG, version="1")) is Code.TOO_MANY
    assert zoe.refused(CreateTournament(id=1, spec=spec_of(2))) is Code.TOO_MANY
    assert any("no analysis is stored and no match begins" in line for line in harness.logged)
    harness.do(harness.hub.database_measured(9_000_000, harness.now))
    assert guests.move(LITTLE).analysis == LITTLE
    assert guests.move(LITTLE).analysis == LITTLE
    assert match_between(ann, bob, game=LONG)


# The figures of docs/server-storage.md.


@pytest.mark.parametrize("entries", [0, 1, 5, 10, 15, 20, 25, 30, 60, 100, 200, 400])
@pytest.mark.parametrize("matches", [1, 20])
def test_records_take_no_more_of_the_database_than_is_charged(
    tmp_path: Path, entries: int, matches: int
) -> None:
    actions, policy = FULL.actions[:entries], FULL.policy[:entries]
    info = stored_analysis(Analysis(win_rate=0.51234, actions=actions, policy=policy))
    database = Database(f"sqlite:///{tmp_path}/playout.db")
    database.migrate()
    before, plies = database.size(), 200 // matches
    began = [match_records(each, "ann", "bob") for each in range(matches)]
    database.save([record for records in began for record in records])
    for ply in range(3, plies + 3):
        database.save(
            [
                MovePlayed(match=f"m{each:03}", ply=ply, seat=1, action=7, info=info, at=1.5)
                for each in range(matches)
            ]
        )
    charged = MOVE_BYTES * (plies + 3) + analysis_bytes(info) * plies + 2 * MATCH_BYTES
    pages = 4096 * 12  # those of tables and indexes that are not full
    assert database.size() - before <= charged * matches + pages
    database.close()


def test_two_guests_at_their_limits_store_less_than_50_mb_in_ten_minutes() -> None:
    minutes, policy = 10, Policy()
    rate = policy.stored_mb_per_hour / 3600
    assert 2 * rate * (STORAGE_BURST_S + 60 * minutes) <= 40


def test_guests_at_their_limits_store_no_more_than_the_budgets_allow() -> None:
    rate, seconds = 200.0, 20
    guests = two_guests(stored_mb_per_hour=rate * 3600 / 1e6, analysis_mb_per_match=0)
    for _ in range(seconds):
        for _ in range(40):
            guests.move(FULL)
        guests.harness.wait(1.0)
    charged = bytes_of(guests.harness.stored) + MOVE_BYTES * guests.ply + 2 * MATCH_BYTES
    overdrawn = sum(wait_s for _, wait_s in guests.harness.paused) * rate
    assert charged <= 2 * rate * (STORAGE_BURST_S + seconds) + overdrawn
    assert guests.harness.hub.analyses_dropped > 0


def test_after_a_restart_the_stored_analysis_of_a_match_counts() -> None:
    limit = 1.5e-6 * FULL_BYTES
    guests = two_guests(analysis_mb_per_match=limit)
    assert guests.move(FULL).analysis == FULL
    again = restarted(guests.harness, analysis_mb_per_match=limit)
    bob = again.connect("192.0.2.2")
    bob.ask(hello_of("Bob", session=guests.tokens[1]), Welcome)
    bob.ask(Move(match=guests.match, ply=1, action=0, info=FULL), Update)
    assert again.stored[-1].info is None  # type: ignore[union-attr]
    assert dropped(bob)


def test_only_administrators_report_matches_that_count_as_those_of_the_server() -> None:
    harness = HubHarness(stored=True)
    report = ReportMatches(id=1, tournament="t", at=1.0, rated=True)
    assert harness.client("Ann", guest=False).refused(report) is Code.NOT_ALLOWED
    administrator(harness, "Zoe").ask(report, MatchesReported)


@pytest.mark.parametrize("fault", ["", "it is forged"])
def test_reports_are_charged_also_when_they_are_refused(fault: str) -> None:
    harness = HubHarness(stored=True, stored_mb_per_hour=1.0)
    harness.report_fault = fault
    ann = harness.client("Ann", guest=False)
    report = ReportMatches(id=1, tournament="t", at=1.0, matches="A" * 30_000, whole="B" * 30_000)
    assert 60_000 < 1e6 / 3600 * STORAGE_BURST_S < 120_000
    if fault:
        assert ann.refused(report) is Code.BAD_TOURNAMENT
    else:
        ann.ask(report, MatchesReported)
    assert ann.refused(report) is Code.RATE_LIMITED
