"""People at a real browser: how they come, start matches and move, and what goes wrong there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Request, Response, expect
from support.commands import RunningServer, running_server

import games
from server.model.records import StoredMatch
from server.storage.queries import Reader

#: Generous, as a bot is a process that has to start; nothing waits that long when all is well.
PATIENCE_S = 60
#: What can be clicked to move: cells, and buttons for what no cell stands for.
MOVES = "#board .cell.target, #board .board-choices button"
OVER = "#rematch:not([hidden])"

expect.set_options(timeout=PATIENCE_S * 1000)


class BrowserSite:
    """A server with its pages, and what it has stored."""

    def __init__(self, server: RunningServer, database: str) -> None:
        assert server.page
        self.server = server
        self.database = database
        self.address = "http://{}:{}".format(*server.page)

    def stored(self, match: str) -> StoredMatch:
        """What the database has of a match."""
        reader = Reader(self.database)
        kept = reader.match(match)
        reader.close()
        assert kept is not None
        return kept


@contextmanager
def running_site(folder: Path, *options: str) -> Iterator[BrowserSite]:
    """A server that keeps what happens in that folder, and starts bots that need no time.

    It must have had no fault by the end, unless it was killed.
    """
    database = f"sqlite:///{folder}/playout.db"
    usual = ("--http", "127.0.0.1:0", "--bot", "random", "--bots", "8")
    with running_server(*usual, "--database", database, *options) as server:
        yield BrowserSite(server, database)
        if server.process.poll() is None:
            code, log = server.stop()
            assert code == 0, log
            assert "Traceback" not in log, log


class BrowserUsers:
    """Everybody in front of a screen. What goes wrong in their pages is kept in `faults`."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self._address = address
        self._tolerated: list[str] = []
        self._faults: list[str] = []

    @property
    def faults(self) -> list[str]:
        """What went wrong, but for what was to be expected."""
        tolerated = [re.compile(each) for each in self._tolerated]
        return [each for each in self._faults if not any(one.search(each) for one in tolerated)]

    def tolerate(self, pattern: str) -> None:
        """Faults like this are provoked by the test."""
        self._tolerated.append(pattern)

    def come(self, path: str = "/", **options: Any) -> Page:
        """Somebody new opens a page, in a browser of their own."""
        options = {"viewport": {"width": 1280, "height": 900}, "base_url": self._address} | options
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE_S * 1000)
        context.on("console", lambda said: said.type == "error" and self._note(said.text))
        context.on("weberror", lambda fault: self._note(str(fault.error)))
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)
        page = context.new_page()
        page.goto(path)
        return page

    def guest(self) -> tuple[Page, str]:
        """Somebody new in the lobby, with the name that the server has given them."""
        page = self.come()
        identity = page.locator("#identity")
        expect(identity).to_have_text(re.compile("^guest-"))  # "guest" until the server answers
        return page, identity.inner_text()

    def leave(self) -> None:
        """All go."""
        for context in self._browser.contexts:
            context.close()

    def _note(self, fault: str) -> None:
        self._faults.append(fault)

    def _failed(self, request: Request) -> None:
        # Who goes to another page does not wait for the rest of the one before.
        if request.failure != "net::ERR_ABORTED":
            self._note(f"{request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self._note(f"{response.url}: status {response.status}")


# In the lobby.


def start_match(page: Page, game: str, seat: str = "first", **parameters: object) -> str:
    """By the form, against the first bot of the server; the match, whose page is shown then."""
    page.get_by_label("Opponent").select_option(label="random")
    page.get_by_label("Game", exact=True).select_option(game)
    for name, value in parameters.items():
        page.locator(f"#parameter-{name}").fill(str(value))
    page.get_by_role("radio", name=seat).check(force=True)
    page.get_by_role("button", name="Play", exact=True).click()
    return arrive(page)


def arrive(page: Page) -> str:
    """Wait for the page of a match; which one it is."""
    page.wait_for_url("**/matches/*")
    return match_of(page)


def match_of(page: Page) -> str:
    """Which match this page shows."""
    return page.url.rpartition("/")[2].partition("?")[0]


# At a match.


def my_turn(page: Page) -> bool:
    """Wait until there is something to choose, or nothing any more."""
    page.locator(f"{MOVES}, {OVER}").first.wait_for()
    return not page.locator(OVER).is_visible()


def play_on(page: Page, draw: random.Random, most: int = 1000) -> None:
    """Make moves by clicking on what the page offers, to the end of the match or so many."""
    for _ in range(most):
        if not my_turn(page):
            break
        moves = page.locator(MOVES)
        moves.nth(draw.randrange(moves.count())).click()


def moves_on(page: Page) -> list[str]:
    """The list of moves, as it is written."""
    names: list[str] = page.locator(".move").evaluate_all(
        "moves => moves.map((move) => move.lastChild.textContent)"
    )
    return names


def moves_in(kept: StoredMatch) -> list[str]:
    """The moves that are stored, as people write them."""
    game = games.load(kept.started.game)
    state, names = game.initial_state(), []
    for move in kept.moves:
        names.append(game.action_name(state, move.action))
        state = game.next_state(state, move.action)
    return names


def result_in(kept: StoredMatch) -> str:
    """How a stored match has ended, as people say it."""
    assert kept.ended is not None
    winner = kept.ended.winner
    return f"{kept.started.players[winner - 1]} won" if winner > 0 else "A tie"
