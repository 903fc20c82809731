"""What players of other sites expect at a board: colours, marks, names, offers, scores, room."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import msgspec
import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from playout import games
from playout.games import Position
from playout.games.backgammon import DOUBLE, TAKE, cell_of
from playout.server.core.view import board_of, legal_moves_of, position_view_of
from playout.server.storage.queries import Reader
from support.browser import (
    MOVES,
    OVER,
    BrowserSite,
    BrowserUsers,
    arrive,
    choose,
    match_of,
    meet,
    moves_on,
    my_turn,
    own_result_in,
    play_on,
    running_site,
    start_match,
    type_move,
)
from support.raw_client import RawClient
from support.waiting import wait_until
from testbed.machine import children, runs

#: What the processes of bots run.
PLAYER = "playout.commands.entry_points import player"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A site which analyses.

    Its bots wait as long as usual for players that are away: with a shorter time, a match is ended
    while its page loads on a busy machine.
    """
    bots = ("--bot", "Max:strong=uct(seed=1)", "--analysis-s", "0.5")
    with running_site(tmp_path_factory.mktemp("site"), *bots) as site:
        yield site


@pytest.fixture(scope="module")
def page(chromium: Browser, site: BrowserSite) -> Iterator[Page]:
    """A page for the tests that need no user of their own."""
    people = BrowserUsers(chromium, site.address)
    yield people.come("about:blank", reduced_motion="reduce")
    people.leave()
    assert people.faults == []


#: The names and the titles of games in a list of labels.
TITLES = """(labels) => labels.map((label) =>
    [label.querySelector("input").value, label.querySelector(".title").textContent])"""


def played(site: BrowserSite, game: str, names: tuple[str, str], seed: int = 1) -> str:
    """Play a match of random moves to its end, and return its id."""
    rules, draw = games.load(game), random.Random(seed)
    state, where = rules.initial_state(), (site.server.host, site.server.port)
    with RawClient(*where) as first, RawClient(*where) as second:
        for seat, (player, name) in enumerate(zip((first, second), names, strict=True), start=1):
            player.hello(name)
            player.say("seek", game=game, clock="none", seat=seat)
        match: str = first.hear_until("started")["match"]
        ply = 0
        while not rules.winner(state):
            action = draw.choice(rules.legal_actions(state))
            mover = (first, second)[state[0] - 1]
            assert mover.ask("move", match=match, ply=ply, action=action)["type"] == "update"
            state, ply = rules.next_state(state, action), ply + 1
    return match


def bots_of(site: BrowserSite) -> list[int]:
    started = children(site.server.process.pid)
    return [each for each in started if runs(each, PLAYER)]


def test_a_match_without_a_clock_waits_while_its_player_reads_another_page(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come("/?game=connect_four&clock=none")
    match = start_match(page, "connect_four")
    play_on(page, random.Random(1), most=1)
    my_turn(page)
    page.goto("/games/othello")
    wait_until(lambda: not bots_of(site), "the end of the bot's process")
    page.goto("/")
    page.get_by_role("link", name="Back to the match").click()
    play_on(page, random.Random(2))
    record = site.stored(match)
    expect(page.locator("#status")).to_have_text(own_result_in(record))
    assert record.ended is not None
    assert record.ended.reason == "rules"


#: The colours of the first piece of each player in the picture of a game.
COLOURS = """(game) => [".first", ".second"].map((owner) => {
    const piece = document.querySelector(`#new-games input[value='${game}'] ~ .picture ${owner}`);
    const shape = piece.querySelector(".body, circle") ?? piece;
    return getComputedStyle(shape).fill;
})"""


def test_pictures_have_the_colours_of_the_board_and_dark_begins_in_checkers(page: Page) -> None:
    page.goto("/")
    picture = page.locator("#new-games input[value='chess'] ~ .picture")
    expect(picture.locator(".first").first).to_be_attached()
    for game in ("chess", "amazons", "chong"):
        first, second = page.evaluate(COLOURS, game)
        assert first != second, game
    light, dark = page.evaluate(COLOURS, "chess")
    for game in set(games.names()) - {"open_spiel"}:  # which is no game without a parameter
        view = games.load(game).view(games.load(game).initial_state())
        if view.surface == "checkered":
            begins = [dark, light] if view.dark_begins else [light, dark]
            assert page.evaluate(COLOURS, game) == begins, game
    assert page.evaluate(COLOURS, "checkers") == [dark, light]


def test_hex_is_proposed_with_the_swap(page: Page) -> None:
    page.goto("/?game=hex")
    expect(page.locator("#summary")).to_contain_text("Hex (swap)")
    page.goto("/?game=hex(size=7)")
    expect(page.locator("#summary")).to_contain_text("Hex (size 7)")


def test_bots_help_nobody_in_a_running_match_between_people(page: Page, site: BrowserSite) -> None:
    where = site.server.host, site.server.port
    with RawClient(*where) as first, RawClient(*where) as second:
        for player in (first, second):
            player.hello(role="human")
            player.say("seek", game="tic_tac_toe", clock="none")
        match = first.hear_until("started")["match"]
        page.goto(f"/matches/{match}")
        expect(page.locator("#try-moves")).to_be_visible()
        for control in ("#ask", "#analyst", "#ask-all"):
            expect(page.locator(control)).to_be_hidden()
        first.say("resign", match=match)
        expect(page.locator("#ask")).to_be_visible()


def test_a_capture_of_several_pieces_takes_a_click_on_its_last_square(page: Page) -> None:
    page.goto("/")
    start_match(page, "checkers", fen="B:B1;4:W6;14;32")
    my_turn(page)
    for cell in (62, 30):
        page.locator(f"#board .cell[data-cell='{cell}']").click()
    expect(page.locator(".move").nth(1)).to_be_visible()
    assert moves_on(page)[:2] == ["1x10", "10x17"]


def test_a_lesson_shows_no_answer_of_a_bot_that_was_asked_before(
    page: Page, site: BrowserSite
) -> None:
    match = played(site, "connect_four", ("Ann A", "Bob A"))
    page.goto(f"/matches/{match}?ply=2")
    page.get_by_role("button", name="Learn from mistakes").click()
    expect(page.locator("#lesson-text")).to_contain_text("Find a better move.")
    page.get_by_role("button", name="Learn from mistakes").click()
    page.get_by_role("button", name="Ask a bot").click()
    expect(page.locator("#study-table tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Learn from mistakes").click()
    expect(page.locator("#lesson-text")).to_contain_text("Find a better move.")
    expect(page.locator("#study-bot")).to_be_hidden()
    expect(page.locator("#board .layer.heat > g")).to_have_count(0)


#: The names beside the clocks that are cut off.
CUT = """() => [...document.querySelectorAll(".seat .name")]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ textContent }) => textContent)"""


def test_names_are_whole_and_seeds_are_swept_into_high_stores(
    page: Page, site: BrowserSite
) -> None:
    names = ("guest-wwwwww", "A name with thirty-two letters w")
    match = played(site, "kalah", names, seed=3)
    page.goto(f"/matches/{match}")
    cells, seeds = page.locator("#board .cell"), page.locator("#board .pieces .piece-number")
    expect(seeds).to_have_count(2)
    assert sum(map(int, seeds.all_text_contents())) == 48
    expect(page.locator("#board [aria-label^='store']")).to_have_count(2)
    store = page.locator("#board [aria-label^='store']").first.bounding_box()
    pit = cells.nth(1).bounding_box()
    assert store
    assert pit
    assert store["height"] > 1.9 * pit["height"]
    for width in (1440, 1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate(CUT) == [], width
    page.set_viewport_size({"width": 1280, "height": 900})


def test_legal_moves_are_marked_after_a_piece_was_chosen(people: BrowserUsers) -> None:
    page = people.come()
    marks, ghost = page.locator("#board .dots circle"), page.locator("#board .ghost > g")
    for game, before, after in (("go", 0, None), ("hex", 0, None), ("chess", 0, 2)):
        page.goto("/?clock=none&seat=1")
        start_match(page, game)
        my_turn(page)
        expect(marks).to_have_count(before)
        cell = page.locator("#board .cell.target").nth(3)
        cell.hover()
        if after is None:
            expect(ghost).to_have_count(1)
        else:
            page.locator("#board [data-cell='52']").click()
            expect(marks).to_have_count(after)
        page.get_by_role("button", name="Abort").click()
        page.locator(OVER).wait_for()


def test_an_offer_covers_nothing_of_the_board(people: BrowserUsers, site: BrowserSite) -> None:
    where = site.server.host, site.server.port
    page, name = people.guest(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    with RawClient(*where) as rival:
        rival.hello()
        rival.say("seek", game="connect_four", clock="none", seat=1, opponent=name)
        page.locator("#challenges").get_by_role("button").click()
        match = rival.hear_until("started")["match"]
        rival.say("move", match=match, ply=0, action=3)
        play_on(page, random.Random(1), most=1)
        rival.hear_until("update", ply=1)
        rival.say("offer", match=match, offer="draw", ply=2)
        offers = page.locator("#offers")
        expect(offers).to_contain_text("draw")
        board, box = page.locator("#board").bounding_box(), offers.bounding_box()
        assert board
        assert box
        assert box["y"] >= board["y"] + board["height"]
        assert box["y"] + box["height"] <= 844
        expect(page.locator("#resign")).to_be_hidden()
        page.get_by_role("button", name="Decline").click()
        expect(page.locator("#resign")).to_be_visible()


def test_two_people_mark_dead_stones_until_both_accept_the_score(
    people: BrowserUsers, site: BrowserSite
) -> None:
    """White's stone in the corner is dead, and Black marks it."""
    ann, bob, match = meet(people, "go(size=5,komi=0.5,scoring=territory,counting=true)")
    for black, white in (("C1", "D1"), ("C2", "D2"), ("C3", "D3"), ("C4", "D4"), ("C5", "D5")):
        type_move(ann, black)
        type_move(bob, white)
    type_move(ann, "pass")
    type_move(bob, "A1")
    expect(ann.locator("#choices .button.primary")).to_have_count(0)  # Pass is none
    my_turn(ann)
    ann.get_by_role("button", name="Pass", exact=True).click()
    my_turn(bob)
    bob.get_by_role("button", name="Pass", exact=True).click()
    expect(ann.locator("#status")).to_have_text("Mark dead stones, then accept")
    expect(bob.locator("#status")).to_contain_text("marks dead stones")
    expect(ann.locator("#score")).to_have_text("score: Black 0, White 5.5")
    ann.locator("#board [data-cell='20']").click()
    expect(bob.locator("#board .dead")).to_have_count(1)
    expect(bob.locator("#board .area.first")).to_have_count(10)
    expect(bob.locator("#board .area.second")).to_have_count(5)
    expect(bob.locator("#board [data-cell='20']")).to_have_attribute(
        "aria-label", re.compile("A1, white dead stone")
    )
    expect(bob.locator("#score")).to_have_text("score: Black 11, White 5.5")
    ann.locator("#choices").get_by_role("button", name="Accept").click()
    my_turn(bob)
    bob.locator("#choices").get_by_role("button", name="Accept").click()
    expect(ann.locator("#status")).to_have_text("You won")
    expect(ann.locator("#score")).to_have_text("Black wins by 5.5")
    expect(ann.locator("#board .area")).to_have_count(15)
    record = site.stored(match)
    assert record.ended is not None
    assert record.ended.reason == "rules"


def test_a_bot_accepts_a_score_or_continues_the_match(
    people: BrowserUsers, site: BrowserSite
) -> None:
    """A search accepts what is better for it than to play on."""
    page = people.come("/?game=go(size=5,komi=0.5,counting=true)&clock=none")
    choose(page, "go", "Max")
    page.get_by_role("radio", name="first").check(force=True)
    page.get_by_role("button", name="Play", exact=True).click()
    match = arrive(page)
    for _ in range(60):
        if not my_turn(page):
            break
        buttons = page.locator("#choices button")
        accept = page.locator("#choices").get_by_role("button", name="Accept")
        (accept if accept.count() else buttons.first).click()
    record = site.stored(match)
    assert record.ended is not None
    assert record.ended.reason == "rules"


def test_who_waits_comes_first_and_games_are_found_by_their_names(
    page: Page, site: BrowserSite
) -> None:
    waiting = page.locator("#seeks-section")
    page.set_viewport_size({"width": 390, "height": 844})
    with RawClient(site.server.host, site.server.port) as other:
        name = other.hello()["name"]
        other.say("seek", game="hex(size=7)", clock="none")
        page.goto("/")
        expect(waiting).to_contain_text(name)
        box = waiting.get_by_role("button", name="Play").bounding_box()
        assert box
        assert box["y"] + box["height"] <= 844
    expect(waiting).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.set_extra_http_headers({"Accept-Language": "de"})
    page.goto("/")
    titles = dict(page.locator("#new-games label").evaluate_all(TITLES))
    reader = Reader(site.database)
    played = reader.most_played()
    reader.close()
    others = [title for name, title in titles.items() if name not in played]
    assert others == sorted(others, key=str.casefold)
    assert titles["dots_and_boxes"] == "Käsekästchen"
    shown = page.locator("#new-games .title:visible")
    page.get_by_role("button", name="Verbinden").click()
    assert sorted(shown.all_text_contents()) == ["Havannah", "Hex", "Lines of Action", "Y"]
    page.get_by_role("radio", name="Havannah").check(force=True)
    expect(page.get_by_role("button", name="Favoriten")).to_be_hidden()
    page.get_by_role("button", name="Favorit", exact=True).click()
    page.reload()
    page.get_by_role("button", name="Favoriten").click()
    expect(shown).to_have_text(["Havannah"])
    page.locator("#game-search").fill("hex")
    expect(page.locator("#no-games")).to_be_visible()
    page.get_by_role("button", name="Alle").click()
    page.locator("#game-search").fill("käse")
    expect(shown).to_have_text(["Käsekästchen"])
    expect(page.locator("#new-title")).to_have_text("Käsekästchen")
    page.locator("#game-search").fill("connect")  # the name in English
    expect(shown).to_have_count(1)
    page.set_extra_http_headers({})


class Network:
    """The connection of a page, which can swallow all messages, or those of the server."""

    def __init__(self, page: Page) -> None:
        self.works = self.hears = True
        self.is_unheard = False
        page.route_web_socket("**/socket", self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda message: self.works and server.send(message))
        server.on_message(lambda message: self._say(socket, message))

    def _say(self, socket: WebSocketRoute, message: str | bytes) -> None:
        if self.works and self.hears:
            socket.send(message)
        self.is_unheard |= not self.hears


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_network_that_swallows_packets_loses_no_move(
    people: BrowserUsers, site: BrowserSite, has_ended: bool
) -> None:
    page, name = people.guest(reduced_motion="reduce")
    with RawClient(site.server.host, site.server.port) as rival:
        rival.hello()
        rival.say("seek", game="connect_four", clock="none", seat=2, opponent=name)
        network = Network(page)
        page.clock.install()
        page.reload()
        page.locator("#challenges").get_by_role("button").click()
        match = rival.hear_until("started")["match"]
        my_turn(page)
        expect(page.locator(".presence.is-here")).to_have_count(2)
        network.works = False
        page.locator("#board [data-cell='38']").click()
        expect(page.locator("#board .unconfirmed")).to_have_count(1)
        page.clock.fast_forward(2100)
        expect(page.locator("#status")).to_have_text("Sending your move …")
        page.clock.fast_forward(11_000)
        expect(page.locator("#connection")).to_contain_text("The connection is lost.")
        expect(page.locator("#away-1")).to_have_text("not connected")
        if has_ended:
            rival.say("resign", match=match)
            rival.hear_until("ended")
        network.works = True
        page.clock.fast_forward(21_000)
        if has_ended:
            expect(page.locator("#status")).to_have_text("You won")
            page.clock.run_for(3000)
            expect(page.locator("#status")).to_have_text("You won")
            expect(page.locator("#board .pieces > *")).to_have_count(0)
            expect(page.locator("#announcer")).to_contain_text("You won.")
            return
        expect(page.locator(".move")).to_have_count(1)  # before that, the test is the network
        assert rival.hear_until("update")["action"] == 3
        expect(page.locator("#board .unconfirmed")).to_have_count(0)
        expect(page.locator("#board .pieces > *")).to_have_count(1)
        network.works = False
        rival.say("move", match=match, ply=1, action=2)
        rival.hear_until("update", action=2)
        page.clock.fast_forward(60_000)
        expect(page.locator("#connection")).to_contain_text("The connection is lost.")
        network.works = True
        page.clock.fast_forward(21_000)
        expect(page.locator("#announcer")).to_contain_text("plays 3; your turn.")
        page.locator("#board [data-cell='38']").click()
        rival.hear_until("update", ply=2)
        network.works = False
        rival.say("move", match=match, ply=3, action=2)
        rival.say("resign", match=match)
        rival.hear_until("ended")
        page.clock.fast_forward(60_000)
        expect(page.locator("#connection")).to_contain_text("The connection is lost.")
        network.works = True
        page.clock.fast_forward(21_000)
        announced = page.locator("#announcer p")
        expect(announced.last).to_contain_text("You won.")
        expect(announced.nth(-2)).to_contain_text("plays 3.")
        rival.say("resign", match=match)
        expect(page.locator("#status")).to_have_text("You won")


def test_a_long_capture_goes_on_if_the_answer_to_its_first_step_was_lost(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page, name = people.guest(reduced_motion="reduce")
    with RawClient(site.server.host, site.server.port) as rival:
        rival.hello()
        game = "checkers(fen=B:B1;4:W6;14;32)"
        rival.say("seek", game=game, clock="none", seat=2, opponent=name)
        network = Network(page)
        page.clock.install()
        page.reload()
        page.locator("#challenges").get_by_role("button").click()
        rival.hear_until("started")
        my_turn(page)
        network.hears = False
        for cell in (62, 30):
            page.locator(f"#board .cell[data-cell='{cell}']").click()
        wait_until(lambda: page.title() and network.is_unheard)  # the test is the network
        page.clock.fast_forward(2100)
        page.clock.fast_forward(11_000)
        expect(page.locator("#connection")).to_contain_text("The connection is lost.")
        expect(page.locator("#board .unconfirmed")).to_have_count(1)
        network.hears = True
        page.clock.fast_forward(21_000)
        expect(page.locator(".move")).to_have_count(2)
        expect(page.locator("#status")).to_have_text(re.compile("^raw .* to move$"))
        assert [rival.hear_until("update")["ply"] for _ in range(2)] == [0, 1]


def test_another_tab_goes_on_with_a_match_and_the_opponent_sees_a_lost_connection(
    people: BrowserUsers, site: BrowserSite
) -> None:
    ann, first_tab, _ = meet(people)
    type_move(ann, "4")
    my_turn(first_tab)
    bob = first_tab.context.new_page()
    bob.goto(first_tab.url)
    expect(bob.locator("#take-over")).to_contain_text("from another tab")
    bob.get_by_role("button", name="Continue here").click()
    expect(first_tab.locator("#connection")).to_contain_text("goes on in another tab")
    my_turn(bob)
    address = bob.url
    bob.goto("about:blank")
    expect(ann.locator("#away-2")).to_have_text(re.compile(r"disconnected, \d+ s left"))
    expect(ann.locator("#presence-2")).to_have_class("presence is-away")
    bob.goto(address)
    expect(ann.locator("#away-2")).to_have_text("")
    expect(ann.locator("#presence-2")).to_have_class("presence is-here")


def test_the_score_is_large_and_the_open_board_is_shaded(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come("/games")
    match = played(site, "dots_and_boxes", ("Ann C", "Bob C"))
    page.goto(f"/matches/{match}")
    score = page.locator("#score")
    expect(score).to_have_text(re.compile(r"boxes \d+-\d+"))
    assert score.evaluate("(element) => parseFloat(getComputedStyle(element).fontSize)") >= 20
    page.goto("/?clock=none&seat=1")
    start_match(page, "ultimate_tic_tac_toe")
    play_on(page, random.Random(1), most=1)
    my_turn(page)
    open_cells = page.locator(MOVES).count()
    expect(page.locator("#board .active rect")).to_have_count(1 if open_cells <= 9 else 8)
    won = next(seed for seed in range(50) if is_won("ultimate_tic_tac_toe", seed))
    page.goto(f"/matches/{played(site, 'ultimate_tic_tac_toe', ('Ann D', 'Bob D'), won)}")
    assert page.locator("#board .winning circle").count() >= 9


def is_won(game: str, seed: int) -> bool:
    rules, draw = games.load(game), random.Random(seed)
    state = rules.initial_state()
    while not rules.winner(state):
        state = rules.next_state(state, draw.choice(rules.legal_actions(state)))
    return rules.winner(state) > 0


#: Shows a king that may castle; the board's elements are in a part of their own.
CASTLING = """() => import("/static/board.js").then(({ BoardView }) => {
    const place = document.createElement("div");
    place.id = "castling";
    place.style.width = "30rem";
    document.querySelector("main").prepend(place);
    const board = {
        rows: 1, columns: 8, geometry: "grid", piece: "figure", surface: "checkered", block: 0,
        column_labels: [..."abcdefgh"], row_labels: ["1"],
    };
    const kinds = ["rook", "", "", "", "king", "", "", "rook"];
    const view = { cells: [1, 0, 0, 0, 1, 0, 0, 1], kinds, last: [] };
    const moves = [["Kd1", [4, 3]], ["Kf1", [4, 5]], ["O-O", [4, 6]], ["O-O-O", [4, 2]]];
    const legal = moves.map(([name, cells], action) => ({ action, name, cells }));
    const onChoose = (action) => (place.dataset.chosen = moves[action][0]);
    new BoardView(place, board, { onChoose }).show(view, legal);
})"""


def test_a_king_castles_onto_its_rook_and_the_right_button_draws_arrows(page: Page) -> None:
    page.goto("/games")
    page.evaluate(CASTLING)
    board = page.locator("#castling")
    for rook, move in ((7, "O-O"), (0, "O-O-O")):
        board.locator("[data-cell='4']").click()
        board.locator(f"[data-cell='{rook}']").click()
        expect(board).to_have_attribute("data-chosen", move)
        page.evaluate("document.getElementById('castling').remove()")
        page.evaluate(CASTLING)
    own = board.locator(".arrows.own > *")
    for to, drawn in ((5, 1), (4, 2), (5, 1)):
        for cell, act in ((4, page.mouse.down), (to, page.mouse.up)):
            box = board.locator(f"[data-cell='{cell}']").bounding_box()
            assert box
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            act(button="right")
        expect(own).to_have_count(drawn)
    board.locator("[data-cell='1']").click()
    expect(own).to_have_count(0)


#: Shows a position of backgammon and its legal moves, and notes the move that is chosen.
DICE = """({ board, view, legal, mover }) => Promise.all(
    ["board", "board_layout", "dice_boards"].map((name) => import(`/static/${name}.js`)),
).then(([{ BoardView }, { countedBy }]) => {
    const place = document.createElement("div");
    place.id = "dice-board";
    place.style.width = "30rem";
    document.getElementById("dice-board")?.remove();
    document.querySelector("main").prepend(place);
    const moveOf = (action) => legal.find((each) => each.action === action);
    const onChoose = (action) => (place.dataset.chosen = moveOf(action).name);
    const options = { onChoose, flipped: mover === 2, players: ["Ann", "Bob"] };
    new BoardView(place, countedBy(board, mover), options).show(view, legal, mover);
})"""


def test_a_move_of_backgammon_is_clicked_checker_by_checker_in_any_order(page: Page) -> None:
    game = games.load("backgammon")
    page.goto("/games")
    board = page.locator("#dice-board")
    for mover, roll in ((1, 2), (2, 3)):  # 3-1
        position = Position(game, (roll,))
        assert position.to_move == mover
        page.evaluate(DICE, shown(position))

        def click(*points: int, mover: int = mover) -> None:
            for point in points:
                board.locator(f"[data-cell='{cell_of(mover, point)}']").click()

        click(8, 5)
        expect(board.locator(".used-die")).to_have_count(1)
        expect(board.get_by_role("gridcell", name="point 5, 1 checker of")).to_have_count(1)
        click(6, 6)  # another checker is picked and put back
        expect(board.locator(".used-die")).to_have_count(1)
        board.get_by_role("button", name="Take back").click()
        expect(board.locator(".used-die")).to_have_count(0)
        click(6, 5, 8, 5)
        expect(board).to_have_attribute("data-chosen", "8/5 6/5")
        page.evaluate(DICE, shown(position))
        click(24, 20)  # by both dice
        expect(board).to_have_attribute("data-chosen", "24/20")
        lowest = board.locator(".cells [role=row]").last.get_by_role("gridcell")
        expect(lowest.nth(12)).to_have_attribute(
            "aria-label", re.compile("^point 1, 2 checkers of")
        )


def test_the_cube_of_a_match_is_drawn_and_its_decisions_are_buttons(page: Page) -> None:
    game = games.load("backgammon(points=3)")
    page.goto("/games")
    board = page.locator("#dice-board")
    cube = board.locator(":is(.cube, .offered-cube)")
    opened = Position(game, (2,))  # 3-1 of player 1
    begun = opened.play(opened.legal_actions[0])
    heights = []
    for position, number, names, chosen in (
        (begun, "1", ["Roll", "Double"], "Double"),
        (begun.play(DOUBLE), "2", ["Take", "Drop"], "Take"),
    ):
        page.evaluate(DICE, shown(position))
        expect(cube.locator("text")).to_have_text(number)
        expect(board.get_by_role("button")).to_have_text(names)
        heights.append(cube.bounding_box())
        board.get_by_role("button", name=chosen).click()
        expect(board).to_have_attribute("data-chosen", chosen.lower())
    expect(board.locator(".offered-cube")).to_have_count(1)
    middle, offered = heights
    assert middle
    assert offered
    assert offered["y"] > middle["y"]  # on the side of player 1, who may take it
    taken = begun.play(DOUBLE).play(TAKE)
    assert taken.rolled(lambda n: 0).state[38] == 1
    page.evaluate(DICE, shown(taken.rolled(lambda n: 0)))
    expect(cube).to_have_count(1)
    expect(board.locator(".offered-cube")).to_have_count(0)


def shown(position: Position) -> dict[str, object]:
    """Return what the page needs to draw a position and to take a move."""
    data: dict[str, object] = msgspec.to_builtins(
        {
            "board": board_of(position.game),
            "view": position_view_of(position),
            "legal": legal_moves_of(position),
            "mover": position.to_move,
        }
    )
    return data


#: Turns a disc over, and returns how many animations run then.
FLIP = """() => import("/static/board.js").then(({ BoardView }) => {
    const place = document.createElement("div");
    document.querySelector("main").prepend(place);
    const board = {
        rows: 1, columns: 3, geometry: "grid", piece: "disc", surface: "green", block: 0,
        column_labels: [..."abc"], row_labels: ["1"],
    };
    const shown = new BoardView(place, board, {});
    shown.show({ cells: [1, 2, 0], last: [] });
    shown.show({ cells: [1, 1, 1], last: [2] });
    return place.getAnimations({ subtree: true }).length;
})"""


def test_discs_are_turned_over(people: BrowserUsers) -> None:
    page = people.come("/games", reduced_motion="no-preference")
    assert page.evaluate(FLIP) == 1


def test_a_phone_held_sideways_shows_the_board_and_the_controls(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come(viewport={"width": 844, "height": 390})
    start_match(page, "chess")
    my_turn(page)
    page.evaluate("scrollTo(0, 0)")
    for part in ("#board svg", "#status", "#browse", "#resign", "#clock-1", "#clock-2"):
        box = page.locator(part).bounding_box()
        assert box, part
        assert box["y"] + box["height"] <= 390, part
        assert box["x"] + box["width"] <= 844, part
    assert match_of(page)


#: What a finger presses that is smaller than 44 pixels.
SMALL_TARGETS = """() => {
    const wanted = "button, select, input:not([type='radio'], [type='checkbox']), .choice, " +
        ".segments label, .brand, main a, footer a";
    return [...document.querySelectorAll(wanted)].filter((each) => {
        const { width, height } = each.getBoundingClientRect();
        const isInText = each.localName === "a" && each.closest("p");
        return width && !isInText && each.checkVisibility() && Math.min(width, height) < 43.9;
    }).map((each) => `${each.localName}#${each.id} ${each.textContent.trim()}`);
}"""


def test_what_a_finger_presses_is_44_pixels_high_and_wide(
    chromium: Browser, site: BrowserSite
) -> None:
    people = BrowserUsers(chromium, site.address)
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = people.come(**phone)
    expect(page.locator("#new-bots")).to_contain_text("random")
    assert page.evaluate(SMALL_TARGETS) == []
    start_match(page, "chess")
    my_turn(page)
    assert page.evaluate(SMALL_TARGETS) == []
    people.leave()
    assert people.faults == []
