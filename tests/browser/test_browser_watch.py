"""Watching matches and tournaments in a real browser, and browsing finished matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import APIResponse, Page, Route, WebSocketRoute, expect

from support.accessibility import accessibility_faults, require_axe
from support.browser import (
    BrowserSite,
    BrowserUsers,
    match_of,
    moves_in,
    moves_on,
    result_in,
    running_site,
    tab_to,
)
from support.given_accounts import accounts_in
from support.raw_client import RawClient
from support.two_clients import WON, TwoClients
from support.waiting import wait_until

#: As long as a name may be. It must be shown as text everywhere.
HOSTILE = "<img src=x onerror=hacked=1>"
ALSO_HOSTILE = "<script>hacked=1</script>"

SPEC = {
    "name": "autumn cup",
    "games": ["nim"],
    "format": "match",
    "entrants": [{"name": "Ada", "version": "1"}, {"name": "Bob", "version": "1"}],
    "rounds": 1,
    "clock": "none",
    "openings": {"plies": 1},
}


@pytest.fixture
def over(site: BrowserSite) -> Iterator[str]:
    """A finished match of tic-tac-toe with five moves, all of them with an analysis."""
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second)
        for ply, action in enumerate(WON):
            info = {"win_rate": 0.5 + ply / 10, "pv": [action], "actions": [[action, 10, 0.5]]}
            mover = two_clients.players[ply % 2]
            said = mover.ask("move", match=two_clients.match, ply=ply, action=action, info=info)
            assert said["type"] == "update"
        yield two_clients.match


@pytest.fixture
def guided(site: BrowserSite) -> Iterator[str]:
    """A finished match whose moves have the policy of a net."""
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second)
        for ply, action in enumerate(WON):
            free = [each for each in range(9) if each not in WON[:ply]]
            info = {
                "win_rate": 0.5,
                "actions": [[each, 90 if each == action else 10, 0.5] for each in free],
                "policy": [[each, 0.5 if each == free[-1] else 0.01] for each in free],
            }
            mover = two_clients.players[ply % 2]
            mover.ask("move", match=two_clients.match, ply=ply, action=action, info=info)
        yield two_clients.match


def where(site: BrowserSite) -> tuple[str, int]:
    return site.server.host, site.server.port


def test_a_live_match_is_found_in_the_lobby_and_every_move_is_seen(
    people: BrowserUsers, site: BrowserSite
) -> None:
    page = people.come()
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second)
        move_with_analysis(two_clients, 0)
        card = page.locator(f'#matches li[data-match="{two_clients.match}"]')
        tile = page.locator("#new-games label[title=tic_tac_toe]")
        expect(tile.locator(".playing")).to_be_visible()
        expect(card.locator(".layer.pieces > g").first).to_be_attached()
        card.get_by_role("link").click()
        page.wait_for_url("**/matches/*")
        expect(page.locator("#is-live")).to_be_visible()
        seen_at_first = len(moves_on(page))
        for ply in range(1, len(WON)):
            move_with_analysis(two_clients, ply)
        expect(page.locator("#is-live")).to_be_hidden()
    stored = site.stored(match_of(page))
    assert moves_on(page) == moves_in(stored)
    assert len(stored.moves) > seen_at_first
    expect(page.locator("#status")).to_have_text(result_in(stored))
    # The analyses of both players were sent live as well.
    expect(page.locator("#graph")).to_be_visible()
    expect(page.locator("#analysis")).to_contain_text("simulation")
    assert shown_ply(page) == len(stored.moves)


def move_with_analysis(two_clients: TwoClients, ply: int) -> None:
    """Make the next move of the match, with an analysis."""
    info = {"win_rate": 0.5, "simulations": 100, "pv": [WON[ply]]}
    mover = two_clients.players[ply % 2]
    response = mover.ask("move", match=two_clients.match, ply=ply, action=WON[ply], info=info)
    assert response["type"] == "update"


def shown_ply(page: Page) -> int:
    """The ply of the shown position: the number of pieces on the board."""
    return page.locator("#board .layer.pieces > g").count()


def test_a_finished_match_is_gone_through_by_keyboard(people: BrowserUsers, over: str) -> None:
    page = people.come(f"/matches/{over}")
    note, last = page.locator("#note"), len(WON)
    assert shown_ply(page) == last
    steps = [("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last)]
    for key, ply in steps:
        page.keyboard.press(key)
        assert shown_ply(page) == ply
        if ply < last:
            expect(note).to_have_text(f"After move {ply} of {last}")
            assert page.url.endswith(f"?ply={ply}")
        else:
            expect(page.locator("#score")).to_have_text("three in a row")
            assert "?" not in page.url
        won = page.get_by_role("gridcell", name="won by this")
        assert won.count() == page.locator("#board .layer.winning > g").count() == 3 * (ply == last)
        current = page.locator(".move[aria-current]")
        assert current.count() == (ply > 0)
        if ply:
            expect(current).to_contain_text(str(ply))


def test_the_policy_and_the_visits_of_a_search_are_shown_on_the_board(
    people: BrowserUsers, guided: str
) -> None:
    page = people.come(f"/matches/{guided}?ply=1")
    expect(page.locator("#analysis th")).to_contain_text(["Move", "Visits", "Win rate", "Policy"])
    heat = page.locator("#board .layer.heat > g")

    def hottest() -> object:
        rects = heat.locator("rect").all()
        hottest = max(rects, key=lambda each: float(str(each.get_attribute("fill-opacity"))))
        return hottest.evaluate("each => each.parentNode.getAttribute('transform')")

    def place(cell: int) -> str:
        return f"translate({20 + 40 * (cell % 3)} {20 + 40 * (cell // 3)})"

    expect(heat).to_have_count(9)
    assert hottest() == place(WON[0]), "the search liked the move that was played"
    page.get_by_label("Policy of the net").check()
    assert hottest() == place(8), "the net preferred the last free cell"
    page.get_by_label("Nothing").check()
    expect(heat).to_have_count(0)


def test_without_a_net_nothing_is_tinted(people: BrowserUsers, over: str) -> None:
    page = people.come(f"/matches/{over}?ply=1")
    expect(page.locator("#analysis")).to_contain_text("to win")
    expect(page.get_by_label("Policy of the net")).to_be_hidden()
    expect(page.locator("#board .layer.heat > g")).to_have_count(0)


def test_an_address_leads_to_a_position_and_keeps_it(people: BrowserUsers, over: str) -> None:
    page = people.come(f"/matches/{over}?ply=3")
    assert shown_ply(page) == 3
    page.get_by_role("button", name="One move back").click()
    page.reload()
    assert shown_ply(page) == 2
    assert page.url.endswith("?ply=2")
    page.locator(".move").nth(3).click()
    assert shown_ply(page) == 4
    page.goto(f"/matches/{over}?ply=99")
    assert shown_ply(page) == len(WON)


def test_the_graph_leads_to_positions_by_mouse_and_by_keyboard(
    people: BrowserUsers, over: str
) -> None:
    page = people.come(f"/matches/{over}")
    graph = page.locator("#graph")
    graph.focus()
    page.keyboard.press("Home")
    expect(graph).to_have_attribute("aria-valuenow", "0")
    box = graph.bounding_box()
    assert box
    # The graph is at least ten plies wide: its middle is the fifth.
    graph.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert shown_ply(page) == 5
    expect(graph).to_have_attribute("aria-valuenow", "5")
    # The first player sent 90 % for itself; the fourth move is the second player's.
    expect(graph).to_have_attribute("aria-valuetext", "5. c1: 90.0 %, says " + winner(page))
    page.keyboard.press("ArrowLeft")
    expect(graph).to_have_attribute("aria-valuetext", "4. b2: 20.0 %, says " + loser(page))


def winner(page: Page) -> str:
    return page.locator("#seat-1 .name").inner_text()


def loser(page: Page) -> str:
    return page.locator("#seat-2 .name").inner_text()


def test_an_earlier_position_stays_shown_while_the_match_goes_on(
    people: BrowserUsers, site: BrowserSite
) -> None:
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second)
        two_clients.play(2)
        page = people.come(f"/matches/{two_clients.match}")
        assert shown_ply(page) == 2
        page.keyboard.press("ArrowLeft")
        two_clients.play(1)
        expect(page.locator(".move")).to_have_count(3)
        assert shown_ply(page) == 1
        page.get_by_role("button", name="Live").click()
        assert shown_ply(page) == 3
        two_clients.finish()
        expect(page.locator("#status")).to_contain_text("won")
        assert shown_ply(page) == len(WON)


@pytest.mark.parametrize("ends", [False, True])
def test_what_comes_while_the_match_is_loaded_anew_is_announced_once_and_in_order(
    people: BrowserUsers, site: BrowserSite, ends: bool
) -> None:
    page = people.come()
    heard: list[str | bytes] = []
    held: list[tuple[Route, APIResponse]] = []
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second)

        def connect(socket: WebSocketRoute) -> None:
            if not two_clients.ply:
                two_clients.play(1)  # a move that the page does not have
            socket.connect_to_server().on_message(
                lambda said: (socket.send(said), heard.append(said))
            )

        page.route_web_socket("**/socket", connect)
        address = f"/matches/{two_clients.match}"
        page.route(f"**/api{address}", lambda route: held.append((route, route.fetch())), times=1)
        page.goto(address)
        wait_until(lambda: page.title() and held)  # the test is the network
        two_clients.play(1)
        last = '"ended"' if ends else '"update"'
        if ends:
            two_clients.finish()
        wait_until(lambda: page.title() and any(last in str(each) for each in heard))
        ((route, response),) = held
        route.fulfill(response=response)
        announced = page.locator("#announcer p")
        if ends:
            moves = [re.compile(" plays [abc][123]")] * len(WON)
            expect(announced).to_have_text([*moves, re.compile(r" won\.$")])
        else:
            expect(announced).to_have_text([re.compile(" plays a1"), re.compile(" plays a2")])
            two_clients.play(1)
            expect(announced).to_have_count(3)


def test_hostile_names_are_text_everywhere(people: BrowserUsers, site: BrowserSite) -> None:
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        first.hello(HOSTILE, guest=False, software=HOSTILE)
        second.hello(ALSO_HOSTILE, software=ALSO_HOSTILE)
        first.ask("seek", game="tic_tac_toe", clock="none", seat=1, opponent=ALSO_HOSTILE)
        second.ask("seek", game="tic_tac_toe", clock="none", seat=2, opponent=HOSTILE)
        match = first.hear_until("started")["match"]
        first.ask("seek", game="nim")
        page, name = people.guest()
        expect(page.locator("#people")).to_contain_text(HOSTILE)
        expect(page.locator("#seeks")).to_contain_text(HOSTILE)
        expect(page.locator("#matches")).to_contain_text(ALSO_HOSTILE)
        expect(page.locator("#new-opponent")).to_contain_text(HOSTILE)
        first.ask("seek", game="nim", opponent=name)
        expect(page.locator("#challenges")).to_contain_text(f"{HOSTILE} challenges you")
        assert_no_script_ran(page)

        page.goto(f"/matches/{match}")
        assert [winner(page), loser(page)] == [HOSTILE, ALSO_HOSTILE]
        for ply, action in enumerate(WON):
            mover = (first, second)[ply % 2]
            hostile = mover.ask("move", match=match, ply=ply, action=action, info={"pv": [HOSTILE]})
            assert hostile["code"] == "invalid"
            mover.ask("move", match=match, ply=ply, action=action, info={"win_rate": 0.5})
        expect(page.locator("#status")).to_have_text(f"{HOSTILE} won")
        expect(page.locator("#announcer")).to_contain_text(HOSTILE)
        expect(page.locator("#analysis")).to_contain_text(HOSTILE)
        assert_no_script_ran(page)

    for path, where_shown in (
        (f"/matches/{match}", "#seat-1"),
        ("/matches", "main"),
        (f"/matches?player={HOSTILE}", "main"),
        ("/players", "main"),
        (f"/players/{HOSTILE}", "h1"),
        ("/", "#results"),
    ):
        page.goto(path)
        expect(page.locator(where_shown)).to_contain_text(HOSTILE)
        assert_no_script_ran(page)


def assert_no_script_ran(page: Page) -> None:
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img[src=x]").count() == 0


def test_the_page_of_a_ladder_changes_by_itself(people: BrowserUsers, site: BrowserSite) -> None:
    with RawClient(*where(site)) as ann, RawClient(*where(site)) as bob:
        ann.hello("Ladder Ann", guest=False)
        bob.hello("Ladder Bob", guest=False)
        ann.ask("enter_ladder", game="connect_four")
        page = people.come("/ladders/connect_four")
        rows = page.get_by_role("region", name="Standings").get_by_role("row")
        expect(rows).to_have_count(2)
        bob.ask("enter_ladder", game="connect_four")
        expect(rows).to_have_count(3)
        board = page.locator("#ladder [data-match] .layer.pieces > g").first
        expect(board).to_be_attached()
        ann.ask("resign", match=ann.hear_until("started")["match"])
        expect(page.locator("#ladder")).to_contain_text("1 match")
        expect(rows.nth(1)).to_contain_text("Ladder Bob")
        expect(page.get_by_role("img", name="Ratings")).to_be_visible()


def test_the_page_of_a_tournament_changes_without_being_asked(
    people: BrowserUsers, site: BrowserSite, tokens: dict[str, str]
) -> None:
    with (
        RawClient(*where(site)) as zoe,
        RawClient(*where(site)) as ada,
        RawClient(*where(site)) as bob,
    ):
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


def test_the_page_of_a_tournament_shows_its_end_after_older_responses(
    people: BrowserUsers, site: BrowserSite, tokens: dict[str, str]
) -> None:
    with RawClient(*where(site)) as zoe:
        zoe.hello("Zoe", token=tokens["Zoe"])
        tournament = zoe.ask("create_tournament", spec=SPEC)["tournament"]
        page = people.come()
        page.clock.install()
        page.goto(f"/tournaments/{tournament}")
        expect(page.locator("[data-over='no']")).to_be_visible()
        older = page.request.get(f"/tournaments/{tournament}?part=progress").body()
        fetched: list[str] = []

        def answer(route: Route) -> None:
            fetched.append(route.request.url)
            route.fulfill(body=older, content_type="text/html")

        page.route("**part=progress*", answer, times=3)  # as if the server kept it for long
        zoe.ask("end_tournament", tournament=tournament)

        def is_over() -> int:
            page.clock.fast_forward(1000)
            return page.locator("[data-over='yes']").count()

        wait_until(is_over)
        assert len(fetched) == 3


BOARD = "mnk(m=7,n=7,k=7)"
MOVES = (24, 0, 23, 1, 22, 2, 16, 3, 9, 4, 46, 12)


@contextmanager
def two_at_once(site: BrowserSite, tokens: dict[str, str], **spec: object) -> Iterator[LiveMatches]:
    """A tournament of Ada and Bob, who play two matches at once, each with two sessions."""
    with ExitStack() as stack:
        zoe, *players = (stack.enter_context(RawClient(*where(site))) for _ in range(5))
        zoe.hello("Zoe", token=tokens["Zoe"])
        given = SPEC | {"games": [BOARD], "clock": "600+1", "openings": {}} | spec
        tournament = zoe.ask("create_tournament", spec=given)["tournament"]
        yield LiveMatches(tournament, players, tokens)


class LiveMatches:
    """The matches of a tournament, and moves in the first one."""

    def __init__(self, tournament: str, players: list[RawClient], tokens: dict[str, str]) -> None:
        self.tournament = tournament
        self._players = players
        self._tokens = tokens
        self._seats: dict[str, dict[int, RawClient]] = {}
        self.match = ""

    def begin(self) -> None:
        """Join with all sessions, and wait until all play."""
        for name, player in zip(("Ada", "Bob", "Ada", "Bob"), self._players, strict=True):
            player.hello(name, token=self._tokens[name])
            player.say("join", tournament=self.tournament)
        started = [(player, player.hear_until("started")) for player in self._players]
        for player, event in started:
            self._seats.setdefault(event["match"], {})[event["seat"]] = player
        self.match = min(self._seats)

    def play(self) -> None:
        """Make all moves, each with an analysis."""
        for ply, action in enumerate(MOVES):
            info = {"win_rate": 0.6, "depth": ply + 3, "seconds": 1.5, "pv": [action, 48]}
            move = {"match": self.match, "ply": ply, "action": action, "info": info}
            assert self._seats[self.match][1 + ply % 2].ask("move", **move)["type"] == "update"

    def resign(self) -> None:
        """End both matches, that with the moves at last: it stays on the page."""
        for match in sorted(self._seats, reverse=True):
            self._seats[match][1].ask("resign", match=match)


def test_a_tournament_is_watched_live_on_its_page_on_a_screen_and_in_a_frame(
    people: BrowserUsers, site: BrowserSite, other_site: str, tokens: dict[str, str]
) -> None:
    require_axe()
    with two_at_once(site, tokens, delay=2) as matches:
        address = f"/tournaments/{matches.tournament}/live"
        page = people.come()
        page.goto(address)
        board, small = page.locator("#board"), page.locator("#running li:visible")
        expect(page.locator("#large-title")).to_have_text("No match is being played at the moment.")
        expect(page.locator(".upcoming li")).to_have_count(2)
        matches.begin()
        expect(small).to_have_count(1)
        page.goto(f"{address}?match={matches.match}")
        expect(board.locator(".board")).to_be_visible()
        matches.play()
        expect(board.locator(".layer.pieces > g")).to_have_count(len(MOVES) - 2)
        expect(page.locator("#curve-rate .of-1")).to_have_text("60.0 %")
        expect(page.locator("#curve-depth .of-2")).to_have_text("4")
        expect(page.locator("#line-1")).to_contain_text("g7")
        assert accessibility_faults(page) == []

        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        assert accessibility_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab_to(page, small.locator("a"))
        page.keyboard.press("Enter")
        expect(page.locator("#board .layer.pieces > g")).to_have_count(0)

        page.goto(f"{address}?screen")
        expect(board.locator(".board")).to_be_visible()
        expect(page.locator("button, nav, select")).to_have_count(0)
        page.keyboard.press("Space")
        tables = page.locator(".is-standings")
        for _ in range(3):  # a slow page may have turned before the space bar
            page.keyboard.press("ArrowLeft")
            if tables.is_visible():
                break
        expect(tables).to_be_visible()
        expect(board).to_be_hidden()

        framed = f"{site.address}/embed/tournaments/{matches.tournament}"
        other = people.come(f"http://localhost:{other_site}/?frame={framed}")
        frame = other.frame_locator("iframe")
        expect(frame.locator("#board .board")).to_be_visible()
        usual = page.request.get(f"{site.address}{address}").headers["content-security-policy"]
        assert "frame-ancestors 'none'" in usual
        page.goto(f"{address}?match={matches.match}")
        expect(board.locator(".board")).to_be_visible()
        matches.resign()
        expect(page.locator("#result")).to_contain_text("resigned")
        expect(board.locator(".layer.pieces > g")).to_have_count(len(MOVES))


class FramingPage(BaseHTTPRequestHandler):
    """A page of another site, with frames of the addresses in its query."""

    def do_GET(self) -> None:
        frames = parse_qs(urlsplit(self.path).query).get("frame", [])
        tags = (f'<iframe src="{each}" width="400" height="500"></iframe>' for each in frames)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write("".join(tags).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    """The port of a server with a `FramingPage`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), FramingPage) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield str(server.server_port)
        server.shutdown()


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    """The tokens of the site's accounts by name."""
    return {}


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, other_site: str, tokens: dict[str, str]
) -> Iterator[BrowserSite]:
    """A server whose matches may be framed by the other site under the name localhost."""
    named = f"http://localhost:{other_site}"
    folder = tmp_path_factory.mktemp("site")
    tokens |= accounts_in(f"sqlite:///{folder}/playout.db", "Zoe", ["Ada", "Bob"])
    with running_site(folder, "--embed-on", named) as site:
        yield site


def test_a_match_is_live_in_frames_of_a_site_that_the_operator_names(
    people: BrowserUsers, site: BrowserSite, other_site: str
) -> None:
    with RawClient(*where(site)) as first, RawClient(*where(site)) as second:
        two_clients = TwoClients(first, second, clock="600+1")
        two_clients.play(1)
        address = f"{site.address}/embed/matches/{two_clients.match}"
        page = people.come(f"http://localhost:{other_site}/?frame={address}&frame={address}")
        frames = [page.frame_locator("iframe").nth(number) for number in (0, 1)]
        for frame in frames:
            expect(frame.locator(".seat .name")).to_have_text(list(two_clients.names))
            expect(frame.locator("#board .layer.pieces > g")).to_have_count(1)
            expect(frame.locator("#status")).to_have_text(f"{two_clients.names[1]} to move")
            expect(frame.locator("#clock-2")).to_have_text(re.compile(r"^(10|[5-9]):\d\d"))
            assert frame.locator("html").evaluate(
                "html => html.scrollHeight <= innerHeight && html.scrollWidth <= innerWidth"
            )
        two_clients.play(len(WON) - 1)
        for frame in frames:
            expect(frame.locator("#board .layer.pieces > g")).to_have_count(len(WON))
            expect(frame.locator("#status")).to_have_text(f"{two_clients.names[0]} won")


def test_no_other_site_frames_a_match_and_none_another_page(
    people: BrowserUsers, site: BrowserSite, other_site: str, over: str
) -> None:
    people.tolerate("frame-ancestors|ERR_BLOCKED_BY_RESPONSE")
    page = people.come("/games")
    usual = f"{site.address}/matches/{over}"
    embedded = f"{site.address}/embed/matches/{over}"
    for name, frame in (("127.0.0.1", embedded), ("localhost", usual)):
        with page.expect_console_message(lambda said: "frame-ancestors" in said.text):
            page.goto(f"http://{name}:{other_site}/?frame={frame}")
        expect(page.frame_locator("iframe").locator("#board")).to_have_count(0)
