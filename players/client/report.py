"""Reports of a connected player: its analysis for the server, the clocks for the user."""

from __future__ import annotations

from playout.players.core.player import Info
from playout.protocol.messages import Analysis, ClockState, TimeControl

#: Maximum numbers of moves of the principal variation, and of actions, that are sent.
_PV_LENGTH, _ACTIONS = 20, 50


def analysis(info: Info) -> Analysis:
    """Return the part of a player's analysis that is sent to the server with the move."""
    return Analysis(
        win_rate=float(info.win_rate),
        simulations=int(info.simulations),
        seconds=float(info.seconds),
        depth=int(info.depth),
        proven=None if info.proven is None else int(info.proven),  # type: ignore[arg-type]
        pv=tuple(int(action) for action in info.pv[:_PV_LENGTH]),
        actions=tuple(
            (int(each.action), int(each.visits), float(each.win_rate))
            for each in info.actions[:_ACTIONS]
        ),
        policy=tuple(
            (int(each.action), round(float(each.prior), 4))
            for each in info.actions[:_ACTIONS]
            if each.prior is not None
        ),
    )


def clocks(
    names: tuple[str, str],
    states: tuple[ClockState, ClockState],
    time_controls: tuple[TimeControl, TimeControl],
) -> str:
    """Return a line with the remaining time of both players."""
    parts = []
    for name, left, time_control in zip(names, states, time_controls, strict=True):
        minutes, seconds = divmod(left.main_s, 60)
        periods = f" + {left.periods}x{time_control.period_s:g}" if left.periods else ""
        parts.append(f"{name} {int(minutes)}:{seconds:04.1f}{periods}")
    return "Clocks: " + ", ".join(parts)
