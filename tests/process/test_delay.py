"""A delay of moves holds at each address of a real server, as the documents list them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.commands import RunningServer, running_server
from support.documents import ROOT
from support.given_accounts import accounts_in
from support.http_site import SiteAnswer, ask
from support.raw_client import RawClient
from support.web_client import WebClient

GAME = "mnk(m=7,n=7,k=7)"
DELAY = 3
HIDDEN = (3, 45, 10)


class DelayedTournament:
    """Its match, between two players who send analyses, and two spectators."""

    def __init__(self, server: RunningServer, tokens: dict[str, str], stack: ExitStack) -> None:
        assert server.page
        self.page = server.page
        zoe, *players = (
            stack.enter_context(RawClient(server.host, server.port)) for _ in ("Zoe", "Ann", "Bob")
        )
        zoe.hello("Zoe", role="spectator", token=tokens["Zoe"])
        entrants = [{"name": name, "version": "1"} for name in ("Ann", "Bob")]
        spec = {
            "name": "delayed", "games": [GAME], "format": "match", "clock": "600+0",
            "entrants": entrants, "delay": DELAY,
        }  # fmt: skip
        self.tournament = zoe.ask("create_tournament", spec=spec)["tournament"]
        for name, player in zip(("Ann", "Bob"), players, strict=True):
            player.hello(name, token=tokens[name])
            player.say("join", tournament=self.tournament)
        started = [each.hear_until("started") for each in players]
        self.match = started[0]["match"]
        self.players = players if started[0]["seat"] == 1 else players[::-1]
        self.spectators = [
            stack.enter_context(RawClient(server.host, server.port)),
            stack.enter_context(WebClient(server.page)),
        ]
        for each in self.spectators:
            each.hello(role="spectator", views=True, guest=True)
            assert each.ask("watch", match=self.match)["moves"] == []

    def play(self, *actions: int, ply: int) -> None:
        for number, action in enumerate(actions, start=ply):
            info = {"win_rate": 0.123, "pv": [action, 48], "actions": [[action, 7, 0.123]]}
            player = self.players[number % 2]
            player.ask("move", match=self.match, ply=number, action=action, info=info)

    def addresses(self) -> Iterator[str]:
        """All addresses of the documents, those of this match, tournament and game."""
        found = [f"/{each}" for each in ("", "api/matches?state=running")]
        for document in ("web.md", "api.md"):
            text = (ROOT / "docs" / document).read_text(encoding="utf-8")
            for row in re.findall(r"^\| (`/[^|]*) \|", text, re.MULTILINE):
                first, *others = re.findall("`([^`]+)`", row)
                stem = first.rpartition(".")[0]
                found += [first, *(each if each[0] == "/" else stem + each for each in others)]
        kinds = {"matches": self.match, "analysis": self.match, "tournaments": self.tournament}
        for each in dict.fromkeys(found):
            if each.startswith(("/metrics", "/socket", "/invite", "/api/...")):
                continue  # counts for operators, and addresses that send no pages
            for kind, id_ in kinds.items():
                each = each.replace(f"{kind}/ID", f"{kind}/{id_}")
            yield each.replace("GAME", GAME).replace("NAME", "Ann").replace("ID", self.match)

    def seen(self) -> dict[str, tuple[int, bytes]]:
        """The answers at all addresses, without what changes with time."""
        answers = {each: ask(self.page, each) for each in self.addresses()}
        return {address: (each.status, _timeless(each)) for address, each in answers.items()}


def _timeless(answer: SiteAnswer) -> bytes:
    return re.sub(rb'"(main_s|ended_at)":[\d.]+', b"", answer.body)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[DelayedTournament]:
    url = f"sqlite:///{tmp_path}/playout.db"
    tokens: dict[str, Any] = accounts_in(url, "Zoe", ("Ann", "Bob"))
    with (
        running_server("--database", url, "--http", "127.0.0.1:0") as server,
        ExitStack() as stack,
    ):
        yield DelayedTournament(server, tokens, stack)


def test_nothing_at_any_address_shows_hidden_moves_and_all_show_them_at_the_end(
    watched: DelayedTournament,
) -> None:
    before = watched.seen()
    shown = [address for address, (status, _) in before.items() if status == 200]
    about = [each for each in shown if watched.match in each]
    assert len(shown) > 25
    assert len(about) > 6
    watched.play(*HIDDEN, ply=0)
    after = watched.seen()
    assert {each for each in before if before[each] != after[each]} == set()
    watched.play(20, ply=len(HIDDEN))
    for each in watched.spectators:
        update = each.hear_until("update")
        assert (update["ply"], update["action"]) == (0, HIDDEN[0])
    moved = watched.seen()
    assert {each for each in about if moved[each] != before[each]} >= {
        f"/matches/{watched.match}", f"/api/matches/{watched.match}",
        f"/matches/{watched.match}.json", f"/embed/matches/{watched.match}",
    }  # fmt: skip
    watched.players[0].ask("resign", match=watched.match)
    for each in watched.spectators:
        each.hear_until("ended")
        plies = [event["ply"] for event in each.heard if event["type"] == "update"]
        assert plies == [0, 1, 2, 3]
