"""Games and messages as the original system writes them in JSON, both ways.

The original system is boardgame-socketserver and boardgame-socketplayer, from which Playout
descends. `OriginalRules` translate the states and actions of a game; `position_fields` and
`result_fields` make the messages to a client, `answer_of` reads its answers.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeGuard

from playout import games
from playout.commands.text import beginning
from playout.games import TIE, Game, IllegalAction, Position, State
from playout.games.core import plugins
from playout.games.core import spec as specs
from playout.games.core.plugins import ORIGINAL_BOARDS
from playout.games.original import Original
from playout.protocol.messages import Analysis

Json = dict[str, Any]

_BOARDS = "original"
#: Maximum number of characters of an action in an error.
_MOST_SHOWN = 200


class UnknownAction(ValueError):
    """Raised for JSON that is no action of the game."""


class OriginalRules(ABC):
    """One game: `name` is that of the original system."""

    name: str
    game: Game

    @abstractmethod
    def state_json(self, state: State, previous: int) -> Json:
        """Return a state; `previous` is the player who moved last."""

    @abstractmethod
    def action_json(self, state: State, action: int) -> object | None:
        """Return an action; None for a pass, which the original system does not have."""

    @abstractmethod
    def action_of(self, state: State, message: object) -> int:
        """Return the legal action that JSON names. Raises UnknownAction and IllegalAction."""

    def points(self, state: State) -> dict[str, float]:
        """Return the points of a final state, by player: those of the result."""
        return win_values(self.game.winner(state))


def win_values(winner: int) -> dict[str, float]:
    """Return the field `winners` for a winner, 1 or 2, or a tie."""
    if winner == TIE:
        return {"1": 0.5, "2": 0.5}
    return {str(player): int(player == winner) for player in (1, 2)}


class NativeRules(OriginalRules):
    """A game that is also one of Playout."""

    #: The name of the game in Playout.
    spec: ClassVar[str]
    #: The keys of an action, each with its values.
    keys: ClassVar[Mapping[str, Sequence[Any]]]

    def __init__(self) -> None:
        self.game = games.load(self.spec)

    @abstractmethod
    def parts(self, state: State) -> Json:
        """Return the fields of a state besides the two players."""

    @abstractmethod
    def number(self, values: tuple[Any, ...]) -> int:
        """Return the action of Playout for the values of `keys`, in that order."""

    @abstractmethod
    def values(self, state: State, action: int) -> tuple[Any, ...] | None:
        """Return the values of `keys` for an action of Playout; None for a pass."""

    def state_json(self, state: State, previous: int) -> Json:
        return {**self.parts(state), "player": state[0], "previous_player": previous}

    def action_json(self, state: State, action: int) -> Json | None:
        values = self.values(state, action)
        return None if values is None else dict(zip(self.keys, values, strict=True))

    def action_of(self, state: State, message: object) -> int:
        if not isinstance(message, dict):
            raise UnknownAction(self._expected())
        values = tuple(message.get(key) for key in self.keys)
        for value, allowed in zip(values, self.keys.values(), strict=True):
            if type(value) is not type(allowed[0]) or value not in allowed:
                raise UnknownAction(self._expected())
        action = self.number(values)
        if action not in self.game.legal_actions(state):
            raise IllegalAction(f"{message} is not legal")
        return action

    def _expected(self) -> str:
        wanted = ", ".join(
            f"{key} from {each[0]} to {each[-1]}"
            if isinstance(each, range)
            else f"{key} {' or '.join(each)}"
            for key, each in self.keys.items()
        )
        return f"an action of {self.name} is an object with {wanted}"


class OriginalConnectFour(NativeRules):
    """Discs that fall: row 0 is the lowest."""

    name, spec = "connect_four", "connect_four"
    keys: ClassVar = {"column": range(7)}

    def parts(self, state: State) -> Json:
        cells = state[2:]
        discs = [
            {"type": "disc", "player": cells[(5 - row) * 7 + column], "row": row, "column": column}
            for column in range(7)
            for row in range(6)
        ]
        return {"pieces": [disc for disc in discs if disc["player"]]}

    def number(self, values: tuple[Any, ...]) -> int:
        return int(values[0])

    def values(self, state: State, action: int) -> tuple[Any, ...] | None:
        return (action,)


class OriginalReversi(NativeRules):
    """Othello; it skips a player who cannot move, without a pass."""

    name, spec = "reversi", "othello"
    keys: ClassVar = {"row": range(8), "column": range(8)}

    def parts(self, state: State) -> Json:
        discs = [
            {"type": "disc", "player": owner, "row": cell // 8, "column": cell % 8}
            for cell, owner in enumerate(state[2:])
            if owner
        ]
        return {"pieces": discs}

    def number(self, values: tuple[Any, ...]) -> int:
        return int(8 * values[0] + values[1])

    def values(self, state: State, action: int) -> tuple[Any, ...] | None:
        return None if action == 64 else divmod(action, 8)

    def points(self, state: State) -> dict[str, float]:
        return {str(player): state[2:].count(player) for player in (1, 2)}


class OriginalT3(NativeRules):
    """Ultimate tic-tac-toe: an outer board of nine inner boards."""

    name, spec = "t3", "ultimate_tic_tac_toe"
    keys: ClassVar = dict.fromkeys(
        ("outer-row", "outer-column", "inner-row", "inner-column"), range(3)
    )

    def parts(self, state: State) -> Json:
        cells, forced = state[2:83], state[83]
        owners = self.game.view(state).blocks
        pieces = [
            {"player": owner, "type": "XO"[owner - 1]}
            | dict(zip(self.keys, self._place(action), strict=True))
            for action, owner in enumerate(cells)
            if owner
        ]
        outer = divmod(forced, 3) if forced < 9 else (None, None)
        return {
            "pieces": pieces,
            "boards": [
                {"player": owner or None, "type": kind, "outer-row": row, "outer-column": column}
                for row in range(3)
                for column in range(3)
                for owner, kind in self._finished(state, 3 * row + column, owners)
            ],
            "constraint": {"outer-row": outer[0], "outer-column": outer[1]},
        }

    def number(self, values: tuple[Any, ...]) -> int:
        outer_row, outer_column, inner_row, inner_column = values
        return int(9 * (3 * outer_row + outer_column) + 3 * inner_row + inner_column)

    def values(self, state: State, action: int) -> tuple[Any, ...] | None:
        return self._place(action)

    def points(self, state: State) -> dict[str, float]:
        winner = self.game.winner(state)
        return {"1": 0, "2": 0} if winner == TIE else {str(winner): 1, str(3 - winner): -1}

    def _place(self, action: int) -> tuple[int, ...]:
        outer, inner = divmod(action, 9)
        return (*divmod(outer, 3), *divmod(inner, 3))

    def _finished(self, state: State, board: int, owners: tuple[int, ...]) -> list[tuple[int, str]]:
        """Return the owner and the type of a finished board, in a list; empty for others."""
        if owner := owners[board]:
            return [(owner, "XO"[owner - 1])]
        full = all(state[2 + 9 * board : 11 + 9 * board])
        return [(0, "full")] if full else []


class OriginalChong(NativeRules):
    """Chong: cells row by row, as Playout numbers them; the first player begins in row 0."""

    name, spec = "chong", "chong"
    keys: ClassVar = {"type": ("pawn", "stone"), "row": range(8), "column": range(8)}
    cells = 64
    #: The stones of each player.
    stones = (6, 7)

    def parts(self, state: State) -> Json:
        cells = state[2 : 2 + self.cells]
        pieces = [
            {
                "type": "stone" if piece < 3 else "pawn",
                "player": piece if piece < 3 else piece - 2,
                "row": cell // 8,
                "column": cell % 8,
            }
            for cell, piece in enumerate(cells)
            if piece
        ]
        left = [
            {"type": "stone", "player": player, "quantity": most - cells.count(player)}
            for player, most in enumerate(self.stones, start=1)
        ]
        return {"pieces": pieces, "unplaced": left, "visit_number": self._visits(state)}

    def number(self, values: tuple[Any, ...]) -> int:
        kind, row, column = values
        return (self.cells if kind == "stone" else 0) + int(8 * row + column)

    def values(self, state: State, action: int) -> tuple[Any, ...] | None:
        return ("stone" if action >= self.cells else "pawn", *divmod(action % self.cells, 8))

    def points(self, state: State) -> dict[str, float]:
        # The distance of the loser's pawn from its goal, or 16 if the loser cannot move.
        winner = self.game.winner(state)
        if winner == TIE:
            return {"1": 0, "2": 0}
        rows = [(state.index(piece, 2) - 2) // 8 for piece in (3, 4)]
        ways = (rows[0], 7 - rows[1])
        points = 7 - ways[2 - winner] if ways[winner - 1] == 7 else 16
        return {str(winner): points, str(3 - winner): -points}

    def _visits(self, state: State) -> int:
        """Return how often the position has occurred, including this time."""
        first, second = (state.index(piece, 2) - 2 for piece in (3, 4))
        earlier = [each for each in state[2 + self.cells :] if each]
        return 1 + earlier[-2::-2].count(self.cells * first + second)


#: The games of the original system that are also games of Playout.
RULES: Mapping[str, type[NativeRules]] = {
    each.name: each for each in (OriginalConnectFour, OriginalReversi, OriginalT3, OriginalChong)
}


class BoardRules(OriginalRules):
    """A game of the original system, by its own Board."""

    def __init__(self, game: Original) -> None:
        self.game = self._board = game
        self.name = game.board_name

    def state_json(self, state: State, previous: int) -> Json:
        return self._board.state_json(state)

    def action_json(self, state: State, action: int) -> object:
        return self._board.action_json(state, action)

    def action_of(self, state: State, message: object) -> int:
        return self._board.action_of(state, message)

    def points(self, state: State) -> dict[str, float]:
        return self._board.points(state)


def rules_named(name: str) -> OriginalRules:
    """Return the rules of a game: `original(board=...)`, or one in RULES, by either of its names.

    Raises SpecError.
    """
    by_name = {**RULES, **{each.spec: each for each in RULES.values()}}
    if specs.parse(name).name == _BOARDS:
        game = games.load(name)
        assert isinstance(game, Original)
        return BoardRules(game)
    if name not in by_name:
        known = [
            *by_name,
            *(f"{_BOARDS}(board={each})" for each in plugins.outside(ORIGINAL_BOARDS)),
        ]
        raise specs.unknown("game of the original system", name, known)
    return by_name[name]()


# Messages.


class ClientFault(ValueError):
    """Raised for a line of a client that violates the protocol; the message says how."""


class IllegalMessage(ClientFault):
    """Raised for an action that the rules forbid: `action` is what the client sent."""

    def __init__(self, action: object) -> None:
        super().__init__(f"the action {beginning(json.dumps(action), _MOST_SHOWN)} is illegal")
        self.action = action


def message(kind: str, **fields: object) -> str:
    """Return a message as a line of JSON, without its end.

    A question mark replaces half of a surrogate pair, which an answer that is repeated may contain.
    """
    text = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return text.encode(errors="replace").decode()


def position_fields(rules: OriginalRules, position: Position) -> Json:
    """Return the fields of an update, with the last move other than a pass."""
    state = position.state
    played = [
        (before[0], action)
        for before, move in zip(position.states, position.moves, strict=False)
        if (action := rules.action_json(before, move)) is not None
    ]
    mover, action = played[-1] if played else (3 - state[0], None)
    fields: Json = {"board": None, "state": rules.state_json(state, mover)}
    if action is not None:
        sequence = len(played) + 1  # the number of positions so far
        fields["last_action"] = {"player": mover, "action": action, "sequence": sequence}
    return fields


def result_fields(rules: OriginalRules, state: State, winner: int) -> Json:
    """Return the further fields of the last update: `winner` is 1 or 2, or -1 for a tie."""
    values = win_values(winner)
    by_rules = rules.game.winner(state)
    return {"winners": values, "points": rules.points(state) if by_rules else values}


def answer_of(rules: OriginalRules, state: State, line: str | bytes) -> tuple[int, Analysis | None]:
    """Return the legal action that a client answers, and its analysis. Raises ClientFault."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ClientFault("expected a line of JSON") from error
    if not isinstance(said, dict) or said.get("type") != "action":
        raise ClientFault('expected {"type": "action", "message": ...}')
    try:
        action = rules.action_of(state, said.get("message"))
    except UnknownAction as error:
        raise ClientFault(f"expected {error}") from error
    except IllegalAction as error:
        raise IllegalMessage(said["message"]) from error
    return action, _analysis(said.get("extras"))


def _analysis(extras: object) -> Analysis | None:
    """Return the playouts, depth and win rate of an original search."""
    if not isinstance(extras, dict):
        return None
    playouts, depth, actions = (extras.get(key) for key in ("games", "max_depth", "actions"))
    best = actions[0] if isinstance(actions, list) and actions else None
    percent = best.get("percent") if isinstance(best, dict) else None
    known = Analysis(
        simulations=playouts if _is_count(playouts) else None,
        depth=depth if _is_count(depth) else None,
        win_rate=percent / 100 if _is_percentage(percent) else None,
    )
    return known if known != Analysis() else None


def _is_percentage(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value <= 100  # type: ignore[operator]


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**31
