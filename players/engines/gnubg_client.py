"""GNU Backgammon, by its protocol for external players: boards of FIBS over a local socket.

The program is a process of its own; it is told to listen on a socket in a new folder. A board has
the dice of the player to move, and the answer is the move of a whole turn. At a double, whose
halves are two moves here, the second half is that of the same answer. If the match continues at a
second half, the program evaluates the position after each move instead.

A match is one point, so that gammons do not count and nobody doubles.
"""

from __future__ import annotations

import contextlib
import re
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from playout.commands.text import beginning
from playout.games import Game, Position, SpecError, State
from playout.games.backgammon import Backgammon
from playout.players.core.player import Cancelled, Limit, PlayResult
from playout.players.engines.client import EngineClient, move_deadline, shown
from playout.players.engines.config import EngineConfig
from playout.players.engines.process import EngineProcess

#: A step of a move such as `bar/24*/18*(2)`: its places, and how often it is made.
_STEP = re.compile(r"((?:bar|\d+)\*?(?:/(?:off|\d+)\*?)+)(?:\((\d)\))?")
_NAMED = {"bar": 25, "off": 0}
#: Seconds between two attempts to connect.
_AGAIN_S = 0.02


class ListeningProcess(EngineProcess):
    """An engine that listens on a local socket and reads and writes its lines there.

    Its standard output is written to its log.
    """

    def __init__(
        self, config: EngineConfig, cancelled: threading.Event, first: list[str], deadline: float
    ) -> None:
        """Start the engine, send it the `first` lines and `external SOCKET`, and connect.

        Raises EngineError, and Cancelled.
        """
        self._connection = socket.socket(socket.AF_UNIX)
        words = ("sh", "-c", 'exec "$@" >&2', "sh", *config.words)
        with tempfile.TemporaryDirectory(prefix="playout-") as folder:
            path = Path(folder, "socket")
            super().__init__(replace(config, command=words), cancelled)
            try:
                for line in (*first, f"external {path}"):
                    self.send(line)
                while not self._connects(path):
                    self._wait(deadline)
            except BaseException:
                self.close()
                raise
        self._connection.setblocking(False)
        self._input = self._output = self._connection.fileno()

    def _connects(self, path: Path) -> bool:
        try:
            self._connection.connect(str(path))
        except OSError:  # the socket is not there yet
            return False
        return True

    def _wait(self, deadline: float) -> None:
        if self._cancelled.wait(_AGAIN_S):
            raise Cancelled
        if self._process.poll() is not None:
            raise self._death("has not opened its socket")
        if time.monotonic() > deadline:
            raise self.fault("has not opened its socket in time")

    def _end(self) -> None:
        super()._end()
        self._connection.close()


class GnubgClient(EngineClient):
    """Plays backgammon with gnubg; its options are settings, as in the command `set`."""

    farewell = ""  # it is killed: it reads no commands while it plays
    tells_rolls = True
    _is_thinking = False

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises SpecError for other games than backgammon."""
        if not isinstance(game, Backgammon) or game.points > 1:
            raise SpecError(f"the engine {config.name} plays backgammon, not {game}")
        self._backgammon = game
        #: The position at a second half of a double, and the move that was planned for it.
        self._planned: tuple[State, int] | None = None
        super().__init__(config, game, cancelled)

    def _launched(self, deadline: float) -> EngineProcess:
        options = [f"set {name} {value}" for name, value in self.config.options.items()]
        return ListeningProcess(self.config, self.cancelled, options, deadline)

    def _start(self, deadline: float) -> None:
        self.process.send("version")
        answer = self.process.line(deadline)
        if not answer.startswith("Interface:"):
            raise self.process.fault(f"is no GNU Backgammon: its version is {shown(answer)}")
        while not answer.startswith("Software:"):  # the last line
            answer = self.process.line(deadline)
        self.title = beginning(f"GNU Backgammon {answer.partition(': ')[2]}", 50)

    def _new_match(self, deadline: float) -> None:
        self._planned = None

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self.process.line(deadline)
            self._is_thinking = False

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        state = position.state
        if self._planned and self._planned[0] == state:
            return PlayResult(self._planned[1])
        deadline = move_deadline(limit, position.to_move)
        if state[5]:
            return PlayResult(self._second_half(position, deadline))
        answer = self._asked(fibs_board(self._backgammon, state), deadline)
        wanted = after_steps(self._backgammon, state, answer)
        for first, after, second in turns_of(position):
            if wanted is not None and _checkers(self._backgammon, after, state[0]) == wanted:
                if second is not None:
                    self._planned = self.game.next_state(state, first), second
                return PlayResult(self.require_legal(first, position, answer))
        raise self.illegal(position, answer)

    def _second_half(self, position: Position, deadline: float) -> int:
        """Return the move after which the opponent, who rolls next, expects least."""
        best, least = position.legal_actions[0], 2.0
        for action in position.legal_actions:
            after = self.game.next_state(position.state, action)
            if self.game.winner(after):
                return action
            board = fibs_board(self._backgammon, after)
            answer = self._asked(f"evaluation fibsboard {board} PLIES 0", deadline)
            win = _share(answer)
            if win is None:
                raise self.process.fault(f"has answered {shown(answer)}: no evaluation")
            if win < least:
                best, least = action, win
        return best

    def _asked(self, line: str, deadline: float) -> str:
        self.process.send(line)
        self._is_thinking = True
        answer = self.process.line(deadline)
        self._is_thinking = False
        return answer.strip()


def _share(answer: str) -> float | None:
    """Return the first number of an answer, if it is from 0 to 1."""
    with contextlib.suppress(IndexError, ValueError):
        share = float(answer.split(maxsplit=1)[0])
        return share if 0 <= share <= 1 else None
    return None


def fibs_board(game: Backgammon, state: State) -> str:
    """Return a position as FIBS does, for the player to move, or the one who rolls next."""
    player = state[0] or state[2]
    own, theirs = game.checkers(state, player), game.checkers(state, 3 - player)
    points = [-theirs[25], *(own[at] - theirs[25 - at] for at in range(1, 25)), own[25]]
    dice = (state[3], state[4], 0, 0)
    # One point of a match; the turn of the player with positive numbers, who moves downward.
    fields = ("You", "Opponent", 1, 0, 0, *points, 1, *dice, 1, 1, 1, 0, 1, -1, 0, 25)
    ends = (own[0], theirs[0], own[25], theirs[25], 0, 0, 0, 0)
    return ":".join(map(str, ("board", *fields, *ends)))


def _checkers(game: Backgammon, state: State, player: int) -> tuple[tuple[int, ...], ...]:
    return game.checkers(state, player), game.checkers(state, 3 - player)


def after_steps(
    game: Backgammon, state: State, text: str
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the checkers of the player to move and of the opponent after a move of a whole turn.

    They are by distances, as in `Backgammon.checkers`. None if the text is no such move.
    """
    own, theirs = Counter[int](), Counter[int]()
    for row, counts in zip((own, theirs), _checkers(game, state, state[0]), strict=True):
        row.update(dict(enumerate(counts)))
    for word in text.split():
        step = _STEP.fullmatch(word)
        if not step:
            return None
        names = step[1].replace("*", "").split("/")
        places = [_NAMED[each] if each in _NAMED else int(each) for each in names]
        own[places[0]] -= int(step[2] or 1)
        own[places[-1]] += int(step[2] or 1)
        for goal in places[1:]:
            if 0 < goal < 25 and theirs[25 - goal] == 1:
                theirs[25 - goal] -= 1
                theirs[25] += 1
    return tuple(own[at] for at in range(26)), tuple(theirs[at] for at in range(26))


def turns_of(position: Position) -> Iterator[tuple[int, State, int | None]]:
    """Yield each way to play a turn: the first move, the position after all, the second move."""
    game, state = position.game, position.state
    for first in position.legal_actions:
        after = game.next_state(state, first)
        if after[0] != state[0] or game.winner(after):
            yield first, after, None
            continue
        for second in game.legal_actions(after):
            yield first, game.next_state(after, second), second
