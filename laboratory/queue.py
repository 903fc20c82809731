"""The queue of the laboratory: tests that authors have handed in, and whose turn it is.

    FOLDER/tests/000012/test.json   the state of a test, replaced as a whole
                        upload      the archive with its versions, until it has ended
                        code/       the unpacked versions, until it has ended
                        log.txt     what its author may read
                        report.json, report.md
           authors/ID/              the laboratory of an author: journal, builds, matches
           incoming/                uploads that have not ended

One process changes the folder, and locks it. A test that was interrupted waits again, and goes on
with the matches that are stored in the laboratory of its author.
"""

from __future__ import annotations

import fcntl
import math
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from click import ClickException
from msgspec import structs

from playout.cluster import require_dask
from playout.commands.durable_files import sync_folder, write_atomically
from playout.games.core import plugins
from playout.laboratory import lab_file
from playout.laboratory.journal import Journal
from playout.laboratory.lab_file import Conditions
from playout.protocol.names import skeleton
from playout.protocol.time_control import parse_time_control
from playout.server.core.accounts import DAY_S
from playout.server.model.records import Account
from playout.server.organizer.spec_file import SpecFileError

State = Literal[
    "waiting", "building", "running", "stronger", "not stronger", "undecided", "stopped"
]
#: The states of a test that goes on.
UNFINISHED: tuple[State, ...] = ("waiting", "building", "running")
#: The names of the reports of a test, in its folder.
JSON_REPORT, MARKDOWN_REPORT = "report.json", "report.md"
_STATE, _LOG = "test.json", "log.txt"
#: Maximum number of bytes of a log, about.
_MOST_LOG = 2**18


class QueueFileError(Exception):
    """The file of a queue cannot be used; the message is for the operator."""


def conditions_of(file: Path, given: Mapping[str, Any]) -> Conditions:
    """Return the conditions of the file of a queue, with the `given` values in their place.

    Bots run in the sandbox, unless the file has `isolate = "never"`. A test may choose among the
    games of the file, and play at most as many pairs: raises SpecFileError with all faults of
    `given`, QueueFileError for those of the file.
    """
    try:
        own = lab_file.read(file, {}, file.parent, isolate="always")
    except SpecFileError as error:
        raise QueueFileError(error.message) from error
    if code := [each for each in given.get("games", ()) if plugins.is_target(each)]:
        raise SpecFileError(f"games: {', '.join(code)} is code, not the name of a game")
    try:
        found = lab_file.read(file, given, file.parent, isolate="always")
    except SpecFileError as error:  # without the place of the file, which authors do not see
        text = re.sub(rf"^{re.escape(str(file))}(:\d+)?: ", "", error.message, flags=re.MULTILINE)
        raise SpecFileError(text) from error
    if own.queue.dask:
        try:
            require_dask()
        except ClickException as error:
            raise QueueFileError(f"{file}: {error.format_message()}") from error
    if parse_time_control(found.clock) is None:
        raise SpecFileError("clock: it must limit the time of a match, as 10+0.1 does")
    if other := [each for each in found.games if each not in own.games]:
        games = ", ".join(own.games)
        raise SpecFileError(f"games: {', '.join(other)} is not played here, but {games}")
    if found.pairs > own.pairs:
        raise SpecFileError(f"pairs: a test has at most {own.pairs} here, not {found.pairs}")
    return found


class CandidateRow(msgspec.Struct, frozen=True):
    """A candidate of a test: its pairs against the base, its Elo, and the evidence for it.

    `evidence` has to reach `bound`; `state` is "open", "stronger", "futile" or "exhausted".
    """

    name: str
    pairs: int
    elo: str
    evidence: float
    bound: float
    state: str


class TrialResult(msgspec.Struct, frozen=True):
    """The result of a test so far.

    `versions` are the names in matches, the base first, and `builds` the keys of their builds.
    `trial` is the number in the journal of the author, and `tried` the number of candidates that
    the author has tested against this base before. `verdict` is a sentence.
    """

    versions: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    trial: int = 0
    tried: int = 0
    pairs: int = 0
    candidates: tuple[CandidateRow, ...] = ()
    winner: str = ""
    verdict: str = ""


class QueuedTest(msgspec.Struct, frozen=True):
    """A test in the queue: its author, what it asks, and its state.

    `account` is the id of the account, whose name `author` was when it handed the test in. `base`
    is the folder of the base in the archive. `given` are the values that replace those of the
    server's file. Of the tests of an author, those with the highest `priority` come first.
    `reason` says why it was stopped. `history` has the states with the times at which they first
    began, in seconds since 1970.
    """

    id: int
    account: str
    author: str
    file: str
    base: str
    given: Mapping[str, Any]
    at: float
    priority: int = 0
    state: State = "waiting"
    reason: str = ""
    result: TrialResult = TrialResult()
    history: tuple[tuple[float, State], ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether it has a verdict or was stopped."""
        return self.state not in UNFINISHED

    @property
    def ended_at(self) -> float | None:
        """When it ended; None if it goes on."""
        return self.history[-1][0] if self.is_over else None


_decode_test = msgspec.json.Decoder(QueuedTest).decode


class QueueInUse(Exception):
    """Another process changes the folder of the queue; the message names it."""


class LabQueue:
    """The tests in the folder of a queue."""

    def __init__(self, folder: Path) -> None:
        """Become the process that changes the folder. Raises QueueInUse, OSError."""
        self.folder = folder
        self.incoming = folder / "incoming"
        for each in (folder, folder / "tests", folder / "authors", self.incoming):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise QueueInUse(f"another server runs the queue in {folder}") from None
        shutil.rmtree(self.incoming)
        self.incoming.mkdir(mode=0o700)
        paths = sorted(folder.glob(f"tests/*/{_STATE}"))
        found = (_decode_test(each.read_bytes()) for each in paths)
        self._tests = {each.id: each for each in found}
        for test in list(self._tests.values()):
            if test.is_over:
                self.remove_code(test)
            elif test.state != "waiting":  # it was interrupted
                self.put(test, "waiting")

    def close(self) -> None:
        """Let another process change the folder."""
        self._lock.close()

    def __iter__(self) -> Iterator[QueuedTest]:
        return iter(list(self._tests.values()))  # another thread may add tests

    def get(self, number: int) -> QueuedTest | None:
        """Return a test; None if there is none."""
        return self._tests.get(number)

    def place(self, test: QueuedTest, name: str = "") -> Path:
        """Return the folder of a test, or the path of a file in it."""
        return self.folder / "tests" / f"{test.id:06}" / name

    def home(self, test: QueuedTest) -> Path:
        """Return the folder of the laboratory of the author of a test."""
        return self.folder / "authors" / test.account

    def add(self, upload: Path, **values: Any) -> QueuedTest:
        """Add a test with these fields; its upload is moved. It is stored when this returns."""
        at = time.time()
        number = max(self._tests, default=0) + 1
        test = QueuedTest(id=number, at=at, history=((at, "waiting"),), **values)
        making = self.incoming / f"{number:06}"
        shutil.rmtree(making, ignore_errors=True)  # the disk was full before
        making.mkdir(mode=0o700)
        upload.rename(making / "upload")
        write_atomically(making / _STATE, msgspec.json.encode(test))
        making.rename(self.place(test))
        sync_folder(self.folder / "tests")
        self._tests[number] = test
        return test

    def put(self, test: QueuedTest, state: State, **changes: Any) -> QueuedTest:
        """Change a test; it is stored when this returns. Raises OSError."""
        if state not in {each for _, each in test.history}:
            changes["history"] = (*test.history, (time.time(), state))
        test = structs.replace(test, state=state, **changes)
        write_atomically(self.place(test, _STATE), msgspec.json.encode(test))
        self._tests[test.id] = test
        if test.is_over:
            self.remove_code(test)
        return test

    def remove_code(self, test: QueuedTest) -> None:
        """Remove the archive of a test, and the versions that were unpacked."""
        self.place(test, "upload").unlink(missing_ok=True)
        shutil.rmtree(self.place(test, "code"), ignore_errors=True)

    def log(self, test: QueuedTest) -> str:
        """Return the log of a test as text."""
        path = self.place(test, _LOG)
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def remove_matches(self, keep_s: float, playing: Collection[str]) -> None:
        """Remove the matches of tests that ended so long ago, except of authors who play now.

        Several tests of the same versions have the same matches.
        """
        ends: dict[tuple[Path, int], float] = {}
        for test in self:
            if test.result.trial and test.account not in playing:
                key = self.home(test), test.result.trial
                ends[key] = max(ends.get(key, 0.0), test.ended_at or math.inf)
        for (home, number), ended_at in ends.items():
            if ended_at + keep_s < time.time():
                Journal(home).remove_matches(number)

    # Whose turn it is.

    def first_of_authors(self) -> dict[str, QueuedTest]:
        """Return the test of each author, by account, that is played first."""
        found: dict[str, QueuedTest] = {}
        unfinished = (each for each in self if not each.is_over)
        for each in sorted(unfinished, key=lambda each: (-each.priority, each.id)):
            found.setdefault(each.account, each)
        return found

    def is_author(self, account: Account, names: Iterable[str]) -> bool:
        """Return whether an account has one of these names, or had it when it handed a test in.

        An account that has taken the name of such an account is no author.
        """
        wanted = set(map(skeleton, names))
        owners: dict[str, str] = {}
        for each in self:
            if (name := skeleton(each.author)) in wanted:
                owners.setdefault(name, each.account)
        own = skeleton(account.name)
        return account.id in owners.values() or (own in wanted and own not in owners)

    def unfinished(self, account: str) -> int:
        """Return the number of tests of an author that have not ended."""
        return sum(each.account == account and not each.is_over for each in self)

    def of_day(self, account: str) -> int:
        """Return the number of tests that an author has handed in within 24 hours."""
        now = time.time()
        return sum(each.account == account and now - DAY_S < each.at <= now for each in self)


def shares(cores: int, used: Mapping[str, float]) -> dict[str, int]:
    """Return the cores of each author: as many for each, and the rest for those that used least.

    `used` has the core seconds that each author has used so far.
    """
    if not used:
        return {}
    each, more = divmod(cores, len(used))
    in_order = sorted(used, key=lambda account: (used[account], account))
    return {account: each + (place < more) for place, account in enumerate(in_order)}


def add_to_log(folder: Path, text: str) -> None:
    """Add lines to the log in the folder of a test, unless it is full."""
    with (folder / _LOG).open("a", encoding="utf-8", errors="replace") as file:
        if file.tell() < _MOST_LOG:
            file.write(f"{text}\n")
