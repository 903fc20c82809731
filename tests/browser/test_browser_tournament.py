"""The page of a running tournament in a real browser: it changes as matches begin and end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from support.browser import BrowserSite, BrowserUsers, running_site
from support.given_accounts import accounts_in
from support.raw_client import RawClient

SPEC = {
    "name": "autumn cup",
    "games": ["nim"],
    "format": "match",
    "entrants": [{"name": "Ada", "version": "1"}, {"name": "Bob", "version": "1"}],
    "rounds": 1,
    "clock": "none",
    "openings": {"plies": 1},
}


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    """The tokens of the site's accounts by name."""
    return {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, tokens: dict[str, str]) -> Iterator[BrowserSite]:
    folder = tmp_path_factory.mktemp("site")
    tokens |= accounts_in(f"sqlite:///{folder}/playout.db", "Zoe", ["Ada", "Bob"])
    with running_site(folder) as site:
        yield site


def test_the_page_of_a_tournament_changes_without_being_asked(
    people: BrowserUsers, site: BrowserSite, tokens: dict[str, str]
) -> None:
    where = site.server.host, site.server.port
    with RawClient(*where) as zoe, RawClient(*where) as ada, RawClient(*where) as bob:
        for name, client in (("Zoe", zoe), ("Ada", ada), ("Bob", bob)):
            client.hello(name, token=tokens[name])
        tournament = zoe.ask("create_tournament", spec=SPEC)["tournament"]
        page = people.come()
        page.goto(f"/tournaments/{tournament}")
        progress, tables = page.locator("#progress"), page.locator("#tables")
        expect(progress).to_contain_text("No match is being played at the moment.")
        ada.ask("join", tournament=tournament)
        bob.ask("join", tournament=tournament)
        expect(progress.locator("[data-match] .layer.pieces > g").first).to_be_attached()
        for _ in range(2):
            match = ada.hear_until("started")["match"]
            ada.ask("resign", match=match)
        expect(progress).to_contain_text("Bob")
        expect(progress).to_contain_text("ended")
        expect(tables).to_contain_text("2 matches")
