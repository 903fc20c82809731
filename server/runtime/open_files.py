"""Shares the limit on open files among the server itself, its HTTP connections and the others."""

from __future__ import annotations

import resource
from dataclasses import dataclass

#: Open files of the server itself. After its start there are 13: the standard streams, the
#: listeners, the event loop, the storage process. With the database connections of the worker
#: threads there are up to 22, and starting a process takes 4 more for a moment.
_OWN = 40
#: One of this number of files that are left is for HTTP, up to what HTTP is allowed.
_HTTP_SHARE = 4
#: Fewer connections than this are of no use.
_FEWEST = 16


class TooFewFiles(Exception):
    """The limit on open files is too low for a server; the text is for the operator."""


@dataclass(frozen=True)
class ConnectionRoom:
    """The connections for which there are open files: of HTTP, and all others."""

    connections: int
    http: int


def raise_limit() -> int:
    """Raise this process's limit on open files as far as the system permits, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return 2**31 if most == resource.RLIM_INFINITY else most


def connection_room(files: int, *, bots: int, most_http: int) -> ConnectionRoom:
    """Return for how many connections `files` open files suffice. Raises TooFewFiles.

    `bots`: how many bots run at once; each needs a file for its output. `most_http`: the most HTTP
    connections.
    """
    left = files - _OWN - bots
    http = min(most_http, left // _HTTP_SHARE)
    if left - http < _FEWEST:
        least = _OWN + bots + _FEWEST * _HTTP_SHARE // (_HTTP_SHARE - 1)
        raise TooFewFiles(
            f"the limit on open files, {files}, is too low: a server needs at least {least}; "
            "see ulimit -n, or LimitNOFILE of a systemd unit"
        )
    return ConnectionRoom(left - http, http)
