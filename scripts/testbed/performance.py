"""The tables of docs/performance.md, written from the results of `scripts/bench --json`.

A chapter lists its benchmarks, each with what its numbers mean. Below a marker it has their
results: of a single benchmark all tables, otherwise in one table the rows of each that are nearest
to their targets, or its first ones.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from testbed.bench import NOTHING, ResultTable

DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"
#: Rows of each table in a shared one, and of each if a benchmark has more than two tables.
ROWS, ROWS_OF_MANY = 2, 1
MARKER = "<!-- results of scripts/bench, written by scripts/bench document -->"
HEADINGS = ("benchmark", "row", "measured", "target")
_LISTED = re.compile(r"^\* `(\w+)`: ", re.MULTILINE)

Results = Mapping[str, Sequence[ResultTable]]


def write(paths: Sequence[Path]) -> None:
    """Write the results of the files, the last ones of each benchmark, into the document.

    Raises ClickException unless all files are of one commit and one machine.
    """
    files = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    head = _head(files)
    results = {
        name: [ResultTable.from_json(table) for table in measured["tables"]]
        for file in files
        for name, measured in file["benchmarks"].items()
    }
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(rewritten(text, head, results), encoding="utf-8")


def listed(text: str) -> list[str]:
    """Return the benchmarks that the chapters of the document list above their markers."""
    return [name for chapter in _chapters(text) for name in _names(chapter)]


def rewritten(text: str, head: str, results: Results) -> str:
    """Return the document with other results: what is below the marker of each chapter."""
    chapters = [
        _rewritten_chapter(chapter, head, results) if MARKER in chapter else chapter
        for chapter in _chapters(text)
    ]
    return "".join(chapters).rstrip("\n") + "\n"


def _chapters(text: str) -> list[str]:
    return re.split(r"^(?=## )", text, flags=re.MULTILINE)


def _names(chapter: str) -> list[str]:
    above, marker, _ = chapter.partition(MARKER)
    return _LISTED.findall(above) if marker else []


def _rewritten_chapter(chapter: str, head: str, results: Results) -> str:
    names = _names(chapter)
    if not names:
        found = [head]
    elif len(names) == 1:
        found = [table.as_markdown() for table in results.get(names[0], [])]
    else:
        found = [_shared(names, results)]
    return "\n\n".join([chapter.partition(MARKER)[0] + MARKER, *found]) + "\n\n"


def _shared(names: Sequence[str], results: Results) -> str:
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    for name in names:
        tables = results.get(name, [])
        most = ROWS if len(tables) <= 2 else ROWS_OF_MANY
        rows = [row for table in tables for row in table.nearest(most)]
        lines += [(f"`{name}`", *row) for row in rows or [("no results", NOTHING, NOTHING)]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _head(files: Sequence[Mapping[str, Any]]) -> str:
    """Return a paragraph with the commit, the machine, the date and the versions."""
    same = {(file["commit"], _machine(file)) for file in files}
    if len(same) > 1:
        runs = "; ".join(sorted(f"{commit} on {machine}" for commit, machine in same))
        raise click.ClickException(f"the results are not of one commit and one machine: {runs}")
    ((commit, machine),) = same
    dates = sorted(file["date"][:10] for file in files)
    load = max(file["machine"]["load"] for file in files)
    versions = ", ".join(f"{name} {version}" for name, version in files[0]["versions"].items())
    quick = {name: file["quick"] for file in files for name in file["benchmarks"]}
    others = ", ".join(f"`{name}`" for name in sorted(quick) if not quick[name])
    rough = "These are rough numbers of `--quick`" if any(quick.values()) else ""
    rough += f", except those of {others}. " if rough and others else ". " if rough else ""
    return textwrap.fill(
        f"{rough}Commit {commit}, {dates[0]}, {machine}, load {load:.1f} at the start; {versions}.",
        width=100,
    )


def _machine(file: Mapping[str, Any]) -> str:
    return f"{file['machine']['processor']} with {file['machine']['cores']} cores"
