"""Messages between the server and its analysts, the processes in which bots analyse positions.

Each message is a line of JSON. An analyst works on one order after the other; it reports a position
when it knows more of it, and at last that it is over.
"""

from __future__ import annotations

from msgspec import Struct

from playout.protocol.messages import Analysis


class AnalysisOrder(Struct, frozen=True, tag="analyse"):
    """Let `player` think for `seconds` about the position of `game` after `moves`.

    `played` is an action that is to be among the reported ones.
    """

    analysis: str
    game: str
    moves: tuple[int, ...]
    player: str
    seconds: float
    played: int | None = None


class StopOrder(Struct, frozen=True, tag="stop"):
    """End an analysis, which is then reported as over."""

    analysis: str


class AnalysisReport(Struct, frozen=True, omit_defaults=True):
    """What is known of a position by now; `over` once, with the `error` if it has failed."""

    analysis: str
    info: Analysis | None = None
    over: bool = False
    error: str = ""


AnalystOrder = AnalysisOrder | StopOrder
