"""The report as one HTML page, light and dark, which loads no other file; and its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from playout.commands.html_page import page, section, shown
from playout.server.tournament.report import charts
from playout.server.tournament.report.charts import Tell, bracket
from playout.server.tournament.report.tables import CellEntrants, TextTable, summary, tables
from playout.server.tournament.report.values import Report
from playout.server.tournament.report.words import headline

#: The address of a page on the entrants of a cell; empty without one.
Link = Callable[[CellEntrants], str]


def write(report: Report) -> str:
    """Return the whole page, which loads no other file."""
    lines = [f"<li>{shown(line)}</li>" for line in summary(report)]
    answer = [f'<p class="headline">{shown(text)}</p>'] if (text := headline(report)) else []
    return page(report.name, [*answer, "<ul>", *lines, "</ul>", *sections(report)])


def sections(report: Report, link: Link = lambda entrants: "", tell: Tell = str) -> Iterator[str]:
    """Yield all charts and tables, each as a section with its heading."""
    if plot := charts.ratings(report, tell):
        yield section(tell("Ratings"), plot)
    for each in report.head_to_head:
        if each.test and (plot := charts.llr(each.test, tell)):
            yield section(tell("Log-likelihood ratio over pairs"), plot)
        if each.betting and (plot := charts.evidence(each.betting, tell)):
            yield section(tell("Evidence over pairs"), plot)
    drawn = bracket(report, link, tell)
    if drawn:
        yield section(tell("Bracket"), _scrolled(tell("Bracket"), drawn))
    for table in tables(report, with_bracket=not drawn):
        yield section(tell(table.title), _table(table, link, tell))


def _table(table: TextTable, link: Link, tell: Tell) -> str:
    head = "".join(
        f'<th class="{_kind(table, 0, column)}" scope="col">{shown(tell(each))}</th>'
        for column, each in enumerate(table.head)
    )
    kind, top = ("table", f"<tr>{head}</tr>") if any(table.head) else ("table facts", "")
    body = "\n".join(_row(table, row, link, tell) for row, _ in enumerate(table.rows))
    written = f'<table class="{kind}">\n<thead>{top}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return _scrolled(tell(table.title), written)


def _scrolled(title: str, content: str) -> str:
    """Return content as a region that can be scrolled, also by keyboard, if it is wide."""
    head = f'<div class="scroll" tabindex="0" role="region" aria-label="{shown(title)}">'
    return f"{head}{content}</div>"


def _row(table: TextTable, row: int, link: Link, tell: Tell) -> str:
    written = []
    for column, text in enumerate(table.rows[row]):
        entrants = table.entrants.get((row, column), ())
        address = link(entrants) if entrants and text else ""
        is_data = len(entrants) == 1 or table.head[column : column + 1] == ("version",)
        text = text if is_data else tell(text)
        content = f'<a href="{escape(address)}">{shown(text)}</a>' if address else shown(text)
        written.append(f'<td class="{_kind(table, row, column)}">{content}</td>')
    return f"<tr>{''.join(written)}</tr>"


def _kind(table: TextTable, row: int, column: int) -> str:
    """Return the classes of a cell: `name` or `number`, and `who` for the entrant of the row."""
    row_head = " who" if len(table.entrants.get((row, column), ())) == 1 else ""
    return ("name" if column < table.names else "number") + row_head
