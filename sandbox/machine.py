"""What this machine can enforce of a sandbox. It is tried, not concluded from versions.

An operator can name a command that isolates programs in place of bubblewrap. Small programs then
try to leave it. They show that it isolates them from files, processes and networks; they do not
show how well.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from playout.protocol.tournament_spec import SANDBOX_PARTS, SandboxSettings
from playout.sandbox import seccomp
from playout.sandbox.bubblewrap import Sandbox, scope_words

#: Seconds for each program, and for the end of one whose command is killed.
_RUN_S, _END_S = 30.0, 10.0
#: What a program must not be able to do, by words for the operator. Each line is tried by itself.
_ATTEMPTS = {
    "reads files outside of its folder": "open(f['secret'])",
    "sees your home": "assert any(map(os.path.exists, f['home']))",
    "changes files of its folder": "open(f['folder'] + '/file', 'a')",
    "changes files of the system": "assert os.access('/usr', os.W_OK)",
    "sees processes outside": "assert os.path.exists(f'/proc/{f[\"process\"]}')",
    "sends signals to processes outside": "os.kill(f['process'], 0)",
    "connects to this machine": "socket.create_connection(('127.0.0.1', f['port']), 1)",
    "connects to Unix sockets": "socket.socket(socket.AF_UNIX).connect('\\0' + f['socket'])",
    "reaches a network": "socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 9))",
}
#: The same for limits; each is the last thing that its program does.
_LIMITS = {
    "has more memory than memory_mb": "b'x' * (f['memory'] + (1 << 26))",
    "fills /tmp beyond disk_mb": "open('/tmp/x', 'wb', 0).write(bytes(20 << 20)) >> 24 or 1 / 0",
    "starts more processes than allowed": "[os.fork() or time.sleep(8) for _ in range(60)]; "
    "time.sleep(5)",
}
_PROGRAM = """
import json, os, socket, sys, time
f, attempts = map(json.loads, sys.argv[1:])
open(f['folder'] + '/file').close()
for words, attempt in attempts.items():
    try:
        exec(attempt)
    except (Exception, SystemExit):
        continue
    print(words, flush=True)
print("done", flush=True)
"""


@functools.cache
def fault(settings: SandboxSettings) -> str:
    """Return why a command does not isolate what it runs; empty if it does."""
    small = replace(
        settings, reads=(sys.prefix, sys.base_prefix), processes=20, disk_mb=4, uses=None
    )
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name) / "folder"
        folder.mkdir()
        for path in (folder / "file", Path(name) / "secret"):
            path.touch()
        sandbox = Sandbox(small, folder, folder)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        address = f"playout-{os.getpid()}"
        unix.bind(f"\0{address}")
        unix.listen()
        outside = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(outside.kill)
        facts = {
            "folder": str(folder),
            "secret": str(Path(name) / "secret"),
            "home": list(_hidden(Path.home(), sandbox)),
            "process": outside.pid,
            "port": tcp.getsockname()[1],
            "socket": address,
            "memory": settings.memory_mb << 20,
        }
        for attempts in (_ATTEMPTS, *({key: each} for key, each in _LIMITS.items())):
            if found := _found(sandbox, facts, attempts):
                return found
        return _remains(sandbox)


def _hidden(home: Path, sandbox: Sandbox) -> Iterator[str]:
    """Yield the files and folders of a home that lead to nothing that a program may see."""
    with contextlib.suppress(OSError):
        for each in home.iterdir():
            if not any(shown.is_relative_to(each) for shown in sandbox.shown):
                yield str(each)


def _found(sandbox: Sandbox, facts: dict[str, object], attempts: dict[str, str]) -> str:
    """Return what a program in a sandbox can do but must not, or why it does not run."""
    words = [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(facts), json.dumps(attempts)]
    try:
        done = _ended(sandbox.words(words), _RUN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be run: {error}"
    lines = done.stdout.splitlines()
    if reached := [each for each in lines if each in attempts]:
        return ", ".join(reached)
    if attempts is _ATTEMPTS and "done" not in lines:
        return f"cannot be run: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}"
    return ""


def _remains(sandbox: Sandbox) -> str:
    """Return whether a program remains when its sandbox is killed, in words."""
    words = sandbox.words(["sh", "-c", "echo started; exec sleep 15"])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as started:
        assert started.stdout
        started.stdout.readline()
        started.send_signal(signal.SIGKILL)
        ready = select.select([started.stdout], [], [], _END_S)[0]
    return "" if ready else "goes on when its sandbox is killed"


#: Seconds in which a sandbox must start here.
_START_S = 30.0
#: A sandbox of bubblewrap alone.
_BARE = SandboxSettings(without=SANDBOX_PARTS)
_REMEDIES = {
    "bubblewrap": "a sandbox needs it",
    "network": "without build_hosts, builds have none",
    "cgroup": 'without = ["cgroup"] of the sandbox gives up exact limits of memory and processes',
    "seccomp": 'without = ["seccomp"] of the sandbox gives up the filter of system calls',
}


class SandboxError(ValueError):
    """This machine cannot enforce a sandbox; the message has a sentence for each missing part."""


def require(settings: SandboxSettings, *, network: bool = False) -> None:
    """Raise SandboxError unless this machine can enforce everything that is not given up.

    `network`: some of its sandboxes reach hosts, by a proxy.
    """
    lacking = {part: why for part, why in missing().items() if part not in settings.without}
    if settings.command:
        lacking = {part: why for part, why in lacking.items() if part == "cgroup"}
        if why := fault(settings):
            raise SandboxError(f"the command of the sandbox does not isolate: a program {why}")
    if network and not lacking and (why := _network()):
        lacking["network"] = why
    if lacking:
        raise SandboxError(
            "; ".join(
                f"{part} cannot be enforced on this machine: {why}; {_REMEDIES[part]}"
                for part, why in lacking.items()
            )
        )


@functools.cache
def missing() -> Mapping[str, str]:
    """Return the reason for each part of a sandbox that this machine cannot enforce."""
    reasons = {"bubblewrap": _bubblewrap(), "cgroup": _cgroup(), "seccomp": _seccomp()}
    return {part: why for part, why in reasons.items() if why}


def _bubblewrap() -> str:
    if sys.platform != "linux":
        return "it exists on Linux only"
    if shutil.which("bwrap") is None:
        return "bwrap is not installed (apt install bubblewrap)"
    return _fault(Sandbox(_BARE, Path("/")).words(["true"]))


@functools.cache
def _network() -> str:
    return _fault(Sandbox(_BARE, Path("/"), hosts=("localhost",)).words(["true"]))


def _cgroup() -> str:
    if shutil.which("systemd-run") is None:
        return "there is no systemd-run, with which systemd sets limits"
    return _fault([*scope_words(SandboxSettings()), "true"])


def _seccomp() -> str:
    try:
        seccomp.program()
    except OSError as error:
        return str(error)
    return ""


def _fault(words: list[str]) -> str:
    """Run a command; return its last error, empty if it succeeds."""
    try:
        done = _ended(words, _START_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    output = done.stderr.strip().splitlines() or [f"it ends with exit code {done.returncode}"]
    return output[-1] if done.returncode else ""


def _ended(words: list[str], longest_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises OSError, TimeoutExpired."""
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=longest_s,
        check=False,
    )
