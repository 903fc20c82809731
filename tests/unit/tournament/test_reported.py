"""Reports of tournaments that were played elsewhere: what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from playout.server.model.records import (
    MatchStarted,
    StoredMatch,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.tournament import reported
from playout.server.tournament.ledger import StoredGame
from playout.server.tournament.reported import BadReport, packed
from support.reports import ID, START, changed, tournament
from support.tournaments import stored_tournament

NOW = START + 2000


STORED = stored_tournament(tournament())
LINES = list(reported.lines_of(STORED))


def read(text: str) -> list[StoredMatch]:
    return reported.read_matches(text, 0, ID, "eve", "here", NOW)


GAMES = [
    StoredGame(each.started, each.ended, [move.action for move in each.moves])
    for each in read(packed(b"".join(LINES)))
]


def whole(**fields: Any) -> str:
    """Return the tournament of a report, with other values of some fields."""
    found = msgspec.json.decode(reported.whole_of(STORED))
    return packed(msgspec.json.encode(found | fields))


def test_a_report_names_no_account_and_is_not_rated() -> None:
    found = read(packed(b"".join(LINES)))
    assert {(each.started.accounts, each.started.rated) for each in found} == {
        ((None, None), False)
    }
    assert {each.started.reporter for each in found} == {"eve"}
    records = reported.read_whole(whole(), "here", START, GAMES, NOW)
    assert [type(each) for each in records] == [TournamentCreated, TournamentEnded]


def test_matches_as_those_of_the_server_are_rated_and_have_no_reporter() -> None:
    found = reported.read_matches(packed(b"".join(LINES)), 0, ID, "", "here", NOW)
    terms = {(each.started.rated, each.started.reporter, each.started.accounts) for each in found}
    assert terms == {(True, None, (None, None))}


def other_move(match: Any) -> None:
    """Put another legal move in place of the last one, and leave the result."""
    moves = match["moves"]
    used = {each["action"] for each in moves}
    moves[-1]["action"] = next(each for each in range(9) if each not in used)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_move, "finished"),
        (lambda each: each["moves"].append(each["moves"][-1] | {"ply": 99}), "moves"),
        (lambda each: each["moves"][2].update(action=each["moves"][0]["action"]), "action"),
        (lambda each: each["moves"][0].update(action=9), "action"),
        (lambda each: each["moves"][1].update(seat=1), "seat"),
        (lambda each: each["finished"].update(winner=-each["finished"]["winner"]), "winner"),
        (lambda each: each.update(game="nim"), "moves"),
        (lambda each: each.update(game="no_game"), "game"),
    ],
)
def test_forged_and_illegal_moves_are_refused(change: Callable[[Any], None], why: str) -> None:
    shortest = min(range(len(LINES)), key=lambda number: len(STORED.matches[number].moves))
    with pytest.raises(BadReport, match=why):
        read(changed(LINES, change, shortest))


def test_a_tournament_without_its_matches_is_refused() -> None:
    """It would have no reporter, and look like one of the server."""
    with pytest.raises(BadReport, match="has no matches"):
        reported.read_whole(whole(), "here", START, [], NOW)


@pytest.mark.parametrize("ended_at", [1e300, -1e300, NOW + 1000, START - 1])
def test_a_tournament_that_ends_at_an_impossible_time_is_refused(ended_at: float) -> None:
    with pytest.raises(BadReport, match="an end after its start, and not in the future"):
        reported.read_whole(whole(ended_at=ended_at), "here", START, GAMES, NOW)


def test_a_tournament_that_was_over_before_its_planned_start_is_refused() -> None:
    spec = msgspec.json.decode(reported.whole_of(STORED))["spec"]
    planned = spec | {"starts": "2999-01-01T00:00:00+00:00"}
    with pytest.raises(BadReport, match="planned start"):
        reported.read_whole(whole(spec=planned), "here", START, GAMES, NOW)


def test_a_tournament_in_another_encoding_is_refused() -> None:
    with pytest.raises(BadReport, match="cannot be read"):
        reported.read_whole(packed(b'{"\xe8": 1}'), "here", START, GAMES, NOW)


def test_an_entrant_withdraws_once() -> None:
    with pytest.raises(BadReport, match="once"):
        reported.read_whole(whole(withdrawn=[2, 2]), "here", START, GAMES, NOW)


def test_a_match_in_two_pairs_and_one_between_other_players_are_refused() -> None:
    twice = [*GAMES, GAMES[0]._replace(started=_started(0, match="another"))]
    with pytest.raises(BadReport, match="reported twice"):
        reported.read_whole(whole(), "here", START, twice, NOW)
    others = [GAMES[0]._replace(started=_started(0, second="Master")), *GAMES[1:]]
    with pytest.raises(BadReport, match="not between the players"):
        reported.read_whole(whole(), "here", START, others, NOW)


def _started(number: int, **fields: Any) -> MatchStarted:
    return msgspec.structs.replace(GAMES[number].started, **fields)
