"""The report as one self-contained HTML page, light and dark; and its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape

from server.export.text import plain
from server.tournament.report import charts
from server.tournament.report.bracket import bracket
from server.tournament.report.headline import headline
from server.tournament.report.tables import CellEntrants, TextTable, summary, tables
from server.tournament.report.values import Report

_STYLE = """
:root { color-scheme: light dark; --text: #1c2024; --muted: #5d6670; --line: #d8dde3;
  --bg: #fff; --soft: #f5f7f9; --accent: #0b62c4; --bad: #b3382c; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --muted: #98a2ad; --line: #3a424b;
  --bg: #14181c; --soft: #1c2228; --accent: #6cb0ff; --bad: #ff8b7d; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; color: var(--text);
  background: var(--bg); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h1, h2, li { overflow-wrap: anywhere; }
ul { padding-left: 1.2rem; color: var(--muted); }
.headline { font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .55rem; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; } .facts td { white-space: normal; }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
tbody tr:nth-child(odd) { background: var(--soft); }
.name { text-align: left; } .number { text-align: right; }
.who { position: sticky; left: 0; background: inherit; max-width: 40vw; overflow: hidden;
  text-overflow: ellipsis; }
thead, tbody tr { background: var(--bg); }
.muted { color: var(--muted); }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
.bracket, .bracket ol { margin: 0; padding: 0; list-style: none; }
.bracket h3 { margin: 0 0 .5rem; font-size: .85rem; color: var(--muted); }
.encounter > div { border: 1px solid var(--line); border-radius: .4rem; }
.side { display: flex; justify-content: space-between; gap: 1rem; margin: 0; padding: .2rem .6rem;
  overflow-wrap: anywhere; }
.side .who { position: static; max-width: none; }
.side + .side { border-top: 1px solid var(--line); }
.side.won { font-weight: 650; }
.side .points { font-variant-numeric: tabular-nums; }
.encounter { padding: .3rem 0; }
@media (min-width: 44rem) {
  .bracket { display: flex; }
  .round { display: flex; flex-direction: column; flex: 1 0 9rem; max-width: 16rem; }
  .round > ol { display: flex; flex-direction: column; flex: 1; }
  .encounter { position: relative; display: flex; flex-direction: column; flex: 1 1 0;
    justify-content: center; padding: .3rem .8rem; }
  .encounter::before, .encounter::after { position: absolute; width: .8rem;
    border: 0 solid var(--line); }
  .round:not(:first-child) .encounter::before { content: ""; left: 0; top: 50%;
    border-top-width: 1px; }
  .round:not(:last-child) .encounter::after { content: ""; right: 0; }
  .encounter:nth-child(odd)::after { top: 50%; bottom: 0; border-width: 1px 1px 0 0; }
  .encounter:nth-child(even)::after { top: 0; bottom: 50%; border-width: 0 1px 1px 0; }
}
.plot { display: block; max-width: 45rem; }
.plot text { font-size: 13px; fill: var(--text); paint-order: stroke; stroke: var(--bg);
  stroke-width: 4px; }
.grid { stroke: var(--line); }
.bar { stroke: var(--accent); stroke-width: 2; } .open { stroke-dasharray: 4 4; }
.dot { fill: var(--accent); } .bound { stroke: var(--bad); stroke-dasharray: 6 4; }
.curve { fill: none; stroke: var(--accent); stroke-width: 1.5; }
"""
# Whatever the names of entrants contain, no script runs on this page, and nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

#: The address of a page on the entrants of a cell; empty without one.
Link = Callable[[CellEntrants], str]


def write(report: Report) -> str:
    """The whole page, which loads nothing from elsewhere."""
    lines = [f"<li>{_shown(line)}</li>" for line in summary(report)]
    answer = [f'<p class="headline">{_shown(text)}</p>'] if (text := headline(report)) else []
    return page(report.name, [*answer, "<ul>", *lines, "</ul>", *sections(report)])


def page(name: str, body: Iterable[str]) -> str:
    """A page with a title and a body in HTML, which loads nothing from elsewhere."""
    title = _shown(name)
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
        *body,
        "</body>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def sections(report: Report, link: Link = lambda entrants: "") -> Iterator[str]:
    """Yields all charts and tables, each as a section with its heading."""
    if plot := charts.ratings(report):
        yield section("Ratings", plot)
    for each in report.head_to_head:
        if each.test and (plot := charts.llr(each.test)):
            yield section("Log-likelihood ratio over pairs", plot)
    drawn = bracket(report, link)
    if drawn:
        yield section("Bracket", _scrolled("Bracket", drawn))
    for table in tables(report, with_bracket=not drawn):
        yield section(table.title, _table(table, link))


def section(title: str, content: str) -> str:
    """A section of a page: its heading, which is escaped, and its content in HTML."""
    return f"<section>\n<h2>{_shown(title)}</h2>\n{content}\n</section>"


def _table(table: TextTable, link: Link) -> str:
    head = "".join(
        f'<th class="{_kind(table, 0, column)}" scope="col">{_shown(each)}</th>'
        for column, each in enumerate(table.head)
    )
    kind, shown = ("table", f"<tr>{head}</tr>") if any(table.head) else ("table facts", "")
    body = "\n".join(_row(table, row, link) for row, _ in enumerate(table.rows))
    written = f'<table class="{kind}">\n<thead>{shown}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return _scrolled(table.title, written)


def _scrolled(title: str, content: str) -> str:
    """What may be wider than the window, as a region that the keyboard scrolls, too."""
    head = f'<div class="scroll" tabindex="0" role="region" aria-label="{_shown(title)}">'
    return f"{head}{content}</div>"


def _row(table: TextTable, row: int, link: Link) -> str:
    written = []
    for column, text in enumerate(table.rows[row]):
        entrants = table.entrants.get((row, column), ())
        address = link(entrants) if entrants and text else ""
        content = f'<a href="{escape(address)}">{_shown(text)}</a>' if address else _shown(text)
        written.append(f'<td class="{_kind(table, row, column)}">{content}</td>')
    return f"<tr>{''.join(written)}</tr>"


def _kind(table: TextTable, row: int, column: int) -> str:
    """The classes of a cell: words or numbers, and whether it names the entrant of its row."""
    row_head = " who" if len(table.entrants.get((row, column), ())) == 1 else ""
    return ("name" if column < table.names else "number") + row_head


def _shown(text: str) -> str:
    return escape(plain(text))
