"""Finds puzzles while nobody plays: runs `playout-server puzzles` with the lowest priority."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from twisted.logger import Logger

from playout.commands.child import Child, Program, stop
from playout.commands.subprocesses import LOWEST_NICENESS, own_environment
from playout.commands.text import utc
from playout.server.core.match_room import MatchRoom

_COMMAND = "playout.commands.entry_points:server"
#: Seconds between two checks whether somebody plays, from the end of a search to the next one, and
#: in which a search may end by itself.
_POLL_S, _PAUSE_S, _STOP_S = 1.0, 3600.0, 2.0
#: A search includes matches that started this long before the last complete one.
_OVERLAP_S = 24 * 3600.0

_log = Logger(namespace="server")


class PuzzleSearches:
    """Searches all stored matches, then every hour the new ones."""

    def __init__(self, reactor: Any, database: str, rooms: Mapping[str, MatchRoom]) -> None:
        """`database` is its URL, and `rooms` has those of the running matches.

        A search ends when one begins that is not by correspondence.
        """
        self._reactor = reactor
        self._database = database
        self._rooms = rooms
        self._child: Child | None = None
        self._due_at = self._started_at = 0.0
        #: The earliest start of matches that the next search includes, None for all.
        self._since: float | None = None
        self._next_poll = reactor.callLater(0, self._poll)

    def _is_idle(self) -> bool:
        return all(each.is_correspondence for each in self._rooms.values())

    def _poll(self) -> None:
        if self._child and not self._is_idle():
            stop([self._child], _STOP_S)
            self._child = None
        elif self._child is None and self._is_idle() and self._reactor.seconds() >= self._due_at:
            self._start()
        self._next_poll = self._reactor.callLater(_POLL_S, self._poll)

    def _start(self) -> None:
        self._started_at = time.time()
        since = ("--since", f"{utc(self._since):%Y-%m-%dT%H:%M:%S}") if self._since else ()
        # Others can read the arguments of a process, and the URL may have a password.
        environment = own_environment() | {"PLAYOUT_DATABASE": self._database}
        program = Program.own(
            _COMMAND, "puzzles", *since, environment=environment, niceness=LOWEST_NICENESS
        )
        self._child = child = program.start()
        child.when_exited(self._reactor, partial(self._ended, child))

    def _ended(self, child: Child) -> None:
        self._child, self._due_at = None, self._reactor.seconds() + _PAUSE_S
        if child.code == 0:
            self._since = self._started_at - _OVERLAP_S
        else:
            text = "the search for puzzles {how}; to see why, run: playout-server puzzles"
            _log.warn(text, how=child.how_it_ended())

    def close(self) -> None:
        """End the search, and start no other."""
        self._next_poll.cancel()
        if self._child:
            stop([self._child], _STOP_S)
