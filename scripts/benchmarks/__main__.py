"""The command `scripts/bench`: runs benchmarks, prints their tables and checks their targets."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from playout.commands import interrupts
from playout.commands.options import in_writable_folder
from testbed.bench import NOTHING, Bench, ResultTable, Selected, output
from testbed.machine import described, headline

FOLDER = Path(__file__).parent
ALL, WRITE = "all", "document"


def found() -> dict[str, str]:
    """Return the benchmarks by name, each with the first line of its docstring."""
    modules = sorted(path for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))
    return {path.stem: _first_line(path) for path in modules}


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def _listing() -> str:
    lines = [f"  {name:<10} {about}" for name, about in found().items()]
    return "\n".join(
        [
            *("\b", "Benchmarks:", *lines, f"  {ALL:<10} All of them, one after the other."),
            f"  {WRITE:<10} Writes the results in FILES, of --json, into docs/performance.md.",
        ]
    )


EXAMPLES = """
\b
Examples:
  scripts/bench search --quick
  scripts/bench all --json results.json
  scripts/bench document results.json
  scripts/bench truth --games "othello chess" --players "uct minimax" --seconds 0.02
"""


def _words(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((text or "").split()))


@click.command(
    epilog=_listing() + "\n" + EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("name", required=False, type=click.Choice([*found(), ALL, WRITE]), metavar="NAME")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--quick", is_flag=True, help="Measure roughly: all benchmarks take a few minutes.")
@click.option("--markdown", is_flag=True, help="Print the tables as Markdown.")
@click.option(
    "--json",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    callback=in_writable_folder,
    help="Also write the results to this file, with every round.",
)
@click.option("--games", callback=_words, help="For truth: games, separated by spaces.")
@click.option("--players", callback=_words, help="For truth: players, separated by spaces.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 60, min_open=True),
    help="For truth: seconds for each move, at most 60.",
)
@click.pass_context
def main(
    context: click.Context,
    /,
    name: str | None,
    files: tuple[Path, ...],
    quick: bool,
    markdown: bool,
    path: Path | None,
    **selected: Any,
) -> None:
    """Measure the speed of Playout, against a peer or a lower bound in the same run.

    Numbers are medians over several rounds. The exit code is 1 if a target is missed.
    """
    if name is None:
        click.echo(context.get_help())
        return
    if bool(files) is not (name == WRITE):
        raise click.UsageError(f"{WRITE}, and nothing else, needs files")
    if name == WRITE:
        write(files)
        return
    if name != "truth" and any(selected.values()):
        raise click.UsageError("--games, --players and --seconds are options of truth only")
    document = described("scripts/bench") | {"quick": quick}
    out = output()
    out.print(headline(document), markup=False, soft_wrap=True)
    document["benchmarks"] = measured = dict[str, Any]()
    missed = []
    for each in _wanted(name):
        started = time.monotonic()
        try:
            with interrupts.with_text("Interrupted."):
                tables = _run(Bench(each, quick, Selected(**selected)), out, markdown)
        except click.ClickException as error:
            if name != ALL:
                raise
            missed.append(f"  {each}: {error.format_message()}")
            continue
        seconds = time.monotonic() - started
        click.echo(f"{each} took {seconds:.0f} s.", err=True)
        missed += [f"  {each}: {text}" for table in tables for text in table.missed()]
        measured[each] = {"seconds": seconds, "tables": [table.as_json() for table in tables]}
        if path:
            path.write_text(json.dumps(document, indent=2) + "\n")
    if missed:
        click.echo("\n".join(["Missed:", *missed]), err=True)
        sys.exit(1)


def _wanted(name: str) -> list[str]:
    return list(found()) if name == ALL else [name]


def _run(bench: Bench, out: Console, markdown: bool) -> list[ResultTable]:
    tables: list[ResultTable] = importlib.import_module(f"benchmarks.{bench.name}").run(bench)
    for table in tables:
        out.print()
        if markdown:
            out.print(table.as_markdown(), markup=False, soft_wrap=True)
        else:
            out.print(table.as_rich())
    return tables


# The tables of docs/performance.md.
#
# A chapter lists its benchmarks and the meaning of their numbers. Below a marker it has their
# results: of a single benchmark all tables, otherwise in one table the rows of each that are
# nearest to their targets, or its first ones.

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
