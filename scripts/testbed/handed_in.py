"""Bots that are handed in to competitions: good ones, and each kind of bad one."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import tomli_w

#: A bot that chooses the first action.
FIRST = """\
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    print(told["legal_actions"][0], flush=True)
"""
#: Passes the check, whose moves have at most a second, and does this after its first move in a
#: match with an increment of 2 s or more.
LATER = FIRST.replace(
    "    print(", '    if told["seconds"] > 1 and len(told["moves"]) > 1: {}\n    print('
)
PLAYER = '''\
"""Takes the first action."""
from playout.players import Player, PlayResult

class First(Player):
    def choose(self, position, limit, report=None):
        print("I think")
        return PlayResult(position.legal_actions[0])
'''
#: It uses a tenth of a second and 64 MiB at the beginning of each match.
_IN_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void) {
    volatile char *used = malloc(1 << 26);
    while (clock() < CLOCKS_PER_SEC / 10) for (int i = 0; i < 1 << 26; i += 4096) used[i] = 1;
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        printf("%d\n", atoi(strstr(line, "\"legal_actions\": [") + 18));
        fflush(stdout);
    }
}
"""
_IN_JAVASCRIPT = """
require("readline").createInterface({ input: process.stdin })
    .on("line", (line) => console.log(JSON.parse(line).legal_actions[0]));
"""
#: Its moves make no row of four in the first ten moves of Connect Four, when it exits.
_MOVE_TEN = """\
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    legal, ply = told["legal_actions"], len(told["moves"])
    if ply > 8: sys.exit(7)
    print(legal[ply % len(legal)], flush=True)
"""
_BUILT = {"command": "./bot", "build": "gcc -O2 -o bot bot.c"}
_IMPORTS = "import ctypes, os, socket, time\n"
_SLEEPS = "time.sleep(600)"


@dataclass(frozen=True)
class HandedIn:
    """A file that a student hands in; one with a `reason` is refused for it, at a `stage`.

    `make` returns its content, which takes seconds for the largest files. The `reason` is a regular
    expression, which the log may have, too.
    """

    make: Callable[[], bytes]
    stage: str = "matches"
    reason: str = ""
    name: str = "bot.tar.gz"

    @cached_property
    def content(self) -> bytes:
        """The content of the file."""
        return self.make()


def bot(program: str = FIRST, **keys: str) -> dict[str, str]:
    """Return the files of a Python program that reads lines; `keys` are those of bot.toml."""
    keys = {"protocol": "lines", "command": "python3 bot.py"} | keys
    return {"bot.py": program, "bot.toml": tomli_w.dumps(keys)}


def packed(files: Mapping[str, str], links: Mapping[str, str] | None = None) -> bytes:
    """Return an archive of files, and of symbolic links to other paths."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return buffer.getvalue()


def good() -> dict[str, HandedIn]:
    """Return bots that work, by their language."""
    return {
        "Python": _archive({"first.py": PLAYER}),
        "C": _archive(bot(**_BUILT) | {"bot.c": _IN_C}),
        "JavaScript": _archive(bot(command="node bot.js") | {"bot.js": _IN_JAVASCRIPT}),
    }


def bad() -> Iterator[tuple[str, HandedIn]]:
    """Yield each kind of bad bot, by its name."""
    for name, files, stage, reason in (
        ("no build", bot(**_BUILT) | {"bot.c": "int main(void) { retur"}, "build", "exit code 1"),
        ("crash at the start", bot("1 / 0"), "check", "division by zero"),
        ("crash at move ten", bot(_MOVE_TEN), "check", "^seat 1: .* code 7"),
        ("crash in a match", bot(LATER.format("sys.exit(7)")), "matches", "code 7"),
        ("hangs", bot(LATER.format("import time; time.sleep(600)")), "matches", r"\(time\)"),
        ("output", bot(LATER.format("print('x' * 10**9)")), "matches", "crash|time"),
        ("path that leads out", {"../../x": "x"}, "unpack", "leads out of the folder"),
        ("many files", {f"{each}": "" for each in range(100_000)}, "unpack", "more than 2000"),
    ):
        yield name, _archive(files, stage, reason)
    for name, attempt, reason in _ATTEMPTS:  # it would be accepted if it could do that
        program = f"{_IMPORTS}{attempt}\n{FIRST}"
        yield name, _archive(bot(program), "check", reason)
    yield "link", HandedIn(partial(packed, bot(), {"x": "/etc/passwd"}), "unpack", "is a link")
    yield "bomb", HandedIn(_bomb, "unpack", "more than 128 MiB", "bot.zip")


def _archive(files: Mapping[str, str], *how: str) -> HandedIn:
    return HandedIn(partial(packed, files), *how)


#: What programs try at their start, and how that ends.
_ATTEMPTS = (
    # Its processes are counted every 50 ms, in which it could pass the check.
    ("forks", f"for _ in range(200):\n    if not os.fork(): {_SLEEPS}\ntime.sleep(2)",
     "more than|Resource"),
    ("memory", "x = 'x' * 2**30", "MemoryError"),
    ("disk", "open('/tmp/x', 'wb').write(bytes(2**27))", "space|large"),
    ("TCP", "socket.create_connection(('127.0.0.1', 8080))", "not permitted"),
    ("UDP", "socket.socket(type=socket.SOCK_DGRAM)", "not permitted"),
    ("abstract socket", "socket.socket(socket.AF_UNIX).connect('\\0playout')", "refused"),
    ("netlink", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", "not permitted"),
    ("other processes", "assert len([*filter(str.isdigit, os.listdir('/proc'))]) > 9", "Assert"),
    ("/etc", "open('/etc/passwd')", "No such file"),
    ("other bots", "assert len(os.listdir('../..')) > 1", "AssertionError"),
    ("database", "open('../../../../playout.db')", "No such file"),
    ("token", "assert 'PLAYOUT' in open('/proc/1/environ').read()", "AssertionError|denied"),
    ("its parent", "p = os.getppid(); os.kill(p, 9); time.sleep(1); assert os.getppid() != p",
     "AssertionError"),
    ("ptrace", "assert not ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0)", "AssertionError"),
    ("mount", "assert not ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0)", "Assert"),
    ("signals", "os.kill(-1, 9)", "No such process"),
    ("children", f"if not os.fork():\n    os.setsid()\n    {_SLEEPS}\n1 / 0", "by zero"),
    ("clock", "time.clock_settime(time.CLOCK_REALTIME, time.time())", "not permitted"),
)  # fmt: skip


def _bomb() -> bytes:
    """Return an archive whose file is a thousand times larger."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("bot.py", bytes(2**28))
    return buffer.getvalue()
