"""playout.commands.child with real processes: exits, messages, logs, restarts, ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from twisted.internet.epollreactor import EPollReactor

from playout.commands import child as children
from playout.commands import prepared
from playout.commands.child import Child, KeptChild, LogFolder, Program, stop
from playout.commands.restarts import BackOff, Restarts
from playout.commands.subprocesses import LONGEST_LINE, TOO_LONG, own
from support.processes import is_gone
from support.waiting import PATIENCE_S, wait_until


class Sum(msgspec.Struct, frozen=True):
    """A message of the process of these tests."""

    result: int


#: Answers each number with its double; ends after a negative one.
DOUBLES = """
while IFS= read -r number <&0; do
    [ "$number" -lt 0 ] && exit 3
    echo "{\\"result\\":$((2 * number))}" >&0
done
"""


def shell(script: str, **options: Any) -> Program:
    return Program(("sh", "-c", script), os.environ, **options)


@pytest.fixture
def started() -> Iterator[Callable[..., Child]]:
    """Starts programs, which end with the test."""
    found: list[Child] = []

    def start(script: str, log: Path | None = None, *, talks: bool = False) -> Child:
        found.append(shell(script).start(log, talks=talks))
        return found[-1]

    yield start
    stop(found, 0.0)


class ChildLoop:
    """An event loop of the test's own, which waits for events without an end."""

    def __init__(self) -> None:
        self.reactor: Any = EPollReactor()  # type: ignore[no-untyped-call]
        #: The number of times that the loop has woken.
        self.wakes = 0

    def run_until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self.wakes += 1
            assert self.wakes < 100
            self.reactor.runUntilCurrent()
            self.reactor.doIteration(min(PATIENCE_S, self.reactor.timeout() or PATIENCE_S))

    def close(self) -> None:
        for call in self.reactor.getDelayedCalls():
            call.cancel()
        self.reactor.removeAll()


@pytest.fixture
def loop() -> Iterator[ChildLoop]:
    made = ChildLoop()
    yield made
    made.close()


# Exits.


def test_an_exit_wakes_the_event_loop_once(loop: ChildLoop, started: Callable[..., Child]) -> None:
    child = started("read line; exit 7", talks=True)
    codes: list[int | None] = []
    child.when_exited(loop.reactor, lambda: codes.append(child.code))
    child.say(1)
    loop.run_until(lambda: codes)
    assert codes == [7]
    assert loop.wakes <= 2, "it does not poll"
    assert child.how_it_ended() == "has ended with exit code 7"


def test_an_exit_that_was_waited_for_calls_nothing(
    loop: ChildLoop, started: Callable[..., Child]
) -> None:
    child, calls = started("sleep 60"), list[str]()
    child.when_exited(loop.reactor, lambda: calls.append("exit"))
    stop([child], 0.0)
    loop.reactor.iterate(0)
    assert not calls
    assert child.how_it_ended().startswith("was ended by a signal (")


def test_an_exit_is_noticed_without_pidfd(
    loop: ChildLoop, started: Callable[..., Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = started("exit 7")
    codes: list[int | None] = []
    child.when_exited(loop.reactor, lambda: codes.append(child.code))
    loop.run_until(lambda: codes)
    assert codes == [7]


def test_an_exit_is_noticed_by_asyncio(started: Callable[..., Child]) -> None:
    child = started("exit 7")
    asyncio.run(asyncio.wait_for(child.exited(), PATIENCE_S))
    assert child.code == 7


@pytest.mark.parametrize(("script", "in_time"), [("exit 0", True), ("sleep 60", False)])
def test_a_program_may_have_a_limited_time(
    loop: ChildLoop, started: Callable[..., Child], script: str, in_time: bool
) -> None:
    child, results = started(script), list[bool]()
    child.exit_within(loop.reactor, PATIENCE_S if in_time else 0.01).addCallback(results.append)
    loop.run_until(lambda: results)
    assert results == [in_time]
    assert child.code == (0 if in_time else -signal.SIGKILL)


def test_the_processes_that_it_has_started_end_with_it(started: Callable[..., Child]) -> None:
    child = started("sleep 60 & echo $!; exit 0")
    assert child.wait() == 0
    wait_until(partial(is_gone, int(child.tail(1)[0])))


def test_a_process_that_ignores_sigterm_is_killed(started: Callable[..., Child]) -> None:
    child = started("trap '' TERM; echo ready; while :; do sleep 60; done")
    wait_until(lambda: child.tail(1) == ["ready"])
    stop([child], 0.05)
    assert child.code == -signal.SIGKILL


def test_a_process_that_obeys_sigterm_may_end_its_work(started: Callable[..., Child]) -> None:
    child = started("trap 'echo stored; exit 0' TERM; echo ready; while :; do sleep 0.01; done")
    wait_until(lambda: child.tail(1) == ["ready"])
    stop([child], PATIENCE_S)
    assert (child.code, child.tail(1)) == (0, ["stored"])


def test_a_stopped_process_is_told_from_a_running_one(started: Callable[..., Child]) -> None:
    # Without `exec`, a shell waits in `vfork` for its own child, which the signal can stop first.
    child = started("exec sleep 60")
    assert not child.is_stopped
    child.send(signal.SIGSTOP)
    wait_until(lambda: child.is_stopped)
    assert child.code is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
def test_children_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "from playout.commands.child import Program\n"
        "from playout.commands.subprocesses import own_environment\n"
        "others = Program(['sleep', '60'], os.environ)\n"
        "own = Program.own('signal:pause', environment=own_environment(), niceness=0)\n"
        "print(*(each.start(talks=True).pid for each in (others, own)), flush=True)\n"
        "time.sleep(60)\n"
    )
    root = Path(children.__file__).parents[2]
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    with parent:
        assert parent.stdout
        found = list(map(int, parent.stdout.readline().split()))
        assert all(Path(f"/proc/{each}").exists() for each in found)
        parent.send_signal(signal.SIGKILL)
    assert len(found) == 2
    for each in found:
        wait_until(partial(is_gone, each))


# Messages.


def test_a_thread_asks_and_gets_replies_until_the_exit(started: Callable[..., Child]) -> None:
    child = started(DOUBLES, talks=True)
    assert child.reply(Sum, 0.0) is None
    for number in (1, 21):
        child.say(number)
        assert child.reply(Sum, PATIENCE_S) == Sum(2 * number)
    child.say(-1)
    with pytest.raises(EOFError):
        child.reply(Sum, PATIENCE_S)
    child.say(1)
    assert child.how_it_ended() == "has ended with exit code 3"


def test_an_event_loop_receives_messages_and_then_the_exit(
    loop: ChildLoop, started: Callable[..., Child]
) -> None:
    child, heard = started(DOUBLES, talks=True), list[object]()
    child.listen(loop.reactor, Sum, heard.append)
    child.when_exited(loop.reactor, lambda: heard.append(child.code))
    for number in (1, 2, 3, -1):
        child.say(number)
    loop.run_until(lambda: 3 in heard)
    assert heard == [Sum(2), Sum(4), Sum(6), 3]


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        (f"exec 3<&0; head -c {LONGEST_LINE + 100_000} /dev/zero >&3", TOO_LONG),
        ('echo \'{"result":"two"}\' >&0', "a line is no message (Expected `int`, got `str`"),
        ("echo Traceback >&0", "'Traceback'"),
    ],
)
@pytest.mark.parametrize("in_loop", [True, False])
def test_anything_else_than_a_message_ends_the_process(
    loop: ChildLoop, started: Callable[..., Child], script: str, fault: str, in_loop: bool
) -> None:
    child, heard = started(f"{script}; sleep 60", talks=True), list[object]()
    if in_loop:
        child.listen(loop.reactor, Sum, heard.append)
        child.when_exited(loop.reactor, lambda: heard.append(child.code))
        loop.run_until(lambda: heard)
        assert heard == [-signal.SIGKILL]
    else:
        with pytest.raises(EOFError):
            child.reply(Sum, PATIENCE_S)
    assert child.how_it_ended().startswith("was ended: ")
    assert fault in child.how_it_ended()


@pytest.mark.parametrize("in_loop", [True, False])
def test_a_process_that_closes_its_input_and_stays_is_killed(
    loop: ChildLoop, started: Callable[..., Child], monkeypatch: pytest.MonkeyPatch, in_loop: bool
) -> None:
    monkeypatch.setattr(children, "_EXIT_S", 0.01)
    child, heard = started("exec 0<&-; sleep 60", talks=True), list[object]()
    if in_loop:
        child.listen(loop.reactor, Sum, heard.append)
        child.when_exited(loop.reactor, lambda: heard.append("exit"))
        loop.run_until(lambda: heard)
    else:
        with pytest.raises(EOFError):
            child.reply(Sum, PATIENCE_S)
    assert child.wait(PATIENCE_S) == -signal.SIGKILL


# Output.


def test_the_last_lines_are_known_while_it_runs_and_afterwards(
    started: Callable[..., Child], tmp_path: Path
) -> None:
    child = started("seq 100; echo problem >&2; read line; exit 1", tmp_path / "log", talks=True)
    wait_until(lambda: child.tail(2) == ["100", "problem"])
    child.say(1)
    assert child.why() == "has ended with exit code 1: problem"
    assert child.tail(2) == ["100", "problem"]
    assert (tmp_path / "log").read_text().endswith("100\nproblem\n")


def test_logs_are_kept_only_if_there_is_a_reason() -> None:
    logs = LogFolder()
    assert logs.of("a/b-1").name == "a_b-1.log"
    folder = logs.folder
    assert not logs.close()
    assert not folder.exists()
    assert not LogFolder().close(), "nothing was ever written"


# Restarts.


def test_a_kept_child_is_started_again_after_growing_pauses() -> None:
    kept = KeptChild(shell("exit 1").start, Restarts(BackOff(1.0, 10.0), limit=3))
    now, exits = 0.0, list[str]()
    while not kept.restarts.exhausted:
        assert kept.poll(now) is None
        assert kept.child
        kept.child.wait(PATIENCE_S)
        exits.append(kept.poll(now) or "")
        assert kept.poll(now + kept.restarts.wait_s - 0.01) is None
        assert not kept.runs, "its pause is not over"
        now += kept.restarts.wait_s
    assert exits == ["has ended with exit code 1"] * 3
    assert now == 1.0 + 2.0 + 4.0
    kept.stop(0.0)


def test_a_program_that_is_missing_is_an_exit() -> None:
    kept = KeptChild(Program(("no-such-program",), {}).start, Restarts(BackOff(1.0, 10.0)))
    assert (kept.poll(0.0) or "").startswith("cannot be started: [Errno 2]")
    assert kept.restarts.failures == 1


def test_a_prepared_process_begins_as_the_command(tmp_path: Path) -> None:
    for call, ended in (("builtins:input", "the secret"), ("os:getcwd", str(tmp_path))):
        prepared.prepare(call)
        ((process, _),) = prepared._waiting[os.getpid(), *own(call)]
        log = tmp_path / "log"
        child = Program(own(call), os.environ, tmp_path, secret="the secret").start(log)
        assert child.pid == process.pid
        assert child.wait(PATIENCE_S) == 1
        assert log.read_text().splitlines()[-1] == ended


def test_the_log_of_a_prepared_process_has_the_error_of_its_import(tmp_path: Path) -> None:
    prepared.prepare("no_such_module:main")
    log = tmp_path / "log"
    child = Program(own("no_such_module:main"), os.environ, tmp_path).start(log)
    assert child.wait(PATIENCE_S) == 1
    assert log.read_text().endswith("No module named 'no_such_module'\n")


def test_a_prepared_process_exits_when_nothing_can_begin_it() -> None:
    prepared.prepare("os:getcwd")
    ((process, connection),) = prepared._waiting.pop((os.getpid(), *own("os:getcwd")))
    connection.close()
    assert process.wait(PATIENCE_S) == 0


def test_an_exited_prepared_process_is_replaced(tmp_path: Path) -> None:
    prepared.prepare("os:getcwd")
    ((process, _),) = prepared._waiting[os.getpid(), *own("os:getcwd")]
    process.kill()
    process.wait()
    child = Program(own("os:getcwd"), os.environ, tmp_path).start()
    assert child.pid != process.pid
    assert child.wait(PATIENCE_S) == 1
