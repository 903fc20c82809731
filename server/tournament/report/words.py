"""Numbers as people read them."""

from __future__ import annotations

from server.model.time_control import decimal
from server.tournament.report.values import CrosstableCell, Estimate, MatchCounts

UNKNOWN = "\N{EN DASH}"


def elo(estimate: Estimate) -> str:
    """`+12.3 ± 4.5`; `> 800` of who won everything."""
    if estimate.value is not None:
        error = "" if estimate.error is None else f" ± {estimate.error:.1f}"
        return f"{estimate.value:+.1f}{error}"
    if estimate.low is not None:
        return f"> {estimate.low:.0f}"
    return UNKNOWN if estimate.high is None else f"< {estimate.high:.0f}"


def percent(share: float | None, digits: int = 1) -> str:
    """`87.5%`, of 0 to 1."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f}%"


def cell(cell: CrosstableCell) -> str:
    """`12.5/20`: points of matches."""
    return f"{decimal(cell.points)}/{cell.matches}" if cell.matches else UNKNOWN


def won_tied_lost(counts: MatchCounts) -> str:
    """`+3 =1 -2`; nothing of no matches."""
    return f"+{counts.won} ={counts.tied} -{counts.lost}" if counts.matches else ""


def counted(number: int, one: str) -> str:
    """`1 pair`, `2 pairs`, `3 matches`."""
    ending = "" if number == 1 else "es" if one.endswith("ch") else "s"
    return f"{number} {one}{ending}"
