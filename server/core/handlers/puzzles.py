"""Attempts of people to solve puzzles, by which both are rated."""

from __future__ import annotations

from playout.protocol.messages import AttemptPuzzle, Code, Ok
from playout.server.core.context import Context
from playout.server.core.match import Refused
from playout.server.core.sessions import RequestContext, handles
from playout.server.model.records import PuzzleAttempted


class Puzzles:
    """Has attempts stored. The database keeps the first one of an account at a known puzzle."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @handles(AttemptPuzzle)
    def attempt(self, request: AttemptPuzzle, origin: RequestContext) -> None:
        """Store an attempt. Guests are not rated."""
        account = origin.session.account
        if account is None:
            raise Refused(Code.NOT_FOR_GUESTS, "guests solve puzzles without a rating")
        self._context.store(
            PuzzleAttempted(
                puzzle=request.puzzle,
                account=account.id,
                moves=",".join(map(str, request.moves)),
                at=origin.now + self._context.epoch,
            )
        )
        self._context.send_to(origin.session, Ok(re=request.id))
