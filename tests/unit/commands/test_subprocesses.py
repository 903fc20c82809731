"""Child processes end with their parent, and their logs are kept if there is a reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from playout.commands import subprocesses
from playout.commands.subprocesses import LogFolder
from support.processes import is_gone
from support.waiting import wait_until


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
def test_children_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, time\n"
        "from playout.commands.subprocesses import Program\n"
        "here = pathlib.Path.cwd()\n"
        "print(Program(['sleep', '60'], here, os.environ).start(here / 'log').pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(subprocesses.__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    with parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.send_signal(signal.SIGKILL)
    wait_until(partial(is_gone, child))


def test_logs_are_kept_only_if_there_is_a_reason() -> None:
    logs = LogFolder()
    logs.of("a/b-1").write_text("".join(f"line {n}\n" for n in range(100)))
    assert logs.tail("a/b-1").splitlines()[-1] == "line 99"
    assert logs.tail("unknown") == ""
    folder = logs.folder
    assert not logs.close()
    assert not folder.exists()
    assert not LogFolder().close(), "nothing was ever written"
