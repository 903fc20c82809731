"""Playing in a real browser: by clicks, by keyboard, by typed moves, and after a failure."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, WebSocket, WebSocketRoute, expect

from playout import games
from playout.games import Position
from playout.players.evaluations.files import shipped
from playout.protocol.messages import Reason
from playout.server.core.view import legal_moves_of, position_view_of
from support import scale
from support.browser import (
    ANSWERS,
    MOVES,
    OVER,
    PICTURES,
    BrowserSite,
    BrowserUsers,
    arrive,
    choose,
    match_of,
    meet,
    moves_in,
    moves_on,
    my_turn,
    own_result_in,
    play_on,
    play_on_by_keyboard,
    resign_by_keyboard,
    running_site,
    start_match,
    tab_to,
    type_move,
    walk,
)
from support.scale import repetitions
from support.variants import CHANCE, SMALL, seen, small
from support.waiting import wait_until
from testbed.machine import reserve_port

#: Matches of more plies than this are played to their end only with `--slow`.
LONG = 100
#: Windows of a screen and of a phone.
WINDOWS = {"wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
#: A game of each kind of board, each of which is played in one of three ways; with `--slow` all
#: games in all ways.
GAMES = seen(games.names())
CLICKED = [
    (game, window)
    for turn, window in enumerate(WINDOWS)
    for game in (GAMES if scale.slow else GAMES[turn::3])
]
BY_KEYBOARD = GAMES if scale.slow else GAMES[2::3]


def most_plies(game: str) -> int:
    """Return how many plies of a match are played at most."""
    is_long = games.load(small(game)).max_plies > LONG
    return repetitions(1000, short=12) if is_long else 1000


@pytest.fixture(scope="module")
def player(chromium: Browser, site: BrowserSite) -> Iterator[tuple[BrowserUsers, Page]]:
    """A user who plays one match after the other: a new one would load all scripts again."""
    people = BrowserUsers(chromium, site.address)
    yield people, people.come("about:blank")
    people.leave()


@pytest.mark.timeout(3600 if scale.slow else 600)
@pytest.mark.parametrize(("game", "window"), CLICKED)
def test_a_whole_match_is_played_by_clicking(
    player: tuple[BrowserUsers, Page], site: BrowserSite, game: str, window: str
) -> None:
    """With `--slow`, pictures of games with dice are in tests/screenshots."""
    people, page = player
    # Drawing transitions takes a sixth of the processor time; matches by keyboard have them.
    page.emulate_media(reduced_motion="reduce")
    page.set_viewport_size(WINDOWS[window])
    page.goto("/")
    match = start_match(page, game, **SMALL.get(game, {}))
    draw, most = random.Random(1), most_plies(game)
    play_on(page, draw, 2)
    if scale.slow and game in CHANCE and my_turn(page):
        page.screenshot(path=PICTURES / f"{game}_{window}.png", full_page=True)
    play_on(page, draw, most - 2)
    if my_turn(page):
        page.get_by_role("button", name="Resign").click()
        page.locator("#resign-dialog").get_by_role("button", name="Resign").click()
        page.locator(OVER).wait_for()
    record = site.stored(match)
    expect(page.locator("#status")).to_have_text(own_result_in(record))
    assert moves_on(page) == moves_in(record)
    expect(page.locator(MOVES)).to_have_count(0)
    if game in CHANCE and shipped(games.load(small(game))):  # its luck is shown without a reload
        expect(page.locator("#luck strong").first).to_have_text(re.compile(r"^[+-]\d\.\d{3}$"))
    assert people.faults == []


@pytest.mark.timeout(3600 if scale.slow else 600)
@pytest.mark.parametrize("game", BY_KEYBOARD)
def test_a_whole_match_is_begun_and_played_by_keyboard_alone(
    player: tuple[BrowserUsers, Page], site: BrowserSite, game: str
) -> None:
    people, page = player
    page.emulate_media(reduced_motion="no-preference")
    page.set_viewport_size(WINDOWS["wide"])
    page.goto(f"/?game={small(game)}&seat=1")
    expect(page.locator("#new-bots")).to_contain_text("random")
    tab_to(page, page.locator("#start").element_handle())
    page.keyboard.press("Enter")
    match = arrive(page)
    play_on_by_keyboard(page, random.Random(1), most_plies(game))
    if my_turn(page):
        resign_by_keyboard(page)
    record = site.stored(match)
    expect(page.locator("#status")).to_have_text(own_result_in(record))
    expect(page.locator("#announcer")).to_contain_text(own_result_in(record))
    assert moves_on(page) == moves_in(record)
    assert people.faults == []


def test_a_move_can_be_typed_and_an_illegal_one_is_explained(people: BrowserUsers) -> None:
    page = people.come()
    start_match(page, "connect_four")
    my_turn(page)
    field, fault = page.get_by_label("Move", exact=True), page.locator("#entry-fault")
    field.fill("<b>nonsense</b>")
    field.press("Enter")
    expect(fault).to_have_text(
        "“<b>nonsense</b>” is not possible here. Possible: 1, 2, 3, 4, 5, 6, 7."
    )
    assert moves_on(page) == []
    field.fill("4")
    field.press("Enter")
    expect(page.locator(".move").first).to_have_text("14")
    expect(fault).to_be_empty()
    assert moves_on(page)[0] == "4"


#: Notes where the buttons that browse are, now and after each change of the moves without cells.
HEIGHTS_AT_CHANGES = """() => {
    const browse = document.getElementById("browse");
    const note = () => heights.push(browse.offsetTop);
    window.heights = [];
    note();
    const parts = { childList: true, subtree: true };
    new MutationObserver(note).observe(document.getElementById("choices"), parts);
}"""


def test_the_buttons_stay_when_the_button_of_a_pass_goes(people: BrowserUsers) -> None:
    page = people.come()
    start_match(page, "go", size=3)
    my_turn(page)
    page.evaluate(HEIGHTS_AT_CHANGES)
    page.get_by_role("button", name="Pass").click()
    expect(page.locator(".move").nth(1)).to_be_visible()
    before, without_pass, *_ = page.evaluate("heights")  # then the bot moves, and may pass, too
    assert without_pass == before


#: Of the numbers of cells, those that a piece covers.
COVERED_NUMBERS = """() => {
    const pieces = [...document.querySelectorAll("#board .layer.pieces circle")];
    const boxes = pieces.map((piece) => piece.getBoundingClientRect());
    const isCovered = (text) => {
        const last = text.getEndPositionOfChar(text.textContent.length - 1);
        const end = new DOMPoint(last.x, last.y).matrixTransform(text.getScreenCTM());
        return boxes.some(({ x, y, width }) => {
            const radius = width / 2;
            return Math.hypot(x + radius - end.x, y + radius - end.y) < radius;
        });
    };
    return [...document.querySelectorAll("#board .in-cell")]
        .filter((text) => text.textContent && isCovered(text)).map((text) => text.textContent);
}"""


def test_the_numbers_of_squares_are_beside_the_pieces(people: BrowserUsers) -> None:
    page = people.come()
    start_match(page, "draughts")
    my_turn(page)
    assert page.locator("#board .layer.pieces circle").count() == 40
    assert page.evaluate(COVERED_NUMBERS) == []


#: Shows a board with two moves that have the same clicks, and one with others.
PROMOTION = """() => import("/static/board.js").then(({ BoardView }) => {
    const place = document.createElement("div");
    place.id = "promotion";
    place.style.width = "10rem";
    document.querySelector("main").prepend(place);
    const board = {
        rows: 2, columns: 2, geometry: "grid", piece: "figure", surface: "checkered", block: 0,
        column_labels: ["a", "b"], row_labels: ["2", "1"],
    };
    const view = { cells: [0, 0, 1, 1], kinds: ["", "", "pawn", "king"], last: [] };
    const moves = [["a2=Q", [2, 0]], ["a2=N", [2, 0]], ["Kb2", [3, 1]]];
    const legal = moves.map(([name, cells], action) => ({ action, name, cells }));
    const onChoose = (action) => (place.dataset.chosen = moves[action][0]);
    new BoardView(place, board, { onChoose }).show(view, legal);
})"""


def test_a_dialog_at_the_square_asks_which_of_several_moves_with_the_same_clicks_is_meant(
    people: BrowserUsers,
) -> None:
    page = people.come("/games", reduced_motion="reduce")
    page.evaluate(PROMOTION)
    board, dialog = page.locator("#promotion"), page.get_by_role("dialog", name="Which move?")
    board.locator("[data-cell='2']").click()
    expect(board.get_by_role("gridcell", name="a2, empty, can be played")).to_be_attached()
    board.locator("[data-cell='0']").click()
    names = dialog.get_by_role("button").evaluate_all("all => all.map((each) => each.ariaLabel)")
    assert names == ["a2=Q", "a2=N", "Cancel"]
    square = board.locator("[data-cell='0']").bounding_box()
    picture = dialog.get_by_role("button", name="a2=Q").bounding_box()
    assert square
    assert picture
    assert abs(square["x"] - picture["x"]) < square["width"] / 4
    assert abs(square["y"] - picture["y"]) < square["height"] / 4
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert board.get_attribute("data-chosen") is None
    # The same by keyboard: the pawn, the cell above it, and the second move.
    board.locator("[data-cell='2']").focus()
    for key in ("Enter", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(dialog).to_be_visible()
    for key in ("ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(board).to_have_attribute("data-chosen", "a2=N")
    expect(dialog).to_have_count(0)
    assert page.evaluate("document.activeElement.dataset.cell") == "0"


def test_resigning_is_confirmed_first(people: BrowserUsers, site: BrowserSite) -> None:
    page = people.come()
    match = start_match(page, "nim")
    my_turn(page)
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Continue playing").click()
    expect(page.locator("#is-live")).to_be_visible()
    page.get_by_role("button", name="Resign").click()
    page.locator("#resign-dialog").get_by_role("button", name="Resign").click()
    expect(page.locator(OVER)).to_be_visible()
    expect(page.locator("#status")).to_have_text(own_result_in(site.stored(match)))
    expect(page.locator("#reason")).to_contain_text("resigned")


def test_another_match_against_the_same_bot_is_one_click_away(people: BrowserUsers) -> None:
    page = people.come()
    match = start_match(page, "tic_tac_toe")
    play_on(page, random.Random(2))
    page.get_by_role("button", name="Play again").click()
    page.wait_for_url(lambda url: "/matches/" in url and match not in url)
    my_turn(page)
    # Now the bot has moved first.
    assert len(moves_on(page)) == 1


def test_a_match_that_ended_while_its_page_was_loaded_can_be_played_again(
    people: BrowserUsers,
) -> None:
    ann, bob, match = meet(people)
    arrive(bob)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    bob.route("**/static/match.js", hold)
    bob.goto("about:blank")
    bob.goto(f"/matches/{match}", wait_until="commit")
    wait_until(lambda: bob.evaluate("true") and held, "the request of the script")
    ann.get_by_role("button", name="Abort").click()
    expect(ann.locator("#status")).to_have_text("No result")
    held.pop().continue_()
    expect(bob.locator("#status")).to_have_text("No result")
    expect(bob.get_by_role("button", name="Play again")).to_be_visible()


def test_one_person_challenges_another_who_accepts(people: BrowserUsers, site: BrowserSite) -> None:
    (ann, anns_name), (bob, bobs_name) = people.guest(), people.guest()
    choose(ann, "tic_tac_toe", "A player")
    ann.get_by_label("Player", exact=True).select_option(label=bobs_name)
    ann.get_by_role("radio", name="second").check(force=True)
    ann.get_by_role("button", name="Play", exact=True).click()
    challenge = bob.locator("#challenges")
    expect(challenge).to_contain_text(f"{anns_name} challenges you to Tic-tac-toe")
    challenge.get_by_role("button").click()
    match = arrive(bob)
    assert arrive(ann) == match
    for mover, other in ((bob, ann), (ann, bob), (bob, ann)):
        play_on(mover, random.Random(3), most=1)
        expect(mover.locator(MOVES)).to_have_count(0)
        my_turn(other)
        assert moves_on(ann) == moves_on(bob)
    assert moves_in(site.stored(match)) == moves_on(ann)


def test_two_people_take_back_a_move_and_agree_on_a_draw(
    people: BrowserUsers, site: BrowserSite
) -> None:
    """At 360 pixels and by keyboard, one of them."""
    ann, bob, match = meet(people, viewport={"width": 360, "height": 740})
    ann.get_by_role("button", name="Offer a draw").press("Enter")
    offers = ann.locator("#offers")
    expect(ann.locator("#offer-note")).to_contain_text("once both players have moved")
    for page, move in ((ann, "4"), (bob, "1")):
        type_move(page, move)
    my_turn(ann)
    takeback = bob.get_by_role("button", name="Take back")
    takeback.click()
    expect(offers).to_contain_text("asks to take a move back")
    expect(ann.locator("#announcer")).to_contain_text("asks to take a move back")
    assert ann.evaluate("document.documentElement.scrollWidth") <= 360
    ann.get_by_role("button", name="Decline").focus()
    ann.keyboard.press("Enter")
    expect(bob.locator("#offer-note")).to_contain_text("has declined the takeback")
    expect(takeback).to_have_attribute("aria-disabled", "true")
    expect(ann.locator("#draw")).to_be_focused()
    type_move(ann, "4")
    type_move(bob, "2")
    my_turn(ann)
    takeback.click()
    ann.get_by_role("button", name="Accept").click()
    type_move(bob, "3")
    expect(ann.locator(".move")).to_have_count(4)
    assert moves_on(ann) == moves_on(bob) == ["4", "1", "4", "3"]
    spectator = people.come(f"/matches/{match}")
    for page in (spectator, ann):
        expect(page.locator("#spectators")).to_have_text("1 watching")
    ann.get_by_role("button", name="Offer a draw").click()
    expect(ann.get_by_role("button", name="Withdraw the draw")).to_be_visible()
    bob.get_by_role("button", name="Accept").click()
    for page in (ann, bob, spectator):
        expect(page.locator("#status")).to_have_text("A tie")
        expect(page.locator("#reason")).to_have_text("a draw by agreement")
        expect(page.locator("#offers")).to_be_hidden()
    stored = site.stored(match)
    assert moves_in(stored) == moves_on(ann)
    assert stored.ended is not None
    assert stored.ended.reason is Reason.AGREEMENT


def middle(page: Page, cell: int) -> tuple[float, float]:
    """Return the middle of a cell of the board."""
    box = page.locator(f"#board [data-cell='{cell}']").bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, cell: int, to: int) -> None:
    """Drag a piece with the mouse."""
    page.mouse.move(*middle(page, cell))
    page.mouse.down()
    page.mouse.move(*middle(page, to), steps=4)
    page.mouse.up()


def drag_by_finger(page: Page, cell: int, to: int) -> None:
    devtools = page.context.new_cdp_session(page)
    (x, y), (to_x, to_y) = middle(page, cell), middle(page, to)
    for kind, points in (
        ("touchStart", [(x, y)]),
        ("touchMove", [((x + to_x) / 2, (y + to_y) / 2)]),
        ("touchMove", [(to_x, to_y)]),
        ("touchEnd", []),
    ):
        touched = [{"x": at[0], "y": at[1]} for at in points]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
    devtools.detach()


PICKED = "#board .cell[aria-label*='picked']"
CELLS = "cells => cells.map((cell) => Number(cell.dataset.cell))"
#: The moves in the list, and what is on the cells: a step of a move is drawn before it is listed.
LISTED = """[...document.querySelectorAll(".move, #board .cell")].map((each) =>
    (each.ariaLabel ?? each.textContent).replace(/, picked/, "")).join()"""
#: Has a drag played a move or a step of one, or picked its target, or is a question open?
IS_DROPPED = f"""([listed, answers, over, picked]) => {LISTED} !== listed
    || [answers, over].some((each) => document.querySelector(each)?.checkVisibility())
    || document.querySelectorAll(picked).length > 1"""


def is_dragged(game: str) -> bool:
    """Return whether a move of a random match begins with a piece and has a further cell."""
    position, draw = Position(games.load(small(game))), random.Random(1)
    while not position.winner:
        cells = position_view_of(position).cells
        moves = legal_moves_of(position)
        if any(len(move.cells) > 1 and cells[move.cells[0]] for move in moves):
            return True
        position = position.play(draw.choice(position.legal_actions))
    return False


DRAGGED = [game for game in games.names() if is_dragged(game)] if scale.slow else ["clobber"]


def drag_on(page: Page, draw: random.Random) -> int:
    """Drag pieces until the match is over, and click what cannot be dragged; return the drags."""
    drags = 0
    while my_turn(page):
        grips, picked = (
            page.locator(each).evaluate_all(CELLS) for each in ("#board .cell.grip", PICKED)
        )
        if not grips or len(picked) > 1:
            play_on(page, draw, 1)
            continue
        listed = page.evaluate(LISTED)
        cell = draw.choice(picked or grips)  # the only piece that can move is picked by the page
        if not picked:
            page.locator(f"#board [data-cell='{cell}']").click()
        targets = page.locator("#board .cell.target").evaluate_all(CELLS)
        if not picked:
            page.locator(f"#board [data-cell='{cell}']").click()  # puts the piece back
        drag_by_finger(page, cell, draw.choice([each for each in targets if each != cell]))
        page.wait_for_function(IS_DROPPED, arg=[listed, ANSWERS, OVER, PICKED])
        if page.locator(ANSWERS).count():
            play_on(page, draw, 1)
        drags += 1
    return drags


@pytest.mark.timeout(3600 if scale.slow else 600)
@pytest.mark.parametrize("seat", ["first", "second"] if scale.slow else ["second"])
@pytest.mark.parametrize("game", DRAGGED)
def test_a_whole_match_is_played_by_drags_on_a_phone(
    people: BrowserUsers, site: BrowserSite, game: str, seat: str
) -> None:
    page = people.come(viewport=WINDOWS["phone"], has_touch=True, reduced_motion="reduce")
    match = start_match(page, game, seat, **SMALL.get(game, {}))
    assert drag_on(page, random.Random(1)) > 0
    record = site.stored(match)
    expect(page.locator("#status")).to_have_text(own_result_in(record))
    assert moves_on(page) == moves_in(record)


#: Squares of chess, by their cells.
A2, E7, E5, E4, E2, D8, H4 = 48, 12, 28, 36, 52, 3, 39


def test_pieces_are_dragged_by_mouse_and_finger_also_in_advance(people: BrowserUsers) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    ann, bob, _ = meet(people, "chess", **phone)
    my_turn(ann)
    arrive(bob)
    expect(bob.locator("#resign")).to_be_visible()
    drag(bob, E7, E5)  # in advance
    planned = bob.locator("#board .cell[aria-label*='chosen in advance']")
    expect(planned).to_have_count(2)
    drag_by_finger(ann, E2, A2)  # not a move
    assert moves_on(ann) == []
    drag_by_finger(ann, E2, E4)
    expect(ann.locator(".move")).to_have_count(2)
    assert moves_on(ann) == ["e4", "e5"]
    expect(planned).to_have_count(0)
    # A move that is not legal then is not played, and another click takes one back.
    drag(bob, D8, E4)
    expect(planned).to_have_count(2)
    drag_by_finger(ann, A2, A2 - 8)
    my_turn(bob)
    assert moves_on(bob) == ["e4", "e5", "a3"]
    drag(bob, D8, H4)
    expect(bob.locator(".move")).to_have_count(4)
    for cell in (E5, E4, H4):
        bob.locator(f"#board [data-cell='{cell}']").click()
    expect(planned).to_have_count(0)


def test_captures_checks_and_the_lead_are_shown(people: BrowserUsers) -> None:
    ann, bob, _ = meet(people, "chess")
    arrive(bob)
    captures, checked = ann.locator("#captures-1"), ann.locator("#board .checked circle")
    expect(captures).to_be_empty()
    for page, move in zip((ann, bob) * 3, ["e4", "f5", "exf5", "a6", "Qh5+"], strict=False):
        type_move(page, move)
    expect(captures).to_have_text("captured: 1 pawn; ahead by 1+1")
    expect(captures.locator("svg")).to_have_count(1)
    expect(ann.locator("#captures-2")).to_be_empty()
    expect(checked).to_have_count(1)
    name = ann.locator("#board .cell[aria-label*='in check']").get_attribute("aria-label")
    assert name is not None
    assert name.startswith("e8, black king")
    type_move(bob, "g6")
    expect(checked).to_have_count(0)
    ann.get_by_role("button", name="First position").click()
    expect(captures).to_have_text("")


def test_moves_are_confirmed_by_a_second_click_if_a_player_wants_that(
    people: BrowserUsers,
) -> None:
    ann, _, match = meet(people, "chess")
    my_turn(ann)
    confirm = ann.get_by_label("Confirm moves")
    expect(confirm).not_to_be_checked()  # the clock is no slow one
    confirm.check()
    play, cancel = (ann.locator("#choices").get_by_role("button", name=n) for n in ("e4", "Cancel"))
    drag(ann, E2, E4)
    expect(play).to_have_text("Play e4")
    cancel.click()
    expect(play).to_have_count(0)
    for cell in (E2, E4):
        ann.locator(f"#board [data-cell='{cell}']").click()
    people.come(f"/matches/{match}")
    expect(ann.locator("#spectators")).to_have_text("1 watching")
    expect(play).to_be_visible()
    assert moves_on(ann) == []
    ann.locator(f"#board [data-cell='{E4}']").click()
    expect(ann.locator(".move")).to_have_count(1)
    ann.reload()
    expect(confirm).to_be_checked()


def test_moves_are_confirmed_at_first_with_a_slow_clock_also_by_keyboard(
    people: BrowserUsers,
) -> None:
    page = people.come("/?game=connect_four&bot=random&clock=0%2B1x86400&seat=1")
    page.get_by_role("button", name="Play", exact=True).click()
    arrive(page)
    my_turn(page)
    expect(page.get_by_label("Confirm moves")).to_be_checked()
    walk(page, page.locator(MOVES).first.element_handle())
    page.keyboard.press("Enter")
    expect(page.locator("#choices").get_by_role("button", name="Play 1")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#choices button")).to_have_count(0)
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(page.locator(".move")).to_have_count(2)
    assert moves_on(page)[0] == "1"


def test_the_steps_of_a_move_are_listed_as_one(people: BrowserUsers) -> None:
    page = people.come()
    start_match(page, "amazons", size=6)
    play_on(page, random.Random(1), most=3)
    expect(page.locator("#moves li:first-child .move")).to_have_count(3)
    expect(page.locator("#moves li:first-child .muted")).to_have_text("1.")
    page.locator("#moves li:first-child .move").nth(1).click()
    expect(page.locator("#note")).to_contain_text("After half-move 2 of")


def test_a_cell_is_chosen_in_advance(people: BrowserUsers) -> None:
    ann, bob, _ = meet(people)
    my_turn(ann)
    arrive(bob)
    expect(bob.locator("#resign")).to_be_visible()
    bob.locator("#board [data-cell='3']").click()
    type_move(ann, "1")
    expect(ann.locator(".move")).to_have_count(2)
    assert moves_on(ann) == moves_on(bob) == ["1", "4"]


def test_a_bot_of_the_server_agrees_to_a_takeback(people: BrowserUsers) -> None:
    page = people.come()
    start_match(page, "tic_tac_toe")
    play_on(page, random.Random(7), most=1)
    my_turn(page)
    page.get_by_role("button", name="Offer a draw").click()
    expect(page.locator("#offer-note")).to_contain_text("has declined the draw")
    page.get_by_role("button", name="Take back").click()
    expect(page.locator(".move")).to_have_count(0)
    page.get_by_role("button", name="Abort").click()
    expect(page.locator("#status")).to_have_text("No result")
    expect(page.locator("#reason")).to_contain_text("aborted the match")


#: Notes the tones and the notices of a page, which is hidden when `isHidden` is set.
NOTE_ALERTS = """
    window.noted = [];
    const createOscillator = AudioContext.prototype.createOscillator;
    AudioContext.prototype.createOscillator = function () {
        noted.push("tone");
        return createOscillator.call(this);
    };
    window.Notification = class {
        static permission = "granted";
        constructor(title, { body }) { noted.push(`${title}: ${body}`); }
        close() {}
    };
    Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false });
"""


def test_sounds_can_be_switched_off_and_notices_on(people: BrowserUsers) -> None:
    page = people.come()
    page.add_init_script(NOTE_ALERTS)
    page.reload()
    start_match(page, "connect_four")
    type_move(page, "4")
    expect(page.locator(".move")).to_have_count(2)
    my_turn(page)
    assert page.evaluate("noted") == ["tone", "tone"]
    page.get_by_label("Sounds", exact=True).uncheck()
    page.get_by_label("Notices while this page is hidden").check()
    page.evaluate("window.isHidden = true")
    type_move(page, "4")
    expect(page.locator(".move")).to_have_count(4)
    my_turn(page)
    (notice,) = page.evaluate("noted.slice(2)")
    assert notice.startswith("Your turn: random plays")
    page.reload()
    expect(page.get_by_label("Sounds", exact=True)).not_to_be_checked()
    expect(page.get_by_label("Notices while this page is hidden")).to_be_checked()


def test_a_registered_name_is_used_again(people: BrowserUsers) -> None:
    page = people.come()
    page.locator("#identity").click()
    page.get_by_label("A name of your own").fill("Ada of the browser")
    page.get_by_role("button", name="Take it").click()
    identity = page.locator("#identity")
    expect(identity).to_have_text("Ada of the browser")
    page.reload()
    expect(identity).to_have_text("Ada of the browser")
    expect(page.locator("#people")).to_contain_text("Ada of the browser")
    page.goto("/players/Ada%20of%20the%20browser")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ada of the browser")


def test_a_match_goes_on_after_the_server_was_killed(chromium: Browser, tmp_path: Path) -> None:
    where = ("--port", str(reserve_port()), "--http", f"127.0.0.1:{reserve_port()}")
    with running_site(tmp_path, *where) as site:
        people = BrowserUsers(chromium, site.address)
        page = people.come()
        match = start_match(page, "ultimate_tic_tac_toe")
        play_on(page, random.Random(4), most=5)
        my_turn(page)
        before = moves_on(page)
        people.tolerate("ERR_CONNECTION_REFUSED")
        site.server.process.kill()
        banner = page.locator("#connection")
        expect(banner).to_contain_text("The connection is lost")
        expect(page.locator(MOVES)).to_have_count(0)
    with running_site(tmp_path, *where) as site:
        expect(banner).to_contain_text("Connected again")
        my_turn(page)
        assert moves_on(page)[: len(before)] == before
        play_on(page, random.Random(5))
        record = site.stored(match)
        expect(page.locator("#status")).to_have_text(own_result_in(record))
        expect(banner).to_be_hidden()
        assert match_of(page) == match
        assert moves_on(page) == moves_in(record)
        page.goto("/")
        guest = page.locator("#people li", has_text=page.locator("#identity").inner_text())
        expect(guest).to_contain_text("you")
        expect(guest.get_by_text("bot", exact=True)).to_have_count(0)
        people.leave()
        assert people.faults == []


@pytest.mark.parametrize("times", [2, 3])
def test_a_match_is_opened_once_however_often_the_page_hears_of_it(
    people: BrowserUsers, times: int
) -> None:
    page = people.come()
    repeat(page, "started", times)
    opened: list[str] = []

    def note(url: str) -> None:
        opened.append(url)

    page.expose_function("noteNavigation", note)
    page.add_init_script(
        """navigation.addEventListener("navigate", ({ destination: { url, sameDocument } }) => {
            if (!sameDocument && url.includes("/matches/")) noteNavigation(url);
        })"""
    )
    page.reload()
    match = start_match(page, "tic_tac_toe")
    play_on(page, random.Random(6))
    page.get_by_role("button", name="Play again").click()
    page.wait_for_url(lambda url: "/matches/" in url and match not in url)
    my_turn(page)
    assert len(opened) == 2


def test_the_lobby_shown_again_by_back_neither_opens_the_match_nor_seeks_again(
    people: BrowserUsers,
) -> None:
    page = people.come()
    opened: list[str] = []

    def stay(route: Route) -> None:
        opened.append(route.request.url)
        route.abort("aborted")

    page.route("**/matches/*", stay)
    sent: list[str] = []
    choose(page, "tic_tac_toe", "random")
    with page.expect_request("**/matches/*"):
        page.get_by_role("button", name="Play", exact=True).click()
    heard: list[str] = []

    def listen(connection: WebSocket) -> None:
        connection.on("framesent", lambda frame: sent.append(json.loads(frame)["type"]))
        connection.on("framereceived", lambda frame: heard.append(json.loads(frame)["type"]))

    page.on("websocket", listen)  # before its first frame
    page.evaluate(
        """for (const type of ["pagehide", "pageshow"])
            dispatchEvent(new PageTransitionEvent(type, { persisted: true }))"""
    )
    wait_until(lambda: page.evaluate("true") and "started" in heard, "the match")
    expect(page.locator("#challenges")).to_contain_text("Back to the match")
    expect(page.locator("#new")).to_be_visible()
    assert len(opened) == 1
    assert not {"seek", "challenge_bot"} & set(sent)


def repeat(page: Page, kind: str, times: int) -> None:
    """Deliver each message of one type several times in a row, from the next page on."""

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def deliver(message: str | bytes) -> None:
            for _ in range(times if json.loads(message)["type"] == kind else 1):
                socket.send(message)

        server.on_message(deliver)

    page.route_web_socket("**/socket", connect)


def test_two_people_agree_on_dead_stones(people: BrowserUsers, site: BrowserSite) -> None:
    """Black surrounds a white stone, marks it as dead, and White accepts the score."""
    ann, bob, match = meet(people, "go(superko=true)")
    for black, white in (("E5", "E4"), ("F4", "A1"), ("D4", "B1")):
        type_move(ann, black)
        type_move(bob, white)
    my_turn(ann)
    ann.get_by_role("button", name="Count", exact=True).click()
    expect(ann.locator("#count-text")).to_contain_text("3, ")
    ann.locator("#board .cell[data-cell='49']").click()
    expect(ann.locator("#board .hint circle")).to_have_count(3)  # reached over empty points
    ann.get_by_role("button", name="Offer this score").click()
    expect(bob.locator("#offers")).to_contain_text("offers to count: ")
    expect(bob.locator("#board .hint circle")).to_have_count(3)
    expect(bob.get_by_role("gridcell", name=", marked")).to_have_count(3)
    bob.get_by_role("button", name="Decline").click()
    expect(ann.locator("#offer-note")).to_contain_text("has declined the score")
    type_move(ann, "E3")
    my_turn(bob)
    bob.get_by_role("button", name="Count", exact=True).click()
    bob.locator("#board .cell[data-cell='72']").click()
    bob.get_by_role("button", name="Offer this score").click()
    ann.get_by_role("button", name="Accept").click()
    for page in (ann, bob):
        expect(page.locator("#reason")).to_contain_text("as both agreed")
    ended = site.stored(match).ended
    assert ended is not None
    assert ended.reason == "agreement"
