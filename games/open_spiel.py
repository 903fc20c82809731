"""Games of OpenSpiel: for two players, in turns, without chance or hidden information.

The rules, the names of actions and their numbers are OpenSpiel's. The package is optional: it is
imported when the first of these games is loaded.
"""

from __future__ import annotations

import functools
import random
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from playout.games.core import spec
from playout.games.core.game import TIE, State
from playout.games.core.history_game import MOST_PLIES, HistoryGame
from playout.games.core.kernels import Vector
from playout.games.core.spec import Option
from playout.games.core.view import BoardView

if TYPE_CHECKING:
    import pyspiel

GameName = Literal[
    "amazons", "antichess", "breakthrough", "checkers", "chess", "chinese_checkers", "clobber",
    "connect_four", "crazyhouse", "cursor_go", "dots_and_boxes", "go", "gomoku", "havannah", "hex",
    "hive", "lines_of_action", "mancala", "mnk", "nim", "nine_mens_morris", "othello", "oware",
    "pentago", "quoridor", "shogi", "tic_tac_toe", "twixt", "ultimate_tic_tac_toe", "xiangqi", "y",
]  # fmt: skip

#: The options of games, each with the lowest and the highest value. Other options keep OpenSpiel's
#: defaults: with some values it computes for minutes, fails, or starts with the game over.
BOUNDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "breakthrough": {"rows": (4, 8), "columns": (2, 8)},
    "clobber": {"rows": (2, 10), "columns": (2, 10)},
    "dots_and_boxes": {"num_rows": (1, 7), "num_cols": (1, 7)},
    "go": {"board_size": (2, 19), "komi": (-400, 400)},
    "havannah": {"board_size": (2, 10), "swap": (0, 1)},
    "hex": {"board_size": (1, 19), "swap": (0, 1)},
    "twixt": {"board_size": (5, 12)},
    "y": {"board_size": (2, 19)},
}

#: The families of games that Playout has by other names.
_FAMILIES = {"cursor_go": "go", "gomoku": "mnk", "mancala": "kalah", "tic_tac_toe": "mnk"}

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Positions of chess and its relatives as OpenSpiel writes them: rows, pieces in hand, the rest.
_FEN = re.compile(r"((?:[\w+~]+/)+[\w+~]+)(\[\w*\])? (.*)", re.DOTALL)
_CELLS = re.compile(r"\+?[A-Za-z]~?|\d+")
#: Longer lines are broken, such as the moves of hive.
_WIDTH = 80


def _about(option: str) -> str:
    parts = [f"{game} {low} to {high}" for game, low, high in _bounds_of(option)]
    return f"of {', '.join(parts)}; empty for OpenSpiel's default"


def _bounds_of(option: str) -> list[tuple[str, int, int]]:
    return [(game, *each[option]) for game, each in BOUNDS.items() if option in each]


class OpenSpiel(HistoryGame["pyspiel.State"]):
    """A game of OpenSpiel; player 1 moves first."""

    title = "OpenSpiel"

    about = (
        "Games of OpenSpiel, a library of games for research: breakthrough, chess, clobber, go, "
        "hex and others. Its own documentation has the rules. Positions are shown as text, and "
        f"moves are chosen by name. A match that is not over after {MOST_PLIES:,} moves is a tie."
    )
    first_steps = "Choose a move by its name, from the buttons below the position."

    def __init__(
        self,
        game: Annotated[GameName, Option("OpenSpiel's name of the game")],
        board_size: Annotated[int | None, Option(_about("board_size"))] = None,
        rows: Annotated[int | None, Option(_about("rows"))] = None,
        columns: Annotated[int | None, Option(_about("columns"))] = None,
        num_rows: Annotated[int | None, Option(_about("num_rows"))] = None,
        num_cols: Annotated[int | None, Option(_about("num_cols"))] = None,
        komi: Annotated[float | None, Option(_about("komi"))] = None,
        swap: Annotated[
            bool, Option("of havannah and hex: the second player may take over the first move")
        ] = False,
    ) -> None:
        options: dict[str, float | None] = {
            "board_size": board_size,
            "rows": rows,
            "columns": columns,
            "num_rows": num_rows,
            "num_cols": num_cols,
            "komi": komi,
            "swap": swap or None,
        }
        given = {key: value for key, value in options.items() if value is not None}
        self.family = _FAMILIES.get(game, game)
        #: OpenSpiel's game.
        self.peer = _loaded(game, given)
        self.defaults = self.peer.get_type().parameter_specification
        self._first_mover = self.peer.new_initial_state().current_player()
        actions, plies = self.peer.num_distinct_actions(), self.peer.max_game_length()
        shape = self.peer.observation_tensor_shape()
        #: The rows and columns of what OpenSpiel shows nets: of planes, or the numbers in a row.
        self.observed_board = (shape[1], shape[2]) if len(shape) == 3 else (1, shape[-1])
        self._planes = shape[0] if len(shape) > 1 else 0
        # OpenSpiel does not count the swap: hex on a full board has one ply more than cells.
        super().__init__(actions=actions, plies=plies + swap)

    def first_position(self) -> pyspiel.State:
        return self.peer.new_initial_state()

    def position_after(self, position: pyspiel.State, action: int) -> pyspiel.State:
        after = position.clone()
        after.apply_action(action)
        return after

    def actions_in(self, position: pyspiel.State) -> tuple[int, ...]:
        return tuple(position.legal_actions())

    def mover_in(self, position: pyspiel.State) -> int:
        return 1 if position.current_player() == self._first_mover else 2

    def outcome_in(self, position: pyspiel.State) -> int:
        if not position.is_terminal():
            return 0
        points = position.returns()
        first, second = points[self._first_mover], points[1 - self._first_mover]
        return TIE if first == second else 1 if first > second else 2

    def observed(self, state: State) -> Vector:
        """Return the player to move, the outcome, and for each cell the first plane that is set.

        The plane of empty cells is 0. Without planes, it has the numbers themselves. Raises
        SpecError if they are not whole.
        """
        cells = self._set_planes(self.position(state))
        found = np.empty(2 + len(cells), dtype=np.int64)
        found[:2] = state[:2]
        found[2:] = self._values[cells] if self._planes else cells
        return found

    @functools.cached_property
    def _values(self) -> Vector:
        """The value of each plane: its number, but that of empty cells is exchanged with 0.

        Empty are most cells, in the first or the last position of a random match.
        """
        position, draw = self.first_position(), random.Random(1)
        counts = Counter(self._set_planes(position).tolist())
        while not position.is_terminal():
            position.apply_action(draw.choice(position.legal_actions()))
        counts |= Counter(self._set_planes(position).tolist())
        empty = max(counts, key=counts.__getitem__)
        values = np.arange(self._planes + 1)
        values[[0, empty]] = empty, 0
        return values

    def _set_planes(self, position: pyspiel.State) -> Vector:
        """Return for each cell the number of the first plane that is set, from 1; 0 if none is.

        Without planes, these are the numbers that OpenSpiel shows. Raises SpecError for fractions.
        """
        planes = np.array(position.observation_tensor(0)).reshape(max(1, self._planes), -1)
        if not self._planes:
            if (planes % 1).any():
                raise spec.SpecError(f"OpenSpiel describes {self} by fractions, not by cells")
            return planes[0].astype(np.int64)
        first = planes.argmax(axis=0)
        return (first + 1) * (planes[first, np.arange(len(first))] != 0)

    def action_name(self, state: State, action: int) -> str:
        position = self.position(state)
        name: str = position.action_to_string(position.current_player(), action)
        return " ".join(name.split())

    def long_algebraic(self, state: State, action: int) -> str:
        """Return a legal move of chess as UCI writes it, from and to, as in `e2e4`."""
        from pyspiel import chess

        name: str = chess.action_to_move(action, self.position(state).board()).to_lan()
        return name

    def view(self, state: State) -> BoardView:
        clicks = dict.fromkeys(self.legal_actions(state), ())
        return BoardView(0, 0, (), clicks, geometry="text", text=_text(str(self.position(state))))


def _loaded(game: str, options: Mapping[str, float]) -> pyspiel.Game:
    """Return OpenSpiel's game with those options. Raises SpecError."""
    _check(game, options)
    try:
        import pyspiel
    except ImportError as error:
        install = 'pip install ".[open-spiel]" in a checkout of Playout'
        text = f"open_spiel: its games need OpenSpiel ({error}): {install}"
        raise spec.SpecError(text) from error
    players = {"players": 2} if game == "chinese_checkers" else {}
    try:
        return pyspiel.load_game(game, {**options, **players})
    except pyspiel.SpielError as error:
        reason = str(error).splitlines()[0]
        raise spec.SpecError(f"open_spiel: OpenSpiel cannot load {game}: {reason}") from error


def _check(game: str, options: Mapping[str, float]) -> None:
    allowed = BOUNDS.get(game, {})
    for key, value in options.items():
        if key not in allowed:
            raise spec.unknown(f"option of open_spiel(game={game})", key, allowed)
        low, high = allowed[key]
        Option(ge=low, le=high).check(f"open_spiel(game={game})", key, value)


def _text(drawing: str) -> str:
    """Return a drawing without colours; FEN, the notation of chess, as rows and columns."""
    plain = _COLOURS.sub("", drawing)
    if found := _FEN.fullmatch(plain):
        rows, hand, rest = found.groups()
        plain = f"{_board(rows.split('/'))}\n{' '.join(filter(None, (hand, rest)))}"
    lines = (line.rstrip() for line in plain.rstrip().splitlines())
    return "\n".join(line if len(line) <= _WIDTH else textwrap.fill(line, _WIDTH) for line in lines)


def _board(rows: Sequence[str]) -> str:
    """Return the rows of FEN with their coordinates: of chess, or of shogi on nine rows."""
    if len(rows) == 9:
        files, ranks = "987654321", "abcdefghi"
    else:
        files, ranks = "abcdefgh", "87654321"
    drawn = [
        "".join(cell.rjust(2) for cell in _cells(row)) + f"  {rank}"
        for row, rank in zip(rows, ranks, strict=False)
    ]
    return "\n".join([*drawn, "".join(file.rjust(2) for file in files)])


def _cells(row: str) -> Iterator[str]:
    """Yield the cells of a row of FEN: a number stands for that many empty ones."""
    for token in _CELLS.findall(row):
        yield from "." * int(token) if token.isdigit() else (token,)
