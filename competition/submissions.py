"""What was handed in to a competition, in its folder: each submission has a folder of its own.

    NAME/submissions/000012/submission.json   its state, replaced as a whole
                            upload            the file as it was handed in
                            code/             the unpacked files, or
                            built/            the files after the build, if there is one
                            log.txt           what its author may read about its stages
    NAME/incoming/                            uploads that have not ended
    NAME/closed                               there if the operator has closed the competition

Only one process changes a folder, which it locks; others may read it at any time. A submission is
complete before its folder has its name, and nothing of it is replaced except its state.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import msgspec
from msgspec import structs

from playout.commands.text import plain
from playout.competition.bot_file import BotFile
from playout.server.tournament.competition_file import Competition

Stage = Literal["unpack", "build", "check", "matches"]
STAGES: tuple[Stage, ...] = ("unpack", "build", "check", "matches")
State = Literal["queued", "running", "accepted", "refused"]
DAY_S = 86_400.0
#: Seconds in which an upload must arrive completely.
REQUEST_S = 300.0
#: The most bytes of a log, about.
MOST_LOG = 2**18
#: The most characters that are added to a log at once.
_MOST_ADDED = 8000


class Submission(msgspec.Struct, frozen=True):
    """A submission: its author, its file, and how far it has come.

    `at` is when its upload began, `ended_at` when it was accepted or refused, in seconds since
    1970. `stage` is the present one, or the one that failed, for `reason`. `root` is the folder in
    which the bot starts, relative to that of the submission.
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


class FolderInUse(Exception):
    """Another process changes the folder of the competition; the message names it."""


class Submissions:
    """The submissions in the folder of a competition."""

    def __init__(self, competition: Competition) -> None:
        """Read what is there, without changing it."""
        self.competition = competition
        self.folder = competition.folder
        self._all = self._stored()

    def lock(self) -> None:
        """Become the process that changes the folder, and remove what a killed one has left.

        Raises FolderInUse.
        """
        for name in ("submissions", "incoming"):
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._lock = self.locked(self.folder)
        shutil.rmtree(self.folder / "incoming")
        (self.folder / "incoming").mkdir(mode=0o700)
        self._all = self._stored()  # the process before may have changed something until now
        for each in self._all.values():
            if each.state == "running":  # it was interrupted: from the first stage on
                self.put(structs.replace(each, state="queued", stage="unpack"))

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
        making = self.folder / "incoming" / f"{number:06}"
        shutil.rmtree(making, ignore_errors=True)  # the disk was full before
        making.mkdir(mode=0o700)
        upload.rename(making / "upload")
        _write(making / "submission.json", new)
        making.rename(self.place(new))
        self._all[number] = new
        _sync(self.folder / "submissions")
        return new

    def put(self, submission: Submission) -> Submission:
        """Replace the state of a submission; it is stored when this returns."""
        _write(self.place(submission, "submission.json"), submission)
        self._all[submission.id] = submission
        return submission

    def log(self, submission: Submission, text: str) -> None:
        """Add lines to the log of a submission, without control characters, unless it is full."""
        lines = (plain(each) for each in text[-_MOST_ADDED:].rstrip().splitlines())
        with self.place(submission, "log.txt").open("ab") as file:
            if file.tell() < MOST_LOG:
                file.writelines(f"{each}\n".encode(errors="replace") for each in lines)

    def log_of(self, submission: Submission) -> str:
        """Return the log of a submission."""
        with contextlib.suppress(FileNotFoundError):
            return self.place(submission, "log.txt").read_text(errors="replace")
        return ""

    # Questions about all of them.

    def next_queued(self) -> Submission | None:
        """Return the submission to handle next: of the team that had the fewest in a day."""
        queued = [each for each in self if each.state == "queued"]
        since = time.time() - DAY_S
        handled = Counter(each.team for each in self if (each.ended_at or 0) > since)
        return min(queued, key=lambda each: (handled[each.team], each.id), default=None)

    def is_full(self, team: str, at: float) -> bool:
        """Return whether a team has handed in as often as it may in the day before a time."""
        found = sum(each.team == team and at - DAY_S < each.at <= at for each in self)
        return found >= self.competition.submissions_per_day

    def accepted(self) -> dict[str, Submission]:
        """Return the last accepted submission of each team."""
        return {each.team: each for each in self if each.state == "accepted"}

    def is_open(self, at: float) -> bool:
        """Return whether submissions that begin at a time are taken."""
        inside = self.competition.opens <= at < self.competition.deadline
        return inside and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether the operator has closed the competition before its deadline."""
        return (self.folder / "closed").exists()

    def close(self) -> None:
        """Take no more submissions; the running process notices it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "closed").touch()


def _read(path: Path) -> Submission:
    return msgspec.json.decode(path.read_bytes(), type=Submission)


def _write(path: Path, submission: Submission) -> None:
    new = path.with_name("submission.new")
    with new.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(submission)))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make new names in a folder durable."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
