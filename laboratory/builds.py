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


class MachineError(SourceError):
    """A version was not built because of a fault of this machine."""


class Build(msgspec.Struct, frozen=True):
    """A built bot: its folder, relative to that of the build, and how it is started."""

    root: str
    bot: BotFile


_decode_build = msgspec.json.Decoder(Build).decode


class Builds:
    """The builds in a folder, for some terms."""

    def __init__(self, folder: Path, terms: BuildTerms) -> None:
        self.folder = folder
        self._terms = terms

    def folder_of(self, version: str) -> Path:
        """Return the folder of the build of a version."""
        terms = self._terms
        tools = Path("/usr/bin").stat().st_mtime_ns if Path("/usr/bin").exists() else 0
        system = platform.machine(), sys.version
        parts = (version, *terms.games, terms.sandbox is not None, terms.hosts, tools, *system)
        return self.folder / hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def remove_older(self, number: int) -> None:
        """Remove all builds but the last ones."""
        made = sorted(self.folder.glob("*/build.json"), key=lambda each: -each.stat().st_mtime)
        for each in made[number:]:
            shutil.rmtree(each.parent, ignore_errors=True)

    def log_of(self, version: str) -> Path:
        """Return the file with the log of the build of a version; there is none before it."""
        return self.folder_of(version) / "log.txt"

    def get(self, version: str, pack: Callable[[Path], None]) -> tuple[Path, Build]:
        """Return the folder of a version and its build, which is made if there is none.

        `pack` writes the files of the version to a tar archive. Raises SourceError; the log is in
        the folder then, and the next call builds again.
        """
        place = self.folder_of(version)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / f"{place.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = place / "build.json"
            if not done.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(mode=0o700)
                try:
                    made = self._made(place, pack)
                except (MachineFault, OSError) as fault:
                    raise MachineError(f"this machine has a fault: {fault}") from fault
                write_atomically(done, msgspec.json.encode(made))
            return place, _decode_build(done.read_bytes())

    def _made(self, place: Path, pack: Callable[[Path], None]) -> Build:
        upload = place / "upload"
        pack(upload)
        with (place / "log.txt").open("a", encoding="utf-8", errors="replace") as log:

            def write(text: str) -> None:
                log.writelines(f"{plain(each)}\n" for each in text.splitlines())
                log.flush()

            builder = Builder(self._terms, place, write, exit_within)
            try:
                return finished(_stages(builder, place, write))
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


async def _stages(builder: Builder, place: Path, write: Callable[[str], None]) -> Build:
    write("== unpack")
    found = await builder.unpack(_UPLOAD)
    _refuse_pointers(place / found.root)
    write("== build")
    root = await builder.build(found.root, found.bot)
    write("== check")
    await builder.check(root, found.bot)
    return Build(root, found.bot)


async def exit_within(child: Child, seconds: float) -> bool:
    """Wait for the exit of a process; return whether it exits within some seconds."""
    return child.wait(seconds) is not None


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing but the exit of processes."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        work.close()
    raise RuntimeError("a stage waits for something else")


def _refuse_pointers(folder: Path) -> None:
    """Raise StageFault if a file in a folder is a pointer of Git LFS instead of the content."""
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            if file.read(len(_LFS)) != _LFS:
                continue
        raise StageFault(
            f"{plain(str(path.relative_to(folder)))} is a pointer of Git LFS, not the file itself: "
            "keep it in git, or test a folder that has it"
        )
