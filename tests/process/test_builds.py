"""Builds of bots and of versions: faults of the machine."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections import namedtuple
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from playout.bots.archive import Unpacked
from playout.bots.builder import Builder, BuildStage, BuildTerms, MachineFault, StageFault
from playout.bots.git_source import SourceError
from playout.bots.packing import write_tar
from playout.commands.child import Child
from playout.laboratory.builds import Builds
from support import scale
from support.repositories import LINES_TOML, RANDOM
from support.waiting import wait_until


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path / "builds", BuildTerms((), "1/move", None))


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.toml").write_text(LINES_TOML)
    (tmp_path / "bot" / "bot.py").write_text("")
    return tmp_path / "bot"


def pack(folder: Path, upload: Path) -> None:
    with upload.open("wb") as file:
        write_tar(folder, file, "w")


def test_a_full_disk_is_a_fault_of_the_machine_and_the_next_call_builds(
    builds: Builds, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = dict.fromkeys(("f_bavail", "f_frsize", "f_favail", "f_files"), 0)
    (bot / "link").symlink_to("bot.py")  # a stage that fails asks for the room on the disk
    with monkeypatch.context() as patched:
        patched.setattr(os, "statvfs", lambda path: namedtuple("found", nothing)(**nothing))
        with pytest.raises(SourceError, match="this machine has a fault: the unpack has met"):
            builds.get("1", lambda upload: pack(bot, upload))
    place = builds.folder_of("1")
    assert "== stopped: the unpack has met a full disk" in (place / "log.txt").read_text()
    assert not (place / "build.json").exists()
    (bot / "link").unlink()
    _, build = builds.get("1", lambda upload: pack(bot, upload))
    assert build.bot.command == "python3 bot.py"


def test_a_file_that_cannot_be_read_is_explained(builds: Builds, bot: Path) -> None:
    def fail(upload: Path) -> None:
        shutil.rmtree(bot)
        with tarfile.open(upload, "w") as archive:
            archive.add(bot / "bot.py")

    with pytest.raises(SourceError, match=r"this machine has a fault: .*bot\.py"):
        builds.get("1", fail)


class DisturbedStages:
    """The stages of a bot, of which one may be disturbed when its program has started."""

    def __init__(self, folder: Path, files: dict[str, str], games: Sequence[str] = ()) -> None:
        with tarfile.open(folder / "upload", "w") as archive:
            for name, text in files.items():
                head = tarfile.TarInfo(name)
                head.size = len(text)
                archive.addfile(head, io.BytesIO(text.encode()))
        self.log: list[str] = []
        #: The stage whose program is killed, by the number of the program.
        self.killed = -1
        self._started = -1
        terms = BuildTerms(games, "20/move", None)
        self._builder = Builder(terms, folder, self.log.append, self._exit_within)

    async def _exit_within(self, child: Child, seconds: float) -> bool:
        self._started += 1
        if self._started == self.killed:
            child.send(signal.SIGKILL)
        return child.wait(seconds) is not None

    def run(self, killed: int = -1) -> Unpacked:
        """Run all stages from the first one on. Raises StageFault, MachineFault, OSError."""
        self.killed, self._started = killed, -1
        self._builder.remove_code()
        return asyncio.run(self._run())

    def fault(self, killed: int = -1) -> Exception | None:
        """Return the fault of a run; None also if a program had exited before the signal."""
        try:
            self.run(killed)
        except (MachineFault, StageFault) as fault:
            return fault
        return None

    async def _run(self) -> Unpacked:
        found = await self._builder.unpack("bot.tar")
        root = await self._builder.build(found.root, found.bot)
        await self._builder.check(root, found.bot)
        return found


#: The programs of a bot with a build: the build's result is unpacked, too.
PROGRAMS: tuple[BuildStage, ...] = ("unpack", "build", "unpack", "check")
BUILT = LINES_TOML + 'build = "cp bot.txt bot.py"\n'


def test_a_program_of_a_stage_that_is_killed_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    stages = DisturbedStages(tmp_path, {"bot.toml": BUILT, "bot.txt": RANDOM}, ["tic_tac_toe"])
    for number, stage in enumerate(PROGRAMS):
        if stage == "build":  # without a sandbox, it may have killed itself
            continue
        fault = wait_until(partial(stages.fault, number), f"a kill of the {stage}")
        assert isinstance(fault, MachineFault)
        assert f"the {stage} was killed" in str(fault)
    assert stages.run().bot.build


def test_an_archive_that_takes_long_to_unpack_is_the_fault_of_its_author(tmp_path: Path) -> None:
    stages = DisturbedStages(tmp_path, {"bot.toml": LINES_TOML, "bot.py": ""})

    async def over_time(child: Child, seconds: float) -> bool:
        child.send(signal.SIGXCPU)
        return child.wait(seconds) is not None

    stages._builder._exit_within = over_time
    fault = wait_until(stages.fault, "a signal before the exit")
    assert isinstance(fault, StageFault)
    assert "CPU time" in str(fault)


def test_an_unpacking_that_waits_for_the_machine_is_no_fault_of_the_author(tmp_path: Path) -> None:
    """Also if all is unpacked and only the exit is late."""
    stages = DisturbedStages(tmp_path, {"bot.toml": LINES_TOML, "bot.py": ""})

    async def too_late(child: Child, seconds: float) -> bool:
        wait_until((tmp_path / "unpacked.json").read_text, "the result")
        child.send(signal.SIGKILL)
        return False

    stages._builder._exit_within = too_late
    fault = wait_until(stages.fault, "a signal before the exit")
    assert isinstance(fault, MachineFault)
    assert "the unpack has not ended after 60 seconds" in str(fault)


#: In a namespace of its own: the stages on small file systems, which grow after the first fault.
_FULL_DISK = """
import pathlib, subprocess, sys
from process.test_builds import FILLING, DisturbedStages, MachineFault
for stage in sys.argv[2:]:
    folder = pathlib.Path(sys.argv[1], stage)
    folder.mkdir()
    disk = ["mount", "-t", "tmpfs", "none", folder, "-o"]
    subprocess.run([*disk, "size=3m"], check=True)
    stages = DisturbedStages(folder, FILLING[stage], ["tic_tac_toe"] if stage == "check" else [])
    try:
        stages.run()
    except (MachineFault, OSError) as fault:
        print(stage, fault)
    subprocess.run([*disk, "remount,size=60m"], check=True)
    print(stage, stages.run().digest)
"""
#: For each stage, a bot that needs more than 3 MB there.
FILLING = {
    "unpack": {"bot.toml": LINES_TOML, "bot.py": RANDOM, "large": "a" * 1_700_000},
    "build": {
        "bot.toml": f'{LINES_TOML}build = "head -c 4000000 /dev/zero > large"\n',
        "bot.py": RANDOM,
    },
    "check": {
        "bot.toml": LINES_TOML,
        "bot.py": f"open('large', 'wb').write(bytes(4_000_000))\n{RANDOM}",
    },
}


def test_the_stages_run_again_on_a_disk_that_was_full(tmp_path: Path) -> None:
    tried = list(FILLING) if scale.slow else ["unpack", "build"]
    unshare = ["unshare", "--map-root-user", "--mount"]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [*unshare, sys.executable, "-c", _FULL_DISK, tmp_path, *tried],
        capture_output=True, text=True, check=False, timeout=200,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [each.split()[0] for each in lines] == [each for each in tried for _ in range(2)]
    assert all("full disk" in each for each in lines[::2]), lines
