"""Games written to the interface of the original system's `Board`, without any code of Playout.

A history is a list of states; `next_state` and the methods after it take one. States here are
(cells, player to move, constraint).
"""

from __future__ import annotations

from itertools import product
from typing import Any

Json = dict[str, Any]
State = tuple[tuple[int, ...], int, Any]
History = list[State]
Action = tuple[int, ...]

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
WAYS = [way for way in product((-1, 0, 1), repeat=2) if any(way)]


class OriginalBoard:
    """The common parts of the boards."""

    keys: tuple[str, ...]

    def current_player(self, state: State) -> int:
        return state[1]

    def to_json_action(self, action: Action) -> Json:
        return dict(zip(self.keys, action, strict=True))

    def to_compact_action(self, data: Json) -> Action:
        assert set(data) == set(self.keys)
        return tuple(data[key] for key in self.keys)

    def winner(self, history: History) -> int:
        """Return 1, 2, 3 for a tie, or 0."""
        raise NotImplementedError

    def is_ended(self, history: History) -> bool:
        return self.winner(history) != 0

    def win_values(self, history: History) -> dict[str, float] | None:
        winner = self.winner(history)
        if winner == 3:
            return {"1": 0.5, "2": 0.5}
        return {str(winner): 1, str(3 - winner): 0} if winner else None

    def points_values(self, history: History) -> dict[str, float] | None:
        return self.win_values(history)


class FourBoard(OriginalBoard):
    """Connect Four; cell 7 * row + column, row 0 below."""

    keys = ("column",)

    def starting_state(self) -> State:
        return ((0,) * 42, 1, None)

    def to_compact_state(self, data: Json) -> State:
        cells = [0] * 42
        for piece in data["pieces"]:
            assert piece["type"] == "disc"
            cells[7 * piece["row"] + piece["column"]] = piece["player"]
        return (tuple(cells), data["player"], None)

    def legal_actions(self, history: History) -> list[Action]:
        return [(column,) for column in range(7) if history[-1][0][35 + column] == 0]

    def next_state(self, history: History, action: Action) -> State:
        cells, player, _ = history[-1]
        (column,) = action
        place = next(p for p in range(column, 42, 7) if cells[p] == 0)
        return ((*cells[:place], player, *cells[place + 1 :]), 3 - player, None)

    def winner(self, history: History) -> int:
        cells = history[-1][0]
        for row, column in product(range(6), range(7)):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + i * down, column + i * right) for i in range(4)]
                if all(r < 6 and 0 <= c < 7 for r, c in line):
                    owners = {cells[7 * r + c] for r, c in line}
                    if len(owners) == 1 and (owner := owners.pop()):
                        return owner
        return 0 if 0 in cells else 3


class ReversiBoard(OriginalBoard):
    """Othello without passes: a player without a legal move is left out."""

    keys = ("row", "column")

    def starting_state(self) -> State:
        cells = [0] * 64
        cells[27] = cells[36] = 2
        cells[28] = cells[35] = 1
        return (tuple(cells), 1, None)

    def to_compact_state(self, data: Json) -> State:
        cells = [0] * 64
        for piece in data["pieces"]:
            assert piece["type"] == "disc"
            cells[8 * piece["row"] + piece["column"]] = piece["player"]
        return (tuple(cells), data["player"], None)

    def legal_actions(self, history: History) -> list[Action]:
        cells, player, _ = history[-1]
        return self._moves(cells, player)

    def next_state(self, history: History, action: Action) -> State:
        cells, player, _ = history[-1]
        turned = [8 * action[0] + action[1], *self._flips(cells, player, action)]
        after = tuple(player if place in turned else owner for place, owner in enumerate(cells))
        return (after, 3 - player if self._moves(after, 3 - player) else player, None)

    def winner(self, history: History) -> int:
        cells = history[-1][0]
        if self._moves(cells, 1) or self._moves(cells, 2):
            return 0
        difference = cells.count(1) - cells.count(2)
        return 3 if difference == 0 else 1 if difference > 0 else 2

    def points_values(self, history: History) -> dict[str, float] | None:
        cells = history[-1][0]
        return {"1": cells.count(1), "2": cells.count(2)} if self.is_ended(history) else None

    def _moves(self, cells: tuple[int, ...], player: int) -> list[Action]:
        free = [divmod(place, 8) for place in range(64) if cells[place] == 0]
        return [place for place in free if self._flips(cells, player, place)]

    def _flips(self, cells: tuple[int, ...], player: int, action: Action) -> list[int]:
        found = []
        for down, right in WAYS:
            run, (row, column) = list[int](), (action[0] + down, action[1] + right)
            while 0 <= row < 8 and 0 <= column < 8 and cells[8 * row + column] == 3 - player:
                run.append(8 * row + column)
                row, column = row + down, column + right
            if 0 <= row < 8 and 0 <= column < 8 and cells[8 * row + column] == player:
                found += run
        return found


class T3Board(OriginalBoard):
    """Ultimate tic-tac-toe; cell 9 * board + place, and the board to play on or None."""

    keys = ("outer-row", "outer-column", "inner-row", "inner-column")

    def starting_state(self) -> State:
        return ((0,) * 81, 1, None)

    def to_compact_state(self, data: Json) -> State:
        cells = [0] * 81
        for piece in data["pieces"]:
            assert piece["type"] == "XO"[piece["player"] - 1]
            cells[self._place(tuple(piece[key] for key in self.keys))] = piece["player"]
        row, column = (data["constraint"][key] for key in self.keys[:2])
        state = (tuple(cells), data["player"], None if row is None else 3 * row + column)
        told = {3 * each["outer-row"] + each["outer-column"]: each for each in data["boards"]}
        for board in range(9):
            owner = self._owner(state[0], board)
            assert (board in told) == (owner != 0)
            if owner:
                player, kind = (None, "full") if owner == 3 else (owner, "XO"[owner - 1])
                assert (told[board]["player"], told[board]["type"]) == (player, kind)
        return state

    def legal_actions(self, history: History) -> list[Action]:
        cells, _, forced = history[-1]
        boards = range(9) if forced is None else (forced,)
        return [
            (*divmod(board, 3), *divmod(place, 3))
            for board in boards
            if not self._owner(cells, board)
            for place in range(9)
            if cells[9 * board + place] == 0
        ]

    def next_state(self, history: History, action: Action) -> State:
        cells, player, _ = history[-1]
        place = self._place(action)
        after = (*cells[:place], player, *cells[place + 1 :])
        target = 3 * action[2] + action[3]
        return (after, 3 - player, None if self._owner(after, target) else target)

    def winner(self, history: History) -> int:
        cells = history[-1][0]
        owners = [self._owner(cells, board) for board in range(9)]
        for player in (1, 2):
            if any(all(owners[board] == player for board in line) for line in LINES):
                return player
        return 3 if all(owners) else 0

    def points_values(self, history: History) -> dict[str, float] | None:
        winner = self.winner(history)
        if winner == 3:
            return {"1": 0, "2": 0}
        return {str(winner): 1, str(3 - winner): -1} if winner else None

    def _place(self, action: Action) -> int:
        return 9 * (3 * action[0] + action[1]) + 3 * action[2] + action[3]

    def _owner(self, cells: tuple[int, ...], board: int) -> int:
        """Return 1 or 2 for its winner, 3 if it is full, or 0."""
        inner = cells[9 * board : 9 * board + 9]
        for player in (1, 2):
            if any(all(inner[place] == player for place in line) for line in LINES):
                return player
        return 0 if 0 in inner else 3


class ChongBoard:
    """Chong: a race of pawns, which step, or jump over stones of their colour.

    A state is (cell of pawn 1, of pawn 2, stones of 1, stones of 2, player to move, visits).
    """

    num_players = 2
    stones = (6, 7)

    def starting_state(self) -> Any:
        return (3, 60, (), (), 1, 1)

    def current_player(self, state: Any) -> int:
        return state[4]

    def previous_player(self, state: Any) -> int:
        return 3 - state[4]

    def legal_actions(self, history: list[Any]) -> list[Any]:
        *_, player, _ = state = history[-1]
        taken, own = {state[0], state[1], *state[2], *state[3]}, state[1 + player]
        row, column = divmod(state[player - 1], 8)
        found = []
        for down, right in WAYS:
            near, far = (row + down, column + right), (row + 2 * down, column + 2 * right)
            if not (down and right) and self._is_free(near, taken):
                found.append((*near, False))
            if self._is_free(far, taken) and 8 * near[0] + near[1] in own:
                found.append((*far, False))
        if len(own) < self.stones[player - 1]:
            found += [(*divmod(c, 8), True) for c in range(8, 56) if c not in taken]
        return found

    def next_state(self, history: list[Any], action: Any) -> Any:
        row, column, is_stone = action
        after, player = list(history[-1]), history[-1][4]
        if is_stone:
            after[1 + player] = tuple(sorted((*after[1 + player], 8 * row + column)))
        else:
            after[player - 1] = 8 * row + column
        after[4] = 3 - player
        after[5] = 1 + sum(tuple(after[:5]) == each[:5] for each in history)
        return tuple(after)

    def is_ended(self, history: list[Any]) -> bool:
        state = history[-1]
        return state[0] > 55 or state[1] < 8 or state[5] > 2 or not self.legal_actions(history)

    def win_values(self, history: list[Any]) -> dict[int, float] | None:
        state = history[-1]
        if not self.is_ended(history):
            return None
        if state[0] > 55 or state[1] < 8:
            return {1: int(state[0] > 55), 2: int(state[1] < 8)}
        if not self.legal_actions(history):
            return {state[4]: 0, 3 - state[4]: 1}
        return {1: 0.5, 2: 0.5}

    def points_values(self, history: list[Any]) -> dict[int, float] | None:
        values = self.win_values(history)
        if values is None or values[1] == 0.5:
            return values and {1: 0, 2: 0}
        one, two = (cell // 8 for cell in history[-1][:2])
        won = two if one == 7 else 7 - one if two == 0 else 16
        return {1: won, 2: -won} if values[1] else {1: -won, 2: won}

    def to_json_state(self, state: Any) -> Json:
        kinds = (("pawn", 1, state[:1]), ("pawn", 2, state[1:2]), ("stone", 1, state[2]))
        pieces = [
            {"type": kind, "player": player, "row": cell // 8, "column": cell % 8}
            for kind, player, cells in (*kinds, ("stone", 2, state[3]))
            for cell in cells
        ]
        left = [
            {"type": "stone", "player": player, "quantity": most - len(state[1 + player])}
            for player, most in enumerate(self.stones, start=1)
        ]
        players = {"player": state[4], "previous_player": 3 - state[4]}
        return {"pieces": pieces, "unplaced": left, "visit_number": state[5], **players}

    def to_compact_state(self, data: Json) -> Any:
        cells: dict[Any, list[int]] = {}
        for each in data["pieces"]:
            cell = 8 * each["row"] + each["column"]
            cells.setdefault((each["type"], each["player"]), []).append(cell)
        (one,), (two,) = cells["pawn", 1], cells["pawn", 2]
        stones = (tuple(sorted(cells.get(("stone", player), ()))) for player in (1, 2))
        return (one, two, *stones, data["player"], data["visit_number"])

    def to_json_action(self, action: Any) -> Json:
        return {"type": "stone" if action[2] else "pawn", "row": action[0], "column": action[1]}

    def to_compact_action(self, action: Json) -> Any:
        return (action["row"], action["column"], action["type"] == "stone")

    def to_notation(self, action: Any) -> str:
        return f"{'' if action[2] else 'P'}{'abcdefgh'[action[1]]}{action[0]}"

    def display(self, state: Json, action: Json) -> str:
        drawn = [["."] * 8 for _ in range(8)]
        for each in state["pieces"]:
            symbols = "xo" if each["type"] == "stone" else "XO"
            drawn[each["row"]][each["column"]] = symbols[each["player"] - 1]
        rows = [f"{row} {' '.join(cells)}" for row, cells in enumerate(drawn)]
        played = f"Played: {self.to_notation(self.to_compact_action(action))}" if action else ""
        return "\n".join(["  a b c d e f g h", *rows, played, f"Player {state['player']} to move."])

    def _is_free(self, place: tuple[int, int], taken: set[int]) -> bool:
        return all(0 <= each < 8 for each in place) and 8 * place[0] + place[1] not in taken


class CountdownBoard:
    """Take one or two of seven; the player that takes the last wins. It has no optional methods."""

    def starting_state(self) -> Any:
        return [7, 1]

    def current_player(self, state: Any) -> int:
        return state[1]

    def legal_actions(self, state: Any) -> Any:
        return range(1, 1 + min(2, state[0]))

    def next_state(self, state: Any, action: int) -> Any:
        return [state[0] - action, 3 - state[1]]

    def winner(self, state: Any) -> int:
        return 0 if state[0] else 3 - state[1]

    def to_json_state(self, state: Any) -> Json:
        return {"left": state[0], "player": state[1]}

    def to_json_action(self, action: int) -> int:
        return action


BOARDS: dict[str, type[Any]] = {
    "connect_four": FourBoard,
    "reversi": ReversiBoard,
    "t3": T3Board,
    "chong": ChongBoard,
}
#: The boards of games that Playout has, too.
NATIVE = ("connect_four", "reversi", "t3", "chong")
