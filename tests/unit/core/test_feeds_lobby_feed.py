"""Subscribers of the lobby are sent an overview, then the differences, each once."""

from __future__ import annotations

import random

from playout.protocol.messages import (
    Cancel,
    LobbyTotals,
    News,
    Outcome,
    Overview,
    Person,
    Reason,
    Resign,
    Seek,
    Seeking,
    SubscribeLobby,
)
from playout.server.core.handlers.feeds import SHOWN
from support.hub_harness import (
    GAME,
    WON,
    HubHarness,
    MemoryClient,
    match_between,
    only,
    play,
    sit_down,
)

TICK_S = 1.0


def test_an_overview_has_players_seeks_matches_and_outcomes() -> None:
    harness = HubHarness()
    ann, bob, over = sit_down(harness)
    play(over, (ann, bob), WON)
    running = match_between(ann, bob, clock="10+1")
    harness.client("Eve", role="spectator")
    zoe = harness.client("Zoe", role="human")
    seek = zoe.ask(Seek(game="nim"), Seeking).seek
    overview = zoe.ask(SubscribeLobby(id="l"), Overview)
    assert overview.re == "l"
    assert overview.players == (
        Person("Ann", "bot", guest=True),
        Person("Bob", "bot", guest=True),
        Person("Zoe", "human", guest=True),
    )
    assert [each.seek for each in overview.seeks] == [seek]
    assert [each.match for each in overview.matches] == [running]
    assert overview.outcomes == (
        Outcome(over, GAME, ("Ann", "Bob"), 5, 1, Reason.RULES, "Ann won"),
    )
    assert overview.totals == LobbyTotals(1, 2, 1, 1, 1, {"tic_tac_toe": 1})


def test_subscribers_are_sent_news_once_a_second() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann"), harness.client("Bob")
    eve = harness.client("Eve", role="spectator")
    eve.say(SubscribeLobby())
    assert heard(eve) == []
    match = match_between(ann, bob)
    assert heard(eve) == []
    harness.wait(TICK_S)
    (news,) = heard(eve)
    assert [each.match for each in news.began] == [match]
    assert news.totals == LobbyTotals(0, 2, 1, 0, 1, {"tic_tac_toe": 1})
    assert news.came == news.left == news.opened == news.closed == news.gone == ()
    ann.say(Resign(match=match))
    bob.hang_up()
    harness.wait(TICK_S)
    news = heard(eve)[-1]
    assert (news.gone, news.left) == ((match,), (Person("Bob", "bot", guest=True),))
    assert [(each.match, each.winner, each.reason) for each in news.outcomes] == [
        (match, 2, Reason.RESIGNATION)
    ]


def test_subscribers_are_sent_nothing_without_news() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    eve.say(SubscribeLobby())
    play(match, (ann, bob), WON[:3])
    harness.wait(10)
    assert heard(eve) == []


def test_seeks_that_came_and_went_between_two_updates_are_not_sent() -> None:
    harness = HubHarness()
    ann = harness.client("Ann")
    eve = harness.client("Eve", role="spectator")
    eve.say(SubscribeLobby())
    seek = ann.ask(Seek(game=GAME), Seeking).seek
    ann.say(Cancel(seek=seek))
    harness.wait(TICK_S)
    assert heard(eve) == []


def test_a_match_that_began_and_ended_between_two_news_is_sent_as_an_outcome() -> None:
    harness = HubHarness()
    eve = harness.client("Eve", role="spectator")
    eve.say(SubscribeLobby())
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), WON)
    harness.wait(TICK_S)
    (news,) = heard(eve)
    assert [each.match for each in news.outcomes] == [match]
    assert news.began == news.gone == ()


def test_names_with_an_account_come_before_guests_and_count_once() -> None:
    harness = HubHarness()
    eve = harness.client("Eve", role="human")
    ada = harness.client("Ada", guest=False)
    harness.client("Ada", token=ada.account_token)
    overview = eve.ask(SubscribeLobby(), Overview)
    assert overview.players == (Person("Ada", "bot"), Person("Eve", "human", guest=True))
    assert (overview.totals.bots, overview.totals.humans) == (1, 1)


def test_a_long_list_is_cut_and_counted_and_fills_up_again() -> None:
    harness = HubHarness()
    clients = [harness.client(f"bot {number}") for number in range(SHOWN + 2)]
    eve = harness.client("Eve", role="spectator")
    overview = eve.ask(SubscribeLobby(), Overview)
    assert len(overview.players) == SHOWN
    assert overview.totals.bots == SHOWN + 2
    clients[0].hang_up()
    harness.wait(TICK_S)
    (news,) = heard(eve)
    assert news.left == (Person("bot 0", "bot", guest=True),)
    assert news.came == (Person(f"bot {SHOWN}", "bot", guest=True),)


def test_news_wait_until_their_records_are_stored() -> None:
    harness = HubHarness()
    eve = harness.client("Eve", role="spectator")
    eve.say(SubscribeLobby())
    harness.slow = True
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match_between_unheard(ann, bob)
    harness.wait(TICK_S)
    assert heard(eve) == []
    harness.commit()
    assert len(only(heard(eve), News).began) == 1


def test_nothing_is_left_of_subscribers_that_left() -> None:
    harness = HubHarness()
    eve, zoe = (harness.client(name, role="spectator") for name in ("Eve", "Zoe"))
    for client in (eve, zoe):
        client.say(SubscribeLobby())
    eve.hang_up()
    zoe.hang_up()
    assert harness.is_empty()


def test_overview_and_news_lead_to_the_overview_of_a_newcomer() -> None:
    source = random.Random(7)
    harness = HubHarness()
    eve = harness.client("Eve", role="spectator")
    view = FeedView(eve.ask(SubscribeLobby(), Overview))
    clients: list[MemoryClient] = []
    for number in range(400):
        act(harness, clients, source, number)
        if source.random() < 0.3:
            harness.wait(TICK_S)
            for news in heard(eve):
                view.apply(news)
            eve.inbox.clear()
            newcomer = harness.client("Newcomer", role="spectator")
            assert vars(view) == vars(FeedView(newcomer.ask(SubscribeLobby(), Overview)))
            newcomer.hang_up()


def act(
    harness: HubHarness, clients: list[MemoryClient], source: random.Random, number: int
) -> None:
    """A client connects, leaves, seeks or cancels."""
    doing = source.random()
    if doing < 0.4 or not clients:
        clients.append(harness.client(f"bot {number}"))
        return
    client = source.choice(clients)
    if doing < 0.5:
        clients.remove(client)
        client.hang_up()
    elif doing < 0.9:
        client.say(Seek(game=source.choice(["nim", GAME]), matches=source.choice([1, 3])))
    else:
        for match_id in list(harness.matches)[:1]:
            table = harness.hub.rooms[match_id]
            seated = [each for each in clients if each.number == table.seats[0].connection]
            for each in seated:
                each.say(Resign(match=match_id))


class FeedView:
    """The overview as a page keeps it, without numbers of moves and spectators."""

    def __init__(self, overview: Overview) -> None:
        self.players = set(overview.players)
        self.seeks = {seek.seek: seek for seek in overview.seeks}
        self.matches = {match.match for match in overview.matches}
        self.outcomes = list(overview.outcomes)

    def apply(self, news: News) -> None:
        self.players = (self.players - set(news.left)) | set(news.came)
        self.seeks = {k: v for k, v in self.seeks.items() if k not in news.closed}
        self.seeks |= {seek.seek: seek for seek in news.opened}
        self.matches = (self.matches - set(news.gone)) | {each.match for each in news.began}
        self.outcomes = [*self.outcomes, *news.outcomes][-SHOWN:]


def heard(client: MemoryClient) -> list[News]:
    return client.heard(News)


def match_between_unheard(first: MemoryClient, second: MemoryClient) -> None:
    """News wait for records, as other messages do."""
    first.say(Seek(game=GAME, seat=1))
    second.say(Seek(game=GAME, seat=2))
