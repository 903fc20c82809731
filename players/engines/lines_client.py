"""A client for scripts: each position is one line of JSON, and the answer one line, the action.

It is the simplest protocol. A script needs no state, because each line has the whole position.
"""

from __future__ import annotations

import json
import time

from playout.games import Position
from playout.players.core.player import Limit, PlayResult
from playout.players.engines.client import EngineClient, move_deadline


class LinesClient(EngineClient):
    """Plays with a script, which gets only positions with a choice."""

    farewell = ""  # a script is killed
    answers_numbers = True
    tells_rolls = True
    _is_thinking = False
    _has_answered = False

    def _start(self, deadline: float) -> None:
        pass  # it writes nothing before the first position

    def _new_match(self, deadline: float) -> None:
        pass  # the next line has the whole position

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self._answer(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        given = self.time.left(limit)
        self.process.send(self._line(position, given))
        self._is_thinking = True
        deadline = move_deadline(limit, position.to_move)
        if not self._has_answered:  # it may still be starting, which nothing tells
            deadline = max(deadline, time.monotonic() + self.config.start_s)
        said = self._answer(deadline)
        self.time.answered(given.seconds)
        action = int(said) if said.isdecimal() and said.isascii() else None
        return PlayResult(self.require_legal(action, position, said))

    def _line(self, position: Position, limit: Limit) -> str:
        state = position.state
        legal = self.game.legal_actions(state)
        told = {
            "game": str(position.game),
            "player": position.to_move,
            "state": list(state),
            "moves": list(position.moves),
            "legal_actions": list(legal),
            "names": [self.game.action_name(state, action) for action in legal],
            "seconds": None if limit.seconds is None else round(limit.seconds, 3),
            "options": dict(self.config.options),
        }
        return json.dumps(told)

    def _answer(self, deadline: float) -> str:
        """Return the next line that is not empty."""
        while not (said := self.process.line(deadline).strip()):
            pass
        self._is_thinking, self._has_answered = False, True
        return said
