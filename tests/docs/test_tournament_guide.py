"""The documents of tournaments are true: file, keys, defaults, formats, commands, numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from playout.commands.options import ImportedCommand
from playout.protocol.codec import ADMINISTRATORS_FRAME
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import (
    Adjudication,
    Betting,
    Entrant,
    Openings,
    SandboxSettings,
    Sprt,
    TournamentSpec,
)
from playout.ratings import evidence, sequential_tests
from playout.server.organizer import estimate
from playout.server.organizer.supervisor import CRASHES
from playout.server.organizer.tournament_command import main
from playout.server.tournament import formats
from playout.server.tournament.formats import swiss
from playout.server.tournament.formats.knockout import MORE_PAIRS
from playout.server.tournament.report import FORMATS
from playout.server.tournament.spec_validation import MOST_ENTRANTS, MOST_GAMES
from support.organizer import SpecFaults, read

ROOT = Path(__file__).parents[2]
COMMANDS = {
    name: each.imported() if isinstance(each, ImportedCommand) else each
    for name, each in main.commands.items()
}
GUIDE = "\n".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in (
        *("first-tournament.md", "tournaments.md", "tournament-files.md"),
        *("openings.md", "tournament-rules.md", "tournament-numbers.md"),
    )
)

#: What the key of a table is called in the file and in the specification made of it.
TABLES: dict[str, type] = {
    "": TournamentSpec,
    "openings.": Openings,
    "adjudication.": Adjudication,
    "sprt.": Sprt,
    "betting.": Betting,
    "entrants.": Entrant,
    "sandbox.": SandboxSettings,
}
RENAMED = {"openings.lines": "openings.file", "openings.fens": "openings.file"}

GOOD = """\
name = "a try"
games = ["nim"]
format = "sprt"
%s
[[entrants]]
name = "Ann"
%s
[[entrants]]
name = "Bob"
"""


def test_the_limits_are_those_of_the_code() -> None:
    limits = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GUIDE, flags=re.MULTILINE))
    assert limits["entrants"] == str(MOST_ENTRANTS)
    assert limits["games"] == str(MOST_GAMES)
    for name in formats.names():
        row = next((row for row in limits if row.startswith("pairs of") and f"`{name}`" in row), "")
        assert row or not formats.find(name).least_rounds, "it has a limit unless it has no end"
        assert not row or limits[row] == f"{formats.find(name).most_pairs:,}"
    many = f"with more than {swiss.FEW_ENTRANTS} entrants, {swiss.MOST_ROUNDS}"
    assert limits["rounds of a `swiss`"] == f"{swiss.MOST_ROUNDS_OF_FEW}; {many}"
    message = limits["the message to the server, with all given openings"]
    assert message == f"{ADMINISTRATORS_FRAME // 1024} KiB"


def section(title: str) -> str:
    return re.split(r"^##+ ", GUIDE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a section's first table, without its head."""
    found: list[list[str]] = []
    for line in section(title).splitlines():
        if line.startswith("| "):
            found.append(line.strip("| ").split(" | "))
        elif found:
            break
    return found[2:]


KEYS = {row[0].strip("`"): row for row in rows("The file")}


#: Keys of a file that others take up in the specification.
IN_FILES_ONLY = {
    "openings.shipped": False,
    "entrants.options": None,
    "entrants.defaults": True,
    "defaults": None,
    "cluster": None,
    "cluster.dask": None,
    "cluster.files": None,
}


def keys_of_the_specification() -> Iterator[tuple[str, Any]]:
    """Each with its default, MISSING where it is needed."""
    yield from IN_FILES_ONLY.items()
    for prefix, kind in TABLES.items():
        for field in fields(kind):
            if field.name in ("machine", "fens"):  # which no file says
                continue
            key = RENAMED.get(prefix + field.name, prefix + field.name)
            yield key, field.default if field.default_factory is MISSING else None


# The file.


def test_every_key_is_in_the_guide_and_no_other() -> None:
    assert set(KEYS) == {key for key, _ in keys_of_the_specification()}


@pytest.mark.parametrize(("key", "default"), list(keys_of_the_specification()))
def test_the_guide_has_the_default(key: str, default: object) -> None:
    shown = KEYS[key][2]
    match default:
        case _ if key == "entrants.version":
            assert shown == "a digest"
        case bool() | str():
            assert shown == f"`{str(default).lower()}`"
        case int() | float():
            assert shown.startswith(f"`{default:g}`") or key == "entrants.threads"
        case None | ():
            assert not shown.startswith("`")
        case _:
            assert shown == "needed"


@pytest.mark.parametrize("key", KEYS)
def test_the_guide_has_what_is_allowed(key: str) -> None:
    wrong = {"a list of one or more": "3", "a table": "3"}.get(KEYS[key][1], "[]")
    told = complaints(key, wrong)
    allowed = KEYS[key][1].replace("from 1 to 1000000", "from 0 to 1000000")  # as of an sprt
    assert f"{key.rpartition('.')[2]}: must be {allowed}" in told


def complaints(key: str, value: str) -> str:
    """What is said of a file where that key has this value."""
    table, _, name = key.rpartition(".")
    if table == "entrants":
        text = GOOD % ("", f"{name} = {value}")
        text = text.replace('name = "Ann"\n', "") if name == "name" else text
    elif table:
        text = GOOD % (f"{table} = {{ {name} = {value} }}", "")
    else:
        text = re.sub(rf"^{name} = .*\n", "", GOOD % ("", ""), flags=re.MULTILINE)
        text = text.split("[[")[0] if name == "entrants" else text
        text = f"{name} = {value}\n{text}"
    with pytest.raises(SpecFaults) as caught:
        read(text)
    return str(caught.value)


def test_the_first_tournament_is_what_the_guide_says() -> None:
    text = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)[0]
    spec = replace(read(text), concurrency=2)
    # A machine with one core has something to add.
    described = [line for line in estimate.description(spec) if not line.startswith("note: ")]
    shown = GUIDE.split("$ playout-tournament validate first.toml\n")[1].split("\n```")[0]
    version = re.compile("version [0-9a-f]{12}")  # another one with each release
    assert [version.sub("version", line) for line in shown.splitlines()] == [
        version.sub("version", line) for line in described
    ]


def test_the_error_that_is_shown_is_the_one_that_is_said() -> None:
    text = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)[0]
    with pytest.raises(SpecFaults) as caught:
        read(text.replace("rounds = 8", "rounds = 0"), where="first.toml")
    assert f"```\n{caught.value}\n```" in GUIDE


def test_the_file_in_the_readme_is_read() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert read(text.split("```toml\n")[1].split("```")[0]).rounds == 10


def test_every_piece_of_a_file_is_toml() -> None:
    for text in re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
        lines = text.splitlines()
        if len({line.split(" = ")[0] for line in lines}) < len(lines) and "[[" not in text:
            for line in lines:  # alternatives
                tomllib.loads(line)
        else:
            tomllib.loads(text)


# Names.


def test_every_format_is_in_the_guide() -> None:
    assert {row[0].strip("`") for row in rows("Formats")} == set(formats.names())


def test_the_reasons_are_those_that_there_are() -> None:
    reasons = {
        name
        for row in rows("What counts as a loss, and what is played again")
        for name in re.findall(r"`(\w+)`", row[1])
    }
    impossible = {"void", "agreement"}  # in a tournament
    assert reasons == {each.value for each in Reason} - impossible


def test_every_command_is_in_the_guide_with_its_options() -> None:
    told = {row[0].strip("`").split()[1]: row for row in rows("All commands")}
    assert set(told) == set(main.commands)
    for name, command in COMMANDS.items():
        options = {each.opts[0] for each in command.params if isinstance(each, click.Option)}
        shown = set(re.findall(r"--[\w-]+", " ".join(told[name])))
        common = {"--database", "--server", "--dask", "--name", "--port", "--http", "--stay"}
        common |= {"--tls", "--ca", "--tls-name", "--pgn", "--jsonl", "--host"}
        assert shown <= options
        assert options - shown <= common


def test_options_of_the_command_that_are_named_exist() -> None:
    known = {
        option for command in COMMANDS.values() for each in command.params for option in each.opts
    }
    for line in re.findall(r"playout-tournament [^`\n]*", GUIDE):
        assert set(re.findall(r"--[\w-]+", line)) <= known


def test_the_formats_of_reports_are_those_that_there_are() -> None:
    shown = next(row for row in rows("All commands") if " report " in row[0])[1]
    assert set(re.findall(r"`(?:--format )?(\w+)`", shown)) == set(FORMATS)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", GUIDE):
        file, _, anchor = target.partition("#")
        if not file.startswith("http"):
            assert (ROOT / "docs" / file).exists(), target
        if anchor and not file.startswith("http"):
            text = (ROOT / "docs" / file).read_text(encoding="utf-8") if file else GUIDE
            heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            known = {
                re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads
            }
            assert anchor in known, target


# Numbers.


def test_so_many_crashes_and_more_pairs() -> None:
    assert (CRASHES, MORE_PAIRS) == (5, 8)
    assert "ends five times" in " ".join(GUIDE.split())
    assert "up to eight" in GUIDE


def test_elo_is_what_the_guide_says() -> None:
    head, _, numbers = (
        line.strip("| ").split(" | ")[1:]
        for line in re.findall(r"^\| (?:share of|Elo|---).*$", section("Two bots"), re.MULTILINE)[
            :3
        ]
    )
    for share, number in zip(head, numbers, strict=True):
        assert evidence.elo(float(share.rstrip(" %")) / 100) == pytest.approx(
            float(number), abs=0.5
        )


def test_the_error_of_normalized_elo_is_what_the_guide_says() -> None:
    head, numbers = (
        re.search(rf"^\| {name} \|(.*)\|$", section("Two bots"), re.MULTILINE)
        for name in ("matches", "normalized Elo, ±")
    )
    assert head
    assert numbers
    for matches, number in zip(head[1].split("|"), numbers[1].split("|"), strict=True):
        pairs = int(matches.replace(",", "")) // 2
        found = evidence.evidence(evidence.Pentanomial(ll=pairs // 2, ww=pairs // 2))
        assert found.nelo_error == pytest.approx(float(number), abs=0.5)


def test_the_example_of_two_is_what_its_pairs_say() -> None:
    found = evidence.evidence(evidence.Pentanomial(5, 1, 12, 1, 2, 20))
    assert f"{found.elo:+.1f} ± {found.elo_error:.1f}" in GUIDE
    assert f"{found.nelo:+.1f} ± {found.nelo_error:.1f}" in GUIDE
    (llr,) = sequential_tests.llrs([(5, 1, 13, 2, 20)], Sprt(0, 50))
    assert f"{llr:.2f} (-2.94 to 2.94)" in GUIDE


def test_rating_after_ten_won_pairs() -> None:
    found = evidence.evidence(evidence.Pentanomial(ww=10))
    assert f"> {found.elo_low:.0f}" in GUIDE


@pytest.mark.parametrize(("true", "column"), [(0, 1), (100, 3)])
def test_a_sequential_test_takes_as_many_pairs_as_the_guide_says(true: float, column: int) -> None:
    told = {row[0]: row[1:] for row in rows("Sequential tests")}
    expected = float(told["100"][column])
    assert mean_pairs(Sprt(0, 100), true) == pytest.approx(expected, rel=0.2)


def mean_pairs(test: Sprt, nelo: float, runs: int = 150, most: int = 256) -> float:
    """How many it takes, by simulation, when one match in ten is tied."""
    draws = np.random.default_rng(1).choice(5, (runs, most), p=pair_at(nelo))
    counts = np.cumsum(draws[:, :, np.newaxis] == np.arange(5), axis=1)
    lower, upper = sequential_tests.bounds(test)
    llrs = sequential_tests.llrs(counts.reshape(-1, 5), test).reshape(runs, most)
    over = (llrs <= lower) | (llrs >= upper)
    assert over.any(axis=1).all()
    return float(np.mean(1 + over.argmax(axis=1)))


def pair_at(nelo: float, tied: float = 0.1) -> NDArray[np.float64]:
    """How likely a pair brings 0, 1/2, ... 2 points at so much normalized Elo."""

    def lead(won: float) -> float:
        mean = won + tied / 2
        return (mean - 0.5) / float(np.sqrt(won + tied / 4 - mean**2))

    won = brentq(lambda won: lead(won) - nelo / evidence.NELO_PER_DEVIATION, 0.001, 0.999 - tied)
    match = np.array([1 - tied - won, tied, won])
    return np.convolve(match, match)
