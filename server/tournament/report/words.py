"""Numbers of a report as text for people."""

from __future__ import annotations

from playout.commands.text import UNKNOWN
from playout.protocol.time_control import decimal
from playout.server.tournament.report.values import CrosstableCell, Estimate, MatchCounts


def elo(estimate: Estimate) -> str:
    """An estimate of Elo: `+12.3 ± 4.5`, or `> 800` for an entrant that won everything."""
    if estimate.value is not None:
        error = "" if estimate.error is None else f" ± {estimate.error:.1f}"
        return f"{estimate.value:+.1f}{error}"
    if estimate.low is not None:
        return f"> {estimate.low:.0f}"
    return UNKNOWN if estimate.high is None else f"< {estimate.high:.0f}"


def cell(cell: CrosstableCell) -> str:
    """Points and matches, as in `12.5/20`; a dash without matches."""
    return f"{decimal(cell.points)}/{cell.matches}" if cell.matches else UNKNOWN


def won_tied_lost(counts: MatchCounts) -> str:
    """Wins, ties and losses, as in `+3 =1 -2`; empty without matches."""
    return f"+{counts.won} ={counts.tied} -{counts.lost}" if counts.matches else ""
