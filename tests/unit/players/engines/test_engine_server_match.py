"""players.engines.engine_server: a match that plays forced passes itself."""

from __future__ import annotations

from playout import games
from playout.players.engines.engine_server import SkippingMatch, checked_player

OTHELLO = games.load("othello")
#: After these moves black, the first player, has no move: D3 C3 E6 D2 D1 E1 B2 C1.
TO_A_PASS = (19, 18, 44, 11, 3, 4, 9, 2)


def test_a_skipped_pass_is_replayed_and_taken_back_with_its_move() -> None:
    match = SkippingMatch(OTHELLO, checked_player("random"))
    for action in TO_A_PASS:
        match.play(action)
    again = match.replayed(OTHELLO)
    for each in (match, again):
        assert each.plies == len(TO_A_PASS) + 1
        assert each.was_skipped(1)
        assert not each.was_skipped(2)
        assert each.mover == 2
        each.take_back()
        assert each.plies == len(TO_A_PASS) - 1
        assert each.mover == 2
        assert not each.was_skipped(1)
        each.close()
