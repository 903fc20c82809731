"""Takes over matches of the same account whose player has disconnected, as after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.client.connection import ServerConnection
from server.model.messages import Code, Error, Started, TakeOver, Unwatch, Watch

#: The ids of the requests made here.
_WATCH, _TAKE_OVER, _UNWATCH = "watch", "take_over", "unwatch"


class TakeOvers:
    """Tries the matches one after the other, until one can be taken over."""

    def __init__(
        self,
        reactor: Any,
        admits: Callable[[str], bool],
        show: Callable[[str], None],
        none_left: Callable[[], None],
    ) -> None:
        """`admits` tells whether a game can be played; `none_left` is called after the last match.

        `show` shows a line to the user.
        """
        self.connection: ServerConnection
        self._reactor = reactor
        self._admits = admits
        self._show = show
        self._none_left = none_left
        self._away: list[str] = []
        self._match: str | None = None

    def set_away(self, away: tuple[str, ...]) -> None:
        """Try these matches from now on, and no others."""
        self._away = list(away)
        self._match = None

    def next(self) -> None:
        """Try the next match. It leads to an event `started` with a seat, or to `none_left`."""
        self._match = self._away.pop(0) if self._away else None
        if self._match is None:
            self._none_left()
        else:
            self.connection.send(Watch(id=_WATCH, match=self._match))

    def shown(self, started: Started) -> None:
        """Take over the match that is being watched, if its game can be played here."""
        if started.match != self._match:
            return
        self.connection.send(Unwatch(id=_UNWATCH, match=started.match))
        if self._admits(started.game):
            self._take_over(started.match)
        else:
            self._show(f"Match {started.match} of yours waits for a player of {started.game}.")
            self.next()

    def refused(self, error: Error) -> bool:
        """React to a refusal. Returns whether the request was one of this object."""
        if error.re == _UNWATCH:
            return True
        if error.re not in (_WATCH, _TAKE_OVER):
            return False
        match = self._match
        if match is not None and error.code is Code.NOT_AWAY and error.seconds is not None:
            self._show(f"Match {match} of yours can be taken over in {error.seconds:.1f} s.")
            self._reactor.callLater(error.seconds, self._take_over, match)
        elif match is not None:  # over, or taken over by another player of the account
            self.next()
        return True

    def _take_over(self, match: str) -> None:
        if match == self._match:  # otherwise the connection was lost meanwhile
            self.connection.send(TakeOver(id=_TAKE_OVER, match=match))
