"""The file `lab.toml`: the conditions of tests, set by the person who runs them.

The file of a candidate is never read: it could choose conditions in its favour. The file in the
folder may have come with a repository of somebody else. So it weakens the sandbox, or names a game
of its own, only after the person has named the file, by `--file`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from playout.bots.git_source import LAB_FILE
from playout.commands import toml_table
from playout.commands.toml_table import TomlError, TomlTable
from playout.games.core import plugins
from playout.games.core import spec as notation
from playout.protocol import versions
from playout.protocol.tournament_spec import SandboxSettings, TournamentSpec
from playout.ratings import book
from playout.ratings.spsa import TunedParameter
from playout.sandbox import machine, settings
from playout.server.organizer.spec_file import SpecFileError, games_in

#: Whether programs of versions run in a sandbox: where the machine has one, always, or never.
ISOLATION = ("auto", "always", "never")
#: How a parameter is passed to a program.
PASSED = ("argument", "environment", "setoption")


@dataclass(frozen=True)
class QueueTerms:
    """The limits of a server's queue of tests.

    Its tests use at most `cores`, 0 for all of this machine. Authors are the accounts with these
    names, or all; each has at most `unfinished` tests that have not ended, and hands in at most
    `per_day` in 24 hours. An archive has at most `submission_mb` MiB. An author whose turn has
    lasted `turn_s` gives cores to others. The matches of a test are kept for `keep_days` after its
    end, for ever if that is 0. If a version loses a larger share of its matches than
    `faults` by crashes, or on time, the test is stopped.

    With `dask`, the address of a scheduler, its workers play the tests, on `cores` cores. They
    reach this machine at `host`.
    """

    cores: int = 0
    authors: tuple[str, ...] = ()
    unfinished: int = 20
    per_day: int = 100
    submission_mb: int = 16
    turn_s: float = 120.0
    keep_days: float = 0.0
    faults: float = 0.1
    dask: str | None = None
    host: str = "127.0.0.1"


@dataclass(frozen=True)
class Conditions:
    """What is played, and how certain a verdict has to be.

    `pairs` is the maximum number of pairs of a test, `confirm` the number of fresh ones of a
    confirmation. `openings` and `adjudication` are tables of a tournament's file. `sandbox` has the
    limits of programs, None if they run without one; builds reach `build_hosts`. `parameters` are
    the options that a tuning changes. `without_luck` and `evaluation` are those of a tournament.
    `queue` has the limits of a server's queue. `core_speed` is as in the file of a tournament.
    `sources` is a digest of the games and the openings in files.
    """

    games: tuple[str, ...]
    clock: str = "10+0.1"
    elo1: float = 20.0
    alpha: float = 0.05
    beta: float = 0.05
    pairs: int = 5000
    confirm: int = 1000
    seed: int = 0
    concurrency: int = 0
    openings: Mapping[str, Any] = field(default_factory=lambda: {"shipped": True, "plies": 4})
    adjudication: Mapping[str, Any] = field(default_factory=dict)
    sandbox: SandboxSettings | None = None
    build_hosts: tuple[str, ...] = ()
    parameters: tuple[TunedParameter, ...] = ()
    without_luck: bool = False
    evaluation: str = TournamentSpec.evaluation
    queue: QueueTerms = QueueTerms()
    core_speed: float = TournamentSpec.core_speed
    sources: str = ""

    @property
    def digest(self) -> str:
        """A digest of everything that the evidence of a test depends on."""
        values = asdict(self)
        for key in ("pairs", "confirm", "concurrency", "build_hosts", "parameters", "queue"):
            del values[key]
        values["sandbox"] = self.sandbox is not None
        for key in ("without_luck", "evaluation", "core_speed"):  # tests of before lack them
            if values[key] == getattr(Conditions, key):
                del values[key]
        text = json.dumps(values, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def trust(path: Path, homes: Path) -> None:
    """Note that the person trusts a file with its content. Raises OSError."""
    mark = _mark(path, homes)
    mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    mark.touch()


def is_trusted(path: Path, homes: Path) -> bool:
    """Return whether the person trusts a file with its content. Raises OSError."""
    return _mark(path, homes).exists()


def _mark(path: Path, homes: Path) -> Path:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").digest()
    text = os.fsencode(path.resolve()) + b"\0" + content
    return homes / "trusted" / hashlib.sha256(text).hexdigest()


def read(
    path: Path | None,
    given: Mapping[str, Any],
    folder: Path,
    *,
    trusted: bool = True,
    isolate: str = "auto",
) -> Conditions:
    """Return the conditions of a file, None for no file, with the `given` values in their place.

    A game may be a module:Class in the `folder` of the bot. A file that is not `trusted` names no
    such game, and does not weaken the sandbox. `isolate` is the default of that key. Raises
    SpecFileError with all faults.
    """
    try:
        text = toml_table.text_of(path) if path else ""
        values, faults = toml_table.load(text, str(path or ""))
    except TomlError as error:
        raise SpecFileError(str(error)) from error
    if not trusted and (keys := _needing_trust(values, given)):
        raise SpecFileError(
            f"{path}: {' and '.join(keys)} can run or read something outside of the sandbox: if "
            f"you trust the file, name it once, by --file {path}"
        )
    top = TomlTable({**values, **given}, (), "a laboratory", faults)
    names = top.elements("games", games_in(folder), None) if "games" in top else []
    nothing: dict[str, Any] = {}
    default = Conditions(())
    isolate = top.take("isolate", toml_table.one_of("isolate", ISOLATION), isolate)
    limits = settings.read(top.table("sandbox", "the sandbox"))
    conditions = Conditions(
        games=tuple(str(each) for each in names if each),
        clock=top.take("clock", toml_table.clock, default.clock),
        elo1=top.take("elo1", toml_table.number(1, 1000), default.elo1),
        alpha=top.take("alpha", toml_table.risk, default.alpha),
        beta=top.take("beta", toml_table.risk, default.beta),
        pairs=top.take("pairs", toml_table.whole(1, 1_000_000), default.pairs),
        confirm=top.take("confirm", toml_table.whole(1, 20_000), default.confirm),
        seed=top.take("seed", toml_table.whole(0, 2**53 - 1), default.seed),
        concurrency=top.take("concurrency", toml_table.whole(0, 1024), default.concurrency),
        openings=top.take("openings", toml_table.table, dict(default.openings)),
        adjudication=top.take("adjudication", toml_table.table, nothing),
        sandbox=_enforced(isolate, limits, top),
        build_hosts=tuple(
            top.elements("build_hosts", settings.host, "") if "build_hosts" in top else ()
        ),
        parameters=top.take("parameters", _parameters, ()),
        queue=_queue(top.table("queue", "the queue")),
        without_luck=top.take("without_luck", toml_table.truth, default.without_luck),
        evaluation=top.take(
            "evaluation", toml_table.visible(toml_table.LONGEST_PATH), default.evaluation
        ),
        core_speed=top.take("core_speed", toml_table.number(0, 1_000_000), default.core_speed),
    )
    if conditions.build_hosts and conditions.sandbox and conditions.sandbox.command:
        top.fault("build_hosts needs bubblewrap: leave out the command of the sandbox", "sandbox")
    conditions = replace(conditions, sources=_sources(conditions, folder))
    top.close()
    if "games" not in top:
        top.fault(
            f"a laboratory needs games: in {LAB_FILE}, which playout-lab new writes, or as "
            "--game GAME",
            "games",
        )
    if faults.found:
        raise SpecFileError(faults.text())
    return conditions


def _queue(table: TomlTable) -> QueueTerms:
    default = QueueTerms()
    names = table.elements("authors", toml_table.name, "") if "authors" in table else []
    found = QueueTerms(
        cores=table.take("cores", toml_table.whole(0, 1024), default.cores),
        authors=tuple(names),
        unfinished=table.take("unfinished", toml_table.whole(1, 10_000), default.unfinished),
        per_day=table.take("per_day", toml_table.whole(1, 10_000), default.per_day),
        submission_mb=table.take("submission_mb", toml_table.whole(1, 1024), default.submission_mb),
        turn_s=table.take("turn_s", toml_table.number(1, 86_400), default.turn_s),
        keep_days=table.take("keep_days", toml_table.number(0, 36_500), default.keep_days),
        faults=table.take("faults", toml_table.number(0, 1), default.faults),
        dask=table.take("dask", toml_table.scheduler, default.dask),
        host=table.take("host", toml_table.visible(253), default.host),
    )
    if found.dask and not found.cores:
        table.fault("cores is needed beside dask: the number of cores that tests use", "dask")
    table.close()
    return found


def _needing_trust(values: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Return the keys of a file that run or show more than what the sandbox does by default."""
    sandbox, games = values.get("sandbox"), values.get("games")
    limits = sandbox if isinstance(sandbox, dict) else {}
    named = games if isinstance(games, list) and "games" not in given else []
    return [
        *(["games"] if any(plugins.is_target(str(each)) for each in named) else ()),
        *(["isolate"] if values.get("isolate") == "never" else ()),
        *(f"sandbox.{key}" for key in limits if key in settings.WEAKENING),
        *(["build_hosts"] if "build_hosts" in values else ()),
        *(["evaluation"] if "evaluation" in values else ()),
    ]


def _sources(conditions: Conditions, folder: Path) -> str:
    """Return a digest of the files that decide what is played, besides those of Playout's games."""
    found = []
    for game in conditions.games:
        name = notation.parse(game).name
        if own := plugins.registered().get(name):
            files = versions.files_in(Path(own.folder))
            found.append(versions.of_player(own.target, files))
        if conditions.openings.get("shipped"):
            found.append(repr(book.shipped(game)))
    named = conditions.openings.get("file", {})
    read_file = versions.files_in(folder)
    for path in (named,) if isinstance(named, str) else named.values():
        found.append(repr(read_file(str(path))))
    if conditions.evaluation != Conditions.evaluation:
        found.append(repr(read_file(conditions.evaluation)))
    return hashlib.sha256(repr(found).encode()).hexdigest()[:12]


def _parameters(value: object) -> tuple[TunedParameter, ...]:
    """Return the parameters of a table; raise ValueError for any other value."""
    return tuple(_parameter(name, each) for name, each in toml_table.table(value).items())


def _parameter(name: str, value: object) -> TunedParameter:
    match value:
        case {"range": [low, high], "start": start, **other}:
            numbers = (low, high, start)
            if (
                all(type(each) in (int, float) for each in numbers)
                and low <= start <= high != low
                and len(other) <= 1
                and all(key in PASSED and _is_target(key, other[key]) for key in other)
            ):
                whole = all(type(each) is int for each in numbers)
                passed = str(next(iter(other), "option"))
                target = str(other.get(passed, ""))
                ends = float(low), float(high)
                return TunedParameter(name, *ends, float(start), whole, passed, target)
    raise ValueError(
        f"{name} must be {{ range = [LOW, HIGH], start = VALUE }}, with a start within the range; "
        'for a program also argument = "--name={}", environment = "NAME" or setoption = "NAME"'
    )


def _is_target(key: str, value: object) -> bool:
    """Return whether a text says where a program gets a value: an argument needs {} for it."""
    if not isinstance(value, str) or not value.isprintable():
        return False
    if key == "environment":
        return value.isidentifier() and value.isascii()
    return value.count("{}") == 1 if key == "argument" else bool(value)


def _enforced(isolate: str, limits: SandboxSettings, top: TomlTable) -> SandboxSettings | None:
    """Return the limits of a sandbox that this machine can enforce, or None for no sandbox."""
    if isolate == "never":
        return None
    lacking = machine.missing()
    if isolate == "auto":
        if "bubblewrap" in lacking and not limits.command:
            return None
        without = tuple(dict.fromkeys((*limits.without, *(lacking.keys() & {"cgroup", "seccomp"}))))
        return SandboxSettings(**{**asdict(limits), "without": without})
    try:
        machine.require(limits)
    except machine.SandboxError as error:
        top.fault(f"isolate: {error}", "isolate")
    return limits
