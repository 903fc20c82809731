"""A sandbox of bubblewrap: turns a command into the command that runs it there.

The settings can name another command in its place, which `machine` tries.

The words start with `watch`, which sets limits, starts bubblewrap and watches the processes in it.
Where systemd manages control groups, `systemd-run` stands before it.
"""

from __future__ import annotations

import base64
import functools
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playout.protocol.tournament_spec import SandboxSettings
from playout.sandbox import seccomp, watch

#: The folders of the system's programs; some are links on most systems.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
#: What programs need of /etc: the places of libraries, the choice among programs, the time zone.
_ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
#: The folders in which a program finds others by name.
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
#: The folder that a program may write to, which is also its home.
_WRITABLE = "/tmp"
_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL", "--hostname", "sandbox", "--uid", "1000", "--gid", "1000"),
)
#: Where programs look for the certificates of hosts, and the variables that name a proxy.
_CERTIFICATES = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")
_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
#: Memory of the processes outside, in MiB: systemd counts them, too.
_OVERHEAD_MB = 48
_MB = 2**20


@dataclass(frozen=True)
class Sandbox:
    """The resources of a program: the limits of `settings`, and its `folder` read-only.

    Relative paths in `settings.reads` are in `base`. Without a `folder`, the program sees no file
    of the user, and starts in its temporary folder. It reaches `hosts`, as `proxy` describes, and
    without them has no network.
    """

    settings: SandboxSettings
    base: Path
    folder: Path | None = None
    hosts: tuple[str, ...] = ()

    def words(self, command: Sequence[str]) -> list[str]:
        """Return the words that run a command in the sandbox.

        They need no variable of the environment. They exit with the code of the command, or with
        128 plus the number of the signal that ended it. If a limit ends it, the last line of
        standard error says which. `machine.require` checks whether the machine can enforce this.
        """
        without = self.settings.without
        scope = () if "cgroup" in without else scope_words(self.settings)
        isolating = self.settings.command
        rules = b"" if isolating or "seccomp" in without else seccomp.program(tcp=bool(self.hosts))
        limits = (self.settings.memory_mb * _MB, self.settings.processes)
        return [
            *scope,
            *(sys.executable, "-I", "-S", watch.__file__),
            *map(str, limits),
            base64.b64encode(rules).decode(),
            " ".join(self.hosts),
            *(self._configured(isolating) if isolating else self._bubblewrap()),
            *command,
        ]

    def _configured(self, line: str) -> Iterator[str]:
        """Yield the words of a command that isolates, without placeholders."""
        values = {
            "folder": self._start,
            "memory_bytes": str(self.settings.memory_mb * _MB),
            "disk_bytes": str(self.settings.disk_mb * _MB),
            "processes": str(self.settings.processes),
        }
        program, *words = shlex.split(line)
        yield shutil.which(program) or program
        for word in words:
            if "{read}" in word:  # for each path, and it may be several words
                for path in self.shown:
                    yield from (each.replace("{read}", str(path)) for each in word.split())
            else:
                yield functools.reduce(_filled, values.items(), word)

    def shows(self, program: str) -> bool:
        """Return whether the path of a program exists in the sandbox, with all its links."""
        folders = [*map(Path, _SYSTEM), *self.shown]
        return all(
            any(each.is_relative_to(folder) for folder in folders)
            for each in (Path(program), Path(os.path.realpath(program)))
        )

    @property
    def shown(self) -> list[Path]:
        """The files and folders of the user that the program may read."""
        more = [self.base / each for each in self.settings.reads]
        return [Path(os.path.abspath(each)) for each in (*more, *filter(None, (self.folder,)))]

    def _bubblewrap(self) -> Iterator[str]:
        yield shutil.which("bwrap") or "bwrap"
        yield from _NAMESPACES
        for path in _SYSTEM:
            yield from _system_folder(path)
        for path in (*_ETC, *(_CERTIFICATES if self.hosts else ())):
            yield from ("--ro-bind-try", path, path)
        yield from ("--proc", "/proc", *_protected_proc(), "--dev", "/dev")
        # Shared memory that is made with it is not counted, and a filter cannot see that.
        yield from ("--dev-bind", "/dev/null", "/dev/zero")
        for folder in ("/dev/shm", _WRITABLE):
            yield from ("--size", str(self.settings.disk_mb * _MB), "--tmpfs", folder)
        for readable in self.shown:
            yield from ("--ro-bind", str(readable), str(readable))
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")
        yield from ("--clearenv", "--setenv", "PATH", SEARCH_PATH, "--setenv", "HOME", _WRITABLE)
        yield from ("--setenv", "LANG", "C.UTF-8")
        for variable in _PROXIES if self.hosts else ():
            yield from ("--setenv", variable, f"http://127.0.0.1:{watch.PROXY_PORT}")
        yield from ("--chdir", self._start, "--", *watch.WAITING)
        # As root of the machine, this limit has no effect, and only `watch` counts processes.
        yield from ("prlimit", f"--nproc={self.settings.processes}", "--")

    @property
    def _start(self) -> str:
        """The folder in which the program starts."""
        return str(self.shown[-1]) if self.folder else _WRITABLE


def _filled(word: str, value: tuple[str, str]) -> str:
    """Return a word with a value in place of its placeholder."""
    return word.replace(f"{{{value[0]}}}", value[1])


def _system_folder(path: str) -> Iterator[str]:
    """Yield the options that show a folder of the system, which may be a link."""
    if os.path.islink(path):
        yield from ("--symlink", os.readlink(path), path)
    elif os.path.isdir(path):
        yield from ("--ro-bind", path, path)


def _protected_proc() -> Iterator[str]:
    """Yield the options that make /proc read-only, except for the processes.

    bubblewrap leaves it as it is: if root starts it, the program is the owner of the kernel's
    settings, also without capabilities, and could run commands outside with `core_pattern`.
    """
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from ("--ro-bind", entry.path, entry.path)
        elif entry.stat().st_mode & 0o226 != 0o004:  # others may read it, and nobody may write it
            yield from ("--ro-bind", "/dev/null", entry.path)


def scope_words(settings: SandboxSettings) -> tuple[str, ...]:
    """Return the words that run a command in a control group of its own, with limits."""
    properties = {
        "MemoryMax": f"{settings.memory_mb + settings.disk_mb + _OVERHEAD_MB}M",
        "MemorySwapMax": "0",
        "TasksMax": f"{settings.processes + 8}",  # of watch and bubblewrap
    }
    user = () if os.geteuid() == 0 else ("--user",)
    limits = (f"--property={key}={value}" for key, value in properties.items())
    return ("systemd-run", *user, "--scope", "--quiet", "--collect", *limits, "--")
