"""Bots, entrants and storage processes as copies of the process that starts them.

Servers and organizers start them with the interpreter of Python, which then imports the modules of
its parent again, for seconds.
"""

from __future__ import annotations

import gc
import os
import re
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


def _interpret(
    words: Sequence[str], environment: Mapping[str, str], first: Callable[[], None] | None
) -> None:
    """Run these words in a copy of a process as Python does; its streams are in place."""
    option, program, *arguments = words[len(_PYTHON) :]
    set_name(program if option == "-m" else (_IMPORTED.findall(program) or [option])[-1])
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # the parent waits for this
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
