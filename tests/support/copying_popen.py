"""Bots, entrants, storage and worker processes as copies of the process that starts them.

Servers, organizers and `multiprocessing` start them with the interpreter of Python, which then
imports the modules of its parent again, for seconds.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from multiprocessing import forkserver, resource_tracker, util
from typing import Any

from playout import games
from testbed.machine import set_name

#: The words with which Playout starts Python: see `playout.commands.subprocesses`.
_PYTHON = [sys.executable, "-P"]
#: The modules that a program imports; the last one has its function.
_IMPORTED = re.compile(r"from ([\w.]+) import")


class CopyingPopen(subprocess.Popen[Any]):
    """A `subprocess.Popen` whose child process does not execute Python, but continues as Python."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        if list(words[:2]) == _PYTHON:
            first = options.pop("preexec_fn", None)
            environment = options.get("env") or os.environ
            options["preexec_fn"] = partial(_interpret, list(words), environment, first)
        super().__init__(words, **options)


def start_copies() -> None:
    """Let `subprocess` and `multiprocessing` start Python as copies of this process."""
    subprocess.Popen = CopyingPopen  # type: ignore[misc]
    util.spawnv_passfds = _spawn


def _spawn(path: str, words: Sequence[str], passed: Sequence[int]) -> int:
    """Start a process of `multiprocessing`, which keeps some open files; return its number."""
    number = os.fork()
    if number == 0:
        for each in (forkserver._forkserver, resource_tracker._resource_tracker):
            type(each).__init__(each)  # a thread of the parent holds their locks
        program = words[list(words).index("-c") :]
        _interpret([*_PYTHON, *program], dict(os.environ), None, passed)
    return number


def _interpret(
    words: Sequence[str],
    environment: Mapping[str, str],
    first: Callable[[], None] | None,
    kept: Iterable[int] = (),
) -> None:
    """Run these words in a copy of a process as Python does; its streams are in place.

    Of the other open files it has only those that are `kept`.
    """
    option, program, *arguments = words[len(_PYTHON) :]
    set_name(program if option == "-m" else (_IMPORTED.findall(program) or [option])[-1])
    for low, high in itertools.pairwise(sorted({2, *kept, os.sysconf("SC_OPEN_MAX")})):
        os.closerange(low + 1, high)  # the parent waits for this
    gc.freeze()  # collected objects would close descriptors that have other uses now
    gc.enable()
    _forget_signals()
    if first:
        first()
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.modules.pop("twisted.internet.reactor", None)
    games.check_before_loading(lambda name: None)  # the parent may wait for this copy to compile
    sys.argv = [option, *arguments]
    code = _code_of(partial(_run, option, program))
    if not sys.stdout.closed:
        sys.stdout.flush()
    os._exit(code)


def _forget_signals() -> None:
    """Handle signals as a new process does: those that are ignored stay so."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(option: str, program: str) -> None:
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(program, {"__name__": "__main__"})


def _code_of(call: Callable[[], None]) -> int:
    """Return the exit code of a program, after the message of an error."""
    try:
        call()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
