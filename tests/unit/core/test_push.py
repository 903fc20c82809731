"""Notices through push services: who is sent one, and which subscriptions are accepted."""

from __future__ import annotations

import pytest

from playout.protocol.messages import Code, Move, Ok, Resign, SubscribePush, UnsubscribePush
from playout.server.core.effects import Effect, KeepPush, PushNotice
from playout.server.core.handlers.push import is_of_service
from playout.server.core.policy import PUSH_SERVICES
from support.hub_harness import HubHarness, MemoryClient, match_between

ENDPOINT = "https://fcm.googleapis.com/fcm/send/abc"
FIELDS = {"p256dh": "p" * 87, "auth": "a" * 22, "language": "de"}
SUBSCRIBE = SubscribePush(id=1, endpoint=ENDPOINT, **FIELDS)


class PushHarness(HubHarness):
    """A harness that notes what push services are to be sent."""

    def __init__(self) -> None:
        self.pushed: list[Effect] = []
        super().__init__(push_key="k" * 87, reconnect_s=60.0)

    def do(self, effects: list[Effect]) -> None:
        self.pushed += [each for each in effects if isinstance(each, KeepPush | PushNotice)]
        super().do(effects)

    def notices(self) -> list[tuple[str, str]]:
        """Return for each notice its text and the opponent, and forget them."""
        sent = [each.notice for each in self.pushed if isinstance(each, PushNotice)]
        self.pushed.clear()
        return [(each["text"], each["opponent"]) for each in sent]


def start(
    harness: PushHarness, clock: str = "259200/move"
) -> tuple[MemoryClient, MemoryClient, str]:
    ann, bob = (harness.client(name, guest=False) for name in ("Ann", "Bob"))
    return ann, bob, match_between(ann, bob, clock=clock)


def test_a_player_that_is_away_is_told_that_it_is_to_move() -> None:
    harness = PushHarness()
    ann, bob, match = start(harness)
    assert harness.notices() == []
    bob.hang_up()
    ann.say(Move(match=match, ply=0, action=4))
    assert harness.notices() == [("Your move", "Ann")]
    ann.say(Resign(match=match))
    assert harness.notices() == [("Ann resigned", "Ann")]


def test_another_session_of_the_account_is_there() -> None:
    harness = PushHarness()
    ann, bob, match = start(harness)
    bob.hang_up()
    harness.client("Bob", token=bob.account_token)
    ann.say(Move(match=match, ply=0, action=4))
    assert harness.notices() == []


def test_matches_with_other_clocks_have_no_notices() -> None:
    harness = PushHarness()
    ann, bob, match = start(harness, "300+3")
    bob.hang_up()
    ann.say(Move(match=match, ply=0, action=4))
    ann.say(Resign(match=match))
    assert harness.notices() == []


def test_a_browser_subscribes_and_unsubscribes() -> None:
    harness = PushHarness()
    ann = harness.client("Ann", guest=False)
    assert ann.welcome is not None
    assert ann.welcome.push_key == "k" * 87
    assert ann.ask(SUBSCRIBE, Ok).re == 1
    assert ann.ask(UnsubscribePush(id=2, endpoint=ENDPOINT), Ok).re == 2
    kept, dropped = harness.pushed
    assert isinstance(kept, KeepPush)
    assert isinstance(dropped, KeepPush)
    assert (kept.endpoint, kept.fields) == (ENDPOINT, FIELDS)
    assert (dropped.account, dropped.endpoint, dropped.fields) == (kept.account, ENDPOINT, None)


def test_guests_and_servers_without_a_key_have_no_notices() -> None:
    assert PushHarness().client("Guest").refused(SUBSCRIBE) is Code.NOT_FOR_GUESTS
    plain = HubHarness().client("Ann", guest=False)
    assert plain.welcome is not None
    assert plain.welcome.push_key is None
    assert plain.refused(SUBSCRIBE) is Code.NOT_ALLOWED


@pytest.mark.parametrize(
    ("endpoint", "known"),
    [
        (ENDPOINT, True),
        ("https://db5.notify.windows.com/w/?token=1", True),
        ("https://notify.windows.com/w", False),
        ("https://evil.example/.notify.windows.com", False),
        ("https://evil.example/?x.notify.windows.com", False),
        ("https://evil.example#x.notify.windows.com", False),
        ("https://user@db5.notify.windows.com/w", False),
        ("http://db5.notify.windows.com/w", False),
        ("http://fcm.googleapis.com/fcm/send/abc", False),
        ("https://fcm.googleapis.com@127.0.0.1/", False),
        ("https://fcm.googleapis.com:8443/", False),
        ("https://127.0.0.1/", False),
        ("https://[::1", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_only_known_services_are_called(endpoint: str, known: bool) -> None:
    assert is_of_service(endpoint, PUSH_SERVICES) is known
