"""Numbers of a report as text for people."""

from __future__ import annotations

from server.model.time_control import decimal
from server.tournament.report.values import CrosstableCell, Estimate, MatchCounts

UNKNOWN = "\N{EN DASH}"


def elo(estimate: Estimate) -> str:
    """An estimate of Elo: `+12.3 ± 4.5`, or `> 800` for an entrant that won everything."""
    if estimate.value is not None:
        error = "" if estimate.error is None else f" ± {estimate.error:.1f}"
        return f"{estimate.value:+.1f}{error}"
    if estimate.low is not None:
        return f"> {estimate.low:.0f}"
    return UNKNOWN if estimate.high is None else f"< {estimate.high:.0f}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share, 0 to 1, as in `87.5%`; a dash if it is unknown."""
    return UNKNOWN if share is None else f"{100 * share:.{digits}f}%"


def cell(cell: CrosstableCell) -> str:
    """Points and matches, as in `12.5/20`; a dash without matches."""
    return f"{decimal(cell.points)}/{cell.matches}" if cell.matches else UNKNOWN


def won_tied_lost(counts: MatchCounts) -> str:
    """Wins, ties and losses, as in `+3 =1 -2`; empty without matches."""
    return f"+{counts.won} ={counts.tied} -{counts.lost}" if counts.matches else ""


def counted(number: int, one: str) -> str:
    """A number with its noun, as in `1 pair`, `2 pairs`, `3 matches`."""
    ending = "" if number == 1 else "es" if one.endswith("ch") else "s"
    return f"{number} {one}{ending}"
