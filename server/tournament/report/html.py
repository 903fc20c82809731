"""The report as one page that needs nothing from elsewhere, in light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from server.export.text import plain
from server.tournament.report import charts
from server.tournament.report.tables import Table, summary, tables
from server.tournament.report.values import Report

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #6a737d; --line: #d8dde3;
  --paper: #fff; --stripe: #f5f7f9; --mark: #0b62c4; --bound: #b3382c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --dim: #98a2ad; --line: #3a424b;
  --paper: #14181c; --stripe: #1c2228; --mark: #6cb0ff; --bound: #ff8b7d; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h1, h2, td, li { overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; color: var(--dim); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 600; }
tbody tr:nth-child(odd) { background: var(--stripe); }
.name { text-align: left; } .number { text-align: right; }
svg { display: block; width: 100%; max-width: 720px; height: auto; }
svg text { font-size: 13px; fill: var(--ink); }
.grid { stroke: var(--line); } .bar { stroke: var(--mark); stroke-width: 2; }
.open { stroke-dasharray: 4 4; } .dot { fill: var(--mark); }
.bound { stroke: var(--bound); stroke-dasharray: 6 4; }
.curve { fill: none; stroke: var(--mark); stroke-width: 1.5; }
"""
# Whatever is in the names of entrants: no script runs on this page, and nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write(report: Report) -> str:
    """The page."""
    title = _shown(report.name)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        "<ul>",
        *(f"<li>{_shown(line)}</li>" for line in summary(report)),
        "</ul>",
        *_charts(report),
        *(_table(table) for table in tables(report)),
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _charts(report: Report) -> Iterable[str]:
    if plot := charts.ratings(report):
        yield f"<h2>Ratings</h2>\n{plot}"
    for duel in report.duels:
        if duel.test and (plot := charts.llr(duel.test)):
            yield f"<h2>Log-likelihood ratio over pairs</h2>\n{plot}"


def _table(table: Table) -> str:
    head = _row(table.head, "th", table.names) if any(table.head) else ""
    body = "\n".join(_row(row, "td", table.names) for row in table.rows)
    return (
        f'<h2>{_shown(table.title)}</h2>\n<div class="wide"><table>\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _row(cells: Iterable[str], tag: str, names: int) -> str:
    written = "".join(
        _cell(cell, tag, "name" if place < names else "number") for place, cell in enumerate(cells)
    )
    return f"<tr>{written}</tr>"


def _cell(text: str, tag: str, kind: str) -> str:
    return f'<{tag} class="{kind}">{_shown(text)}</{tag}>'


def _shown(text: str) -> str:
    return escape(plain(text))
