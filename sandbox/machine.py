"""What this machine can enforce of a sandbox. It is tried, not concluded from versions."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from playout.protocol.tournament_spec import SANDBOX_PARTS, SandboxSettings
from playout.sandbox import isolation, seccomp
from playout.sandbox.bubblewrap import Sandbox, scope_words

#: Seconds in which a sandbox must start here.
_START_S = 10.0
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
        if why := isolation.fault(settings):
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
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    output = done.stderr.strip().splitlines() or [f"it ends with exit code {done.returncode}"]
    return output[-1] if done.returncode else ""
