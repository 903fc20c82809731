"""Whole matches by Chromium's accessibility tree alone, on five kinds of boards.

With `--slow` they are of all games.
"""

from __future__ import annotations

import random
import re

import pytest
from playwright.sync_api import Page

from playout import games
from playout.games import Position
from playout.games.core.view import BoardView
from playout.server.model.records import StoredMatch
from support import scale
from support.accessibility import (
    AccessibleNode,
    ScreenReader,
    accessibility_faults,
    require_axe,
    screen_reader,
)
from support.browser import BrowserSite, BrowserUsers, arrive, moves_in, own_result_in
from support.variants import seen, small
from support.waiting import wait_until

#: One game for each kind of board: squares, hexagons, pits, lines and intersections.
KINDS = ["breakthrough", "hex", "kalah", "dots_and_boxes", "go"]
#: The colours of the pieces of player 1 and player 2, by the surface of the board.
LOOKS = {
    "checkered": ("white", "black"),
    "wood": ("black", "white"),
    "green": ("black", "white"),
    "blue": ("red", "yellow"),
}


@pytest.mark.timeout(3600 if scale.slow else 600)
@pytest.mark.parametrize("game", seen(games.names()) if scale.slow else KINDS)
def test_a_match_is_played_by_what_a_screen_reader_says(
    people: BrowserUsers, site: BrowserSite, game: str
) -> None:
    page = people.come(f"/?game={small(game)}&seat=1", reduced_motion="reduce")
    with screen_reader(page) as reader:
        start = wait_until(lambda: button(reader.tree(), "Play"))
        wait_until(lambda: "random" in reader.tree().text)
        reader.press(start)
        match = arrive(page)
    with screen_reader(page) as reader:
        said = play(page, reader, random.Random(1))
        record = site.stored(match)
        assert own_result_in(record) in said[-1]
        assert_moves_are_announced(said, record)
        reader.press(wait_until(lambda: button(reader.tree(), "Read the position")))
        dialog = wait_until(lambda: next(reader.tree().all("dialog"), None))
        assert_is_position(dialog, record)
        require_axe()
        assert accessibility_faults(page) == []


#: Waits until a page says that it is over, or that a move can be chosen: reading the tree again and
#: again would take most of the processor time.
IS_READY = """() => document.querySelector("#rematch:not([hidden])")?.checkVisibility() ||
    document.querySelector("#board .cell.target, .board-choices button, .move-dialog button")"""


def play(page: Page, reader: ScreenReader, draw: random.Random) -> list[str]:
    """Choose among the moves that the page names, until it is over; return what was announced."""
    said: dict[int, str] = {}

    def listen() -> AccessibleNode:
        page.wait_for_function(IS_READY, polling=30)
        root = reader.tree()
        for log in root.all("log"):
            said.update({each.element: each.text for each in log.all("paragraph")})
        return root

    def ready() -> list[AccessibleNode]:
        root = listen()
        if over := button(root, "Play again"):
            # The result is announced after the button has come.
            return [over] if re.search("You (won|lost)|A tie", [*said.values()][-1]) else []
        return choices(root) if root.name.startswith("Your turn") else []

    while (moves := wait_until(ready))[0].name != "Play again":
        reader.press(draw.choice(moves))
    return list(said.values())


def choices(root: AccessibleNode) -> list[AccessibleNode]:
    """The cells and the buttons that can be chosen."""
    if dialog := next(root.all("dialog"), None):
        return [each for each in dialog.all("button") if each.name != "Cancel"]
    cells = [each for each in root.all("gridcell") if each.name.endswith("can be played")]
    groups = (each for each in root.all("group") if each.name == "Moves without a cell")
    return cells + [each for group in groups for each in group.all("button")]


def button(root: AccessibleNode, name: str) -> AccessibleNode | None:
    return next((each for each in root.all("button") if each.name == name), None)


def assert_moves_are_announced(said: list[str], record: StoredMatch) -> None:
    """Check that each move was announced by its player and its name, in their order.

    Where the first roll decides who begins, the opponent may have moved before the page was open.
    """
    told = [each for each in said if re.match(r".+ plays? ", each)]
    movers = {1: "You play", 2: f"{record.started.players[1]} plays"}
    expected = [
        f"{movers[move.seat]} {name}"
        for move, name in zip(record.moves, moves_in(record), strict=True)
        if move.seat
    ]
    before = len(expected) - len(told)
    first = next(at for at, each in enumerate(expected) if each.startswith("You"))
    assert 0 <= before <= first, "\n".join([*said, "", *expected])
    expected = expected[before:]
    assert [each[: len(start)] for each, start in zip(told, expected, strict=True)] == expected


def assert_is_position(dialog: AccessibleNode, record: StoredMatch) -> None:
    """Check the rows of a position against those that the rules give."""
    game = games.load(record.started.game)
    state = Position(game, (move.action for move in record.moves)).state
    view, players = game.view(state), record.started.players
    if view.geometry == "text":
        assert all(line.strip() in dialog.text for line in view.text.splitlines())
        return
    wanted = [rows_of(view, row, players) for row in range(view.rows)]
    (rows,) = (each for each in dialog.all("list") if each.name == "Rows")
    assert [each.text.partition(": ")[2] for each in rows.all("listitem")] == wanted


def rows_of(view: BoardView, row: int, players: tuple[str, str]) -> str:
    """What is on the cells of a row, in the words of the page."""
    cells = range(row * view.columns, (row + 1) * view.columns)
    if view.geometry == "heap":
        used = [cell for cell in cells if not view.cell_labels or view.cell_labels[cell]]
        return f"{sum(view.cells[cell] for cell in used)} of {len(used)} chips"
    named = [
        f"{name_of(view, cell)} {content}"
        for cell in cells
        if (content := content_of(view, cell, players))
    ]
    return ", ".join(named) or "empty"


def name_of(view: BoardView, cell: int) -> str:
    row, column = divmod(cell, view.columns)
    if view.geometry == "columns":
        return f"column {view.column_labels[column]}, row {view.rows - row}"
    if view.geometry == "scores":
        return "this turn" if cell == 1 else view.cell_labels[cell]
    if view.cell_labels:
        point = "point " if view.geometry == "points" and view.cell_labels[cell].isdecimal() else ""
        return point + view.cell_labels[cell]
    return f"{view.column_labels[column]}{view.row_labels[row]}"


def content_of(view: BoardView, cell: int, players: tuple[str, str]) -> str:
    """What is on a cell; "" for nothing."""
    owner, kind = view.cells[cell], view.kinds[cell] if view.kinds else view.piece
    if view.geometry == "scores":
        return counted(view.counts[cell], "point")
    if view.geometry == "points":
        count = view.counts[cell]
        return f"{counted(count, 'checker')} of {players[owner - 1]}" if count else ""
    if view.counts:
        seeds, whose = view.counts[cell], players[1 if cell < view.columns else 0]
        return f"{seeds} seed{'s' * (seeds != 1)} of {whose}" if view.cell_labels[cell] else ""
    if owner in (0, 3):
        return kind if owner and kind != "dot" else ""
    if view.piece == "mark" and view.surface != "blank":
        return "XO"[owner - 1]
    if view.surface in LOOKS:
        return f"{LOOKS[view.surface][owner - 1]} {kind}"
    return f"{kind} of {players[owner - 1]}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
