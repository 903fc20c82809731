"""Drives a real browser: opens pages, starts matches, moves, and collects the faults of pages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ElementHandle,
    Locator,
    Page,
    Request,
    Response,
    expect,
)

from benchmarks import page as system_chromium
from playout import games
from playout.server.model.records import StoredMatch
from playout.server.storage.queries import Reader
from support.commands import RunningServer, running_server
from support.requirements import skip_without

#: The folder of the pictures of pages that tests take with `--slow`.
PICTURES = Path(__file__).parents[1] / "screenshots"
#: A long limit: a bot is a process that has to start. Nothing waits that long without a fault.
PATIENCE_S = 200
#: The elements that choose a move: cells, and buttons for moves without cells.
MOVES = "#board .cell.target, .board-choices button"
#: The elements that choose one of several moves with the same clicks.
ANSWERS = ".move-dialog button:not([value=''])"
OVER = "#rematch:not([hidden])"

expect.set_options(timeout=PATIENCE_S * 1000)


class BrowserSite:
    """A server with web pages, and its database."""

    def __init__(self, server: RunningServer, database: str) -> None:
        assert server.page
        self.server = server
        self.database = database
        self.address = "http://{}:{}".format(*server.page)

    def stored(self, match: str) -> StoredMatch:
        """Return a match from the database."""
        reader = Reader(self.database)
        kept = reader.match(match)
        reader.close()
        assert kept is not None
        return kept


@contextmanager
def chromium_or_skip() -> Iterator[Browser]:
    """Run a browser until the end of the block; skip the test on a machine that has none."""
    try:
        with system_chromium.chromium() as browser:
            yield browser
    except system_chromium.ChromiumMissing as lacking:
        skip_without(str(lacking))


@contextmanager
def running_site(folder: Path, *options: str, **more: Any) -> Iterator[BrowserSite]:
    """Run a server that stores in `folder` and starts bots that move at once.

    `more`: as of `running_server`, such as `changed`.
    Fails if its log has a traceback, unless it was killed.
    """
    database = f"sqlite:///{folder}/playout.db"
    usual = ("--http", "127.0.0.1:0", "--bot", "random", "--bots", "12")
    with running_server(*usual, "--database", database, *options, **more) as server:
        yield BrowserSite(server, database)
        if server.process.poll() is None:
            code, log = server.stop()
            assert code == 0, log
            assert "Traceback" not in log, log


class BrowserUsers:
    """The users of one browser, each with cookies of their own, and the errors of their pages."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self._address = address
        self._contexts: list[BrowserContext] = []
        self._tolerated: list[str] = []
        self._faults: list[str] = []
        self._listeners: dict[Any, Callable[..., Any]] = {
            "console": lambda said: said.type == "error" and self._note(said.text),
            "weberror": lambda fault: self._note(str(fault.error)),
            "requestfailed": self._failed,
            "response": self._answered,
        }

    @property
    def faults(self) -> list[str]:
        """Return the errors of the pages, without those that the test tolerates."""
        tolerated = [re.compile(each) for each in self._tolerated]
        return [each for each in self._faults if not any(one.search(each) for one in tolerated)]

    def tolerate(self, pattern: str) -> None:
        """Expect errors that match a pattern: the test causes them."""
        self._tolerated.append(pattern)

    def come(self, path: str = "/", **options: Any) -> Page:
        """Open a page as a new user, with cookies and storage of its own."""
        options = {"viewport": {"width": 1280, "height": 900}} | options
        context = self._browser.new_context(base_url=self._address, **options)
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE_S * 1000)
        for event, listener in self._listeners.items():
            context.on(event, listener)
        page = context.new_page()
        page.goto(path)
        return page

    def guest(self, **options: Any) -> tuple[Page, str]:
        """Open the lobby as a new guest; return the page, and the guest's name."""
        page = self.come(**options)
        identity = page.locator("#identity")
        expect(identity).to_have_text(re.compile("^guest-"))  # "guest" until the server answers
        return page, identity.inner_text()

    def leave(self) -> None:
        """Close all pages."""
        while self._contexts:
            self._contexts.pop().close()

    def _note(self, fault: str) -> None:
        self._faults.append(fault)

    def _failed(self, request: Request) -> None:
        # A user who opens another page does not wait for the rest of the one before.
        if request.failure != "net::ERR_ABORTED":
            self._note(f"{request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self._note(f"{response.url}: status {response.status}")


# In the lobby.


def start_match(page: Page, game: str, /, seat: str = "first", **parameters: object) -> str:
    """Start a match against the first bot, wait for its page, and return its id."""
    choose(page, game, "random")
    for name, value in parameters.items():
        field = page.locator(f"#parameter-{name}")
        if field.evaluate("field => field.localName") == "select":
            field.select_option(str(value))
        else:
            field.fill(str(value))
    page.get_by_role("radio", name=seat).check(force=True)
    page.get_by_role("button", name="Play", exact=True).click()
    return arrive(page)


def choose(page: Page, game: str, opponent: str) -> None:
    """Choose a game and an opponent: a bot by its name, or "a player"."""
    page.locator(f"#new-games input[value='{game}']").check(force=True)
    if (terms := page.locator("#open-terms[aria-expanded='false']")).is_visible():  # on a phone
        terms.click()
    page.locator("#new-bots").get_by_role("radio", name=opponent).check(force=True)


def arrive(page: Page) -> str:
    """Wait for the page of a match, and return the match's id."""
    page.wait_for_url("**/matches/*")
    return match_of(page)


def match_of(page: Page) -> str:
    """Return the id of the match that the page shows."""
    return page.url.rpartition("/")[2].partition("?")[0]


def meet(
    people: BrowserUsers, game: str = "connect_four", **options: Any
) -> tuple[Page, Page, str]:
    """Return the pages of two people who play a match, the first to move first; and the id."""
    (ann, _), (bob, bobs_name) = people.guest(**options), people.guest()
    if "(" in game:
        ann.goto(f"/?game={game}")
    choose(ann, game.partition("(")[0], "A player")
    ann.get_by_label("Player", exact=True).select_option(label=bobs_name)
    ann.get_by_role("radio", name="first").check(force=True)
    ann.get_by_role("button", name="Play", exact=True).click()
    bob.locator("#challenges").get_by_role("button").click()
    return ann, bob, arrive(ann)


# At a match.


def my_turn(page: Page) -> bool:
    """Wait until a move can be chosen, or the match is over."""
    page.locator(f"{MOVES}, {OVER}").first.wait_for()
    return not page.locator(OVER).is_visible()


def type_move(page: Page, move: str) -> None:
    """Type a move, when it is the turn of this person."""
    my_turn(page)
    page.get_by_label("Move", exact=True).fill(move)
    page.get_by_label("Move", exact=True).press("Enter")


#: Waits until a move can be chosen or the match is over. Returns {isOver}, or the middle of an
#: element that chooses one, which is at a share of the way through them and not covered.
CHOICE = """([moves, answers, over, share]) => {
    const visible = (selector) =>
        [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    if (visible(over).length) return { isOver: true };
    const open = visible(answers);
    const choices = open.length ? open : visible(moves);
    const chosen = choices[Math.floor(share * choices.length)];
    if (!chosen) return false;
    const box = () => chosen.getBoundingClientRect();
    if (box().top < 0 || box().bottom > innerHeight) chosen.scrollIntoView({ block: "center" });
    const { x, y, width, height } = box();
    const middle = { x: x + width / 2, y: y + height / 2 };
    return chosen.contains(document.elementFromPoint(middle.x, middle.y)) && middle;
}"""


def play_on(page: Page, draw: random.Random, most: int = 1000) -> None:
    """Click on legal moves until the match is over, or `most` times.

    A click of Playwright sends more than ten messages to the browser, this one four.
    """
    clicks = 0
    while clicks < most or page.locator(ANSWERS).count():
        wanted = [MOVES, ANSWERS, OVER, draw.random()]
        choice = page.wait_for_function(CHOICE, arg=wanted, polling=30).json_value()
        if "isOver" in choice:
            break
        page.mouse.click(choice["x"], choice["y"])
        clicks += 1


#: The row and the column in which a cell is drawn, of the cell that has the focus and of another.
PLACES = """(cell) => [document.activeElement, cell].map((each) => {
    const row = each.parentElement;
    return [[...row.parentElement.children].indexOf(row), [...row.children].indexOf(each)];
})"""
IS_FOCUSED = "(element) => element === document.activeElement"


def play_on_by_keyboard(page: Page, draw: random.Random, most: int = 1000) -> None:
    """Make legal moves by keys alone until the match is over, or choose `most` times."""
    for _ in range(most):
        if not my_turn(page):
            break
        moves = page.locator(MOVES)
        move = moves.nth(draw.randrange(moves.count())).element_handle()
        if move.get_attribute("data-cell") is None:
            tab_to(page, move)
            page.keyboard.press("Enter")
            move.wait_for_element_state("hidden")  # each position has new buttons
            continue
        walk(page, move)
        page.keyboard.press("Enter")
        if answers := page.locator(ANSWERS).count():
            for _ in range(draw.randrange(answers)):
                page.keyboard.press("Tab")
            page.keyboard.press("Enter")


def resign_by_keyboard(page: Page) -> None:
    """Resign by keys alone: the dialog proposes to play on."""
    tab_to(page, page.locator("#resign").element_handle())
    for key in ("Enter", "Shift+Tab", "Enter"):
        page.keyboard.press(key)
    page.locator(OVER).wait_for()


def tab_to(page: Page, target: ElementHandle | Locator, most: int = 200) -> None:
    """Press Tab until an element has the focus; one that the page may replace is a locator."""
    for _ in range(most):
        if target.evaluate(IS_FOCUSED):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {target}")


def walk(page: Page, target: ElementHandle) -> None:
    """Move the focus to a cell by arrow keys, after it has come to the board by Tab."""
    if not page.evaluate("document.activeElement.matches('#board .cell')"):
        tab_to(page, page.locator("#board .cell[tabindex='0']").element_handle())
    (row, column), (target_row, target_column) = target.evaluate(PLACES)
    down, right = target_row - row, target_column - column
    # Upwards first and downwards last, as the last row may be shorter than the others.
    keys = ["ArrowUp"] * -down + ["ArrowLeft"] * -right + ["ArrowRight"] * right
    for key in keys + ["ArrowDown"] * down:
        page.keyboard.press(key)
    assert target.evaluate(IS_FOCUSED)


def moves_on(page: Page) -> list[str]:
    """Return the moves in the page's list."""
    names: list[str] = page.locator(".move").evaluate_all(
        "moves => moves.map((move) => move.title || move.lastChild.textContent)"
    )
    return names


def moves_in(kept: StoredMatch) -> list[str]:
    """Return the stored moves in the notation of the page, and the rolls in its words."""
    game = games.load(kept.started.game)
    state, names = game.initial_state(), []
    for move in kept.moves:
        name = game.action_name(state, move.action)
        names.append(name if move.seat else roll_in_words(name, str(game)))
        state = game.next_state(state, move.action)
    return names


def roll_in_words(name: str, game: str) -> str:
    """Return what the page says of a roll, or of a first position that is drawn."""
    if len(name) > 2:
        return f"set-up {name}"
    return f"rolled {'-'.join(sorted(name, reverse=True)) if game == 'backgammon' else name}"


def result_in(kept: StoredMatch) -> str:
    """Return the result of a stored match as the page shows it to spectators."""
    assert kept.ended is not None
    winner = kept.ended.winner
    return f"{kept.started.players[winner - 1]} won" if winner > 0 else "A tie"


def own_result_in(kept: StoredMatch) -> str:
    """Return the result of a stored match as the page shows it to the opponent of the bot."""
    assert kept.ended is not None
    winner = kept.ended.winner
    if winner < 1:
        return "A tie"
    return "You won" if kept.started.players[winner - 1].startswith("guest-") else "You lost"
