"""Games on a grid: views, names and symmetries follow from what a game declares of its cells."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from playout.games.core.game import IllegalAction, KernelGame, LongMove, State, square_name
from playout.games.core.spec import Option, SpecError
from playout.games.core.symmetries import Symmetry, identity, of_clicks
from playout.games.core.view import BoardView


class GridGame(KernelGame):
    """A game on a grid of cells.

    A subclass sets `rows` and `columns`, and declares where the cells are in a state
    (`cell_words`), what their numbers mean (`pieces`) and which cells an action clicks
    (`action_cells`). The defaults describe a game in which a player puts a piece on a cell, and
    whose state has the cells row by row behind the player to move and the outcome. What else a
    view shows is for `note`, `winning` or `view`.
    """

    rows: int
    columns: int

    #: Members of each view, such as its `piece` and `surface`.
    look: ClassVar[Mapping[str, Any]] = {}
    #: Whether row 1 is the lowest row, as in chess; otherwise it is the highest.
    upward: ClassVar[bool] = False
    #: The name of the action without cells, for a game that has one, such as a pass.
    pass_name: ClassVar[str] = ""
    #: Whether, until the game is over, the actions whose cell is empty are legal, and no others but
    #: one without cells. Nets are then shown the legal actions without a call of `legal`.
    legal_if_empty: bool = False
    #: Whether each action with one cell puts a stone of the player there and, captures apart,
    #: changes no other cell. An evaluation can then tell the worth of all actions at once.
    puts_stones: ClassVar[bool] = False

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        return tuple(range(2, 2 + self.rows * self.columns))

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """As in `Game`; by default, each action puts a piece on a cell, and one more is a pass.

        A game in which they depend on the position has no entries, and overrides `clicked`.
        """
        cells = self.rows * self.columns
        return (*((cell,) for cell in range(cells)), ())[: self.num_actions]

    @functools.cached_property
    def stone_cells(self) -> Mapping[int, int]:
        """The cell of each action that puts a stone; see `puts_stones`."""
        singles = {n: cells[0] for n, cells in enumerate(self.action_cells) if len(cells) == 1}
        return singles if self.puts_stones else {}

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The rotations and reflections of the grid that map actions to actions."""
        if not self.action_cells:
            return (identity(self.rows * self.columns, self.num_actions),)
        return of_clicks(self.rows, self.columns, self.action_cells)

    @functools.cached_property
    def row_names(self) -> tuple[str, ...]:
        """The names of the rows, from the top."""
        numbers = range(self.rows, 0, -1) if self.upward else range(1, self.rows + 1)
        return tuple(str(number) for number in numbers)

    def action_name(self, state: State, action: int) -> str:
        names = self._cell_names
        return "".join([names[cell] for cell in self.clicked(state, action)]) or self.pass_name

    def cell_name(self, cell: int) -> str:
        """Return the name of a cell of the view: the letter of its column and its row."""
        row, column = divmod(cell, self.columns)
        return square_name(self.rows - 1 - row if self.upward else row, column)

    @functools.cached_property
    def _cell_names(self) -> tuple[str, ...]:
        return tuple(map(self.cell_name, range(self.rows * self.columns)))

    def clicked(self, state: State, action: int) -> tuple[int, ...]:
        """Return the cells of the view that are clicked for a legal action, in order."""
        cells = self.action_cells[action]
        if not self.falls:
            return cells
        column = range(cells[0], self.rows * self.columns, self.columns)
        return (max(cell for cell in column if not state[self.cell_words[cell]]),)

    @functools.cached_property
    def _clicks_are_fixed(self) -> bool:
        """Whether the cells of an action are the same in each position."""
        return type(self).clicked is GridGame.clicked and not self.falls

    def numbers(self, state: State) -> tuple[int, ...]:
        """Return the number of each cell of the view in a state, row by row."""
        return tuple(map(state.__getitem__, self.cell_words))

    def cells(self, state: State) -> tuple[int, ...]:
        """Return the player on each cell of the view, 0 for none."""
        players = [player for player, _ in self.pieces]
        return tuple(map(players.__getitem__, self.numbers(state)))

    def note(self, state: State) -> str:
        """Return a note for people on facts that the cells do not show.

        The view adds `pass_name` if a player can only pass.
        """
        return ""

    def winning(self, state: State) -> tuple[int, ...]:
        """Return the cells by which a player has won, () for none."""
        return ()

    def view(self, state: State) -> BoardView:
        legal = self.legal_actions(state)
        if self._clicks_are_fixed:  # without a call for each of hundreds of actions
            clicks = {action: self.action_cells[action] for action in legal}
        else:
            clicks = {action: self.clicked(state, action) for action in legal}
        note = self.note(state)
        if len(clicks) == 1 and () in clicks.values():
            note = f"{note}, {self.pass_name}" if note else self.pass_name
        kinds = [kind for _, kind in self.pieces]
        return BoardView(
            self.rows,
            self.columns,
            self.cells(state),
            clicks,
            kinds=tuple(map(kinds.__getitem__, self.numbers(state))) if any(kinds) else (),
            row_names=self.row_names,
            note=note,
            winning=self.winning(state),
            **self.look,
        )


def cells_of_moves(
    rows: int, columns: int, steps: Sequence[tuple[int, int]], *, kinds: int = 1
) -> tuple[tuple[int, ...], ...]:
    """Return the cells from which and to which each action moves a piece, () outside of the grid.

    A step is a number of rows down and of columns to the right, and the action of a step from a
    cell is `(cell * len(steps) + step) * kinds + kind`.
    """

    def cells() -> Iterator[tuple[int, ...]]:
        for row in range(rows):
            for column in range(columns):
                for down, right in steps:
                    inside = 0 <= row + down < rows and 0 <= column + right < columns
                    begin = row * columns + column
                    yield (begin, begin + down * columns + right) if inside else ()

    return tuple(each for each in cells() for _ in range(kinds))


# Rows of pieces, as views show them at the end of a match. Searches do not use this.

#: Right, down, and the two diagonals, as rows and columns.
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def rows_of_pieces(
    cells: Sequence[int], columns: int, owner: int, least: int, most: int | None = None
) -> tuple[int, ...]:
    """Return the cells of all rows of `least` or more pieces of a player, in ascending order.

    Longer rows than `most` do not count. `cells` are counted row by row.
    """
    found = set[int]()
    for cell in range(len(cells)):
        for step in _DIRECTIONS:
            line = tuple(_line(cells, columns, owner, cell, step))
            before = _next(cells, columns, cell, (-step[0], -step[1]))
            is_whole = before is None or cells[before] != owner
            if is_whole and least <= len(line) <= (most or len(cells)):
                found.update(line)
    return tuple(sorted(found))


def _line(
    cells: Sequence[int], columns: int, owner: int, cell: int | None, step: tuple[int, int]
) -> Iterator[int]:
    while cell is not None and cells[cell] == owner:
        yield cell
        cell = _next(cells, columns, cell, step)


def _next(cells: Sequence[int], columns: int, cell: int, step: tuple[int, int]) -> int | None:
    """Return the next cell in a direction, None beyond the edge."""
    row, column = cell // columns + step[0], cell % columns + step[1]
    inside = 0 <= row < len(cells) // columns and 0 <= column < columns
    return row * columns + column if inside else None


# Moves of draughts: a capture of several pieces is one move of people, and several actions here.
# The names of such moves are those of Portable Draughts Notation (PDN 3.0): the first and the last
# square, as in `30x10`; all squares, as in `30x19x10`, only where that names two different moves.

#: The most captures of a position that are compared; kings can go round in thousands of ways.
_MOST = 5000
#: The most captures among which players choose by the last square: to find them takes 10 ms.
_CHOSEN = 64
_BETWEEN = re.compile(r"[-x:*\u00d7\u2013]")
_SIGNS = "!?+#()"


class Jump(NamedTuple):
    """A complete move: the names of its squares, its actions, and the state after it."""

    squares: tuple[str, ...]
    actions: tuple[int, ...]
    state: State


#: A position of draughts: who moves, then the squares of each colour; numbers of moves may follow.
_PLACED = re.compile(r"([WB]):([WB])([^:]*):([WB])([^:]*)(?::[HF]\d*)*", re.IGNORECASE)
_ON_SQUARES = re.compile(r"(K?)(\d{1,2})(?:-(\d{1,2}))?", re.IGNORECASE)
_EXPECTED = "write W or B, and the squares of both colours, as in W:W31;32;K40:B1-5"


#: The parameter with the first position of a game of draughts.
PlacedFen = Annotated[
    str | None,
    Option(
        "the first position as draughts programs write it, with ; for each comma; the usual one if "
        "it is left out"
    ),
]


class JumpingGame(GridGame):
    """A game of draughts, in which a player who captures makes one action for each jump.

    Player 1 moves up. A man is the number of its player, a king 2 more.
    """

    #: The colour of player 1 in positions of other programs.
    first_colour: ClassVar[str] = "W"

    def placed(self, usual: Sequence[int], fen: str | None) -> tuple[int, Sequence[int]]:
        """Return the player to move and the cells of a position; None is the usual one.

        Also sets the canonical `fen`. Raises SpecError.
        """
        player, cells = (
            (1, usual) if fen is None else self._read(fen, max(map(usual.count, (1, 2))))
        )
        text = self._written(player, cells)
        self.canonical = {"fen": None if text == self._written(1, usual) else text}
        return player, cells

    def require_moves(self, fen: str | None) -> None:
        """Raise SpecError if the first player of a position cannot move."""
        if fen is not None and not self.legal_actions(self.initial_state()):
            raise SpecError(f"no match begins with the position {fen!r}: the match is over there")

    def _read(self, fen: str, most: int) -> tuple[int, list[int]]:
        found = _PLACED.fullmatch(fen.replace(" ", "").rstrip("."))
        if found is None or found[2].upper() == found[4].upper():
            raise _bad_position(fen, _EXPECTED)
        numbers = {name: cell for cell, name in enumerate(self.look["cell_labels"]) if name}
        cells = [0] * (self.rows * self.columns)
        for colour, squares in ((found[2], found[3]), (found[4], found[5])):
            player = self._player(colour)
            for square, is_king in _squares(fen, squares):
                cell = numbers.get(str(square))
                if cell is None or cells[cell]:
                    raise _bad_position(fen, f"{square} is no square, or is there twice")
                far_row = 0 if player == 1 else self.rows - 1
                if not is_king and cell // self.columns == far_row:
                    raise _bad_position(fen, f"a man on {square} would be a king")
                cells[cell] = player + 2 * is_king
            if not 0 < sum(each in (player, player + 2) for each in cells) <= most:
                raise _bad_position(fen, f"each player has 1 to {most} pieces")
        return self._player(found[1]), cells

    def _player(self, colour: str) -> int:
        return 1 if colour.upper() == self.first_colour else 2

    def _written(self, player: int, cells: Sequence[int]) -> str:
        """Return a position with its squares in order, as a value of the parameter `fen`."""
        parts = []
        for colour in "WB":
            own = self._player(colour)
            numbers = sorted(
                (int(self.square_number(cell)), "K" if each > 2 else "")
                for cell, each in enumerate(cells)
                if each in (own, own + 2)
            )
            parts.append(colour + ";".join(f"{king}{number}" for number, king in numbers))
        turn = next(each for each in "WB" if self._player(each) == player)
        return ":".join((turn, *parts))

    def turns(self, state: State) -> list[Jump]:
        """Return the complete moves from a state, in which a capture may have begun."""
        return list(itertools.islice(self._jumps(state), _MOST))

    def _jumps(self, state: State, before: tuple[int, ...] = ()) -> Iterator[Jump]:
        for action in self.legal_actions(state):
            after, actions = self.next_state(state, action), (*before, action)
            if self.current_player(after) == self.current_player(state) and not self.winner(after):
                yield from self._jumps(after, actions)
            else:
                yield Jump(self._squares(actions), actions, after)

    def long_moves(self, state: State) -> Sequence[LongMove]:
        """Return the captures of several pieces that their first and last square tell apart.

        There are none where kings can go round in very many ways.
        """
        legal = self.legal_actions(state)
        if not legal or "x" not in self.action_name(state, legal[0]):
            return ()
        jumps = list(itertools.islice(self._jumps(state), _CHOSEN + 1))
        if len(jumps) > _CHOSEN:
            return ()
        taken = {self.action_cells[action] for action in legal}
        found: dict[tuple[int, int], dict[State, Jump]] = {}
        for jump in jumps:
            begin, end = (self.action_cells[jump.actions[at]][at] for at in (0, -1))
            if begin != end and (begin, end) not in taken:
                found.setdefault((begin, end), {}).setdefault(jump.state, jump)
        return tuple(
            LongMove(f"{jump.squares[0]}x{jump.squares[-1]}", cells, jump.actions)
            for cells, (jump, *others) in ((key, each.values()) for key, each in found.items())
            if not others
        )

    def _squares(self, actions: tuple[int, ...]) -> tuple[str, ...]:
        cells = [self.action_cells[action] for action in actions]
        return tuple(map(self.square_number, (cells[0][0], *(end for _, end in cells))))

    def square_number(self, cell: int) -> str:
        """Return the number of a dark square, as draughts players use them."""
        raise NotImplementedError

    def parse_turn(self, state: State, text: str) -> tuple[int, ...]:
        wanted = [each.strip().lstrip("0") for each in _BETWEEN.split(text.strip(_SIGNS))]
        same = [each for each in self.turns(state) if _is_named(each, wanted)]
        exact = [each for each in same if [*each.squares] == wanted and len(wanted) > 2]
        found = exact or same
        if len({each.state for each in found}) == 1:
            return found[0].actions
        if not same:
            return (self.parse_action(state, text),)  # one of several jumps
        names = ", ".join("x".join(each.squares) for each in same[:4])
        raise IllegalAction(f"{text[:50]!r} names several captures: write all squares, as {names}")

    def turn_name(self, state: State, actions: tuple[int, ...]) -> str:
        squares = self._squares(actions)
        name = self.action_name(state, actions[0])
        if "x" not in name:
            return name
        ends = squares[0], squares[-1]
        alike = [each for each in self.turns(state) if (each.squares[0], each.squares[-1]) == ends]
        return "x".join(squares if len({each.state for each in alike}) > 1 else ends)


def _squares(fen: str, text: str) -> Iterator[tuple[int, bool]]:
    """Yield the squares of one colour, and whether kings stand there. Raises SpecError."""
    for each in filter(None, re.split("[,;]", text)):
        found = _ON_SQUARES.fullmatch(each)
        if found is None:
            raise _bad_position(fen, _EXPECTED)
        first, last = int(found[2]), int(found[3] or found[2])
        for square in range(first, last + 1):
            yield square, bool(found[1])


def _bad_position(fen: str, expected: str) -> SpecError:
    return SpecError(f"cannot read the position {fen[:200]!r}: {expected}")


def _is_named(jump: Jump, wanted: list[str]) -> bool:
    """Return whether the first and the last square are wanted, and all between in this order."""
    if len(wanted) < 2 or (jump.squares[0], jump.squares[-1]) != (wanted[0], wanted[-1]):
        return False
    rest = iter(jump.squares[1:-1])
    return all(each in rest for each in wanted[1:-1])
