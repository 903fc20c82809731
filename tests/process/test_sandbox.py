"""The sandbox: small programs try to leave it, inside and outside; nothing of it stays."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playout.commands.subprocesses import begin, is_ready
from playout.players.engines import guard
from playout.players.engines.config import EngineConfig
from playout.players.engines.process import EngineError, EngineProcess
from playout.protocol.tournament_spec import SandboxSettings
from playout.sandbox import machine, proxy, watch
from playout.sandbox.bubblewrap import Sandbox
from playout.sandbox.machine import SandboxError
from support.commands import RunningServer, run, start
from support.engines import require_gone
from support.escapes import ESCAPES, SMALL, Escape
from support.file_server import files_served
from support.forked import preloaded
from support.organizer import database_option
from support.processes import start_and_wait
from support.requirements import skip_without
from support.scale import repetitions
from support.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    lacking = machine.missing()
    if "bubblewrap" in lacking or "seccomp" in lacking:
        skip_without(f"a sandbox ({lacking})")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A machine with files, sockets and a process that programs in a sandbox must not reach."""
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "bot.txt").write_text("a secret")
    (own / "link").symlink_to(other / "bot.txt")
    (tmp_path / "playout.db").write_text("a database")
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        abstract = f"playout-test-{os.getpid()}"
        for address in (str(other / "socket"), f"\0{abstract}"):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        victim = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(victim.kill)
        yield {
            "own": str(own),
            "other": str(other / "bot.txt"),
            "home": str(tmp_path),
            "database": str(tmp_path / "playout.db"),
            "temporary": "/tmp",
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": str(other / "socket"),
            "abstract": abstract,
            "victim": victim.pid,
            "descriptor": tcp.fileno(),
        }


def output_of(words: list[str], facts: Mapping[str, Any]) -> str:
    """What a command writes, which runs as the child of a shell with a secret."""
    done = subprocess.run(
        ["sh", "-c", '"$@"; true', "sh", *words],
        cwd=facts["own"],
        env={**os.environ, "SECRET": "a token"},
        pass_fds=[facts["descriptor"]],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda each: each.name)
def test_a_program_can_do_it_outside_and_not_inside(escape: Escape, stage: dict[str, Any]) -> None:
    # A sandbox ends a program within milliseconds, but not on every machine.
    facts = json.dumps(stage | {"patience_s": 100})
    inside = output_of(escape.words(facts, Path(stage["own"])), stage)
    assert "done\n" not in inside
    assert re.search(r"Error|the sandbox has ended the program", inside), inside
    assert "SyntaxError" not in inside
    assert "NameError" not in inside
    os.kill(stage["victim"], 0)
    if os.geteuid() == 0 or not escape.as_root:
        facts = json.dumps(stage | {"patience_s": 0})
        assert output_of(escape.command(facts), stage).endswith("done\n")


def test_the_document_lists_every_escape() -> None:
    document = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", document, re.MULTILINE)
    listed = {name: outside for name, outside in rows if outside.startswith("yes")}
    assert listed == {each.name: "yes, as root" if each.as_root else "yes" for each in ESCAPES}


# The program in the sandbox.


def python(code: str, settings: SandboxSettings = SMALL) -> list[str]:
    words = [sys.executable, "-I", "-S", "-c", code]
    return Sandbox(settings, Path("/")).words(words)


def test_a_program_gets_its_input_and_its_exit_code_is_returned() -> None:
    program = "import sys; print(sys.stdin.read().upper()); sys.exit(7)"
    done = subprocess.run(python(program), input=b"abc", capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (b"ABC\n", 7)


def test_a_program_has_a_home_that_is_gone_with_it() -> None:
    name = f"playout-test-{os.getpid()}"
    program = f"import os; p = os.environ['HOME'] + '/{name}'; open(p, 'w'); print(p)"
    assert subprocess.check_output(python(program)) == f"/tmp/{name}\n".encode()
    assert not Path("/tmp", name).exists()


def test_a_signal_that_ends_a_program_is_its_exit_code() -> None:
    program = "import os; os.kill(os.getpid(), 11)"
    assert subprocess.run(python(program), check=False).returncode == 128 + signal.SIGSEGV


#: It leaves a child in another session, and waits.
BUSY = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
else:
    os.wait()
    print("ready", flush=True)
time.sleep(600)
"""


def processes(first: int, number: int) -> list[int]:
    """A process and its descendants, when there are that many."""
    wait_until(lambda: len(list(watch._tree(first))) >= number, f"{number} processes")
    return list(watch._tree(first))


@pytest.mark.parametrize("victim", [0, 1, 2, 3], ids=["watch", "bubblewrap", "init", "program"])
def test_nothing_is_left_when_a_part_of_it_is_killed(victim: int) -> None:
    with subprocess.Popen(python(BUSY), stdout=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stdout.readline() == b"ready\n"
        all_ = processes(started.pid, 5)
        os.kill(all_[victim], signal.SIGKILL)
    require_gone(all_)


@pytest.mark.parametrize("number", [1, 2, 3, 4] * repetitions(20, short=3))
def test_nothing_is_left_when_the_parent_is_killed_at_the_start(number: int) -> None:
    ours, its = preloaded().Pipe(duplex=False)
    words = python("import time; time.sleep(600)")
    parent = preloaded().Process(target=start_and_wait, args=(words, its))
    with ours, its:
        parent.start()
        its.close()
        assert parent.pid
        processes(parent.pid, 1 + number)
        parent.kill()
        # Each process of the sandbox has the other end, also one that starts after this moment.
        while is_ready(ours.fileno(), PATIENCE_S) and os.read(ours.fileno(), 1000):
            pass
        assert is_ready(ours.fileno(), 0.0), list(watch._tree(parent.pid))


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (begin, (1, signal.SIGKILL, 0)),
        (guard._become, (["sleep", "600"], 2, 1)),
        (watch._become, (["/bin/sleep", "600"], b"", 1 << 30, 1)),
        (proxy.main, (1, 1, 1, 0, [])),
    ],
    ids=["child", "engine", "sandbox", "proxy"],
)
def test_a_process_ends_whose_parent_has_exited_before_it_asks_for_a_signal(
    call: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    process = preloaded().Process(target=call, args=arguments)
    process.start()
    process.join(PATIENCE_S)
    code = process.exitcode
    process.kill()
    assert code in (-signal.SIGKILL, 128 + signal.SIGKILL)


# With a network.

#: Prints what each attempt ends with.
ATTEMPTS = """
import json, socket, sys, urllib.request
def outcome(attempt):
    try:
        return attempt()
    except OSError as error:
        return str(error)
def page(url):
    return outcome(lambda: urllib.request.urlopen(url).read().decode())
port = int(sys.argv[1])
print(json.dumps({
    "allowed": page(f"http://127.0.0.1:{port}/file"),
    "a name with its address": page(f"http://named.example:{port}/file"),
    "another port": page(f"http://127.0.0.1:{port + 1}/"),
    "another host": page("https://example.org/"),
    "a private address of an allowed name": page(f"http://localhost:{port}/file"),
    "without the proxy": outcome(lambda: str(socket.create_connection(("127.0.0.1", port)))),
    "UDP": outcome(lambda: str(socket.socket(type=socket.SOCK_DGRAM))),
    "DNS": outcome(lambda: str(socket.getaddrinfo("example.org", 443))),
    "other TCP": outcome(lambda: str(socket.socket(proto=262))),
    "IPv6": outcome(lambda: str(socket.socket(socket.AF_INET6))),
}))
"""


def test_a_program_reaches_the_allowed_hosts_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    with files_served(tmp_path) as port:
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        sandbox = Sandbox(SMALL, Path("/"), hosts=(*hosts, f"named.example:{port}=127.0.0.1"))
        words = sandbox.words([sys.executable, "-I", "-S", "-c", ATTEMPTS, str(port)])
        found = json.loads(subprocess.check_output(words))
    refused = "HTTP Error 403: the operator does not allow"
    assert found.pop("DNS").startswith("[Errno -")
    assert found == {
        "allowed": "content",
        "a name with its address": "content",
        "another port": f"{refused} 127.0.0.1:{port + 1}",
        "another host": "<urlopen error Tunnel connection failed: 403 the operator does not allow "
        "example.org:443>",
        "a private address of an allowed name": "HTTP Error 502: localhost has no public address "
        "that answers",
        "without the proxy": "[Errno 111] Connection refused",
        "UDP": "[Errno 1] Operation not permitted",
        "other TCP": "[Errno 1] Operation not permitted",
        "IPv6": "[Errno 1] Operation not permitted",
    }


def test_the_proxy_ends_with_the_sandbox() -> None:
    words = Sandbox(SMALL, Path("/"), hosts=("example.org",)).words(["sleep", "600"])
    with subprocess.Popen(words) as started:
        try:  # otherwise a failure would wait for the end of the program
            wait_until(lambda: any(map(is_proxy, watch._tree(started.pid))), "the proxy")
            all_ = processes(started.pid, 5)
        finally:
            started.kill()
    require_gone(all_)


def is_proxy(pid: int) -> bool:
    """Whether a process runs the proxy; before that, it is a copy of its parent."""
    with suppress(OSError):  # it has ended
        return b"proxy.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


# As an engine.


def engine(code: str, tmp_path: Path) -> EngineConfig:
    words = (sys.executable, "-I", "-S", "-c", code)
    return EngineConfig("bot", words, "lines", tmp_path, sandbox=Sandbox(SMALL, tmp_path))


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("raise SystemExit('it does not start')", "exited with code 1.*it does not start"),
        ("import time; print('ready', flush=True); time.sleep(600)", "has not answered in time"),
        ("while True: print('x' * 65535, end='')", "has written more than 16 MB"),
        ("x = [bytearray(1 << 20) for _ in range(100)]", "MemoryError"),
        ("import os; os.close(1); os.close(0); os.pause()", "has closed its output|exited"),
    ],
    ids=["crashes", "hangs", "floods", "fills memory", "closes its output"],
)
def test_a_faulty_program_ends_as_any_engine_does(code: str, fault: str, tmp_path: Path) -> None:
    process = EngineProcess(engine(code, tmp_path), threading.Event())
    hangs = "ready" in code
    if hangs:
        assert process.line(math.inf) == "ready"
    with pytest.raises(EngineError, match=fault):
        process.line(0.0 if hangs else math.inf)
    all_ = [process._process.pid, *watch._tree(process._process.pid)]
    process.close()
    require_gone(all_)


def test_nothing_is_left_when_the_player_is_killed(tmp_path: Path, server: RunningServer) -> None:
    prefixes = ", ".join(f'"{each}"' for each in SMALL.reads)
    (tmp_path / "busy.py").write_text(BUSY)
    (tmp_path / "engines.toml").write_text(
        f'[bot]\ncommand = "{sys.executable} -I -S busy.py"\nprotocol = "lines"\nfolder = "."\n'
        f'sandbox = {{ reads = [{prefixes}], without = ["cgroup"] }}\n'
    )
    engines = ("--engines", str(tmp_path / "engines.toml"))
    player = start("playout-player", "nim", "engine(name=bot)", *engines, *server.address)
    all_ = processes(player.pid, 7)  # with guard, watch, bubblewrap, init, program and child
    player.kill()
    player.communicate()
    require_gone(all_[1:])


# The machine.


def test_unenforceable_limits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    machine.missing.cache_clear()
    try:
        with pytest.raises(SandboxError) as caught:
            machine.require(SandboxSettings(without=("cgroup", "seccomp")))
        assert str(caught.value) == (
            "bubblewrap cannot be enforced on this machine: bwrap is not installed (apt install "
            "bubblewrap); a sandbox needs it"
        )
        with pytest.raises(SandboxError, match="cgroup cannot be enforced"):
            machine.require(SandboxSettings())
    finally:
        machine.missing.cache_clear()


ISOLATES = (
    "bwrap --unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin"
    " --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev"
    " --size {disk_bytes} --tmpfs /tmp '--ro-bind {read} {read}' --chdir {folder} --"
)


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        (ISOLATES, "env", "reads files outside of its folder, .* reaches a network"),
        (ISOLATES, "no-such-program", "cannot be run: no-such-program cannot be run"),
        ("--unshare-all", "--unshare-user --unshare-pid", "connects to .*, reaches a network"),
        ("--unshare-all", "--unshare-net", "sees processes outside"),
        ("'--ro-bind {read}", "'--bind {read}", "changes files of its folder"),
        ("--size {disk_bytes}", "", "fills /tmp beyond disk_mb"),
        ("--die-with-parent", "", "goes on when its sandbox is killed"),
    ],
)
def test_a_command_that_does_not_isolate_is_refused(
    before: str, after: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playout.sandbox.machine._END_S", 1.0)
    command = ISOLATES.replace(before, after)
    with pytest.raises(SandboxError, match=f"does not isolate: a program .*{fault}"):
        machine.require(replace(SMALL, command=command))


def test_a_command_that_isolates_runs_a_program(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "bot.py").write_text("import os; print(os.getcwd(), os.listdir('..'))")
    settings = replace(SMALL, command=ISOLATES)
    machine.require(settings)
    words = Sandbox(settings, tmp_path, own).words([sys.executable, "-I", "-S", "bot.py"])
    assert subprocess.check_output(words).decode() == f"{own} ['own']\n"


def test_a_sandbox_shows_the_system_and_its_folder(tmp_path: Path) -> None:
    sandbox = Sandbox(replace(SMALL, reads=("libraries",)), tmp_path, tmp_path / "own")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "link").symlink_to(tmp_path / "other")
    shown = ["/usr/bin/env", f"{tmp_path}/own/bot", f"{tmp_path}/libraries/x"]
    assert all(map(sandbox.shows, shown))
    hidden = [f"{tmp_path}/other", f"{tmp_path}/own/link", "/opt/x"]
    assert not any(map(sandbox.shows, hidden))


# Entrants of a tournament.

#: A bot that plays the first legal move, and loses if it can read a file of another one.
BOT = """
import json, os, sys
for line in sys.stdin:
    legal = json.loads(line)["legal_actions"]
    print(legal[0] if not os.path.exists("../bob/bot.py") else "found", flush=True)
"""
TOURNAMENT = """
name = "students"
games = ["tic_tac_toe"]
format = "match"
rounds = 1
clock = "30/move"
concurrency = 1
[sandbox]
memory_mb = 64
without = ["cgroup"]
reads = [PREFIXES]
[[entrants]]
name = "Ann"
command = "PYTHON -I -S bot.py"
protocol = "lines"
folder = "ann"
sandbox = true
[[entrants]]
name = "Bob"
command = "PYTHON -I -S bot.py"
protocol = "lines"
folder = "bob"
"""


def tournament(folder: Path) -> Path:
    """A file of a tournament, with the bots."""
    for name in ("ann", "bob"):
        (folder / name).mkdir()
    (folder / "ann" / "bot.py").write_text(BOT)
    (folder / "bob" / "bot.py").write_text(BOT.replace("not os", "os"))
    prefixes = ", ".join(f'"{each}"' for each in (sys.prefix, sys.base_prefix))
    file = folder / "students.toml"
    file.write_text(TOURNAMENT.replace("PYTHON", sys.executable).replace("PREFIXES", prefixes))
    return file


def test_entrants_play_in_their_sandbox(tmp_path: Path) -> None:
    """The bot outside finds the file of another one, the bot inside does not."""
    file = tournament(tmp_path)
    code, output = run("playout-tournament", "run", str(file), *database_option(tmp_path))
    assert code == 0, output
    assert "1 of 1 pair" in output, output
    assert "resign" not in output


def test_a_bot_that_does_not_work_is_an_error_with_its_line(tmp_path: Path) -> None:
    file = tournament(tmp_path)
    (tmp_path / "ann" / "bot.py").write_text("import nonsense")
    code, output = run("playout-tournament", "validate", str(file))
    assert code == 2
    line = file.read_text().splitlines().index('name = "Ann"') + 2
    assert f"students.toml:{line}: Ann: " in output
    assert "No module named 'nonsense'" in output
