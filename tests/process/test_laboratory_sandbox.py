"""Builds of the laboratory in the sandbox: programs that try to leave it."""

from __future__ import annotations

import gzip
import re
import socket
from pathlib import Path

import pytest

from playout.bots.builder import BuildTerms
from playout.bots.git_source import SourceError
from playout.laboratory.builds import Builds
from playout.protocol.tournament_spec import SandboxSettings
from support import scale
from support.competitions import require_sandbox
from testbed.handed_in import FIRST, bad, bot, packed

#: Those that a laboratory refuses: competitions only play matches before they accept a bot.
REFUSED = {name: each for name, each in bad() if each.stage != "matches"}
#: What it tries as a build, and again as a bot.
ATTEMPTS = """\
import contextlib, os, pathlib, socket, sys
home = pathlib.Path({home!r})
with contextlib.suppress(OSError):  # its own /tmp may have this path
    (home / "journal.jsonl").write_text("x")
def connect():
    socket.create_connection(("127.0.0.1", {port}), 1)
ATTEMPTS = [
    lambda: next(home.glob("builds/*/log.txt")).read_text(),
    lambda: (home.parent / "bot" / ".git").iterdir().__next__(),
    lambda: os.environ["SECRET"],
    lambda: pathlib.Path("/proc/1/environ").read_text().index("SECRET"),
    lambda: pathlib.Path({folder!r}, "x").write_text("x"),
    connect,
]
for number, attempt in enumerate(ATTEMPTS):
    try:
        attempt()
        print(f"attempt {{number}} has succeeded", flush=True, file=sys.stderr)
    except (OSError, LookupError, StopIteration, ValueError):
        pass
"""


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    require_sandbox()
    limits = SandboxSettings(memory_mb=256, disk_mb=8, processes=20, without=("cgroup",))
    games = ("connect_four",)
    return Builds(tmp_path / "laboratory" / "builds", BuildTerms(games, "10+2", limits))


def unpacked(upload: Path, content: bytes) -> None:
    """Write an archive as git does, without compression."""
    upload.write_bytes(gzip.decompress(content))


def test_a_build_and_a_bot_reach_nothing_of_the_laboratory(
    builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "a token")
    (tmp_path / "bot" / ".git").mkdir(parents=True)
    (tmp_path / "bot" / ".git" / "config").write_text("")
    home = tmp_path / "laboratory"
    home.mkdir()
    (home / "journal.jsonl").write_text("")
    other, own = builds.folder_of("other"), builds.folder_of("own")
    other.mkdir(parents=True)
    (other / "log.txt").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        tried = ATTEMPTS.format(home=str(home), port=port, folder=str(own / "built"))
        files = bot(tried + FIRST, build="python3 bot.py < /dev/null")
        _, build = builds.get("own", lambda upload: unpacked(upload, packed(files)))
    assert build.bot.build
    log = builds.log_of("own").read_text()
    assert "connect_four" in log
    assert "has succeeded" not in log, log
    assert not (home / "journal.jsonl").read_text()


@pytest.mark.parametrize("name", REFUSED if scale.slow else ["link", "token"])
def test_a_bad_bot_is_refused_with_a_sentence(builds: Builds, name: str) -> None:
    one = REFUSED[name]
    if not one.name.endswith(".tar.gz"):
        pytest.skip("versions are archives of tar")
    with pytest.raises(SourceError) as refused:
        builds.get(name, lambda upload: unpacked(upload, one.content))
    log = builds.log_of(name).read_text()
    assert re.search(one.reason, f"{refused.value}{log}"), log
    assert log.splitlines()[-1] == f"== refused: {refused.value}"
    assert "\n" not in str(refused.value)
    assert not list(builds.folder_of(name).glob("code/*"))
