"""The process of the server: its log, its limit on open files, its garbage collector, its browser.

The log has a line of text or a JSON object for each event.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import threading
import webbrowser
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click
from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    LogPublisher,
    formatEvent,
    globalLogBeginner,
)

from playout.commands.text import plain, printable
from playout.protocol.messages import LogLine

#: Seconds for which a worker thread runs Python while the event loop waits for the interpreter, as
#: it does after each wait for the system. With Python's own 5 ms, a thread that makes a page takes
#: most of the loop's time.
_SWITCH_S = 0.0005

#: Keys of every JSON line, in this order; null for an event without the value.
_ALWAYS = ("time", "level", "text", "match", "session")

#: The last warnings and errors, the oldest first, each with at most so many characters.
_errors: deque[LogLine] = deque(maxlen=50)
_LONGEST_ERROR = 2000


def begin(*, as_json: bool) -> None:
    """Log to standard error from now on, and let the event loop run before other threads."""
    sys.setswitchinterval(_SWITCH_S)
    lines = FileLogObserver(sys.stderr, _as_json if as_json else _as_line)
    levels = LogLevelFilterPredicate(defaultLogLevel=LogLevel.info)
    for chatty in ("twisted", "log_legacy", "playout.server.web"):
        levels.setLogLevelForNamespace(chatty, LogLevel.warn)
    observers: tuple[Any, ...] = (lines, keep_error)
    published: Any = LogPublisher(*observers)
    filtered: Any = FilteringLogObserver(published, [levels])  # type: ignore[list-item]
    globalLogBeginner.beginLoggingTo([filtered], redirectStandardIO=False)


def keep_error(event: LogEvent) -> None:
    """Keep an event of the log that is a warning or an error, for `last_errors`."""
    level = event["log_level"]
    if level >= LogLevel.warn:
        _errors.append(LogLine(event["log_time"], level.name, _text(event)[:_LONGEST_ERROR]))


def last_errors() -> tuple[LogLine, ...]:
    """Return the last warnings and errors of the log, the latest first."""
    return tuple(reversed(_errors))


def _moment(event: LogEvent) -> datetime:
    return datetime.fromtimestamp(event["log_time"], UTC)


def _text(event: LogEvent) -> str:
    failure = event.get("log_failure")
    try:
        text: str = event["log_format"].format_map(event)  # in a third of the time of `formatEvent`
    except Exception:
        text = formatEvent(event)
    # A text of a stranger, such as the output of a bot, cannot look like another line of the log.
    text = printable(text).replace("\n", "\n    ")
    return text + (f"\n{failure.getTraceback()}" if failure else "")


def _as_line(event: LogEvent) -> str:
    level = event["log_level"]
    mark = "" if level is LogLevel.info else f"{level.name}: "
    return f"{_moment(event):%Y-%m-%d %H:%M:%S} {mark}{_text(event)}\n"


def _as_json(event: LogEvent) -> str:
    fields = {key: value for key, value in event.items() if not key.startswith("log_")}
    ours = {
        "time": _moment(event).isoformat(),
        "level": event["log_level"].name,
        "text": _text(event),
    }
    # Events of Twisted's older API have a `time` of their own, which is replaced.
    line = dict.fromkeys(_ALWAYS) | fields | ours
    return plain(json.dumps(line, default=str, ensure_ascii=False)) + "\n"


# The limit on open files, shared by the server itself, HTTP connections and other connections.


#: Open files of the server itself. After its start there are 13: the standard streams, the
#: listeners, the event loop, the storage process. With the database connections of the worker
#: threads there are up to 22, and starting a process takes 4 more for a moment. Connections above
#: the limits that wait to be told so are up to 16.
_OWN = 56
#: Open files of each process that works for the server: the process, its output, its connection.
_FILES_OF_PROCESS = 3
#: One in this number of the remaining files is for HTTP, up to the most HTTP connections.
_HTTP_SHARE = 4
#: The fewest connections with which a server starts.
_FEWEST = 16


class TooFewFiles(Exception):
    """The limit on open files is too low for a server; the text is for the operator."""


@dataclass(frozen=True)
class ConnectionRoom:
    """The numbers of connections within the limit on open files: of HTTP, and others."""

    connections: int
    http: int


def raise_limit() -> int:
    """Raise the limit of this process on open files to the system's maximum, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return 2**31 if most == resource.RLIM_INFINITY else most


def connection_room(files: int, *, processes: int, most_http: int) -> ConnectionRoom:
    """Return the numbers of connections for `files` open files. Raises TooFewFiles.

    `processes`: the maximum number of bots, analysts and other processes at once; each needs
    `_FILES_OF_PROCESS`, and its connection does not count as one of others. `most_http`: the
    maximum number of HTTP connections.
    """
    reserved = _OWN + processes * _FILES_OF_PROCESS
    left = files - reserved
    http = min(most_http, left // _HTTP_SHARE)
    if left - http < _FEWEST:
        least = reserved + _FEWEST * _HTTP_SHARE // (_HTTP_SHARE - 1)
        raise TooFewFiles(
            f"the limit on open files, {files}, is too low: a server needs at least {least}; "
            "see ulimit -n, or LimitNOFILE of a systemd unit"
        )
    return ConnectionRoom(left - http, http)


# Python's garbage collector, in a process that keeps its modules.


#: New objects before the collector looks for cycles, of which the server makes almost none. It
#: holds the interpreter meanwhile: with 20,000 objects of a long match for 10 ms.
_NEW_OBJECTS = 5_000


def exclude_existing_objects() -> None:
    """Collect garbage once; later collections are rare, and skip the current objects.

    With the modules that a server imports, a full collection would stop it for 60 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 20)


# Opens the server's page in the browser of the user who started it.


def show(address: str) -> None:
    """Open a URL in the browser; if that fails, print the URL to standard error."""
    # With some browsers the call returns only when they are closed.
    threading.Thread(target=_show, args=(address,), daemon=True).start()


def _show(address: str) -> None:
    try:
        shown = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        shown = False
    if not shown:
        click.echo(f"playout-server: cannot open a browser; the page is at {address}", err=True)
