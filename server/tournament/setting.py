"""Describes in words what a tournament's specification lets its entrants play."""

from __future__ import annotations

from server.model.tournament_spec import Adjudication, Openings, TournamentSpec
from server.tournament.report import ReportSetting, words


def setting(spec: TournamentSpec) -> ReportSetting:
    """What was played, for the report."""
    return ReportSetting(
        clock=spec.clock,
        openings=_openings(spec.openings),
        seed=spec.seed,
        adjudication=_ended_early(spec),
        concurrency=spec.concurrency,
        machine=spec.machine,
    )


def _openings(openings: Openings) -> str:
    if openings.lines:
        counts = [len(lines) for lines in openings.lines.values()]
        order = "shuffled" if openings.order == "shuffled" else "in order"
        return f"{words.counted(sum(counts), 'given opening')}, {order}"
    if not openings.plies:
        return "none: the first position"
    near = f", at most {openings.near} cells from the centre" if openings.near else ""
    return f"{openings.plies} random plies{near}"


def _ended_early(spec: TournamentSpec) -> str:
    agreed = ["a tie when both players agree"] if spec.draw_offers else []
    return "; ".join([*agreed, *_adjudication(spec.adjudication)]) or "none"


def _adjudication(rules: Adjudication) -> list[str]:
    found = []
    if rules.max_plies:
        found.append(f"a tie after {rules.max_plies} plies")
    if rules.proofs:
        found.append("proven results")
    if rules.resign_moves:
        below = words.percent(rules.resign_below)
        found.append(
            f"a loss when both agree for {rules.resign_moves} moves each (win rate up to {below})"
        )
    if rules.draw_moves:
        within = words.percent(rules.draw_within)
        found.append(
            f"a tie when both agree for {rules.draw_moves} moves each (win rate within {within} of "
            f"50%, from ply {rules.draw_after})"
        )
    return found
