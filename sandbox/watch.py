"""Starts bubblewrap with limits, and ends it if its processes exceed them; a program of its own.

    python -I -S watch.py MEMORY PROCESSES FILTER HOSTS BUBBLEWRAP...

MEMORY is in bytes, for all processes in the sandbox together; PROCESSES counts threads, too. FILTER
is the filter of system calls in base 64, empty for none. HOSTS are those that `proxy` allows, with
blanks between them, empty for no network. The kernel limits the data of each process and the size
of each file at once. This program adds up what the processes use, every 50 ms: memory that is
theirs alone or shared between them, the maximum that their pipes and sockets may hold, files in
their temporary folders, and locks and watches (`epoll`), for which the kernel takes memory.

This program ends the sandbox when its parent exits. A process that may be killed while this program
starts asks before for a signal at its death, as `subprocesses.begin` and `guard` do. When this
program is killed itself, the kernel ends the sandbox, but not yet while bubblewrap prepares it: so
the command in it first asks for a line, which only this program sends, on the descriptors 3 and 6.

The exit code is that of the command, 128 plus the number of a signal that ended it, or 137 after a
limit, with a line on standard error. The program imports little, so that it starts in 20 ms.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import itertools
import os
import resource
import select
import signal
import sys
from collections.abc import Iterator

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_prctl = ctypes.CDLL(None).prctl
#: Milliseconds between two checks of the limits: a check takes 0.1 ms.
_POLL_MS = 50
#: Maximum number of open files of each process, and files in a temporary folder: a file without
#: content takes memory of the kernel that belongs to no process.
_OPEN_FILES, _FILES = 256, 10_000
#: Maximum number of locks of parts of files, and of files that `epoll` watches.
_LOCKS, _WATCHES = 10_000, 10_000
#: Maximum number of bytes of a list of the kernel that is read.
_LONGEST_LIST = 2**22
#: Signals that wait: the kernel counts them for all programs of a user.
_SIGNALS = 256
#: Maximum number of bytes in a pipe; the filter allows no larger ones.
_PIPE = 16 * 4096
_TEMPORARY = ("tmp", "dev/shm")
_NICENESS = -10
#: Where the proxy listens in the sandbox.
PROXY_PORT = 3128
_KILLED = 128 + signal.SIGKILL
#: The words before the command: it ends if this program has exited.
WAITING = ("sh", "-c", 'echo >&6 && read -r _ <&3 && exec "$@" 3<&- 6>&-', "sh")


def main(memory: int, processes: int, rules: bytes, hosts: list[str], words: list[str]) -> int:
    """Run bubblewrap until it exits or exceeds a limit; return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_KILLED))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until it would end the sandbox
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    (told, tells), (asked, asks) = os.pipe(), os.pipe()
    watcher, sandbox = os.getpid(), os.fork()
    if sandbox == 0:
        os.closerange(tells, asks)
        _become(words, rules, memory, watcher)
    for each in (told, asks):
        os.close(each)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        return _watch(sandbox, memory, processes, hosts, tells, asked)
    finally:
        _end()


def _watch(
    sandbox: int, memory: int, processes: int, hosts: list[str], tells: int, asked: int
) -> int:
    """Return the exit code of bubblewrap, or that of a limit that its processes exceed."""
    with contextlib.suppress(PermissionError):  # as root, it runs before a thousand processes
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # so that the other ends notice when the program closes its streams
        os.dup2(null, stream)
    poll = select.poll()
    ended = os.pidfd_open(sandbox)
    for each in (ended, asked):
        poll.register(each, select.POLLIN)
    while ended not in (ready := dict(poll.poll(_POLL_MS))):
        if asked in ready:
            poll.unregister(asked)
            if hosts and not _connect(sandbox, hosts):
                return _KILLED
            with contextlib.suppress(BrokenPipeError):  # the command has just exited
                os.write(tells, b"\n")
        if excess := _excess(sandbox, memory, processes):
            os.write(2, f"the sandbox has ended the program: {excess}\n".encode())
            return _KILLED
    code = os.waitstatus_to_exitcode(os.waitpid(sandbox, 0)[1])
    return code if code >= 0 else 128 - code


def _connect(sandbox: int, hosts: list[str]) -> bool:
    """Start the proxy in the network of a sandbox; return whether it listens."""
    told, tells = os.pipe()
    os.set_inheritable(tells, True)
    inside = list(_tree(sandbox))[1]
    proxy = os.path.join(os.path.dirname(__file__), "proxy.py")
    numbers = map(str, (os.getpid(), tells, inside, PROXY_PORT))
    words = [sys.executable, "-I", "-S", proxy, *numbers, *hosts]
    os.posix_spawn(words[0], words, {})
    os.close(tells)
    return os.read(told, 1) != b""


def _become(words: list[str], rules: bytes, memory: int, watcher: int) -> None:
    """Execute bubblewrap in this process, with limits and without environment.

    Of the open files, the command gets the descriptors 3 and 6.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != watcher:  # it exited before the call
        os._exit(_KILLED)
    for number in (signal.SIGPIPE, signal.SIGTERM):  # Python ignores the first one
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    for descriptor in (3, 6):
        os.set_inheritable(descriptor, True)
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, _SIGNALS),
    ):
        highest = resource.getrlimit(kind)[1]
        low = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(kind, (low, low))
    if rules:
        words = [words[0], "--seccomp", str(_readable(rules)), *words[1:]]
    try:
        os.execve(words[0], words, {})
    except OSError as error:
        os.write(2, f"{words[0]} cannot be run: {error.strerror}\n".encode())
    os._exit(127)


def _readable(content: bytes) -> int:
    """Return the descriptor of a pipe with some bytes, at most as many as a pipe holds."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    os.set_inheritable(reading, True)
    return reading


def _excess(sandbox: int, memory: int, processes: int) -> str:
    """Return in words which limit the processes of a sandbox exceed; empty if none."""
    # The first two are bubblewrap's, which starts the command when all is prepared. The walk ends
    # at the limit, because it would never catch up with a program that forks without end.
    programs = list(itertools.islice(_tree(sandbox), 2, processes + 3))
    count, used = map(sum, zip((0, 0), *map(_use, programs), strict=True))
    held, watches = _open(programs)
    used += held
    if max(count, len(programs)) > processes:
        return f"it has more than {processes} processes and threads"
    if used > memory:
        return f"it uses {used >> 20} MiB of memory, and {memory >> 20} are allowed"
    if programs and (files := _files(programs[0])) > _FILES:
        return f"it has {files} temporary files, and {_FILES} are allowed"
    if watches > _WATCHES:
        return f"it watches {watches} files by epoll, and {_WATCHES} are allowed"
    if (locks := _locks(programs)) > _LOCKS:
        return f"it has {locks} locks of files, and {_LOCKS} are allowed"
    return ""


def _tree(first: int) -> Iterator[int]:
    """Yield a process and its descendants, parents before children."""
    found = [first]
    for each in found:
        yield each
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{each}/task"):
                with open(f"/proc/{each}/task/{thread}/children", "rb") as file:
                    found.extend(map(int, file.read().split()))


def _use(process: int) -> tuple[int, int]:
    """Return the threads of a process and its bytes of memory, without mapped files."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/status", "rb") as file:
        values = dict(line.split(b":", 1) for line in file)
        kilobytes = (values.get(key, b"0").split()[0] for key in (b"RssAnon", b"RssShmem"))
        return int(values[b"Threads"]), sum(map(int, kilobytes)) << 10
    return 0, 0


def _open(programs: list[int]) -> tuple[int, int]:
    """Return the maximum number of bytes in the pipes and sockets of processes, and the watches."""
    held: set[bytes] = set()
    watches = 0
    for process in programs:
        folder = b"/proc/%d/fd" % process
        with contextlib.suppress(OSError):
            for number in os.listdir(folder):
                with contextlib.suppress(OSError):
                    held.add(kind := os.readlink(os.path.join(folder, number)))
                    if kind == _EPOLL:
                        with open(b"/proc/%d/fdinfo/%s" % (process, number), "rb") as file:
                            watches += file.read(_LONGEST_LIST).count(b"tfd:")
    return sum(_BUFFERS.get(each.partition(b":")[0], 0) for each in held), watches


def _locks(programs: list[int]) -> int:
    """Return the number of locks that processes hold or wait for."""
    own = {b"%d" % each for each in programs}
    with contextlib.suppress(OSError), open("/proc/locks", "rb") as file:
        # 1: POSIX  ADVISORY  WRITE 4711 00:2d:12 0 0, with an arrow before POSIX for one that waits
        lines = file.read(_LONGEST_LIST).replace(b"-> ", b"").splitlines()
        return sum(not own.isdisjoint(line.split(None, 5)[4:5]) for line in lines)
    return 0


def _sent() -> int:
    """Return the maximum number of unread bytes in a socket, after `setsockopt`."""
    path = "/proc/sys/net/core/wmem_max"
    with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
        return 2 * int(file.read())
    return 2 * 212_992


def _files(process: int) -> int:
    """Return the number of files in the temporary folders that a process has."""
    with contextlib.suppress(OSError):
        found = [os.statvfs(f"/proc/{process}/root/{folder}") for folder in _TEMPORARY]
        return sum(each.f_files - each.f_ffree for each in found)
    return 0


def _end() -> None:
    """Kill the processes of bubblewrap, and so those of its namespace; wait until they are gone."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for each in itertools.islice(_tree(os.getpid()), 1, 4):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            os.waitpid(-1, 0)


_EPOLL = b"anon_inode:[eventpoll]"
#: By the kind of an open file, the maximum number of bytes in its buffer.
_BUFFERS = {b"pipe": _PIPE, b"socket": _sent()}

if __name__ == "__main__":
    numbers, rules = [int(each) for each in sys.argv[1:3]], base64.b64decode(sys.argv[3])
    sys.exit(main(numbers[0], numbers[1], rules, sys.argv[4].split(), sys.argv[5:]))
