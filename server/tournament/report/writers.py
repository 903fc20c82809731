"""The report as plain text, Markdown, CSV, JSON and HTML.

The HTML is one page, light and dark, which loads no other file.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import msgspec
from rich.cells import cell_len

from playout.commands.html_page import page, section, shown
from playout.commands.text import csv_text, plain
from playout.server.tournament.report import charts
from playout.server.tournament.report.charts import Tell, bracket
from playout.server.tournament.report.tables import (
    CellEntrants,
    TextTable,
    in_order,
    summary,
    tables,
)
from playout.server.tournament.report.values import CrosstableCell, Estimate, Report, Standing
from playout.server.tournament.report.words import headline, turned

#: The version of the report as JSON, which grows when fields change.
JSON_VERSION = 1
#: The columns of a report as text.
WIDTH = 80
_GAP = "  "
_MARKS = re.compile(r"[\\`*_{}\[\]<>#|~&]")
_Field = str | int | float | None


# Plain text, in aligned columns.


def as_text(report: Report) -> str:
    """Return the whole report in lines of at most WIDTH columns, as long as names allow it.

    A table that is wider continues below with its other columns, beside the same names.
    """
    lines = [report.name, *filter(None, [headline(report)]), *summary(report)]
    parts = ["\n".join(line for each in lines for line in _wrapped(plain(each)))]
    parts += ["\n".join([plain(table.title), *aligned(table)]) for table in tables(report)]
    return "\n\n".join(parts) + "\n"


def _wrapped(line: str) -> list[str]:
    """Return the text in lines of WIDTH columns; words are not broken."""
    return textwrap.wrap(
        line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def aligned(table: TextTable) -> list[str]:
    """Return a table as lines of plain text, in blocks of at most WIDTH columns."""
    head = [table.head] if any(table.head) else []
    if not head and table.names == len(table.head) == 2:
        return _described(table.rows)
    rows = [[plain(cell) for cell in row] for row in (*head, *table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines: list[str] = []
    for columns in _blocks(table, widths):
        lines += [""] if lines else []
        lines += [
            _GAP.join(
                _filled(row[place], widths[place], to_the_left=place < table.names)
                for place in columns
            ).rstrip()
            for row in rows
        ]
    return lines


def _described(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of terms and their values; a long value continues below."""
    indent = max(cell_len(row[0]) for row in rows) + len(_GAP)
    return [
        line
        for term, value in rows
        for line in textwrap.wrap(
            plain(value),
            WIDTH,
            initial_indent=_filled(term, indent, to_the_left=True),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _blocks(table: TextTable, widths: list[int]) -> list[list[int]]:
    """Return the columns of a table in blocks that fit WIDTH; each begins with the name."""
    first = table.head.index("name") + 1 if "name" in table.head else 1
    blocks = [list(range(first))]
    for place in range(first, len(widths)):
        block = [*blocks[-1], place]
        wide = sum(widths[each] + len(_GAP) for each in block) - len(_GAP)
        if wide > WIDTH and len(blocks[-1]) > first:
            blocks.append([*range(first), place])
        else:
            blocks[-1] = block
    return blocks


def _filled(cell: str, width: int, *, to_the_left: bool) -> str:
    """Return the cell padded to a width in terminal columns; some letters take two columns."""
    blanks = " " * (width - cell_len(cell))
    return cell + blanks if to_the_left else blanks + cell


# Markdown with tables, as on GitHub.


def as_markdown(report: Report) -> str:
    """Return the whole report as Markdown."""
    parts = [f"# {markdown(report.name)}"]
    if answer := headline(report):
        parts.append(markdown(answer))
    parts.append("\n".join(f"* {markdown(line)}" for line in summary(report)))
    for table in tables(report):
        parts += [f"## {markdown(table.title)}", markdown_table(table)]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: TextTable) -> str:
    """Return a table as Markdown, without its title."""
    sides = ["---" if place < table.names else "--:" for place, _ in enumerate(table.head)]
    rows = [map(markdown, table.head), sides, *(map(markdown, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def markdown(text: str) -> str:
    """Return the text on one line with escaped marks, for the cell of a table."""
    return _MARKS.sub(lambda mark: "\\" + mark[0], plain(text))


# CSV.


def as_csv(report: Report) -> str:
    """Return the standings, with empty fields for unknown numbers; texts are made safe.

    The Elo of two entrants is their difference: one has that of the other with the sign changed.
    """
    head = ["place", "name", "version", "points", *report.tiebreaks, "matches"]
    head += ["won", "tied", "lost", "elo", "elo_error", "elo_low", "elo_high"]
    has_luck = any(each.without_luck for each in report.standings)
    head += ["without_luck", "without_luck_low", "without_luck_high"] if has_luck else []
    ratings = report.ratings
    if not ratings and len(report.entrants) == 2 and report.head_to_head:
        difference = report.head_to_head[0].elo
        ratings = (difference, turned(difference))
    rows: list[list[_Field]] = []
    for each in report.standings:
        entrant, counts = report.entrants[each.entrant], each.counts
        rating = ratings[each.entrant] if ratings else Estimate()
        rows.append(
            [
                *(each.place, entrant.name, entrant.version),
                *(each.points, *each.tiebreaks),
                *(counts.matches, counts.won, counts.tied, counts.lost, rating.value, rating.error),
                *_ends(rating),
                *(_without_luck(each) if has_luck else ()),
            ]
        )
    return csv_text([head, *rows])


def _without_luck(standing: Standing) -> tuple[float | None, float | None, float | None]:
    found = standing.without_luck
    return (found.score, found.low, found.high) if found else (None, None, None)


def _ends(rating: Estimate) -> tuple[float | None, float | None]:
    if rating.value is None or rating.error is None or rating.low is not None:
        return rating.low, rating.high
    return rating.value - rating.error, rating.value + rating.error


def crosstable_as_csv(report: Report) -> str:
    """Return the points of each entrant against each, by standing; empty if they never met."""
    order = in_order(report) if report.crosstable else []
    head: list[_Field] = ["name", *(report.entrants[one].name for one in order)]
    rows: list[list[_Field]] = [
        [
            report.entrants[one].name,
            *(_points(report.crosstable[one][other]) for other in order),
        ]
        for one in order
    ]
    return csv_text([head, *rows])


def _points(cell: CrosstableCell) -> float | None:
    return cell.points if cell.matches else None


# JSON.


def as_json(report: Report) -> str:
    """Return the whole report by the names of its fields, with `version`; unknown is null."""
    fields: dict[str, Any] = msgspec.to_builtins(report)
    whole = msgspec.json.encode({"version": JSON_VERSION, **fields})
    return msgspec.json.format(whole, indent=2).decode() + "\n"


#: The address of a page on the entrants of a cell; empty without one.
Link = Callable[[CellEntrants], str]


def as_html(report: Report) -> str:
    """Return the whole page, which loads no other file."""
    lines = [f"<li>{shown(line)}</li>" for line in summary(report)]
    answer = [f'<p class="headline">{shown(text)}</p>'] if (text := headline(report)) else []
    return page(report.name, [*answer, "<ul>", *lines, "</ul>", *sections(report)])


def no_link(_: CellEntrants) -> str:
    """Return no address, for reports without pages of entrants."""
    return ""


def sections(report: Report, link: Link = no_link, tell: Tell = str) -> Iterator[str]:
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
        yield section(tell("Bracket"), scrolled(tell("Bracket"), drawn))
    for table in tables(report, with_bracket=not drawn):
        yield section(tell(table.title), html_table(table, link, tell))


def html_table(table: TextTable, link: Link = no_link, tell: Tell = str) -> str:
    """Return a table in HTML; the entrants of cells link to their pages."""
    head = "".join(
        f'<th class="{_kind(table, 0, column)}" scope="col">{shown(tell(each))}</th>'
        if each
        else "<td></td>"
        for column, each in enumerate(table.head)
    )
    kind, top = ("table", f"<tr>{head}</tr>") if any(table.head) else ("table facts", "")
    body = "\n".join(_row(table, row, link, tell) for row, _ in enumerate(table.rows))
    written = f'<table class="{kind}">\n<thead>{top}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return scrolled(tell(table.title), written)


def scrolled(title: str, content: str) -> str:
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
