"""playout.laboratory.losses and costly_moves: which lost matches show most, and their moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from playout import games
from playout.games import Position, SpecError
from playout.laboratory.losses import lost_matches, reasons, shortest_by_moves, unsearched
from playout.players.analyst.costly_moves import Loss, instructive
from playout.protocol.messages import Reason
from playout.server.model.records import MatchEnded, MatchStarted, MovePlayed, StoredMatch

#: Nim with five chips, of which a turn takes one to three: whoever begins wins by taking one.
GAME = "nim(chips=5)"


def stored(names: Sequence[str], game: str = GAME, **changes: Any) -> StoredMatch:
    """A match of Ann, who moves first, and Bob."""
    position = Position.from_names(games.load(game), names)
    ended = {"winner": position.winner, "reason": Reason.RULES, "text": "the end"}
    ended |= {key: changes.pop(key) for key in list(changes) if key in ended}
    match = "-".join(names)
    return StoredMatch(
        started=MatchStarted(
            match=match,
            game=game,
            first="Ann",
            second="Bob",
            first_session="1",
            second_session="2",
            clock="none",
            rated=False,
            illegal_moves=0,
            credit_cap_s=0.0,
            at=0.0,
            **changes,
        ),
        moves=tuple(
            MovePlayed(match=match, ply=ply, seat=1 + ply % 2, action=action, at=0.0)
            for ply, action in enumerate(position.moves)
        ),
        ended=MatchEnded(match=match, first_return=0.0, second_return=0.0, at=1.0, **ended),
    )


def found(matches: Sequence[StoredMatch], name: str, number: int = 3) -> list[Loss]:
    shortest = shortest_by_moves(lost_matches(matches, name))
    return instructive([unsearched(each, name) for each in shortest], number, 1.0, str)


def test_the_move_that_lost_a_won_position_is_found() -> None:
    (loss,) = found([stored(["3", "2"])], "Ann")
    (costly,) = loss.costly
    assert (costly.ply, costly.move, costly.better) == (1, "3", "1")
    assert (costly.win_rate, costly.left) == (1.0, 0.0)
    assert list(loss.lines()) == [
        "Match 3-2, nim(chips=5), player 1 against Bob, lost: the end",
        "  3 2",
        "  move 1, 3: win rate 100% -> 0%; better: 1",
    ]


def test_a_match_lost_from_its_opening_has_no_costly_move_and_comes_last() -> None:
    opened = stored(["1", "1", "3"], opening=1)
    thrown = stored(["2", "1", "2"], opening=1)
    first, second = found([opened, thrown], "Bob")
    assert [each.move for each in first.costly] == ["1"]
    assert not second.costly
    assert second.match == "1-1-3"
    assert list(second.lines())[1] == "  1 | 1 3"
    assert "no move cost a tenth of the win rate" in list(second.lines())[2]


def test_equal_matches_count_once_and_as_many_as_wanted_are_returned() -> None:
    other = stored(["3", "2"], game="nim(chips=5,max_take=4)", winner=2)
    matches = [stored(["3", "2"]), stored(["3", "2"]), stored(["2", "3"]), other]
    assert len(found(matches, "Ann")) == 3
    assert len(found(matches, "Ann", number=1)) == 1


def test_only_losses_count_and_their_reasons_are_said() -> None:
    matches = [
        stored(["3", "2"]),
        stored(["1"], winner=2, reason=Reason.TIME),
        stored(["1", "1", "3"]),
        stored(["1"], winner=0, reason=Reason.ABORTED),
    ]
    lost = lost_matches(matches, "Ann")
    assert reasons(lost) == "2 lost matches: 1 by rules, 1 by time"
    assert reasons(lost_matches(matches, "Bob")) == "1 lost match: 1 by rules"
    assert not lost_matches(matches, "Cem")
    assert [each.match for each in found(matches, "Ann")] == ["3-2"], "not the loss on time"


def test_a_game_with_chance_is_refused() -> None:
    rolled = stored(["roll"], game="pig", winner=2, reason=Reason.RESIGNATION)
    with pytest.raises(SpecError, match="has chance"):
        found([rolled], "Ann")
