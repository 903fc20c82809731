"""Messages between the server and its analysts, the processes in which bots analyse positions.

Each message is a line of JSON. An analyst carries out one order after the other. It reports the
changes of an analysis, and the end of each order.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from playout.protocol.messages import Analysis


class AnalysisOrder(Struct, frozen=True, tag="analyse"):
    """Let `player` think for `seconds` about the position of `game` after `moves`.

    `played` is an action that the reports must include.
    """

    analysis: str
    game: str
    moves: tuple[int, ...]
    player: str
    seconds: float
    played: int | None = None


class ProofOrder(Struct, frozen=True, tag="prove"):
    """Search a proof of the result of `game` after `moves` for `seconds`, and report its winner."""

    analysis: str
    game: str
    moves: tuple[int, ...]
    seconds: float


class StopOrder(Struct, frozen=True, tag="stop"):
    """End an analysis, which is then reported as over."""

    analysis: str


class AnalysisReport(Struct, frozen=True, omit_defaults=True):
    """An analysis so far; `over` is true in the last report, which has the `error` if it failed.

    `winner`: of a `ProofOrder`, the proven winner, -1 for a tie; None without a proof.
    """

    analysis: str
    info: Analysis | None = None
    over: bool = False
    error: str = ""
    winner: Literal[1, 2, -1] | None = None


AnalystOrder = AnalysisOrder | ProofOrder | StopOrder
