"""playout.server.web.pages.ladders: the pages of ladders, of a hub on which bots have played."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed

from playout.server.ladder.hours import LadderHours
from playout.server.storage.queries import Reader
from playout.server.web.api import Api
from playout.server.web.http import Handler, HttpError, HttpRequest
from playout.server.web.match_data import MatchLookup
from playout.server.web.pages import ladders
from playout.server.web.pages.source import PageSource, page_handler
from support.ladders import GAME, LadderPlay

NASTY = "<b>'\"&amp;</b>"


def source_of(play: LadderPlay) -> PageSource:
    archive: Any = DirectArchive(play)
    return PageSource(play.harness.hub, archive, MatchLookup(play.harness.hub, archive))


class DirectArchive:
    """Reads the database at once, not in threads."""

    def __init__(self, play: LadderPlay) -> None:
        play.ended()  # stores what was not stored yet
        self._reader = Reader(f"sqlite:///{play.database.path}")

    def run_in_thread(self, work: Callable[[], Any]) -> Deferred[Any]:
        return succeed(work())

    def ladder_history(self, game: str, player: str) -> Deferred[Any]:
        return succeed(self._reader.ladder_history(game, player))

    def ratings(self, game: str) -> Deferred[Any]:
        return succeed(self._reader.leaderboard(game))


def text_of(handler: Handler, *path: str, **query: str) -> str:
    """The page of a path below /ladders; raises HttpError."""
    found: list[str] = []
    answer = handler(HttpRequest(path, query))
    answer.addCallback(lambda response: found.append(response.body.decode()))
    faults: list[Exception] = []
    answer.addErrback(lambda failure: faults.append(failure.value))
    for fault in faults:
        raise fault
    return found[0]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> PageSource:
    """Ann has a new version, which has played a little."""
    play = LadderPlay(tmp_path_factory.mktemp("ladder"), {"Ann": 300.0})
    for name in ("Ann", "Bob", "Cyd"):
        play.enter(name, NASTY if name == "Cyd" else "1")
    play.play(24)
    play.enter("Ann", "2")
    play.play(9)
    play.bots["Cyd"].hang_up()
    return source_of(play)


def test_the_list_has_the_ladders_that_were_entered(source: PageSource) -> None:
    text = text_of(page_handler(source, ladders.index))
    assert f'href="/ladders/{GAME}"' in text
    assert "4 versions" in text
    assert "33 matches" in text
    assert "Ann leads" in text


def test_the_page_has_standings_meetings_and_the_new_version(source: PageSource) -> None:
    text = text_of(page_handler(source, ladders.item), GAME)
    table = source.hub.ladders.table(GAME, 0.0)
    assert table is not None
    for each in table.standings:
        assert f"{each.rating:.0f} ± {each.error:.0f}" in text
    assert text.count(">retired<") == 1
    assert text.count(">provisional<") == sum(each.provisional for each in table.standings)
    assert '<th class="number" scope="col">Ladder rating</th>' in text
    assert '<th scope="col">Version</th>' in text
    assert "Is the new version better?" in text
    assert "Crosstable" in text
    (one, *_) = table.meetings
    points = f"{one.won + one.tied / 2:g}/{one.won + one.tied + one.lost}"
    assert f">{points}</a>" in text
    assert f"opponent={table.standings[one.other].name}" in text


def test_the_page_has_the_share_of_unplayed_matches(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {})
    play.enter("Ann")
    play.enter("Bob")
    play.play(3)
    running = play.harness.only_match()
    missing = running.players[running.to_move - 1]
    while running.id in play.harness.matches:
        play.harness.wait(0.1)
    text = text_of(page_handler(source_of(play), ladders.item), GAME)
    assert text.count('<td class="number">1 (25%)</td>') == 1
    (row,) = (each for each in text.split("<tr>") if "1 (25%)" in each)
    assert f">{missing}</a>" in row


def test_the_page_has_the_ratings_of_a_player_over_time(source: PageSource) -> None:
    text = text_of(page_handler(source, ladders.item), GAME, player="Ann")
    assert "Over time" in text
    assert 'class="key v1"' in text, "two versions"
    assert re.search(r'href="\?player=Ann#history" aria-current="page"', text)
    other = text_of(page_handler(source, ladders.item), GAME, player="Bob")
    assert 'class="key v1"' not in other


def test_the_page_says_when_matches_begin_again(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, ladder_hours=LadderHours(((0, 1),)))
    play.enter("Ann")
    at = play.harness.hub.ladders.table(GAME, 3600.0)
    assert at
    assert at.opens_at == 24 * 3600.0
    assert "open 00:00-00:01 UTC" in text_of(page_handler(source_of(play), ladders.item), GAME)


def test_the_part_that_changes_has_the_running_matches_and_is_never_old(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {})
    play.enter("Ann")
    play.enter("Bob")
    page = page_handler(source_of(play), ladders.item)
    (match,) = play.harness.matches
    before = text_of(page, GAME, part="ladder")
    assert f'data-match="{match}"' in before
    assert "<h1>" not in before
    play.play(1)
    after = text_of(page, GAME, part="ladder")
    assert f'data-match="{match}"' not in after
    assert "1 match<" in after


def test_the_api_has_the_ratings_of_a_player_over_time(source: PageSource) -> None:
    api = Api(source.hub, source.archive, source.lookup)
    answer = json.loads(text_of(api, "ladders", GAME, "players", "aNN"))
    assert (answer["game"], answer["name"]) == (GAME, "Ann")
    assert [each["version"] for each in answer["versions"]] == ["1", "2"]
    counts = [point["matches"] for point in answer["versions"][0]["history"]]
    assert counts[0] == 1
    assert counts == sorted(set(counts))
    with pytest.raises(HttpError, match="no 'nobody' has entered the ladder"):
        text_of(api, "ladders", GAME, "players", "nobody")


def test_names_are_text_and_nothing_else(source: PageSource) -> None:
    text = text_of(page_handler(source, ladders.item), GAME)
    assert NASTY not in text
    assert "&lt;b&gt;" in text


def test_a_ladder_that_nobody_has_entered_says_so(source: PageSource, tmp_path: Path) -> None:
    text = text_of(page_handler(source, ladders.item), "nim")
    assert "Nobody has entered this ladder yet." in text
    assert "playout-player any my_bot:MyBot --ladder" in text
    assert "Standings" not in text
    empty = LadderPlay(tmp_path, {})
    nobody = source_of(empty)
    assert "Nobody has entered a ladder yet" in text_of(page_handler(nobody, ladders.index))
