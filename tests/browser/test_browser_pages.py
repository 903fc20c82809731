"""Every page in a real browser, wide in light and narrow in dark, checked for accessibility.

With `--slow` each page is checked in four windows, in both themes, and has screenshots in
tests/screenshots.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from playout import games
from playout.agents.benchmark_file import Benchmark, ModelConfig
from playout.agents.journal import BenchmarkJournal
from playout.agents.report import BenchmarkReport
from playout.protocol.tournament_spec import Entrant, Openings, Sprt, TournamentSpec, dumps
from playout.server.model.records import TournamentCreated
from playout.server.storage import Database
from playout.server.storage.queries import Reader
from playout.server.storage.results import MatchFilter
from playout.server.web.pages import pages
from support import scale
from support.accessibility import accessibility_faults, nameless, require_axe
from support.browser import (
    PICTURES,
    BrowserSite,
    BrowserUsers,
    my_turn,
    running_site,
    start_match,
)
from support.ladders import LadderPlay
from support.played_tournaments import store_tournaments
from support.raw_client import RawClient
from support.variants import seen, small
from support.waiting import wait_until

#: Returns the faults of a page, in words.
Judge = Callable[[Page], list[str]]
#: A name that must be shown as text everywhere.
HOSTILE = "<img src=x onerror=hacked=1>"
SCREENS = (
    ((1440, 900), (1280, 720), (768, 1024), (390, 844)) if scale.slow else ((1280, 900), (360, 740))
)
#: The theme in which a width is checked.
THEMES = {1280: "light", 360: "dark"}
MAX_BYTES = 150_000

#: A match of chess that is a tie after 8 plies.
ENDING = "chess(fen=4k3/8/8/8/8/8/8/R3K2R w KQ - 92 80)"
CUP = TournamentSpec(
    name="autumn cup",
    games=tuple(ENDING if name == "chess" else small(name) for name in seen(games.names())),
    format="round_robin",
    rounds=1,
    clock="1/move",
    concurrency=2,
    seed=1,
    openings=Openings(plies=1),
    entrants=(Entrant("uct", "1"), Entrant("rave", "1"), Entrant("random", "1")),
)
TEST = TournamentSpec(
    name="is it stronger?",
    games=("tic_tac_toe",),
    format="sprt",
    rounds=0,
    sprt=Sprt(elo0=0, elo1=100),
    clock="1/move",
    concurrency=2,
    seed=1,
    entrants=(Entrant("uct", "1"), Entrant("chance", "1")),
)
KNOCKOUT = TournamentSpec(
    name="winter knockout",
    games=("tic_tac_toe",),
    format="knockout",
    clock="1/move",
    concurrency=2,
    seed=1,
    entrants=tuple(Entrant(name, "1") for name in ("uct", "chance", "rave", "random", "luck")),
)
LADDER = tuple(f"bot {number}" for number in range(8))
#: Running matches: their players, and the number of moves made.
LIVE = {
    "connect_four": ("Ada", "Bo", 11),
    "othello": ("Cem", "Dee", 20),
    "ultimate_tic_tac_toe": ("Eva", "Finn", 24),
    "gomoku": ("Gül", "Hal", 30),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserSite]:
    """A site with two finished tournaments, and with running matches."""
    folder = tmp_path_factory.mktemp("site")
    database = f"sqlite:///{folder}/playout.db"
    store_tournaments(database, CUP, TEST, KNOCKOUT)
    with contextlib.closing(Database(database)) as stored:
        stored.save([tournament_created()])
    store_ladder(folder)
    store_benchmark(folder / "benchmark")
    with (
        running_site(folder, "--benchmark", str(folder / "benchmark")) as site,
        contextlib.ExitStack() as others,
    ):
        for game, (*names, plies) in LIVE.items():
            play_some(site, others, game, names, plies)
        yield site


def store_ladder(folder: Path) -> None:
    """A ladder of nim with many bots, one of which has a new version."""
    play = LadderPlay(folder, {name: 60.0 * number for number, name in enumerate(LADDER)}, "nim")
    for name in LADDER:
        play.enter(name, "91c18a2eabec")
    play.play(30)
    play.enter(LADDER[0], "421020fb826c")
    play.play(12)
    play.ended()
    play.database.close()


def store_benchmark(folder: Path) -> None:
    """The report of a benchmark that begins."""
    folder.mkdir()
    models = (ModelConfig(HOSTILE), ModelConfig("honest"))
    benchmark = Benchmark(HOSTILE, (games.load("nim"),), models, ("random",))
    with (folder / "journal.jsonl").open("a+b") as file:
        BenchmarkReport.of(benchmark, BenchmarkJournal(file), "interrupted").write(folder)


def tournament_created() -> TournamentCreated:
    """An unfinished tournament with hostile names, whose organizer is not connected."""
    entrants = (Entrant(HOSTILE, HOSTILE), Entrant("honest", "1"))
    spec = TournamentSpec(name=HOSTILE, games=("nim",), format="round_robin", entrants=entrants)
    return TournamentCreated(
        tournament="hostile", name=HOSTILE, spec=dumps(spec), at=1_700_000_000.0
    )


def play_some(
    site: BrowserSite, others: contextlib.ExitStack, game: str, names: list[str], plies: int
) -> None:
    """Start a match of two bots and make `plies` moves."""
    both = [RawClient(site.server.host, site.server.port) for _ in range(2)]
    for seat, (bot, name) in enumerate(zip(both, names, strict=True), start=1):
        others.enter_context(bot)
        bot.hello(name)
        bot.say("seek", game=game, clock="900+10", seat=seat)
    match = both[0].hear_until("started")["match"]
    rules, draw = games.load(game), random.Random(game)
    state = rules.initial_state()
    for ply in range(plies):
        action = draw.choice(rules.legal_actions(state))
        info = {"win_rate": draw.uniform(0.3, 0.7), "simulations": 1000, "pv": [action]}
        mover = both[rules.current_player(state) - 1]
        said = mover.ask("move", match=match, ply=ply, action=action, info=info)
        assert said["type"] == "update"
        state = rules.next_state(state, action)


@pytest.fixture(scope="module")
def paths(site: BrowserSite) -> dict[str, str]:
    """The address of each page by its name."""
    reader = Reader(site.database)
    held = {row.name: row.tournament for row in reader.tournaments().items}
    over = {row.game.partition("(")[0]: row.match for row in best_matches(reader)}
    reader.close()
    return {
        "lobby": "/",
        "matches": "/matches",
        "players": "/players?game=connect_four",
        "everybody": "/players",
        "over_games": "/players?list=over_games",
        "clocks": "/players?game=connect_four&clocks=fast",
        "player": "/players/uct",
        "tournaments": "/tournaments",
        "tournament": f"/tournaments/{held['autumn cup']}",
        "sequential_test": f"/tournaments/{held['is it stronger?']}",
        "knockout": f"/tournaments/{held['winter knockout']}",
        "live": "/tournaments/hostile/live",
        "big_screen": "/tournaments/hostile/live?screen",
        "interrupted": "/tournaments/hostile",
        "benchmark": "/benchmarks/benchmark",
        "ladders": "/ladders",
        "ladder": "/ladders/nim",
        "puzzles": "/puzzles",
        "puzzle": "/puzzles/othello",
        "games": "/games",
        "rules": "/games/chess",
        "analysis": "/analysis?game=chess",
        "analysis_of_match": f"/analysis/{over['chess']}",
        "embed": f"/embed/matches/{over['go']}",
        "seek": "/seeks/nothing",
        "admin": "/admin",
        "organize": "/organize",
        "invite": "/invite#Ada:0",
        "not_found": "/matches/nothing",
        "rolls": f"/matches/{over['einstein_wurfelt_nicht']}/rolls",
        **{f"match_{game}": f"/matches/{match}" for game, match in over.items()},
    }


def best_matches(reader: Reader) -> list[Any]:
    """The tournament matches between the two searching bots."""
    found = reader.matches(MatchFilter(player="uct", opponent="rave"), per_page=200).items
    return [row for row in found if row.tournament]


def of_each_look() -> list[str]:
    """Return a game of each kind of board and of pieces, or all with `--slow`."""
    looks = {}
    for name in seen(games.names()):
        if scale.slow or name == "open_spiel":  # which has no board without a parameter
            looks[name, ""] = name
        else:
            view = games.load(name).view(games.load(name).initial_state())
            looks.setdefault((view.geometry, view.piece), name)
    return list(looks.values())


NAMES = (
    "lobby", "matches", "players", "everybody", "over_games", "clocks", "player", "tournaments",
    "tournament", "sequential_test", "knockout", "interrupted", "live", "big_screen", "ladders",
    "ladder", "puzzles", "puzzle", "games", "rules", "analysis", "analysis_of_match", "embed",
    "seek", "admin", "organize", "invite", "benchmark", "not_found", "rolls",
    *(f"match_{game}" for game in of_each_look()),
)  # fmt: skip


def test_each_route_has_a_page_that_is_checked(paths: dict[str, str]) -> None:
    routes = pages(None, None, None)  # type: ignore[arg-type]
    checked = {paths[name].split("/")[1].partition("?")[0].partition("#")[0] for name in NAMES}
    assert checked == {each for each in routes if "." not in each}  # others are files


@pytest.fixture
def judge() -> Judge:
    """Return a function that lists the accessibility faults of a page, by axe-core."""
    require_axe()
    return accessibility_faults


@pytest.fixture(scope="module")
def reader(chromium: Browser, site: BrowserSite) -> Iterator[tuple[BrowserUsers, Page]]:
    """A user who reads one page after the other: a page of its own would cost another process."""
    people = BrowserUsers(chromium, site.address)
    people.tolerate("/matches/nothing: status 404|Failed to load resource.* 404 ")
    yield people, people.come("about:blank", reduced_motion="reduce")
    people.leave()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_accessible(
    reader: tuple[BrowserUsers, Page], paths: dict[str, str], judge: Judge, name: str
) -> None:
    people, page = reader
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        if width == SCREENS[0][0] or scale.slow:  # otherwise the window becomes narrow
            page.goto(paths[name])
        if name not in ("embed", "benchmark", "big_screen"):  # which have no header
            expect(page.locator("#identity")).not_to_be_empty()
        if name == "lobby":
            see_the_boards(page)
        look(page, name, width, judge)
    assert people.faults == []


#: Of a page, the texts with the marks of code of their sources or names of requests, and the titles
#: of more than three lines.
BADLY_WRITTEN = r"""[
    ...document.body.innerText.split("\n").filter((line) => /`|inspect_server/.test(line)),
    ...[...document.querySelectorAll("h1")].filter((title) => {
        const { height } = title.getBoundingClientRect();
        return height > 3.2 * parseFloat(getComputedStyle(title).lineHeight);
    }).map((title) => title.textContent),
]"""


def look(page: Page, name: str, width: int, judge: Judge) -> None:
    """Check a page that is shown in that width."""
    for theme in ("light", "dark") if scale.slow else (THEMES[width],):
        page.emulate_media(color_scheme=theme)
        if scale.slow:
            page.screenshot(path=PICTURES / f"{name}_{width}_{theme}.png", full_page=True)
        assert judge(page) == [], f"{name}, {theme}"
    assert nameless(page) == [], name
    assert page.evaluate(BADLY_WRITTEN) == [], name
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.evaluate("document.documentElement.clientWidth"), f"{name}: {wide} px"


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_forms_and_dialogs_are_accessible(
    people: BrowserUsers, judge: Judge, width: int, height: int
) -> None:
    viewport = {"width": width, "height": height}
    page = people.come("/?game=othello(size=6)", reduced_motion="reduce", viewport=viewport)
    expect(page.locator("#parameter-size")).to_have_value("6")  # that the link gave
    look(page, "form", width, judge)
    page.locator("#identity").click()
    look(page, "name", width, judge)
    page.keyboard.press("Escape")
    start_match(page, "othello", size=4)
    my_turn(page)
    page.get_by_label("Move", exact=True).fill("z9")
    page.keyboard.press("Enter")
    look(page, "playing", width, judge)
    page.get_by_role("link", name="Rules").click()
    expect(page.get_by_role("dialog", name="Othello")).to_be_visible()
    look(page, "rules", width, judge)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Resign").click()
    look(page, "resigning", width, judge)
    page.locator("#resign-dialog").get_by_role("button", name="Resign").click()
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    look(page, "played", width, judge)


def test_faults_of_a_page_are_reported(chromium: Browser, site: BrowserSite, judge: Judge) -> None:
    people = BrowserUsers(chromium, site.address)
    page = people.come("/games")
    assert people.faults == judge(page) == []
    with page.expect_response("**/nothing"):
        page.evaluate("document.querySelector('h1').innerHTML = '<img src=/static/nothing>'")
    with page.expect_event("pageerror"):
        page.evaluate("setTimeout(() => nonsense())")
    with page.expect_event("console", lambda said: "Policy" in said.text):
        page.evaluate("document.body.setAttribute('style', 'color: red')")
    assert any(fault.startswith("image-alt: ") for fault in judge(page))
    people.leave()
    for part in ("status 404", "nonsense is not defined", "Content Security Policy"):
        assert any(part in each for each in people.faults), people.faults
    people.tolerate("status|Failed to load|nonsense|Content Security Policy")
    assert people.faults == []


#: Stores something in each way, and returns what is stored.
STORE = "localStorage.one = sessionStorage.two = document.cookie = 'three=4'"
STORED = "[localStorage.one, sessionStorage.two, document.cookie]"


def test_a_new_user_has_nothing_of_those_before(people: BrowserUsers) -> None:
    page = people.come("/games", color_scheme="dark")
    page.evaluate(STORE)
    assert page.evaluate(STORED) == ["three=4"] * 3
    people.leave()
    page = people.come("/games")
    assert page.evaluate(STORED) == [None, None, ""]
    assert not page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")


def test_the_index_of_the_games_leads_to_each(reader: tuple[BrowserUsers, Page]) -> None:
    people, page = reader
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/games")
    index = page.get_by_role("navigation", name="Index")
    expect(index.get_by_role("link")).to_have_count(page.locator(".card.game").count())
    for name in ("Y", "Chess"):
        index.get_by_role("link", name=name, exact=True).click()
        heading = page.get_by_role("heading", name=name, exact=True)
        expect(heading).to_be_in_viewport()
        expect(index).to_be_in_viewport()
    assert people.faults == []


def see_the_boards(page: Page) -> None:
    """Scroll to each board, as boards out of view are not drawn."""
    cards = page.locator("#matches li")
    expect(cards).to_have_count(len(LIVE))
    for card in cards.all():
        card.scroll_into_view_if_needed()
        expect(card.locator(".layer.pieces > g").first).to_be_attached()


def test_the_page_of_a_match_is_small(people: BrowserUsers, paths: dict[str, str]) -> None:
    page = people.come("about:blank")
    line = page.context.new_cdp_session(page)
    sizes: list[float] = []
    line.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    line.send("Network.enable")
    line.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.goto(paths["match_gomoku"], wait_until="networkidle")
    expect(page.locator("#board .layer.pieces > g").first).to_be_attached()
    # The page, its styles and its scripts.
    assert len(sizes) > 10
    assert sum(sizes) < MAX_BYTES


def test_the_rolls_of_a_match_are_verified_and_their_luck_is_shown(
    site: BrowserSite, people: BrowserUsers, paths: dict[str, str]
) -> None:
    """The server measures the luck of the stored matches when it has started."""
    match = paths["rolls"].split("/")[2]
    wait_until(lambda: getattr(site.stored(match).ended, "luck", None) is not None)
    ended = site.stored(match).ended
    assert ended
    assert ended.luck_of_rolls
    page = people.come(paths["rolls"])
    page.get_by_role("button", name="Verify the rolls").click()
    expect(page.locator("#verified")).to_have_text(re.compile("rolls .*: all follow from the key"))
    rows = page.locator("tr[data-ply]")
    expect(rows).to_have_count(len(ended.luck_of_rolls))
    assert set(rows.locator(".verified").all_inner_texts()) == {"✓"}
    shown = [float(each) for each in rows.locator("td:nth-child(3)").all_inner_texts()]
    assert shown == pytest.approx(ended.luck_of_rolls, abs=6e-4)
    total = f"{sum(ended.luck_of_rolls):+.3f}"
    expect(page.locator("tr:last-child td:nth-child(3)")).to_have_text(total)
    data = page.evaluate(
        "(address) => fetch(address).then((answer) => answer.json())", f"/api/matches/{match}"
    )
    verify_file(page, data)
    expect(page.locator("#verified")).to_have_text(re.compile("all follow from the key"))
    data["rolls"][1] |= {
        "first": (data["rolls"][1]["first"] + 1) % 6,
        "last": (data["rolls"][1]["first"] + 1) % 6,
    }
    verify_file(page, data)
    expect(page.locator("#verified")).to_have_text(re.compile(r"from the key: 1 of \d+\.$"))
    verify_file(page, data | {"key": "0" * 64})
    expect(page.locator("#verified")).to_have_text(re.compile("not the one whose SHA-256"))
    for other in ([], data | {"rolls": [None]}, data | {"positions": None}):
        verify_file(page, other)
        text = re.compile("not the JSON of a finished match")
        expect(page.locator("#verified")).to_have_text(text)
    page.goto(f"/matches/{match}?ply=2")
    expect(page.locator("#luck li").first).to_have_text(re.compile(re.escape(total)))
    first = ended.luck_of_rolls[0]
    expect(page.locator("#roll-luck")).to_have_text(re.compile(f"{abs(first):.3f}$"))


def verify_file(page: Page, data: object) -> None:
    """Verify JSON as a file, and forget what was shown before."""
    page.locator("#verified").evaluate("element => element.replaceChildren()")
    content = {
        "name": "match.json",
        "mimeType": "application/json",
        "buffer": json.dumps(data).encode(),
    }
    page.locator("#file").set_input_files(content)


def test_a_tournament_links_to_its_matches(people: BrowserUsers, paths: dict[str, str]) -> None:
    page = people.come("/tournaments")
    page.get_by_role("link", name="autumn cup").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("autumn cup")
    standings = page.get_by_role("region", name="Standings").get_by_role("row")
    expect(standings).to_have_count(4)
    expect(standings.last).to_contain_text("random")
    expect(page.get_by_role("img", name="Ratings")).to_be_visible()
    last = page.get_by_role("region", name="Crosstable").get_by_role("row").last
    played = 2 * len(CUP.games)  # each opening with both colours
    last.get_by_role("link", name=f"/{played}").first.click()
    found = page.get_by_role("list", name="Finished").get_by_role("listitem")
    expect(found).to_have_count(played)
    for name in found.all_inner_texts():
        assert "random" in name
    found.first.get_by_role("link", name="Match").click()
    expect(page.locator("#status")).to_have_text(re.compile("won$|A tie"))
    page.get_by_role("link", name="Tournament", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("autumn cup")
    page.goto(paths["sequential_test"])
    expect(page.get_by_text("elo1 is accepted").last).to_be_visible()


def test_a_knockout_has_its_bracket_without_scripts(
    people: BrowserUsers, paths: dict[str, str]
) -> None:
    page = people.come(paths["knockout"], java_script_enabled=False)
    bracket = page.get_by_role("region", name="Bracket")
    rounds = bracket.get_by_role("heading", level=3)
    expect(rounds).to_have_text(["Quarter-finals", "Semi-finals", "Final"])
    final = bracket.locator(".round").last
    assert final.locator(".won").count() == 1
    first = bracket.locator(".round").first
    assert left_of(first) < left_of(final), "the rounds are beside each other"
    page.set_viewport_size({"width": 360, "height": 740})
    assert left_of(first) == left_of(final), "they are below each other"
    final.locator(".points a").first.click()
    expect(page.get_by_role("list", name="Finished").get_by_role("listitem").first).to_be_visible()


def left_of(element: Locator) -> float:
    box = element.bounding_box()
    assert box
    return box["x"]


def test_a_hostile_tournament_name_is_text(people: BrowserUsers) -> None:
    page = people.come("/tournaments")
    expect(page.locator("#calendar")).to_contain_text(HOSTILE)
    page.get_by_role("link", name=HOSTILE).last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    for path in ("/tournaments", "/tournaments/hostile", "/matches?tournament=hostile"):
        page.goto(path)
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("typeof hacked") == "undefined"


def test_matches_are_filtered_by_choices(people: BrowserUsers) -> None:
    """With the keyboard and without scripts, in a narrow window."""
    page = people.come("/matches", java_script_enabled=False)
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_label("Game").select_option("connect_four")
    page.get_by_label("Player", exact=True).fill("uct")
    page.get_by_label("Result").select_option("won by the player")
    page.get_by_label("From").fill("1970-01-01")
    with page.expect_navigation():  # the values are the same on both pages
        page.get_by_label("From").press("Enter")
    expect(page.get_by_label("Game")).to_have_value("connect_four")
    expect(page.get_by_label("Player", exact=True)).to_have_value("uct")
    expect(page.get_by_label("Result")).to_have_value("won")
    expect(page.get_by_label("From")).to_have_value("1970-01-01")
    listed = page.get_by_role("list", name="Finished").get_by_role("listitem")
    winners = page.locator(".matches .won")
    expect(winners).to_have_text(["uct"] * listed.count())
    assert listed.count()


def test_a_player_is_found_by_its_rating(people: BrowserUsers) -> None:
    page = people.come("/players?game=connect_four")
    best = page.get_by_role("group", name="Ratings").get_by_role("row").nth(1)
    name = best.get_by_role("link").inner_text()
    best.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("region", name="Connect Four")).to_contain_text("4 matches")


def test_the_theme_that_was_chosen_stays(people: BrowserUsers) -> None:
    page = people.come("/games", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark theme").click()
    dark = page.evaluate(ground)
    page.reload()
    expect(page.get_by_role("button", name="Dark theme")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(ground) == dark != light
