"""The page of a match in a real Chromium: time to the first paint, and transferred bytes.

Two bots play a match over TCP on a new server, and the page is opened after its end, with all
positions and the bots' analysis of each. *New* is a browser with an empty cache; *again* is the
same browser reloading the page: it revalidates styles and scripts, which have not changed. The
lower bound is `/healthz`, an answer of one word, in the same browser. Loads alternate. *First
paint* is the browser's `first-contentful-paint`, from the start of the navigation; *board* is when
the board of the match is in the page; bytes are those transferred, with headers and compression.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import click
from playwright.sync_api import Browser, BrowserType, Page, sync_playwright

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample
from testbed.server_process import PAGE, PLAYER, UNLIMITED, ServerProcess, serving, stored

# The Chromium of the system, driven by playwright without a browser of its own.


PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
#: Shows no windows and no notices; a new user takes a third of the processor time of the others.
HEADLESS_SHELL = "chromium-headless-shell"
#: No sandbox, which root cannot use, and no network requests of the browser itself.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class ChromiumMissing(Exception):
    """Raised if this machine has no Chromium."""

    def __init__(self, package: str) -> None:
        super().__init__(f"it needs Chromium; install with: apt install {package}")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Run a browser until the end of the block. Raises ChromiumMissing."""
    with sync_playwright() as playwright:
        browser = launched(playwright.chromium)
        try:
            yield browser
        finally:
            browser.close()


def launched(kind: BrowserType, *, shows_notices: bool = False) -> Browser:
    """Return a new browser process. Raises ChromiumMissing."""
    programs = PROGRAMS if shows_notices else (HEADLESS_SHELL, *PROGRAMS)
    program = next(filter(None, map(shutil.which, programs)), None)
    if program is None:
        raise ChromiumMissing(programs[0])
    return kind.launch(executable_path=program, args=list(FLAGS))


#: The last one has the most cells and moves: a full row hardly ever happens.
GAMES = ("connect_four", "othello", "gomoku", "mnk(m=19,n=19,k=19)")
BARE = "/healthz"
PLAYING_S = 120.0

FIRST_PAINT = Target("paint_ms", at_most=300.0)
BYTES = Target("kb", at_most=150.0)

PAINT = (
    Column("page", "page"),
    Column("browser", "browser"),
    Column("moves", "moves"),
    Column("paint_ms", "first paint, ms", ".0f"),
    Column("board_ms", "board, ms", ".0f"),
    Column("bare", "times a one-word answer", ".1f"),
)
TRANSFER = (
    Column("page", "page"),
    Column("browser", "browser"),
    Column("requests", "requests"),
    Column("kb", "kB", ".1f"),
)

#: The time of the first contentful paint, as soon as it has happened.
_PAINTED = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true });
})"""
#: The time when the board is in the page, at the resolution of a frame (1/60 s).
_BOARD = """() => new Promise((resolve) => {
  const check = () => {
    if (document.querySelector("#board .layer.pieces")) resolve(performance.now());
    else requestAnimationFrame(check);
  };
  check();
})"""


@dataclass(frozen=True)
class OpenedMatch:
    """A match whose page is opened."""

    game: str
    path: str
    moves: int


@dataclass
class Loads:
    """The measurements of a page, one number per load."""

    paint_ms: list[float] = field(default_factory=list)
    board_ms: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    kb: list[float] = field(default_factory=list)


def run(bench: Bench) -> list[ResultTable]:
    """Return two tables: time, and bytes."""
    rounds = bench.pick(15, 4)
    try:
        with stored() as database, serving([*UNLIMITED, PAGE, database]) as served:
            matches = [_played(served, game) for game in bench.track(GAMES)]
            with chromium() as browser:
                taken = _loads(bench, browser, served, [each.path for each in matches], rounds)
    except ChromiumMissing as error:
        raise click.ClickException(str(error)) from error
    return _tables(matches, taken)


def _played(served: ServerProcess, game: str) -> OpenedMatch:
    """Let two bots play a match to its end."""
    options = ("--option=time=0.01", "--clock=none", f"--port={served.port}", "--guest", "--quiet")
    bots = [
        subprocess.Popen(
            [PLAYER, game, "uct", *options, f"--name={name}"], stdout=subprocess.DEVNULL
        )
        for name in ("Ann", "Bob")
    ]
    for bot in bots:
        if bot.wait(PLAYING_S):
            raise click.ClickException(f"a bot failed to play {game}")
    with urllib.request.urlopen(f"http://127.0.0.1:{served.page}/api/matches") as answer:
        newest = json.load(answer)["items"][0]
    return OpenedMatch(game, f"/matches/{newest['match']}", newest["plies"])


def _loads(
    bench: Bench, browser: Browser, served: ServerProcess, paths: Sequence[str], rounds: int
) -> dict[tuple[str, str], Loads]:
    """Return the loads by page and state of the cache; the first round is not counted."""
    taken: dict[tuple[str, str], Loads] = defaultdict(Loads)
    address = f"http://127.0.0.1:{served.page}"
    for number, _ in enumerate(bench.track([f"round {n}" for n in range(rounds + 1)])):
        for path in (BARE, *paths):
            with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
                page = context.new_page()
                for kind in ("new", "again"):
                    loads = taken[path, kind] if number else Loads()
                    _load(page, address + path, loads)
    return taken


def _load(page: Page, address: str, loads: Loads) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = list[float]()
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(address)
    loads.paint_ms.append(page.evaluate(_PAINTED))
    if not address.endswith(BARE):
        loads.board_ms.append(page.evaluate(_BOARD))
    page.wait_for_load_state("networkidle")
    session.detach()
    loads.requests.append(len(sizes))
    loads.kb.append(sum(sizes) / 1e3)


def _tables(
    matches: Sequence[OpenedMatch], taken: dict[tuple[str, str], Loads]
) -> list[ResultTable]:
    paint = ResultTable("Time to the first paint", PAINT)
    transfer = ResultTable("Transferred bytes", TRANSFER)
    shown = {each.path: each for each in matches}
    for (path, kind), loads in taken.items():
        match = shown.get(path)
        name, paint_ms = match.game if match else path, Sample(loads.paint_ms)
        paint.add(
            FIRST_PAINT if match else None,
            page=name,
            browser=kind,
            moves=match.moves if match else None,
            paint_ms=paint_ms,
            board_ms=Sample(loads.board_ms) if match else None,
            bare=paint_ms.over(Sample(taken[BARE, kind].paint_ms)),
        )
        transfer.add(
            BYTES if match else None,
            page=name,
            browser=kind,
            requests=Sample(loads.requests),
            kb=Sample(loads.kb),
        )
    return [paint, transfer]
