"""The submissions of a competition, in its folder: each submission has a folder of its own.

    NAME/submissions/000012/submission.json   its state, replaced as a whole
                            upload            the file as it was handed in
                            code/             the unpacked files, or
                            built/            the files after the build, if there is one
                            log.txt           what its author may read about its stages
                            matches.jsonl     what it has used in each match
    NAME/incoming/                            uploads that have not ended
    NAME/changes.json                         what the operator has changed since it was opened

Only one process changes the submissions, and locks the folder; others may read them at any time. A
submission is complete before its folder has its name, and nothing of it is replaced except its
state. A log that cannot be written at a time, such as on a full disk, is written later.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Literal

import msgspec
from msgspec import structs

from playout.bots.bot_file import BotFile
from playout.commands.durable_files import sync_folder
from playout.commands.text import plain, utc
from playout.players.engines.process import MatchUse
from playout.server.core.accounts import DAY_S
from playout.server.tournament.competition_file import STAFF, Competition

Stage = Literal["unpack", "build", "check", "matches"]
STAGES: tuple[Stage, ...] = ("unpack", "build", "check", "matches")
State = Literal["queued", "running", "accepted", "refused", "failed"]
#: Maximum number of bytes of a log, about.
MOST_LOG = 2**18
#: Maximum number of characters that are added to a log at once.
_MOST_ADDED = 8000
_CHANGES, _MATCHES = "changes.json", "matches.jsonl"
#: Maximum number of bytes of the records of matches, and characters of the reason in one.
_MOST_MATCHES, _MOST_END = 2**22, 300

_decode_use = msgspec.json.Decoder(MatchUse).decode


class Submission(msgspec.Struct, frozen=True):
    """A submission: its author, its file and its state.

    `at` is the start of its upload, `ended_at` the time at which it was accepted or refused, or
    failed by a fault of the host, in seconds since 1970.

    `stage` is the current stage, or the one that failed; `reason` says why. `root` is the folder in
    which the bot starts, relative to the submission's folder.
    """

    id: int
    account: str
    team: str
    file: str
    size: int
    at: float
    state: State = "queued"
    stage: Stage = "unpack"
    reason: str = ""
    digest: str = ""
    root: str = "code"
    bot: BotFile | None = None
    ended_at: float | None = None
    matches: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Its version on the ladder."""
        return self.digest[:12]


_decode_submission = msgspec.json.Decoder(Submission).decode


class Changes(msgspec.Struct, frozen=True):
    """The changes that an operator has made to a running competition.

    `deadline` replaces the deadline of the file if it is later. `banned` are teams. `retried` has
    the times at which failed submissions were put into the queue again, in seconds since 1970, by
    the numbers of the submissions.
    """

    deadline: float = 0.0
    closed: bool = False
    banned: tuple[str, ...] = ()
    retried: Mapping[int, float] = {}


_decode_changes = msgspec.json.Decoder(Changes).decode


class FolderInUse(Exception):
    """Another process changes the folder of the competition; the message names it."""


class Submissions:
    """The submissions in the folder of a competition."""

    def __init__(
        self, competition: Competition, say: Callable[[str], None] = lambda text: None
    ) -> None:
        """Read the folder without changing it; `say` gets faults of the disk, once each."""
        self.competition = competition
        self.folder = competition.folder
        self.incoming = self.folder / "incoming"
        self._say = say
        self._fault = ""
        #: The ends of the logs and records that could not be written yet.
        self._unwritten: dict[Path, bytes] = {}
        self._changes = ((0, 0), Changes())
        self._all = self._stored()

    def lock(self) -> None:
        """Become the process that changes the folder, and remove what a killed one has left.

        Raises FolderInUse.
        """
        for each in (self.folder / "submissions", self.incoming):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._lock = self.locked(self.folder)
        shutil.rmtree(self.incoming)
        self.incoming.mkdir(mode=0o700)
        stored = self._stored()  # the process before may have changed something until now
        self._all = {
            number: structs.replace(one, state="queued", stage="unpack")
            if one.state == "running"  # it was interrupted: from the first stage on
            else one
            for number, one in stored.items()
        }

    def close(self) -> None:
        """Let another process change the folder, after `lock`."""
        self._lock.close()

    def _stored(self) -> dict[int, Submission]:
        folder = self.folder / "submissions"
        if not folder.exists():
            return {}
        found = (each for each in folder.iterdir() if each.name.isdecimal())
        return {int(each.name): _read(each / "submission.json") for each in found}

    @staticmethod
    def locked(folder: Path) -> IO[str]:
        """Return the locked file of a folder; closing it unlocks it. Raises FolderInUse."""
        file = (folder / "lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise FolderInUse(f"another server runs the competition in {folder}") from None
        return file

    def __iter__(self) -> Iterator[Submission]:
        return iter(sorted(self._all.values(), key=lambda each: each.id))

    def get(self, number: int) -> Submission | None:
        """Return a submission; None if there is none."""
        return self._all.get(number)

    def place(self, submission: Submission, name: str = "") -> Path:
        """Return the folder of a submission, or the path of a file in it."""
        return self.folder / "submissions" / f"{submission.id:06}" / name

    def code(self, submission: Submission) -> Path:
        """Return the folder in which the bot of a submission starts."""
        return self.place(submission, submission.root)

    def add(self, upload: Path, *, account: str, team: str, file: str, at: float) -> Submission:
        """Add a file in `incoming`, which is moved; it is stored when this returns."""
        number = max(self._all, default=0) + 1
        new = Submission(number, account, team, file, upload.stat().st_size, at)
        making = self.incoming / f"{number:06}"
        shutil.rmtree(making, ignore_errors=True)  # the disk was full before
        making.mkdir(mode=0o700)
        upload.rename(making / "upload")
        _replace(making / "submission.json", new)
        making.rename(self.place(new))
        self._all[number] = new
        sync_folder(self.folder / "submissions")
        return new

    def put(self, submission: Submission) -> Submission:
        """Replace the state of a submission; it is stored when this returns. Raises OSError."""
        _replace(self.place(submission, "submission.json"), submission)
        self._all[submission.id] = submission
        return submission

    def tell(self, fault: OSError | None) -> None:
        """Tell the operator once that the disk has a fault, or has no fault again."""
        text = f"{self.folder} cannot be written: {fault.strerror}; trying again" if fault else ""
        if text != self._fault:
            self._say(text or f"{self.folder} can be written again")
        self._fault = text

    def log(self, submission: Submission, text: str) -> None:
        """Add lines to the log of a submission, without control characters, unless it is full."""
        lines = (plain(each) for each in text[-_MOST_ADDED:].rstrip().splitlines())
        added = "".join(f"{each}\n" for each in lines).encode(errors="replace")
        self._add(self.place(submission, "log.txt"), added)

    def record(self, submission: Submission, use: MatchUse) -> None:
        """Store the resource usage of a submission in a match."""
        use = structs.replace(use, end=plain(use.end)[:_MOST_END])
        self._add(self.place(submission, _MATCHES), msgspec.json.encode(use) + b"\n")

    def _add(self, path: Path, added: bytes) -> None:
        self._unwritten[path] = self._unwritten.get(path, b"") + added
        self.write()

    def write(self) -> None:
        """Write the ends of the logs that could not be written before, if that is possible now."""
        for path in list(self._unwritten):
            left = self._unwritten[path]
            try:
                with path.open("ab", buffering=0) as file:
                    most = _MOST_MATCHES if path.name == _MATCHES else MOST_LOG
                    left = left[: max(0, most - file.tell())]
                    while left:
                        left = left[file.write(left) :]
            except OSError as error:
                self._unwritten[path] = left
                self.tell(error)
                return
            del self._unwritten[path]
            self.tell(None)

    def log_of(self, submission: Submission) -> str:
        """Return the log of a submission."""
        path = self.place(submission, "log.txt")
        written = path.read_bytes() if path.exists() else b""
        return (written + self._unwritten.get(path, b"")).decode(errors="replace")

    def uses(self, submission: Submission, last_bytes: int = 2**32) -> list[MatchUse]:
        """Return the resource usage of a submission in its matches, from the end of the file."""
        return read_uses(self.place(submission, _MATCHES), last_bytes)

    # Questions about all of them.

    def is_waiting(self, submission: Submission) -> bool:
        """Return whether a submission is in the queue: also a failed one that is tried again."""
        return submission.state == "queued" or (
            submission.state == "failed"
            and self.retried_at(submission) > (submission.ended_at or 0.0)
        )

    def retried_at(self, submission: Submission) -> float:
        """Return when a failed submission was put into the queue again; 0 if it was not."""
        return self.changes.retried.get(submission.id, 0.0)

    def unfinished(self) -> int:
        """Return the number of submissions that wait or are handled."""
        return sum(each.state == "running" or self.is_waiting(each) for each in self)

    def next_queued(self) -> Submission | None:
        """Return the submission to handle next: of the team that had the fewest in a day."""
        queued = [each for each in self if self.is_waiting(each)]
        since = time.time() - DAY_S
        handled = Counter(each.team for each in self if (each.ended_at or 0) > since)
        return min(queued, key=lambda each: (handled[each.team], each.id), default=None)

    def is_full(self, team: str, at: float) -> bool:
        """Return whether a team has handed in as often as it may in the day before a time."""
        found = sum(each.team == team and at - DAY_S < each.at <= at for each in self)
        return found >= self.competition.submissions_per_day

    def accepted(self) -> dict[str, Submission]:
        """Return the last accepted submission of each team that is not banned, without STAFF."""
        banned = (*self.changes.banned, STAFF)
        found = (each for each in self if each.state == "accepted")
        return {each.team: each for each in found if each.team not in banned}

    def is_open(self, at: float) -> bool:
        """Return whether submissions that begin at a time are accepted."""
        return self.competition.opens <= at < self.deadline and not self.changes.closed

    @property
    def deadline(self) -> float:
        """When the last submission is taken, unless the operator closes the competition."""
        return max(self.competition.deadline, self.changes.deadline)

    # What the operator changes; the running process notices it.

    @property
    def changes(self) -> Changes:
        """The operator's changes so far."""
        path = self.folder / _CHANGES
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            version = found.st_ino, found.st_mtime_ns
            if version != self._changes[0]:
                self._changes = version, _decode_changes(path.read_bytes())
        return self._changes[1]

    def change(self, changed: Callable[[Changes], Changes]) -> Changes:
        """Replace the operator's changes; another process may do so at the same time."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / f"{_CHANGES}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            new = changed(self.changes)
            _replace(self.folder / _CHANGES, new)
        return new


def read_uses(path: Path, last_bytes: int = 2**32) -> list[MatchUse]:
    """Return the records at the end of a file; none if it does not exist."""
    found = []
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - last_bytes))
        for line in file:
            with contextlib.suppress(msgspec.DecodeError):  # a part of a line
                found.append(_decode_use(line))
    return found


def _read(path: Path) -> Submission:
    return _decode_submission(path.read_bytes())


def _replace(path: Path, value: Submission | Changes) -> None:
    """Replace a file as a whole; it is stored when this returns. Raises OSError."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(value)))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


# What an operator changes, by a command or on the page. Each function raises ValueError, whose text
# is for the operator.


def extend(submissions: Submissions, until: str) -> None:
    """Extend the deadline to a time of ISO 8601; open the competition again if it is closed."""
    deadline = datetime.fromisoformat(until)
    if deadline.tzinfo is None:
        raise ValueError(f"{until} needs an offset from UTC, as in 2026-12-18T20:00+01:00")
    at = deadline.timestamp()
    if at < max(submissions.deadline, time.time()):
        raise ValueError(
            f"{until} is not after now and {utc(submissions.deadline):%Y-%m-%d %H:%M UTC}"
        )
    if (submissions.folder / "final.db").exists():
        raise ValueError("the final has begun: there is nothing to extend")
    submissions.change(lambda changes: structs.replace(changes, deadline=at, closed=False))


def retry(submissions: Submissions, number: str) -> None:
    """Put a submission that met a fault of the server into the queue again."""
    found = submissions.get(int(number)) if number.isdecimal() and len(number) < 9 else None
    if found is None or found.state != "failed":
        raise ValueError(f"submission {number} has met no fault of the server")
    retried = {found.id: max(time.time(), math.nextafter(found.ended_at or 0.0, math.inf))}
    submissions.change(
        lambda changes: structs.replace(changes, retried={**changes.retried, **retried})
    )


def ban(submissions: Submissions, team: str) -> None:
    """Let a team hand in nothing, and take its bot from the ladder and the final."""
    competition = submissions.competition
    teams = {each.team for each in submissions}
    teams |= {each.team for each in (competition.roster or {}).values()}
    if team not in teams:
        raise ValueError(f"no team {team!r} is on the roster, or has handed in")
    unban(submissions, team)
    submissions.change(lambda changes: structs.replace(changes, banned=(*changes.banned, team)))


def unban(submissions: Submissions, team: str) -> None:
    """Lift the ban of a team."""
    submissions.change(
        lambda changes: structs.replace(
            changes, banned=tuple(each for each in changes.banned if each != team)
        )
    )


#: The changes by their names; each takes a value.
CHANGES: Mapping[str, Callable[[Submissions, str], None]] = {
    "extend": extend,
    "retry": retry,
    "ban": ban,
    "unban": unban,
}
