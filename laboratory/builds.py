"""The builds of versions, each kept under its files, its games and the tools of this machine.

builds/KEY/build.json    how the bot is started
           code/, built/ its files
           log.txt       the log of its stages
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import platform
import shutil
import sys
import tarfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from playout.bots.bot_file import BotFile
from playout.bots.builder import Builder, BuildTerms, MachineFault, StageFault
from playout.bots.git_source import SourceError
from playout.commands.child import Child
from playout.commands.durable_files import write_atomically
from playout.commands.text import plain

T = TypeVar("T")

_LFS = b"version https://git-lfs.github.com/spec/"
_UPLOAD = "upload.tar"


class Build(msgspec.Struct, frozen=True):
    """A built bot: its folder, relative to that of the build, and how it is started."""

    root: str
    bot: BotFile


class Builds:
    """The builds in a folder, for some terms."""

    def __init__(self, folder: Path, terms: BuildTerms) -> None:
        self._folder = folder
        self._terms = terms

    def folder_of(self, version: str) -> Path:
        """Return the folder of the build of a version."""
        terms = self._terms
        tools = Path("/usr/bin").stat().st_mtime_ns if Path("/usr/bin").exists() else 0
        system = platform.machine(), sys.version
        parts = (version, *terms.games, terms.sandbox is not None, terms.hosts, tools, *system)
        return self._folder / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def log_of(self, version: str) -> Path:
        """Return the file with the log of the build of a version; there is none before it."""
        return self.folder_of(version) / "log.txt"

    def get(self, version: str, pack: Callable[[Path], None]) -> tuple[Path, Build]:
        """Return the folder of a version and its build, which is made if there is none.

        `pack` writes the files of the version to a tar archive. Raises SourceError; the log is in
        the folder then, and the next call builds again.
        """
        place = self.folder_of(version)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / f"{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = place / "build.json"
            if not done.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(mode=0o700)
                try:
                    made = self._made(place, pack)
                except (MachineFault, OSError) as fault:
                    raise SourceError(f"this machine has a fault: {fault}") from fault
                write_atomically(done, msgspec.json.encode(made))
            return place, msgspec.json.decode(done.read_bytes(), type=Build)

    def _made(self, place: Path, pack: Callable[[Path], None]) -> Build:
        upload = place / "upload"
        pack(upload)
        _refuse_pointers(upload)
        with (place / "log.txt").open("a", encoding="utf-8", errors="replace") as log:

            def write(text: str) -> None:
                log.writelines(f"{plain(each)}\n" for each in text.splitlines())
                log.flush()

            builder = Builder(self._terms, place, write, _exit_within)
            try:
                return _finished(_stages(builder, write))
            except StageFault as fault:
                write(f"== refused: {fault}")
                with contextlib.suppress(OSError):
                    builder.remove_code()
                raise SourceError(str(fault)) from fault
            except MachineFault as fault:
                with contextlib.suppress(OSError):
                    write(f"== stopped: {fault}")
                raise
            finally:
                upload.unlink(missing_ok=True)


async def _stages(builder: Builder, write: Callable[[str], None]) -> Build:
    write("== unpack")
    found = await builder.unpack(_UPLOAD)
    write("== build")
    root = await builder.build(found.root, found.bot)
    write("== check")
    await builder.check(root, found.bot)
    return Build(root, found.bot)


async def _exit_within(child: Child, seconds: float) -> bool:
    return child.wait(seconds) is not None


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing but the exit of processes."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        work.close()
    raise RuntimeError("a stage waits for something else")


def _refuse_pointers(upload: Path) -> None:
    """Raise SourceError if a file of an archive is a pointer of Git LFS instead of the content."""
    with tarfile.open(upload) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() else None
            if file and file.read(len(_LFS)) == _LFS:
                raise SourceError(
                    f"{plain(member.name)} is a pointer of Git LFS, not the file itself: keep it "
                    "in git, or test a folder that has it"
                )
