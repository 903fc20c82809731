"""Puzzles, and learning from mistakes, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from playout import games
from playout.protocol.analyst import Puzzle
from playout.server.storage.database import shipped_puzzles
from support.accessibility import accessibility_faults, require_axe
from support.browser import BrowserSite, BrowserUsers, running_site, tab_to, walk
from support.raw_client import RawClient
from support.waiting import wait_until

#: A game of each kind of board.
GAMES = ("connect_four", "clobber", "kalah", "y")
#: Moves of Connect Four after which the first player has won in column 1; the last move of the
#: second player, in column 7, did not prevent that.
PLAYED = (3, 3, 0, 1, 0, 1, 0, 6, 0)
BLUNDER = 8


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A site with the puzzles that come with Playout, and a bot that analyses."""
    bot = ("--bot", "Max:strong=uct(seed=1)", "--analysis-s", "0.5")
    with running_site(tmp_path_factory.mktemp("site"), *bot) as site:
        yield site


@pytest.fixture(scope="module")
def page(chromium: Browser, site: BrowserSite) -> Iterator[Page]:
    """A page for all tests: a page of its own would cost each another process."""
    people = BrowserUsers(chromium, site.address)
    yield people.come("/puzzles", color_scheme="light", reduced_motion="reduce")
    people.leave()
    assert people.faults == []


def puzzle_of(game: str) -> Puzzle:
    """The puzzle of a game with the shortest solution."""
    return min((p for p in shipped_puzzles() if p.game == game), key=lambda each: each.turns)


def status(page: Page) -> Locator:
    return page.locator("#status")


def state_of(page: Page, puzzle: Puzzle, moves: list[int]) -> Any:
    query = f"moves={','.join(map(str, moves))}"
    return page.request.get(f"/puzzles/{puzzle.game}/{puzzle.id}.json?{query}").json()


def choose(page: Page, puzzle: Puzzle, moves: list[int], action: int) -> None:
    """Click the cells of a move after the moves of the solver."""
    legal = {each["action"]: each for each in state_of(page, puzzle, moves)["legal_moves"]}
    for cell in legal[action]["cells"]:
        target = page.locator(f"#board .cell[data-cell='{cell}']")
        if "target" in (target.get_attribute("class") or ""):
            target.click()


def solve(page: Page, puzzle: Puzzle) -> None:
    """Play the first winning move of each position of the solution."""
    moves, then = list[int](), puzzle.solution
    while then:
        expect(page.locator("#board .cell.target, .board-choices button").first).to_be_visible()
        choose(page, puzzle, moves, then[0].action)
        moves.append(then[0].action)
        then = then[0].then
    expect(status(page)).to_have_text("Solved.")


@pytest.mark.parametrize("game", GAMES)
def test_a_puzzle_is_solved_on_each_kind_of_board(page: Page, game: str) -> None:
    puzzle = puzzle_of(game)
    page.goto(f"/puzzles/{game}?puzzle={puzzle.id}")
    expect(status(page)).to_have_text("Find the only move that wins.")
    solve(page, puzzle)
    page.get_by_role("button", name="Next puzzle").click()
    expect(status(page)).to_have_text("Find the only move that wins.")
    assert puzzle.id not in page.url


def test_a_puzzle_is_failed_and_the_solution_shown(page: Page) -> None:
    puzzle = puzzle_of("connect_four")
    page.goto(f"/puzzles/connect_four?puzzle={puzzle.id}")
    expect(status(page)).to_have_text("Find the only move that wins.")
    game, state = games.load("connect_four"), games.load("connect_four").initial_state()
    for action in puzzle.actions:
        state = game.next_state(state, action)
    wrong = next(a for a in game.legal_actions(state) if a != puzzle.solution[0].action)
    choose(page, puzzle, [], wrong)
    expect(status(page)).to_have_text(f"{wrong + 1} does not win.")
    page.get_by_role("button", name="Try again").click()
    expect(status(page)).to_have_text("Find the only move that wins.")
    page.get_by_role("button", name="Show the solution").click()
    expect(status(page)).to_have_text("The solution.")
    discs = page.locator("#board .layer.pieces > g")
    expect(discs).to_have_count(len(puzzle.actions))
    page.keyboard.press("ArrowRight")
    expect(discs).to_have_count(len(puzzle.actions) + 1)


def test_a_puzzle_is_solved_by_keyboard_and_accessible(page: Page) -> None:
    require_axe()
    puzzle = puzzle_of("connect_four")
    page.goto("/puzzles")
    assert accessibility_faults(page) == []
    page.goto(f"/puzzles/connect_four?puzzle={puzzle.id}")
    expect(status(page)).to_have_text("Find the only move that wins.")
    assert accessibility_faults(page) == []
    then = puzzle.solution
    while then:
        column = then[0].action
        expect(page.locator("#board .cell.target").first).to_be_visible()
        target = page.locator(f"#board .cell.target[aria-label^='column {column + 1},']")
        walk(page, target.first.element_handle())
        page.keyboard.press("Enter")
        then = then[0].then
    expect(status(page)).to_have_text("Solved.")
    next_ = page.get_by_role("button", name="Next puzzle")
    tab_to(page, next_.element_handle())
    assert accessibility_faults(page) == []


def test_the_first_attempt_of_an_account_is_rated(page: Page) -> None:
    page.goto("/puzzles/clobber")
    page.locator("#identity").click()
    dialog = page.locator("#identity-dialog")
    dialog.locator("[name=name]").first.fill("Ada")
    dialog.get_by_role("button", name=re.compile("Take|Register")).first.click()
    page.keyboard.press("Escape")
    expect(page.locator("#rating")).to_have_text("None yet: solve a puzzle.")
    puzzle = puzzle_of("clobber")
    page.goto(f"/puzzles/clobber?puzzle={puzzle.id}")
    solve(page, puzzle)
    address = "/puzzles/clobber/puzzles.json?player=Ada"
    wait_until(lambda: page.request.get(address).json()["tried"], "the attempt is rated")
    rated = page.request.get(address).json()
    assert rated["tried"] == [puzzle.id]
    assert rated["rating"] > 1500
    row = next(each for each in rated["puzzles"] if each["puzzle"] == puzzle.id)
    assert (row["attempts"], row["rating"] < 1500) == (1, True)
    page.goto("/puzzles/clobber")
    expect(page.locator("#rating")).to_contain_text("after 1 of")


def test_a_person_learns_from_a_mistake(page: Page, site: BrowserSite) -> None:
    match = play(site)
    page.goto(f"/matches/{match}")
    page.get_by_role("button", name="Learn from mistakes").click()
    text, next_ = page.locator("#lesson-text"), page.get_by_role("button", name="Next mistake")
    expect(text).to_contain_text("Mistake 1 of")
    while "by 7." not in text.inner_text():
        before = text.inner_text()
        next_.click()
        expect(text).not_to_have_text(before)
    expect(page.locator("#board .layer.pieces > g")).to_have_count(BLUNDER - 1)
    page.locator("#board .cell.target").first.wait_for()  # the moves come from the server

    page.get_by_role("gridcell", name="column 6, row 1").click()
    expect(text).to_contain_text("6 is not better than 7")
    page.get_by_role("button", name="Try again").click()
    page.locator("#board .cell.target[aria-label^='column 1,']").first.click()
    expect(text).to_contain_text(re.compile("Well done: 1 is as good|1 is better than 7"))
    expect(page.locator("#board .layer.pieces > g")).to_have_count(BLUNDER)
    page.get_by_role("button", name="Show the best move").click()
    expect(text).to_have_text("Max plays 1.")
    expect(page.locator("#board .layer.hint > g")).to_have_count(1)
    page.get_by_role("button", name="Learn from mistakes").click()
    expect(page.locator("#lesson")).to_be_hidden()


def play(site: BrowserSite) -> str:
    """Play the match between two guests to its end, and return its id."""
    where = site.server.host, site.server.port
    with RawClient(*where) as first, RawClient(*where) as second:
        for seat, player in enumerate((first, second), start=1):
            player.hello()
            player.say("seek", game="connect_four", clock="none", seat=seat)
        match: str = first.hear_until("started")["match"]
        for ply, action in enumerate(PLAYED):
            mover = (first, second)[ply % 2]
            assert mover.ask("move", match=match, ply=ply, action=action)["type"] == "update"
    return match
