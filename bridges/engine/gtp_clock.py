"""The clock of a GTP engine: what the other program says of the time, as the limit for a move."""

from __future__ import annotations

from bridges.engine.gtp_text import GtpError, seconds, whole_number
from players.client.budget import limit_for_move
from players.core.player import Limit
from server.model.messages import ClockState, TimeControl

_MOST = 10**6


class GtpClock:
    """Time settings, and the time that each seat has left.

    `time_left` is believed when it comes. Without it, the time of the own moves is subtracted: some
    programs, such as gogui-twogtp, send the settings only.
    """

    def __init__(self) -> None:
        self._control: TimeControl | None = None
        self._left: dict[int, ClockState] = {}
        self._canadian = False  # whether an overtime is shared by several moves

    def restart(self) -> None:
        """Give both seats the full time, for a new match."""
        self._left = {}

    def set(self, main: str, overtime: str, stones: str) -> None:
        """Handle `time_settings`: times in seconds, Canadian overtime. Raises GtpError.

        An overtime without stones means no limit, and so does no time at all.
        """
        main_s, overtime_s, number = (
            seconds(main),
            seconds(overtime),
            whole_number(stones, 0, _MOST),
        )
        if overtime_s and number:
            self._use(TimeControl(main_s, 0.0, 1, overtime_s / number), canadian=True)
        else:
            unlimited = overtime_s > 0 or not main_s
            self._use(None if unlimited else TimeControl(main_s, 0.0, 0, 0.0))

    def set_kgs(self, arguments: list[str]) -> None:
        """Handle `kgs-time_settings`: none, absolute, byoyomi or canadian. Raises GtpError."""
        match [arguments[0].lower(), *arguments[1:]]:
            case ["none"]:
                self._use(None)
            case ["absolute", main]:
                self.set(main, "0", "0")
            case ["byoyomi", main, period, periods]:
                number = whole_number(periods, 1, _MOST)
                if not seconds(period):
                    raise GtpError("the time of a period must be above 0 seconds")
                self._use(TimeControl(seconds(main), 0.0, number, seconds(period)))
            case ["canadian", main, overtime, stones]:
                self.set(main, overtime, stones)
            case _:
                raise GtpError(
                    "expected none, absolute MAIN, byoyomi MAIN PERIOD PERIODS or "
                    "canadian MAIN OVERTIME STONES"
                )

    def set_left(self, seat: int, time: str, stones: str) -> None:
        """Handle `time_left`: main time if there are no stones, otherwise overtime.

        Stones are those left to play in Canadian overtime, or the periods left. Raises GtpError.
        """
        left_s, number = seconds(time), whole_number(stones, 0, _MOST)
        control = self._control or TimeControl(left_s, 0.0, 0, 0.0)
        if number and not control.periods:
            control = TimeControl(control.main_s, 0.0, 1, left_s / number)
            self._canadian = True
        self._control = control
        if not number:
            self._left[seat] = ClockState(left_s, control.periods)
        elif self._canadian:
            self._left[seat] = ClockState(left_s / number, 0)
        else:
            self._left[seat] = ClockState(left_s, min(number, control.periods) - 1)

    def used(self, seat: int, used_s: float) -> None:
        """Subtract the time of an own move."""
        if self._control:
            left = self._state(seat)
            in_period = left.periods < self._control.periods
            main_s = 0.0 if in_period else max(0.0, left.main_s - used_s)
            self._left[seat] = ClockState(main_s, left.periods)

    def limit(self, seat: int, ply: int, max_plies: int) -> Limit:
        """Return the limit for a move of a seat; without a clock it is the player's own."""
        clocks = (self._state(1), self._state(2)) if self._control else None
        return limit_for_move(self._control, clocks, seat, lag_s=0.0, ply=ply, max_plies=max_plies)

    def _use(self, control: TimeControl | None, *, canadian: bool = False) -> None:
        self._control, self._canadian = control, canadian
        self.restart()

    def _state(self, seat: int) -> ClockState:
        assert self._control
        full = ClockState(self._control.main_s, self._control.periods)
        return self._left.get(seat, full)
