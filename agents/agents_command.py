"""The command `playout-agents`: a benchmark of language models."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version as version_of
from pathlib import Path

import click

from playout.agents import benchmark_file, models
from playout.agents.arena import Arena
from playout.agents.benchmark_file import Benchmark
from playout.agents.journal import BenchmarkJournal
from playout.agents.models import ModelClient, ModelUnusable
from playout.agents.report import BenchmarkReport
from playout.commands import durable_files, interrupts
from playout.commands.durable_files import why_not_written
from playout.commands.options import OptionGroup
from playout.commands.progress import INTERVAL_S, doing, say
from playout.commands.text import plain, printable, utc
from playout.games import IllegalAction

EPILOG = """
\b
Examples:
  playout-agents run benchmark.toml       play, or go on with, a benchmark
  playout-agents report benchmark.toml    write its reports again

\b
benchmark.toml:
  games = ["tic_tac_toe", "connect_four"]
  opponents = ["random", "easy", "medium"]      levels, players, "models"
  pairs = 20
  [[models]]
  name = "mine"
  command = "python my_model.py"
  [[models]]
  name = "gpt"
  endpoint = "gpt-5-mini"     at OPENAI_BASE_URL, with OPENAI_API_KEY

The documents are in docs/agents.md.
"""
_RUN_EPILOG = """
\b
Examples:
  playout-agents run benchmark.toml
  OPENAI_BASE_URL=http://127.0.0.1:11434/v1 playout-agents run local.toml --output results

\b
Exit codes: 0 all pairs are played, or each model is certain enough; 1 the budget is spent or a
model cannot be used; 2 bad usage; 130 interrupted. The same command goes on, also after kill -9;
stored answers are not paid again. Ctrl-C waits for the answers of running requests, which are
paid already; a second Ctrl-C does not.
"""

#: Seconds between reports of a running benchmark, and the least pause in durations of the last one.
_REPORTS_S, _REPORTS_PAUSE = 10.0, 10.0
#: Time of the search for costly moves in the lost matches that the last report shows.
_SEARCH_S = 5.0

_file = click.argument(
    "path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
_output = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the journal and the reports.  [default: FILE without its suffix, -results]",
)


@click.group(
    cls=OptionGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version_of("playout"), prog_name="playout-agents")
def main() -> None:
    """Measure how well language models play, against opponents of known strength."""


@main.command(epilog=_RUN_EPILOG)
@_file
@_output
def run(path: Path, output: Path | None) -> None:
    """Play a benchmark, or go on with it, and write its reports."""
    with _opened(path, output) as (benchmark, journal, folder):
        try:
            clients = {
                each.name: models.client(each, path.absolute().parent) for each in benchmark.models
            }
        except ModelUnusable as error:
            raise click.UsageError(str(error)) from error
        arena = Arena(benchmark, journal, clients)
        for each in benchmark.models:
            if each.mcp:
                address = f"http://127.0.0.1:{each.mcp}/mcp"
                say(printable(f"{each.name} is asked at {address}, with the token in {each.key}"))

        def write() -> None:
            progress = f"{arena.progress()}, at {utc(time.time()):%Y-%m-%d %H:%M:%S} UTC"
            BenchmarkReport.of(benchmark, journal, progress=progress).write(folder)

        try:
            code = _played(arena, list(clients.values()), write)
        finally:
            _close(clients.values())
        _finish(benchmark, journal, folder, arena.reason)
    sys.exit(code)


def _played(arena: Arena, clients: list[ModelClient], write: Callable[[], object]) -> int:
    """Play until the end, or until it is interrupted; return the exit code.

    `write` writes the reports so far. Raises what it raises.
    """
    interrupted, write_at = False, 0.0
    arena.start()
    while not arena.ended.is_set():
        try:
            with interrupts.as_exception():
                while not arena.ended.wait(INTERVAL_S):
                    say(plain(arena.progress()))
                    if (began := time.monotonic()) >= write_at:
                        write()
                        pause_s = _REPORTS_PAUSE * (time.monotonic() - began)
                        write_at = time.monotonic() + max(_REPORTS_S, pause_s)
        except KeyboardInterrupt:
            if interrupted:
                _close(clients)
                os._exit(130)  # each record of the journal is stored
            interrupted = True
            arena.stop("interrupted")
            say("Interrupted: waiting for running requests; Ctrl-C again does not wait")
    if arena.reason and not interrupted:
        click.echo(printable(f"Stopped: {arena.reason}. The same command goes on."), err=True)
    return 130 if interrupted else int(bool(arena.reason))


def _close(clients: Iterable[ModelClient]) -> None:
    for each in clients:
        each.close()


@main.command()
@_file
@_output
def report(path: Path, output: Path | None) -> None:
    """Write the reports of a benchmark again, without a match."""
    with _opened(path, output) as (benchmark, journal, folder):
        _finish(benchmark, journal, folder, "")


@contextlib.contextmanager
def _opened(path: Path, output: Path | None) -> Iterator[tuple[Benchmark, BenchmarkJournal, Path]]:
    """Yield a benchmark with its journal and its folder. Raises ClickException."""
    with doing("Loading the games"):
        benchmark = benchmark_file.read(path)
    with doing("Solving positions"):
        _ = benchmark.questions
    folder = output or path.with_name(f"{path.stem}-results")
    try:
        user = f"another playout-agents plays in {folder}"
        with durable_files.opened(folder / "journal.jsonl", user) as file:
            with doing("Reading the journal"):
                journal = BenchmarkJournal(file)
            yield benchmark, journal, folder
    except OSError as error:
        raise click.ClickException(f"{folder}: {why_not_written(error)}") from error
    except IllegalAction as error:
        raise click.ClickException(f"journal: {error}") from error


def _finish(benchmark: Benchmark, journal: BenchmarkJournal, folder: Path, reason: str) -> None:
    with doing("Writing the report"):
        found = BenchmarkReport.of(benchmark, journal, reason, search_s=_SEARCH_S)
        paths = found.write(folder)
    click.echo(printable(found.text()))
    click.echo(f"\nReports: {', '.join(map(str, paths))}")
