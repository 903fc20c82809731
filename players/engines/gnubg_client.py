"""GNU Backgammon, by its protocol for external players: boards of FIBS over a local socket.

The program is a process of its own; it is told to listen on a socket in a new folder. A board has
the score and the cube, and the dice of the player to move; the answer is a decision about the cube
or the move of a whole turn. At a double, whose halves are two moves here, the second half is that
of the same answer. If the match continues at a second half, the program evaluates the position
after each move instead. It also evaluates the position after its move, as its analysis.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

from playout.commands.text import beginning
from playout.games import Game, IllegalAction, Position, SpecError, State
from playout.games.backgammon import AFTER_CRAWFORD, DOUBLE, TAKE, Backgammon
from playout.players.core.player import Cancelled, Info, Limit, PlayResult
from playout.players.engines.client import EngineClient, move_deadline, shown
from playout.players.engines.config import EngineConfig
from playout.players.engines.process import EngineProcess

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
        if not isinstance(game, Backgammon):
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
        if self._backgammon.points > 1:
            self._require_order_of_scores(deadline)

    def _require_order_of_scores(self, deadline: float) -> None:
        """Raise EngineError if the program reads scores in another order than version 1.07."""
        game = self._backgammon
        state = game.next_state(game.initial_state(), 0)  # player 1 is to move
        ahead = (*state[:35], game.points - 1, 0, *state[37:])
        if self._chance(ahead, 1, deadline) < 0.5:
            raise self.process.fault(
                "reads the score of a match in another order than version 1.07: use that version, "
                "or play backgammon of one point"
            )

    def _new_match(self, deadline: float) -> None:
        self._planned = None

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self.process.line(deadline)
            self._is_thinking = False

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        state = position.state
        deadline = move_deadline(limit, position.to_move)
        if self._planned and self._planned[0] == state:
            actions: tuple[int, ...] = (self._planned[1],)
        elif state[5]:
            actions = (self._second_half(position, deadline),)
        else:
            answer = self._asked(fibs_board(self._backgammon, state), deadline)
            try:
                actions = self._backgammon.parse_turn(state, answer)
            except IllegalAction:
                raise self.illegal(position, answer) from None
        after = self.game.next_state(state, actions[0])
        if len(actions) > 1:
            self._planned = after, actions[1]
            after = self.game.next_state(after, actions[1])
        # After a double, the position before it tells more: the opponent may drop.
        evaluated = state if actions[0] == DOUBLE else after
        if self._is_over(evaluated):
            return PlayResult(actions[0])
        chance = self._chance(evaluated, position.to_move, deadline)
        return PlayResult(actions[0], Info(win_rate=chance, pv=actions))

    def _second_half(self, position: Position, deadline: float) -> int:
        """Return the move with the greatest chance to win after it."""
        best, greatest = position.legal_actions[0], -1.0
        for action in position.legal_actions:
            after = self.game.next_state(position.state, action)
            if self._is_over(after):
                return action
            chance = self._chance(after, position.to_move, deadline)
            if chance > greatest:
                best, greatest = action, chance
        return best

    def _is_over(self, state: State) -> bool:
        """Return whether the match or one of its games has ended."""
        return self.game.winner(state) != 0 or self._backgammon.begins(state)

    def _chance(self, state: State, player: int, deadline: float) -> float:
        """Return a player's chance to win the match, by the program without looking ahead."""
        board = fibs_board(self._backgammon, state)
        answer = self._asked(f"evaluation fibsboard {board} PLIES 0 CUBE ON", deadline)
        with contextlib.suppress(IndexError, ValueError):
            chance = float(answer.split()[5])
            if 0 <= chance <= 1:
                return chance if player == state[2] else 1 - chance
        raise self.process.fault(f"has answered {shown(answer)}: no evaluation")

    def _asked(self, line: str, deadline: float) -> str:
        self.process.send(line)
        self._is_thinking = True
        answer = self.process.line(deadline)
        self._is_thinking = False
        return answer.strip()


def fibs_board(game: Backgammon, state: State) -> str:
    """Return a position as FIBS does, for the player who moves, rolls or has doubled.

    The program reads the opponent's score first, except on the board of a double.
    """
    player = state[2]
    own, theirs = game.checkers(state, player), game.checkers(state, 3 - player)
    points = [-theirs[25], *(own[at] - theirs[25 - at] for at in range(1, 25)), own[25]]
    is_doubled = TAKE in game.legal_actions(state)
    cube, owner, part = state[37:40] if game.points > 1 else (1, 0, 0)
    scores = game.scores(state)
    if (player == 1) != is_doubled:
        scores = scores[::-1]
    may_double = [int(owner in (0, each)) for each in (player, 3 - player)]
    dice = (state[3], state[4], 0, 0)
    # The turn of the player with positive numbers, who moves downward.
    fields = ("You", "Opponent", game.points, *scores, *points, 1, *dice, cube, *may_double)
    ways = (int(is_doubled), 1, -1, 0, 25)
    ends = (own[0], theirs[0], own[25], theirs[25], 0, 0, int(part == AFTER_CRAWFORD), 0)
    return ":".join(map(str, ("board", *fields, *ways, *ends)))
