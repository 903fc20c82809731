"""docs/performance.md lists each benchmark, and `scripts/bench document` writes its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from benchmarks import __main__ as bench_command
from benchmarks.__main__ import DOCUMENT, MARKER, listed, rewritten
from playout.ratings.evidence import Share
from testbed.bench import Column, ResultTable, Target
from testbed.measure import Sample

TEXT = DOCUMENT.read_text(encoding="utf-8")
NAMES = {
    path.stem
    for path in (DOCUMENT.parents[1] / "scripts" / "benchmarks").glob("*.py")
    if not path.stem.startswith("_")
}


def example() -> ResultTable:
    columns = (
        Column("game", "game"),
        Column("rate", "moves/s"),
        Column("ratio", "ratio", ".1f"),
        Column("kept", "kept"),
    )
    table = ResultTable("Moves", columns)
    for game, ratio in (("hex", 30.0), ("go", 9.0), ("nim", 12.0)):
        target = Target("ratio", at_least=10)
        table.add(target, game=game, rate=Sample([1e4, 3e4]), ratio=ratio, kept=Share(9, 10))
    table.add(game="chess", rate=5)
    return table


def results_file(folder: Path, name: str, **changed: Any) -> Path:
    document = {
        "commit": "abc",
        "date": "2026-11-25T12:00:00+00:00",
        "machine": {"processor": "a processor", "cores": 2, "load": 0.1},
        "versions": {"python": "3.11.7"},
        "quick": False,
        "benchmarks": {name: {"seconds": 1.0, "tables": [example().as_json()]}},
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document | changed))
    return path


def test_each_benchmark_is_listed_once_and_each_that_is_listed_exists() -> None:
    assert sorted(listed(TEXT)) == sorted(NAMES)


def test_the_document_is_short() -> None:
    assert len(TEXT.splitlines()) <= 300


def test_each_benchmark_has_a_row_of_results() -> None:
    for chapter in TEXT.split("\n## "):
        names = listed(f"## {chapter}")
        below = chapter.partition(MARKER)[2]
        if len(names) > 1:
            assert all(f"\n| `{name}` |" in below for name in names)
        elif names:
            assert "\n| --- |" in below


def test_a_table_is_read_back_from_its_json() -> None:
    table = ResultTable.from_json(json.loads(json.dumps(example().as_json())))
    assert table.as_markdown() == example().as_markdown()
    assert table.missed() == example().missed()


def test_the_rows_nearest_to_their_targets_come_first() -> None:
    assert example().nearest(2) == [
        ("go", "moves/s 20,000; ratio 9.0; kept 90.0 (60-98)", "≥ 10 missed"),
        ("nim", "moves/s 20,000; ratio 12.0; kept 90.0 (60-98)", "≥ 10 met"),
    ]


def test_results_replace_those_before() -> None:
    once = rewritten(TEXT, "By commit abc.", {"search": [example()], "rules": [example()]})
    assert once == rewritten(once, "By commit abc.", {"search": [example()], "rules": [example()]})
    assert listed(once) == listed(TEXT)
    assert "\nBy commit abc.\n" in once
    assert example().as_markdown() in once
    assert "| `rules` | go | moves/s 20,000; ratio 9.0" in once
    assert "| `startup` | no results | - | - |" in once
    assert once.partition(MARKER)[0] == TEXT.partition(MARKER)[0]


def test_files_of_one_commit_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_command, "DOCUMENT", tmp_path / "performance.md")
    bench_command.DOCUMENT.write_text(TEXT, encoding="utf-8")
    both = [results_file(tmp_path, "search"), results_file(tmp_path, "startup")]
    bench_command.write(both)
    written = bench_command.DOCUMENT.read_text(encoding="utf-8")
    assert "Commit abc, 2026-11-25, a processor with 2 cores, load 0.1 at the start" in written
    assert example().as_markdown() in written
    assert "| `startup` | go |" in written
    assert "rough" not in written.partition(MARKER)[2]

    bench_command.write([results_file(tmp_path, "startup", quick=True), both[0]])
    written = bench_command.DOCUMENT.read_text(encoding="utf-8")
    assert "These are rough numbers of `--quick`, except those of `search`. Commit abc" in written

    with pytest.raises(click.ClickException, match=r"abc on .*; def on .*"):
        bench_command.write([*both, results_file(tmp_path, "rules", commit="def")])
