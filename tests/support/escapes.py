"""Small programs that try to leave a sandbox; each prints `done` if it could.

They are given facts about their surroundings as JSON: `stage` of `tests/process/test_sandbox.py`.
One of these, `patience_s`, is how long a sandbox may take to end a program that exceeds a limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playout.protocol.tournament_spec import SandboxSettings
from playout.sandbox.bubblewrap import Sandbox

#: Limits that a test reaches quickly.
SMALL = SandboxSettings(
    memory_mb=64,
    processes=20,
    disk_mb=4,
    reads=(sys.prefix, sys.base_prefix),
    without=("cgroup",),
)
_BEGINNING = (
    "import ctypes, json, os, signal, socket, sys, tempfile, time; s = json.loads(sys.argv[1])"
)
_END = "print('done')"


@dataclass(frozen=True)
class Escape:
    """A program; `as_root`: whether only root can do this outside of a sandbox."""

    name: str
    program: str
    as_root: bool = False

    def command(self, facts: str) -> list[str]:
        """Return the words that run the program."""
        code = "\n".join((_BEGINNING, self.program, _END))
        return [sys.executable, "-I", "-S", "-c", code, facts]

    def words(self, facts: str, folder: Path) -> list[str]:
        """Return the words that run the program in a sandbox with that folder."""
        return Sandbox(SMALL, folder, folder).words(self.command(facts))


def _escapes() -> Iterator[Escape]:
    yield Escape("reads `/etc/passwd`", "open('/etc/passwd').read()")
    yield Escape("reads `/etc/shadow`", "open('/etc/shadow').read()", as_root=True)
    yield Escape("reads a file of another bot", "open(s['other']).read()")
    yield Escape("lists the home of the user", "assert len(os.listdir(s['home'])) > 1")
    yield Escape("changes the database", "open(s['database'], 'r+').write('x')")
    yield Escape("changes a file of its own folder", "open('bot.txt', 'a').write('x')")
    yield Escape("follows a link in its folder to a file outside", "open('link').read()")
    yield Escape("makes a link to a file outside", _LINK)
    yield Escape("reads the environment", "os.environ['SECRET']")
    yield Escape("reads the environment of its parent", _ENVIRONMENT)
    yield Escape("uses an open file of its parent", "os.fstat(s['descriptor'])")
    yield Escape("sees other processes", "os.kill(s['victim'], 0)")
    yield Escape("ends another process", "os.kill(s['victim'], signal.SIGKILL)")
    yield Escape("ends its parent", _PARENT)
    yield Escape("traces a process (`ptrace`)", _PTRACE)
    yield Escape("connects by TCP", "socket.create_connection(('127.0.0.1', s['tcp']), 1)")
    yield Escape(
        "sends by UDP",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', s['udp']))",
    )
    yield Escape("connects to a Unix socket", _UNIX % "s['unix']")
    yield Escape("connects to an abstract Unix socket", _UNIX % "chr(0) + s['abstract']")
    yield Escape("opens a netlink socket", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)")
    yield Escape("makes a namespace of users", "assert not ctypes.CDLL(None).unshare(0x10000000)")
    yield Escape("mounts a file system", _MOUNT, as_root=True)
    yield Escape("sets the clock", _CLOCK, as_root=True)
    yield Escape("sets the name of the machine", _HOSTNAME, as_root=True)
    yield Escape("opens a setting of the kernel to write", _KERNEL, as_root=True)
    yield Escape("reads the log of the kernel", "open('/dev/kmsg')", as_root=True)
    yield Escape("makes a device", _DEVICE, as_root=True)
    yield Escape("queues system calls (`io_uring`)", _RING)
    yield Escape("chooses its processor cores", "os.sched_setaffinity(0, os.sched_getaffinity(0))")
    yield Escape("fills memory", "x = bytearray(100 << 20)")
    yield Escape("fills memory with several processes", _MEMORY_OF_MANY)
    yield Escape("makes memory that belongs to no process (`memfd`)", "os.memfd_create('x')")
    yield Escape("makes System V shared memory", _CALL % "29, 0, 4096, 0o1600")
    yield Escape("makes shared memory without a file", _SHARED % "-1")
    yield Escape("makes shared memory of `/dev/zero`", _SHARED % _ZERO)
    yield Escape("makes a pipe larger", "import fcntl; fcntl.fcntl(os.pipe()[0], 1031, 1 << 18)")
    yield Escape("locks twenty thousand parts of a file", _LOCKS)
    yield Escape("sets a lock that belongs to no process", _OPEN_LOCK)
    yield Escape("watches a file twenty thousand times (`epoll`)", _WATCHES)
    yield Escape("fills sockets", _SOCKETS)
    yield Escape("fills pipes of several processes", _PIPES_OF_MANY)
    yield Escape("watches files (`inotify`)", _CALL % "294, 0")
    yield Escape("makes a context of asynchronous I/O", _CALL % "206, 8, ctypes.byref(number)")
    yield Escape("makes a timer of the kernel", _CALL % "222, 1, 0, ctypes.byref(number)")
    yield Escape("fills the disk", _DISK % "s['temporary']")
    yield Escape("fills `/dev/shm`", _DISK % "'/dev/shm'")
    yield Escape("writes ten thousand files", _FILES)
    yield Escape("forks without end", _FORKS)


_LINK = "with tempfile.TemporaryDirectory() as f: os.symlink(s['other'], f + '/l'); open(f + '/l')"
_CALL = "number = ctypes.c_ulong(0); assert ctypes.CDLL(None).syscall(%s) >= 0"  # of x86-64
_SHARED = "import mmap; mmap.mmap(%s, 4096)"
_ZERO = "os.open('/dev/zero', os.O_RDWR)"
_ENVIRONMENT = "assert 'SECRET' in open(f'/proc/{os.getppid()}/environ').read()"
_KERNEL = "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)"
_HOSTNAME = "socket.sethostname(socket.gethostname())"
_UNIX = "socket.socket(socket.AF_UNIX).connect(%s)"
_PARENT = """
parent = os.getppid()
os.kill(parent, signal.SIGKILL)
# In a sandbox, the parent does not end, however long one waits.
end = time.monotonic() + (1 if s['patience_s'] else 60)
while os.getppid() == parent:
    assert time.monotonic() < end
"""
_PTRACE = """
child = os.fork()
if child == 0:
    time.sleep(60)
seized = ctypes.CDLL(None).ptrace(0x4206, child, None, None)
os.kill(child, signal.SIGKILL)
assert seized == 0
"""
_MOUNT = """
libc = ctypes.CDLL(None)
with tempfile.TemporaryDirectory() as folder:
    assert libc.mount(b'none', folder.encode(), b'tmpfs', 0, None) == 0
    libc.umount(folder.encode())
"""
#: An offset of 0 leaves the time as it is, but needs the right to set it.
_CLOCK = """
buffer = (ctypes.c_long * 64)()
buffer[0] = 0x0100
assert ctypes.CDLL(None).adjtimex(buffer) >= 0
"""
_DEVICE = """
with tempfile.TemporaryDirectory() as folder:
    os.mknod(folder + '/null', 0o20666, os.makedev(1, 3))
"""
_RING = "assert ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0"
_SOCKETS = """
kept = []
for _ in range(100):
    pair = socket.socketpair()
    pair[0].setblocking(False)
    try:
        while True:
            pair[0].send(bytes(1 << 14))
    except BlockingIOError:
        kept.append(pair)
time.sleep(s['patience_s'])
"""
_LOCKS = """
import fcntl
with tempfile.TemporaryDirectory() as folder:
    kept = [open(os.path.join(folder, str(number)), 'w') for number in range(20)]
    for file in kept:
        for place in range(1000):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * place)
    time.sleep(s['patience_s'])
"""
_OPEN_LOCK = """
import fcntl, struct
with tempfile.TemporaryFile() as file:
    fcntl.fcntl(file, 37, struct.pack('hhqqixxxx', 1, 0, 0, 1, 0))
"""
_WATCHES = """
import select
files = [os.pipe()[0] for _ in range(50)]
children = []
for _ in range(4):
    if not (child := os.fork()):
        kept = [select.epoll() for _ in range(100)]
        for each in kept:
            for file in files:
                each.register(file)
        time.sleep(s['patience_s'] or 1)
        os._exit(0)
    children.append(child)
for each in children:
    os.waitpid(each, 0)
"""
_PIPES_OF_MANY = """
children = []
full, filled = os.pipe()
for _ in range(6):
    if not (child := os.fork()):
        try:
            for _ in range(120):
                reading, writing = os.pipe()
                os.set_blocking(writing, False)
                os.write(writing, bytes(1 << 16))
        finally:
            os.write(filled, b'x')
        time.sleep(600)
    children.append(child)
for _ in children:
    os.read(full, 1)
time.sleep(s['patience_s'])
try:
    assert [os.waitpid(each, os.WNOHANG)[0] for each in children] == [0] * 6
finally:
    for each in children:
        os.kill(each, signal.SIGKILL)
"""
_MEMORY_OF_MANY = """
children = []
full, filled = os.pipe()
for _ in range(5):
    if not (child := os.fork()):
        x = bytearray(30 << 20)
        os.write(filled, b'x')
        time.sleep(600)
    children.append(child)
try:
    for _ in children:
        os.read(full, 1)
    time.sleep(s['patience_s'])
finally:
    for each in children:
        os.kill(each, signal.SIGKILL)
"""
_DISK = """
with tempfile.TemporaryFile(dir=%s) as file:
    file.write(bytes(20 << 20))
    file.flush()
"""
_FILES = """
with tempfile.TemporaryDirectory() as folder:
    for number in range(11_000):
        os.close(os.open(f'{folder}/{number}', os.O_CREAT))
    time.sleep(s['patience_s'])
"""
#: It ends at a hundred, so that it does no harm where it is not stopped.
_FORKS = """
children = []
try:
    for _ in range(100):
        if not (child := os.fork()):
            time.sleep(600)
            os._exit(0)
        children.append(child)
    time.sleep(s['patience_s'])
finally:
    for each in children:
        os.kill(each, signal.SIGKILL)
"""
ESCAPES = tuple(_escapes())
