"""The open seeks: what fits, found in an index as by trying all, and fair lists of them."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from msgspec import structs

from playout.protocol.messages import (
    Code,
    Hello,
    List,
    Listing,
    Outcome,
    Overview,
    Reason,
    Seek,
    Seeking,
    SubscribeLobby,
    Welcome,
)
from playout.server.core.fair_shares import FairShares
from playout.server.core.handlers.feeds import LISTED, SHOWN, LastOutcomes
from playout.server.core.lobby import Lobby, OpenSeek
from playout.server.core.sessions import Session
from support.hub_harness import HubHarness, MemoryClient, hello_of

NAMES = ("Ann", "Bob", "Cyd", "Dan")
CLOCKS = (None, "300+3", "none", "86400/move", "172800/move")


def a_seek(draw: random.Random, number: int, sessions: list[Session]) -> OpenSeek:
    """A random seek of one of the sessions."""
    terms: dict[str, object] = {
        "game": draw.choice(("nim", "hex")),
        "clock": draw.choice(CLOCKS),
        "seat": draw.choice((None, 1, 2)),
        "rated": draw.random() < 0.2,
    }
    if draw.random() < 0.3:
        terms["opponent"] = draw.choice(NAMES)
    elif draw.random() < 0.1:
        terms["link"] = f"link {number}"
    return OpenSeek(f"seek {number}", draw.choice(sessions), Seek(**terms))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_a_partner_is_the_oldest_seek_that_fits(seed: int) -> None:
    draw = random.Random(seed)
    hello = Hello(protocol_min=1, protocol_max=1, name="any")
    sessions = [Session(f"key {name}", name, hello, opened=name == "Dan") for name in NAMES]
    lobby, opened = Lobby(), list[OpenSeek]()
    for number in range(150):
        seek = a_seek(draw, number, sessions)
        listed = [each for each in opened if not each.request.link]
        fitting = next((each for each in listed if seek.fits(each)), None)
        assert lobby.partner(seek) is (None if seek.request.link else fitting)
        lobby.add(seek)
        opened.append(seek)
        if draw.random() < 0.4:
            gone = opened.pop(draw.randrange(len(opened)))
            lobby.remove(gone.id)
        assert list(lobby) == [each for each in opened if not each.request.link]
        for each in sessions:
            assert lobby.of_session(each) == [seek for seek in opened if seek.session is each]
            challenges = [seek for seek in opened if seek.opponent_skeleton == each.skeleton]
            assert lobby.challenges(each.skeleton) == challenges


def from_address(harness: HubHarness, name: str, address: str) -> MemoryClient:
    """A guest at an address."""
    client = harness.connect(address)
    client.welcome = client.ask(hello_of(name), Welcome)
    return client


def test_an_address_has_a_limit_of_seeks_and_of_matches_for_all_its_players() -> None:
    harness = HubHarness(seeks_per_address=3, matches_per_address=5)
    near = [from_address(harness, f"Near {number}", "192.0.2.7") for number in range(4)]
    seek = Seek(game="nim", opponent="Zoe")
    for client in near[:3]:
        client.ask(seek, Seeking)
    assert near[3].refused(seek) is Code.TOO_MANY
    from_address(harness, "Far", "192.0.2.8").ask(seek, Seeking)
    near[0].hang_up()
    assert near[3].refused(structs.replace(seek, matches=4)) is Code.TOO_MANY
    near[3].ask(structs.replace(seek, matches=3), Seeking)


def test_lists_have_fair_shares_by_address_and_by_person() -> None:
    harness = HubHarness(seeks_per_address=0, connections_per_address=0)
    flooder = from_address(harness, "Flooder", "192.0.2.7")
    for _ in range(100):
        flooder.ask(Seek(game="nim", opponent="Nobody"), Seeking)
    accomplices = [from_address(harness, f"Other {n}", "192.0.2.7") for n in range(LISTED + 10)]
    for each in accomplices:
        each.ask(Seek(game="nim", opponent="Nobody"), Seeking)
    honest = from_address(harness, "Zoe", "192.0.2.8")
    own = honest.ask(Seek(game="hex"), Seeking).seek
    overview = honest.ask(SubscribeLobby(), Overview)
    listing = honest.ask(List(), Listing)
    for found, most in ((overview, SHOWN), (listing, LISTED)):
        assert len(found.seeks) == len(found.players) == most
        assert own in [each.seek for each in found.seeks]
        assert "Zoe" in [each.name for each in found.players]
        assert sum(each.name == "Flooder" for each in found.seeks) == 1
    assert overview.totals.seeks == 100 + LISTED + 10 + 1


def test_players_that_are_away_take_no_place_in_a_list_from_those_that_are_not() -> None:
    harness = HubHarness(connections_per_address=0)
    for number in range(SHOWN):
        away = harness.connect(f"192.0.2.{number}")
        hello = hello_of(f"Away {number}", guest=False, role="human")
        away.welcome = away.ask(hello, Welcome)
        away.ask(Seek(game="nim", clock="86400/move", seat=1), Seeking)
        away.hang_up()
    zoe = from_address(harness, "Zoe", "198.51.100.1")
    own = zoe.ask(Seek(game="hex"), Seeking).seek
    seeks = zoe.ask(SubscribeLobby(), Overview).seeks
    assert len(seeks) == SHOWN
    assert seeks[0].seek == own
    assert away.welcome
    back = harness.connect("192.0.2.1")
    back.ask(hello_of(away.welcome.name, session=away.token), Welcome)
    names = [each.name for each in back.ask(List(), Listing).seeks]
    assert names[:2] == [away.welcome.name, "Zoe"]


@pytest.mark.parametrize(
    ("owners", "most", "chosen"),
    [
        (["a1"] * 5, 3, [0, 1, 2]),
        (["a1", "a1", "a1", "b1"], 2, [0, 3]),
        (["a1", "a1", "a2", "a2", "b1", "b1"], 4, [0, 2, 4, 5]),
        (["a1", "b1", "c1"], 9, [0, 1, 2]),
        ([], 3, []),
    ],
)
def test_a_fair_share(owners: list[str], most: int, chosen: list[int]) -> None:
    shares = FairShares[int]()
    for number, (address, person) in enumerate(owners):
        shares.add(number, address, person)
    assert shares.first(most) == chosen


@pytest.mark.parametrize("seed", range(8))
def test_shares_are_fair_as_things_come_and_go(seed: int) -> None:
    draw, shares, owners = random.Random(seed), FairShares[int](), dict[int, tuple[str, str]]()
    for number in range(120):
        owners[number] = owner = draw.choice("aaaabc"), draw.choice("1112")
        shares.add(number, *owner)
        if draw.random() < 0.4:
            shares.remove(gone := draw.choice(list(owners)))
            del owners[gone]
        most = draw.randrange(1, 20)
        chosen = shares.first(most)
        assert chosen == sorted(chosen)
        assert len(chosen) == min(most, len(owners))
        left = owners.keys() - set(chosen)
        for part in (1, 2):  # the addresses, and the persons
            given = Counter(owners[each][:part] for each in chosen)
            short = {owners[each][:part] for each in left}
            for one, other in itertools.product(short, given):
                assert one[:-1] != other[:-1] or given[one] >= given[other] - 1
        for each in left:  # a person's oldest things are chosen
            assert all(own < each for own in chosen if owners[own] == owners[each])


def test_persons_of_a_lower_rank_come_first() -> None:
    shares = FairShares[str](ranks=3)
    for name, rank in (("guest", 1), ("watcher", 2), ("member", 0), ("another", 0)):
        shares.add(name, "an address", name, rank)
    assert shares.first(2) == ["member", "another"]
    assert shares.first(3) == ["guest", "member", "another"]
    assert shares.first(4, ranks=2) == ["guest", "member", "another"]
    shares.add("another", "an address", "another", 2)
    assert shares.first(2) == ["guest", "member"]
    shares.add("guest", "another address", "guest", 0)
    assert shares.first(4) == ["guest", "watcher", "member", "another"]


def test_users_with_several_connections_are_listed_once() -> None:
    harness = HubHarness(seeks_per_address=0)
    zoe = harness.client("Zoe", guest=False)
    shown = zoe.ask(List(), Listing).players
    again = harness.client("Zoe", token=zoe.account_token)
    assert zoe.ask(List(), Listing).players == shown
    zoe.hang_up()
    assert again.ask(List(), Listing).players == shown
    totals = again.ask(SubscribeLobby(), Overview).totals
    assert (totals.humans, totals.bots) == (0, 1)


def an_outcome(winner: str) -> Outcome:
    return Outcome("m", "nim", (winner, "Bob"), 5, 1, Reason.RULES, f"{winner} won")


def test_short_matches_of_one_address_do_not_push_out_other_results() -> None:
    outcomes = LastOutcomes()
    outcome = an_outcome("Zoe")
    outcomes.add(("b", "Zoe"), outcome)
    for number in range(5 * SHOWN):
        outcomes.add(("a", f"name {number % 60}"), an_outcome("Flooder"))
    assert len(list(outcomes)) == SHOWN
    assert outcome in list(outcomes)
