"""Faults of the machine are told from faults of a bot."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from playout.bots.archive import MACHINE_FAULT
from playout.bots.builder import Builder, BuildStage, BuildTerms, MachineFault
from playout.commands.child import Child
from playout.protocol.tournament_spec import SandboxSettings

KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


async def exit_within(child: Child, seconds: float) -> bool:
    return child.wait(seconds) is not None


def run(folder: Path, stage: BuildStage, program: str, *, sandbox: bool = True) -> str:
    """Run a program as a stage, and return its fault."""
    terms = BuildTerms((), "1/move", SandboxSettings() if sandbox else None)
    builder = Builder(terms, folder, lambda text: None, exit_within)
    words = [sys.executable, "-P", "-S", "-c", program]
    return asyncio.run(builder._run(stage, words, dict(os.environ), folder / "out"))


@pytest.mark.parametrize("stage", ["unpack", "build", "check"])
def test_a_stage_that_is_killed_from_outside_is_a_fault_of_the_machine(
    tmp_path: Path, stage: BuildStage
) -> None:
    with pytest.raises(MachineFault, match=f"the {stage} was killed"):
        run(tmp_path, stage, KILLED)


def test_a_build_without_a_sandbox_may_end_itself(tmp_path: Path) -> None:
    assert "Killed" in run(tmp_path, "build", KILLED, sandbox=False)


@pytest.mark.parametrize("stage", ["unpack", "build", "check"])
def test_an_exit_code_is_a_fault_of_the_bot(tmp_path: Path, stage: BuildStage) -> None:
    assert "1" in run(tmp_path, stage, "raise SystemExit(1)")
    assert run(tmp_path, stage, "pass") == ""


def test_the_program_that_unpacks_tells_a_fault_of_the_disk(tmp_path: Path) -> None:
    program = f"raise SystemExit({MACHINE_FAULT})"
    with pytest.raises(MachineFault, match="disk"):
        run(tmp_path, "unpack", program)
    assert str(MACHINE_FAULT) in run(tmp_path, "build", program)


@pytest.mark.parametrize("stage", ["unpack", "build", "check"])
@pytest.mark.parametrize("lacking", ["f_bavail", "f_favail"])
def test_a_stage_that_fails_on_a_full_disk_is_a_fault_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: BuildStage, lacking: str
) -> None:
    free = dict.fromkeys(("f_bavail", "f_frsize", "f_favail", "f_files"), 10**6) | {lacking: 0}
    found = namedtuple("found", free)(**free)
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    with pytest.raises(MachineFault, match="full disk"):
        run(tmp_path, stage, "raise SystemExit(1)")
    assert run(tmp_path, stage, "pass") == ""
