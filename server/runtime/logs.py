"""The log of the server: a line of text or a JSON object for each event."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    formatEvent,
    globalLogBeginner,
)

#: Keys of every JSON line, in this order; null where an event has no such value.
_ALWAYS = ("time", "level", "text", "match", "session")


def begin(*, as_json: bool) -> None:
    """Log to standard error from now on."""
    observer = FileLogObserver(sys.stderr, _as_json if as_json else _as_line)
    levels = LogLevelFilterPredicate(defaultLogLevel=LogLevel.info)
    for chatty in ("twisted", "log_legacy", "server.web"):
        levels.setLogLevelForNamespace(chatty, LogLevel.warn)
    filtered = FilteringLogObserver(observer, [levels])  # type: ignore[arg-type,list-item]
    globalLogBeginner.beginLoggingTo([filtered], redirectStandardIO=False)  # type: ignore[list-item]


def _moment(event: LogEvent) -> datetime:
    return datetime.fromtimestamp(event["log_time"], UTC)


def _text(event: LogEvent) -> str:
    failure = event.get("log_failure")
    return formatEvent(event) + (f"\n{failure.getTraceback()}" if failure else "")


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
    return json.dumps(line, default=str, ensure_ascii=False) + "\n"
