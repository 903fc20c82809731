"""server.net.webhooks: every end is told, whatever the clock does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from playout.server.core.effects import TellDisconnection
from playout.server.net.webhooks import ConnectionEvents, EndEvent, Webhook
from playout.server.storage.queries import Place
from support.posts import receiving


class Ends:
    """Ends that are stored in memory."""

    kinds: Sequence[str] = ("match",)
    name = "ends"

    def __init__(self) -> None:
        self.stored: list[EndEvent] = []

    def ended(self, kind: str, after: Place, limit: int) -> Iterable[EndEvent]:
        return sorted(each for each in self.stored if each[:2] > after)[:limit]

    def close(self) -> None:
        """There is no connection."""


def test_a_disconnection_during_matches_is_told_once(tmp_path: Path) -> None:
    connections = ConnectionEvents()
    with receiving(204) as program:
        url = f"{program.origin}/told"
        now = [2e9]
        hook: Any = Webhook(Mock(), tmp_path / "webhooks", url, connections, lambda: now[0])
        for at in (2e9 - 1, 2e9, 2e9):  # the first one was before the address was known
            connections.add(TellDisconnection(at, "Ann", False, ("m1", "m2")))
        for now[0] in (2e9 + 1, 2e9 + 2):
            hook._deliver()
        posts = [json.loads(post.body) for post in list(program.posts.queue)]
    assert [each["type"] for each in posts] == ["connection.ended"] * 2
    ended = {"name": "Ann", "guest": False, "matches": ["m1", "m2"], "ended_at": 2e9}
    assert [each["data"] for each in posts] == [ended] * 2


@pytest.mark.parametrize("back_s", [3600.0, 1e9])
@pytest.mark.parametrize("restarts", [False, True])
def test_no_end_is_lost_when_the_clock_is_set_back(
    back_s: float, restarts: bool, tmp_path: Path
) -> None:
    ends, now = Ends(), [2e9]
    with receiving(204) as program:

        def webhook() -> Any:
            # The reactor is not run: the test looks for events itself.
            url = f"{program.origin}/told"
            return Webhook(Mock(), tmp_path / "webhooks", url, ends, lambda: now[0])

        def told() -> list[str]:
            hook._deliver()
            names = [json.loads(post.body)["data"] for post in list(program.posts.queue)]
            program.posts.queue.clear()
            return names

        hook = webhook()
        for number in range(150):
            now[0] += 1
            ends.stored.append(EndEvent(now[0], f"m{number}", f"m{number}"))
        assert told() + told() == [f"m{number}" for number in range(150)]
        now[0] -= back_s
        hook = webhook() if restarts else hook
        assert told() == []
        for number in range(150, 153):
            now[0] += 1
            ends.stored.append(EndEvent(now[0], f"m{number}", f"m{number}"))
            assert told() == [f"m{number}"]
