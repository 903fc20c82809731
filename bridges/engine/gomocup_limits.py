"""What a Gomocup manager says with INFO: the time of the brain, its memory, and the rules."""

from __future__ import annotations

import re
from dataclasses import replace

from players.client.budget import limit_for_move
from players.core.player import Limit
from server.model.messages import ClockState, TimeControl

#: The time of a move when the manager asks for moves as fast as possible (`timeout_turn 0`).
FASTEST_S = 0.02
#: The time that a move takes to the manager, in seconds, which managers count as part of the turn.
LAG_S = 0.03

_NUMBERS = ("timeout_turn", "timeout_match", "time_left", "max_memory", "rule")
_UNLIMITED_MS = 2**31 - 1


class GomocupLimits:
    """The latest value of each key; times are in milliseconds there."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._used_s = 0.0  # in this match

    @property
    def rule(self) -> int:
        """The sum of the bits of `INFO rule`; 0 is five or more in a row."""
        return self._values.get("rule", 0)

    @property
    def memory_bytes(self) -> int:
        """The most memory of the process; 0 for no limit."""
        return max(0, self._values.get("max_memory", 0))

    def set(self, key: str, value: str) -> None:
        """Store a value; keys that mean nothing here, and values that are no number, are ignored.

        The protocol has no answer to INFO.
        """
        if key in _NUMBERS and re.fullmatch("-?[0-9]{1,18}", value):
            self._values[key] = int(value)

    def restart(self) -> None:
        """Begin a match, with its full time."""
        self._used_s = 0.0
        self._values.pop("time_left", None)

    def used(self, seconds: float) -> None:
        """Count the time of a move; the manager's `time_left` replaces it."""
        self._used_s += seconds
        self._values.pop("time_left", None)

    def limit(self, seat: int, ply: int, max_plies: int) -> Limit:
        """Return the limit for a move: the smaller one of the turn and of the match."""
        limits = [self._turn_limit(seat), self._match_limit(seat, ply, max_plies)]
        given = [limit for limit in limits if limit and limit.seconds is not None]
        return min(given, key=lambda limit: limit.seconds or 0.0, default=Limit())

    def _turn_limit(self, seat: int) -> Limit | None:
        timeout_ms = self._values.get("timeout_turn")
        if timeout_ms is None:
            return None
        turn = TimeControl(0.0, 0.0, 1, max(0, timeout_ms) / 1000)
        left = ClockState(0.0, 1)
        limit = limit_for_move(turn, (left, left), seat, lag_s=LAG_S, ply=0, max_plies=1)
        return replace(limit, seconds=max(FASTEST_S, limit.seconds or 0.0))

    def _match_limit(self, seat: int, ply: int, max_plies: int) -> Limit | None:
        total_ms = self._values.get("timeout_match", 0)
        left_ms = self._values.get("time_left", _UNLIMITED_MS)
        if left_ms < _UNLIMITED_MS:
            left_s = max(0.0, left_ms / 1000)
        elif total_ms > 0:
            left_s = max(0.0, total_ms / 1000 - self._used_s)
        else:
            return None
        control = TimeControl(max(left_s, total_ms / 1000), 0.0, 0, 0.0)
        left = ClockState(left_s, 0)  # the opponent's is not told
        return limit_for_move(control, (left, left), seat, lag_s=0.0, ply=ply, max_plies=max_plies)
