"""The process that plays one test of the queue, until its verdict or SIGTERM.

It does what `playout-lab test` does with the folders of the versions, in the laboratory of the
author, so that the verdict is the same. It tells the queue its state, a line of JSON each.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import structs

from playout.bots.builder import Builder, MachineFault, StageFault, for_author
from playout.bots.git_source import SourceError
from playout.commands.durable_files import write_atomically
from playout.commands.subprocesses import Parent
from playout.commands.text import beginning, counted, plain
from playout.laboratory.builds import MachineError, exit_within, finished
from playout.laboratory.journal import VersionTest
from playout.laboratory.queue import (
    JSON_REPORT,
    MARKDOWN_REPORT,
    CandidateRow,
    QueueFileError,
    State,
    TrialResult,
    add_to_log,
    conditions_of,
)
from playout.laboratory.sources import Version, VersionSources
from playout.laboratory.trial import Built, Laboratory, NotPlayed, played_pairs, verdict
from playout.laboratory.worker_results import Suspect, WorkerResults
from playout.protocol.messages import Fixture, Reason
from playout.protocol.names import BadName, checked_version
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.organizer.launch import chosen_cluster
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.spec_file import SpecFileError
from playout.server.tournament.ledger import Ledger
from playout.server.tournament.report import words, writer
from playout.server.tournament.results import Results
from playout.server.tournament.spec_parser import ClusterSettings

#: Maximum number of candidates in a test.
MOST_CANDIDATES = 8
#: The builds of an author that are kept when a test has ended.
_KEPT_BUILDS = 20
#: Seconds between two states of a running test, and between two of its reports; the largest share
#: of the time for reports.
_TELL_S, _REPORT_S, _REPORT_SHARE = 1.0, 5.0, 0.05
#: The largest shown logarithm of the evidence, and maximum number of characters of a reason.
_LARGEST, _MOST_REASON = 300.0, 1000
_ON_TIME = "on time"
#: The file of a test with the workers of its matches.
_WORKERS = "workers.jsonl"
#: A version that has lost this many matches by crashes, or on time, may stop its test.
_FEWEST_FAULTS = 5
#: The states of tests that are decided, by those of the journal.
_STATES: Mapping[str, State] = {
    "stronger": "stronger",
    "not stronger": "not stronger",
    "undecided": "undecided",
}
_CRASHES = (Reason.CRASH, Reason.ABANDONMENT, Reason.ILLEGAL_MOVES)


class TrialOrders(msgspec.Struct, frozen=True):
    """The test that a process plays: the file of the queue, and the folders of test and laboratory.

    `upload` is the name of the archive, `base` the folder of the base in it; `given` are the values
    that replace those of the file. It plays as many matches at once as keep `cores` busy; another
    time, it may have `most`.
    """

    file: str
    folder: str
    home: str
    upload: str
    base: str
    given: Mapping[str, Any]
    cores: int
    most: int


class TrialNews(msgspec.Struct, frozen=True):
    """The state of a test, from its process; `reason` says why it was stopped.

    `played`: whether a match has ended since the process was started.
    """

    state: State
    result: TrialResult
    reason: str = ""
    played: bool = False


class TrialStopped(Exception):
    """A test ends without a verdict, by a fault of its versions; the message is for its author."""


def main() -> int:
    """Play the test of the orders on the standard input; return 0 if it has ended."""
    # The output is for the operator; messages go over the socket, which no other program gets.
    parent = Parent()
    orders = parent.order(TrialOrders)
    assert orders
    os.set_inheritable(parent.connection.fileno(), False)
    run = _Run(orders, parent)
    try:
        run.play()
    except (TrialStopped, SpecFileError) as fault:
        run.stopped(beginning(plain(for_author(str(fault))), _MOST_REASON))
    except NotPlayed as ended:
        return ended.code
    except click.ClickException as fault:
        print(fault.format_message(), file=sys.stderr)
        return 1
    except (MachineError, MachineFault, QueueFileError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


class _Run:
    """A test in this process, and the display of its tournament."""

    def __init__(self, orders: TrialOrders, parent: Parent) -> None:
        self._orders = orders
        self._parent = parent
        self._folder = Path(orders.folder)
        self._result = TrialResult()
        self._due_at = self._report_due_at = 0.0
        self._ended = -1
        self._played = False

    def play(self) -> None:
        """Play to the verdict.

        Raises TrialStopped, SpecFileError, NotPlayed, MachineError, MachineFault, QueueFileError,
        OSError.
        """
        orders, file = self._orders, Path(self._orders.file)
        conditions = conditions_of(file, orders.given)
        conditions = replace(conditions, concurrency=conditions.concurrency or orders.most)
        laboratory = Laboratory(Path(orders.home), file.parent, conditions, None)
        self._tell("building")
        base, *others = self._unpacked(laboratory)
        candidates = list({each.id: each for each in others if each.id != base.id}.values())
        if not candidates:
            sentence = f"{others[0].label} has the files of {base.label}: not stronger"
            self._tell("not stronger", verdict=sentence)
            return
        every = (base, *candidates)
        names = tuple(each.name for each in every)
        builds = tuple(laboratory.builds.folder_of(each.id).name for each in every)
        self._tell("building", versions=names, builds=builds)
        versions = self._built(laboratory, base, candidates)
        trial = laboratory.begun([each for each, _ in versions])
        with laboratory.journal.in_use(trial) as is_free:
            if not is_free:
                raise MachineError("another process plays this test")
            if laboratory.journal.lacks_matches(trial):
                self._tell_again(trial)
                return
            spec = laboratory.specification(trial, [built for _, built in versions])
            self._tell("running", trial=trial.number, tried=trial.tried)
            ledger = self._matches(laboratory, trial, spec)
            trial = laboratory.decided(trial, ledger)
            self._note_results(ledger)
            self._write_reports(ledger)
        laboratory.builds.remove_older(_KEPT_BUILDS)
        sentence = verdict(trial, ledger)
        faults = too_many_faults(ledger, conditions.queue.faults) or (
            sentence if ledger.withdrawn else ""
        )
        if trial.state == "undecided" and faults:
            raise TrialStopped(faults)
        self._tell(_STATES[trial.state], winner=trial.winner, verdict=sentence)

    def _matches(self, laboratory: Laboratory, trial: VersionTest, spec: TournamentSpec) -> Ledger:
        """Play the matches, on the workers of a cluster if the queue has one.

        A worker whose results disagree is set aside, and its results are taken back: the next
        process plays these pairs again. Raises NotPlayed, ClickException, OSError.
        """
        conditions, cores = laboratory.conditions, self._orders.cores
        most = conditions.queue.faults
        results = WorkerResults(laboratory.journal.place(trial) / _WORKERS)

        found: Suspect | None = None

        def is_enough(ledger: Ledger) -> bool:
            nonlocal found
            if found is None and results.is_due(ledger.ended):
                found = results.suspect(ledger.fixtures)
            return bool(found or too_many_faults(ledger, most))

        with chosen_cluster(conditions.queue.dask, ClusterSettings()) as cluster:
            if cluster:
                cluster.placed = results.note
            ledger = laboratory.play(
                trial,
                spec,
                conditions.pairs,
                shown=self,
                is_enough=is_enough,
                cores=cores,
                cluster=cluster,
            )
            # The matches that were running at the look may have made it less suspect.
            found = found or results.suspect(ledger.fixtures)
            if found and cluster:
                cluster.set_aside(found.worker)
        if found:
            taken = results.matches_on(found.worker)
            text = f"the results on worker {found.worker} disagree with the others"
            self._log(f"== {text} (p = {found.p:.1e}): its pairs are played again")
            laboratory.take_back(trial, taken, text)
            raise NotPlayed(0)
        return ledger

    def _tell_again(self, trial: VersionTest) -> None:
        """Tell the verdict of a test whose matches were removed. Raises TrialStopped without one.

        It is not played again, as that would be one more try at the same level.
        """
        if trial.state not in _STATES:
            raise TrialStopped(
                "the matches of an earlier test of these versions were removed before its verdict: "
                "hand in a changed version"
            )
        self._tell(
            _STATES[trial.state],
            trial=trial.number,
            tried=trial.tried,
            pairs=trial.pairs,
            winner=trial.winner,
            verdict=f"{trial.summary} in an earlier test, whose matches were removed",
        )

    def stopped(self, reason: str) -> None:
        """Tell that the test has ended without a verdict."""
        add_to_log(self._folder, f"== stopped: {reason}")
        self._tell("stopped", reason=reason)

    # The stages before the matches.

    def _unpacked(self, laboratory: Laboratory) -> list[Version]:
        """Return the versions of the upload, the base first. Raises TrialStopped, MachineFault."""
        orders = self._orders
        shutil.rmtree(self._folder / "code", ignore_errors=True)
        builder = Builder(laboratory.terms, self._folder, self._log, exit_within)
        try:
            names = finished(builder.unpack_versions(orders.upload))
        except StageFault as fault:
            raise TrialStopped(str(fault)) from fault
        if orders.base not in names or not 2 <= len(names) <= 1 + MOST_CANDIDATES:
            found = beginning(", ".join(names), 100) or "none"
            raise TrialStopped(
                f"the archive must have a folder {orders.base} and 1 to {MOST_CANDIDATES} others, "
                f"not {found}"
            )
        require_visible(names)
        ordered = (orders.base, *(each for each in names if each != orders.base))
        try:
            return [
                VersionSources.of_folder(self._folder / "code" / each, each) for each in ordered
            ]
        except SourceError as error:
            raise TrialStopped(str(error)) from error

    def _built(
        self, laboratory: Laboratory, base: Version, candidates: list[Version]
    ) -> list[tuple[Version, Built]]:
        """Return the versions that can be built, the base first.

        Raises TrialStopped, MachineError.
        """

        def failed(error: SourceError) -> None:
            self._log(f"left out: {_without_place(error)}")

        try:
            return laboratory.built_versions(base, candidates, failed)
        except MachineError:
            raise
        except SourceError as error:
            raise TrialStopped(_without_place(error)) from error

    def _log(self, text: str) -> None:
        text = text.replace(f"{self._orders.home}/", "")  # places of this machine
        lines = (plain(for_author(each)) for each in text.splitlines())
        add_to_log(self._folder, "\n".join(lines))

    def _tell(self, state: State, reason: str = "", **changes: Any) -> None:
        self._result = structs.replace(self._result, **changes)
        self._parent.say(TrialNews(state, self._result, reason, self._played))

    # The display of the tournament.

    def show(self, text: str) -> None:
        """Add a line about the tournament to the log."""
        self._log(text)

    def match_ended(self, progress: TournamentProgress, fixture: Fixture) -> None:
        """Note that there is progress; the state shows the result."""
        self._played = True

    def wait(self, text: str, now: float) -> None:
        """Do nothing: the state is enough."""

    def refresh(self, progress: TournamentProgress, now: float, place: str = "") -> None:
        """Tell the state, and write the reports, if they are due and have changed."""
        ledger = progress.ledger
        if now < self._due_at or ledger.ended == self._ended:
            return
        self._due_at, self._ended = now + _TELL_S, ledger.ended
        self._note_results(ledger)
        self._tell("running")
        if now >= self._report_due_at:
            began_s = time.perf_counter()
            self._write_reports(ledger)
            took_s = time.perf_counter() - began_s
            self._report_due_at = now + max(_REPORT_S, took_s / _REPORT_SHARE)

    def close(self) -> None:
        """Do nothing."""

    def _note_results(self, ledger: Ledger) -> None:
        names = [each.name for each in ledger.spec.entrants]
        rows = tuple(
            CandidateRow(
                names[each.first],
                each.pairs.count,
                words.elo(each.elo),
                round(math.exp(min(each.betting.log_e, _LARGEST)), 6),
                round(math.exp(each.betting.bound), 6),
                each.betting.state,
            )
            for each in Results(ledger).head_to_heads()
            if each.betting
        )
        self._result = structs.replace(self._result, pairs=played_pairs(ledger), candidates=rows)

    def _write_reports(self, ledger: Ledger) -> None:
        report = Results(ledger).report(public=True)
        write_atomically(self._folder / JSON_REPORT, msgspec.json.encode(report))
        write_atomically(self._folder / MARKDOWN_REPORT, writer("markdown")(report).encode())


def require_visible(names: Iterable[str]) -> None:
    """Check the names of folders, which are shown as versions. Raises TrialStopped."""
    for name in names:
        try:
            checked_version(" ".join(name.split()))
        except BadName as error:
            raise TrialStopped(f"the folder {beginning(ascii(name), 50)}: {error}") from error


def too_many_faults(ledger: Ledger, most: float) -> str:
    """Return in words which version loses a larger share of its matches than `most` by faults.

    These are crashes, or losses on time. The text is empty if no version does.
    """
    played: Counter[str] = Counter()
    lost: Counter[tuple[str, str]] = Counter()
    for fixture in ledger.fixtures.values():
        if fixture.winner not in (1, 2):
            continue
        played.update(fixture.players)
        loser = fixture.players[2 - fixture.winner]
        if fixture.reason in _CRASHES:
            lost[loser, "by crashes or illegal moves"] += 1
        elif fixture.reason is Reason.TIME:
            lost[loser, _ON_TIME] += 1
    for (name, how), number in lost.items():
        if number >= _FEWEST_FAULTS and number > most * played[name]:
            text = f"{name} has lost {number} of its {played[name]} matches {how}"
            return text + (_why_late(ledger) if how == _ON_TIME else "")
    return ""


def _why_late(ledger: Ledger) -> str:
    """Return the clock of a test and the load of the machine, for losses on time."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1  # this process is kept to some cores
    return (
        f"; its clock is {ledger.spec.clock}, and the load of this machine is {load:.1f} on "
        f"{counted(cores, 'core')}"
    )


def _without_place(error: SourceError) -> str:
    """Return an error of a build without the place of its log, which the author sees."""
    return str(error).partition("; the log is in ")[0]
