"""A client of the Chess Engine Communication Protocol, version 2, which XBoard and WinBoard use.

Engines announce their features after `protover 2`. Between two moves of the engine it is in the
mode `force`, in which it takes moves of both players; `go` lets it move.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable

from playout.games import Game, Position, State
from playout.players.core.player import Info, Limit, PlayResult, Resigned
from playout.players.engines.client import (
    EngineClient,
    clock_of,
    is_short,
    move_deadline,
    win_rate,
)
from playout.players.engines.config import EngineConfig
from playout.players.engines.uci_games import uci_game

_FEATURE = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')
_MOVE = re.compile(r"(?:move|My move is ?:) +(\S+)")
#: A line of a search: depth, hundredths of a pawn, hundredths of a second, nodes.
_THOUGHT = re.compile(r"\s*(\d+)\S*\s+([+-]?\d+)\s+\d+\s+(\d+)\s")
_REFUSAL = re.compile(r"(?:Illegal move|Error)\b.*")
#: The features behind options that are commands.
_COMMANDS = {"memory": "memory", "cores": "smp"}


class XboardClient(EngineClient):
    """Plays chess with an XBoard engine."""

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Raises ValueError for a game other than chess."""
        self._moves = uci_game(game)
        if self._moves.variant != "chess":
            raise ValueError(f"XBoard engines play chess, not {game}")
        self._features: dict[str, str] = {}
        self._options: list[str] = []
        #: The number of the last ping, and the moves that the engine knows; None if uncertain.
        self._pings = 0
        self._told: tuple[int, ...] | None = None
        self._is_thinking = self._has_time_control = self._has_played = False
        super().__init__(config, game, cancelled)

    def _start(self, deadline: float) -> None:
        self.process.send("xboard")
        self.process.send("protover 2")
        while self._features.get("done") != "1":
            line = self.process.line(deadline)
            for name, quoted, bare in _FEATURE.findall(line) if "feature " in line else ():
                self._announced(name, quoted or bare)
        self.title = self._features.get("myname", "") or self.config.name
        for name, value in self.config.options.items():
            self.process.send(self._option(name, value))
        self.process.send("easy")  # does not think on the opponent's time
        self.process.send("post")

    def _announced(self, name: str, value: str) -> None:
        """Note a feature, and accept it."""
        if name == "option":
            self._options.append(value.partition(" -")[0])
        else:
            self._features[name] = value
        self.process.send(f"accepted {name}")

    def _option(self, name: str, value: object) -> str:
        """Return the command that sets an option. Raises EngineError for an unknown one."""
        known = [key for key, feature in _COMMANDS.items() if self._features.get(feature) == "1"]
        if name in known:
            return f"{name} {value}"
        if name not in self._options:
            raise self.unknown("option", name, [*known, *self._options])
        return f"option {name}={int(value) if isinstance(value, bool) else value}"

    def describe(self) -> Iterable[str]:
        yield f"features: {' '.join(f'{key}={value}' for key, value in self._features.items())}"
        yield f"options: {', '.join(self._options)}"

    def _new_match(self, deadline: float) -> None:
        if self._has_played and self._features.get("reuse") == "0":
            raise self.process.fault("plays one match only (reuse=0)")
        self._set_up(deadline)

    def _set_up(self, deadline: float) -> None:
        """Set the first position."""
        self._told, self._has_time_control = None, False
        self.process.send("new")
        self.process.send("force")
        if self._moves.first.startswith("fen "):
            self.process.send(f"setboard {self._moves.first.removeprefix('fen ')}")
        self._wait_until_ready(deadline)
        self._told = ()

    def settle(self, deadline: float) -> None:
        if self._is_thinking:
            self.process.send("?")  # move now
            self._answer(deadline)

    def choose(self, position: Position, limit: Limit) -> PlayResult:
        if self._told is None or position.moves[: len(self._told)] != self._told:
            self._set_up(self.ping_deadline())
        told, self._told, self._has_played = self._told or (), None, True
        names = self._moves.names(position.states, position.moves)
        self.process.send("force")
        for name in names[len(told) :]:
            self.process.send(f"usermove {name}" if self._features.get("usermove") == "1" else name)
        self._wait_until_ready(self.ping_deadline())
        self._tell_time(self.time.left(limit), position.to_move)
        self.process.send("go")
        self._is_thinking = True
        named, info = self._answer(move_deadline(limit, position.to_move))
        action = self.require_legal(self._action(position, named), position, named)
        self._told = (*position.moves, action)
        return PlayResult(action, info)

    def _action(self, position: Position, name: str) -> int | None:
        """Return the legal action of a name, as e1g1 or as O-O; None if there is none."""
        state = position.state
        if found := self._moves.actions(state, name):
            return found[0]
        names = {self._in_pgn(state, each): each for each in self.game.legal_actions(state)}
        return names.get(name)

    def _in_pgn(self, state: State, action: int) -> str:
        """Return the name of an action in PGN, without the signs of check and mate."""
        return self.game.action_name(state, action).rstrip("+#")

    def _tell_time(self, limit: Limit, seat: int) -> None:
        """Tell the engine the time control, and both clocks in main time."""
        if is_short(limit, self.config) and self.config.short:
            for key, value in self.config.short.items():
                self.process.send(f"{key} {value}")
            return
        clock = clock_of(limit)
        if clock is None:
            return
        if not clock.left[seat - 1].main_s:
            self.process.send(f"st {max(1, int(limit.seconds or 1))}")
            return
        if not self._has_time_control:
            minutes, seconds = divmod(int(clock.start.main_s), 60)
            self.process.send(f"level 0 {minutes}:{seconds:02} {int(clock.increment_s)}")
            self._has_time_control = True
        for command, each in (("time", seat), ("otim", 3 - seat)):
            left_s = clock.left[each - 1].main_s - clock.overhead_s
            self.process.send(f"{command} {max(1, int(100 * left_s))}")

    def _wait_until_ready(self, deadline: float) -> None:
        """Wait until the engine has handled all commands, if it has the feature ping."""
        if self._features.get("ping") == "1":
            self._pings += 1
            self.process.send(f"ping {self._pings}")
            while self._line(deadline) != f"pong {self._pings}":
                pass

    def _answer(self, deadline: float) -> tuple[str, Info | None]:
        """Return the name of the engine's move, and its analysis. Raises Resigned."""
        info = None
        while not (found := _MOVE.match(line := self._line(deadline))):
            if thought := _THOUGHT.match(line):
                depth, score, nodes = map(int, thought.groups())
                info = Info(simulations=nodes, depth=depth, win_rate=win_rate(score))
            if line == "resign":
                self._is_thinking = False
                raise Resigned
        self._is_thinking = False
        return found[1], info

    def _line(self, deadline: float) -> str:
        """Return the next line. Raises EngineError for one that refuses a command."""
        line = self.process.line(deadline).strip()
        if _REFUSAL.match(line):
            raise self.process.fault(f"has answered {line[:100]!r}")
        return line
