"""Taking over matches of one's account whose player is gone, as after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.client.connection import ServerConnection
from server.model.messages import Code, Error, Started, TakeOver, Unwatch, Watch

#: The ids of the requests made here.
_LOOK, _CLAIM, _LEAVE = "look", "claim", "leave"


class TakeOvers:
    """Goes through the matches one after the other, until one can be taken over."""

    def __init__(
        self,
        reactor: Any,
        admits: Callable[[str], bool],
        say: Callable[[str], None],
        none_left: Callable[[], None],
    ) -> None:
        """`admits` tells whether a game can be played; `none_left` is called after the last."""
        self.connection: ServerConnection
        self._reactor = reactor
        self._admits = admits
        self._say = say
        self._none_left = none_left
        self._away: list[str] = []
        self._match: str | None = None

    def told(self, away: tuple[str, ...]) -> None:
        """These matches are to be had, and none that was known before."""
        self._away = list(away)
        self._match = None

    def next(self) -> None:
        """Try the next match. What comes of it is its `started`, or `none_left`."""
        self._match = self._away.pop(0) if self._away else None
        if self._match is None:
            self._none_left()
        else:
            self.connection.send(Watch(id=_LOOK, match=self._match))

    def seen(self, started: Started) -> None:
        """A match is shown: is it one that can be played here?"""
        if started.match != self._match:
            return
        self.connection.send(Unwatch(id=_LEAVE, match=started.match))
        if self._admits(started.game):
            self._claim(started.match)
        else:
            self._say(f"Match {started.match} of yours waits for a player of {started.game}.")
            self.next()

    def refused(self, error: Error) -> bool:
        """Was it a request of these that was refused?"""
        if error.re == _LEAVE:
            return True
        if error.re not in (_LOOK, _CLAIM):
            return False
        match = self._match
        if match is not None and error.code is Code.NOT_AWAY and error.seconds is not None:
            self._say(f"Match {match} of yours can be taken over in {error.seconds:.1f} s.")
            self._reactor.callLater(error.seconds, self._claim, match)
        elif match is not None:  # over, or taken over by another player of the account
            self.next()
        return True

    def _claim(self, match: str) -> None:
        if match == self._match:  # otherwise the line broke meanwhile
            self.connection.send(TakeOver(id=_CLAIM, match=match))
