"""The tuple interface of a game, which the server, the players and the pages use."""

from __future__ import annotations

import functools
import string
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from playout.games.core import spec
from playout.games.core.kernels import Board, Kernels, Vector
from playout.games.core.symmetries import Symmetry, identity
from playout.games.core.view import BoardView, draw

State = tuple[int, ...]

TIE = -1


#: The groups in which pages and lists show games, and what people call them.
GROUPS: Mapping[str, str] = {
    "classics": "Classics",
    "rows": "In a row",
    "connection": "Connection",
    "territory": "Territory",
    "capture": "Capture",
    "quick": "Quick",
}


class IllegalAction(ValueError):
    """Raised for an action that the rules forbid, and for a text that names no action."""


class LongMove(NamedTuple):
    """Several actions of a player in a row that people call one move, such as a long capture.

    It has the name that people write, and the cells that a player clicks to play it at once.
    """

    name: str
    cells: tuple[int, ...]
    actions: tuple[int, ...]


class Game(spec.HasOptions, ABC):
    """A game for two players, without hidden information.

    A state is a flat tuple of small ints, `(player to move, outcome, ...)`; equal positions are
    equal tuples, and a tuple holds everything that the rules need. A subclass defines the bounds
    and the three abstract methods below, and may override the other methods. The parameters of its
    `__init__` (int, float, bool or str, with defaults) are the parameters of the game; an `Option`
    in their annotations declares their meaning and range.

    In a game with chance, the player to move is 0 where nature moves, such as before a roll of
    dice. The legal actions are then the outcomes, and `chances` has their weights. Nature does not
    move when the game is over.
    """

    #: Bounds for every state: actions are 0 .. num_actions - 1.
    num_actions: int
    max_plies: int

    #: Whether nature moves in some positions, such as before a roll of dice.
    has_chance: bool = False
    #: The number of inputs that the kernel `inputs` gives a net, and how many it writes at most.
    num_inputs: int = 0
    most_inputs: int = 0
    #: The game whose nets evaluate this one, if it is another one: that of each part of a match.
    net_game: str = ""

    #: What people call the game, if it is not its name in words, as "Connect Four" is.
    title: ClassVar[str] = ""

    #: The names of its groups among GROUPS, the main one first.
    groups: ClassVar[tuple[str, ...]] = ()

    #: The rules in a paragraph, for people new to the game.
    about: ClassVar[str] = ""
    #: How a person makes a move, when a player wins and what to know first, in some sentences.
    first_steps: ClassVar[str] = ""
    #: Well-known variants: their parameters, such as `size=9`, and a sentence about each.
    variants: ClassVar[Mapping[str, str]] = {}

    #: Values of parameters that pages propose for a match between people, where they are not the
    #: defaults, which are those of OpenSpiel.
    proposed: ClassVar[Mapping[str, spec.Value]] = {}

    #: The worth of a piece that can be captured, by its kind in the view: the least one has 1.
    #: Pages show the captured pieces with it, and the learning of an evaluation begins with it.
    material: ClassVar[Mapping[str, float]] = {}

    #: The number of the game in SGF files, property GM, for a game that has one.
    sgf_number: ClassVar[int | None] = None

    #: The number of the first move in files, which a given first position may have.
    first_number: int = 1

    #: The points that are added to those of player 2, for a game with such points.
    komi: float | None = None

    #: Values of parameters that have the same effect as none, besides the declared defaults.
    defaults: Mapping[str, object] = {}
    #: The values of parameters of this game that can be written in several ways, in one of them.
    canonical: Mapping[str, object] = {}

    #: For each number of a cell in a state, the player (3 for a piece of no player) and the kind of
    #: the piece in the view; () if the numbers are no pieces, such as those of seeds.
    pieces: Sequence[tuple[int, str]] = ((0, ""), (1, ""), (2, ""))
    #: Whether the piece of an action falls to the lowest empty cell of its column.
    falls: bool = False

    #: For each number that `observed` appends to a state, the initial weight of 1 more in an
    #: evaluation.
    features: ClassVar[tuple[float, ...]] = ()
    #: Groups of cells that an evaluation has besides lines and rectangles, wherever they fit on the
    #: board, each as the rows and the columns of its cells.
    shapes: ClassVar[tuple[tuple[tuple[int, int], ...], ...]] = ()
    #: What happens to the board if the players are exchanged: it stays the "same", it is "turned"
    #: by half a turn, or "mirrored", so that the first row becomes the last; "" if they cannot be.
    #: A position after that has the opposite value, and each of the `features` is as far from LEVEL
    #: on its other side.
    exchange: ClassVar[Literal["", "same", "turned", "mirrored"]] = ""
    #: The rows and the columns of the board of which `observed` has the cells, row by row, behind
    #: the first two numbers; None if they are those of the view.
    observed_board: tuple[int, int] | None = None

    #: The name that games share if their positions are positions of each other, by other names or
    #: with other parameters; set by `games.load`, if it is empty, to the name of the game, or of
    #: that from which its class is derived.
    family: str = ""

    #: The canonical spelling of the game and its parameters, set by `games.load`.
    spec: str = ""
    #: The function that returns the game for its `spec`: `games.load`, which sets it.
    loaded_by: Callable[[str], Game] | None = None

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        """For each cell of the view, row by row, the index of its number in a state.

        It is -1 for a cell that never changes. () if the cells are not declared.
        """
        return ()

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells of the view that are clicked for it, in order.

        They are () for a pass and for numbers that are never legal. If pieces fall, it is the top
        cell of the column. () if the cells are not declared, or depend on the position.
        """
        return ()

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The symmetries with which the rules commute, the identity first; by default it alone."""
        cells = len(self.view(self.initial_state()).cells)
        return (identity(cells, self.num_actions),)

    @functools.cached_property
    def observed_words(self) -> int:
        """The length of what `observed` returns."""
        return len(self.observed(self.initial_state()))

    @abstractmethod
    def initial_state(self) -> State:
        """Return the first position of a match."""

    @abstractmethod
    def legal_actions(self, state: State) -> tuple[int, ...]:
        """Return the legal actions in ascending order; () when the game is over."""

    @abstractmethod
    def next_state(self, state: State, action: int) -> State:
        """Return the position after `action`. Raises IllegalAction with the reason."""

    def current_player(self, state: State) -> int:
        """Return the player to move: 1 or 2, or 0 where nature moves."""
        return state[0]

    def chances(self, state: State) -> tuple[int, ...]:
        """Return the weights of the outcomes where nature moves, in the order of `legal_actions`.

        They are whole numbers above 0. By default, all outcomes are equally likely.
        """
        return (1,) * len(self.legal_actions(state))

    def roll(self, state: State, below: Callable[[int], int]) -> int:
        """Return an outcome where nature moves, drawn by the weights.

        `below(n)` returns a random number from 0 to n - 1, as `random.Random.randrange` does; it is
        called once.
        """
        weights = self.chances(state)
        drawn = below(sum(weights))
        for outcome, weight in zip(self.legal_actions(state), weights, strict=True):
            drawn -= weight
            if drawn < 0:
                return outcome
        raise ValueError(f"{self}: nature has no outcome in the state {state}")

    def require_no_chance(self, refusal: str) -> None:
        """Raise SpecError if the game has chance.

        Its text begins with the `refusal`, as in "minimax does not play".
        """
        if self.has_chance:
            raise spec.SpecError(f"{refusal} games with chance, such as {self}")

    def winner(self, state: State) -> int:
        """Return 1 or 2 for the winner, -1 for a tie, 0 while the game goes on."""
        return state[1]

    def returns(self, state: State) -> tuple[float, float]:
        """Return the points of both players: (1.0, 0.0), (0.5, 0.5) or (0.0, 1.0).

        Before the end of the game they are (0.0, 0.0).
        """
        return RETURNS[self.winner(state)]

    def lead(self, state: State) -> float | None:
        """Return the points of player 1 less those of player 2; None if no points are counted.

        Before the end of the game, it is the score if the game ended here.
        """
        return None

    def lead_without(self, state: State, dead: Collection[int]) -> float:
        """Return `lead` if the pieces on these cells of the view were captured.

        For games with `komi`, whose players may agree on the score. Raises ValueError for a cell
        without a piece.
        """
        raise ValueError("no points are counted in this game")

    def step(self, state: State, action: int) -> tuple[State, tuple[int, ...]]:
        """Return `next_state` and the legal actions in it. Raises IllegalAction."""
        after = self.next_state(state, action)
        return after, self.legal_actions(after)

    def action_name(self, state: State, action: int) -> str:
        """Return `action` as people write it."""
        return str(action)

    def parse_action(self, state: State, text: str) -> int:
        """Return the legal action that `text` names.

        Upper and lower case matter only between two names that differ in nothing else, as Bxc3 and
        bxc3 in chess. Raises IllegalAction, whose message lists the legal actions.
        """
        wanted = text.strip()
        alike: int | None = None
        for action in self.legal_actions(state):
            name = self.action_name(state, action)
            if name == wanted:
                return action
            if name.lower() == wanted.lower():
                alike = action
        if alike is not None:
            return alike
        raise IllegalAction(self._explain(state, repr(text.strip()), numbers=False))

    def parse_turn(self, state: State, text: str) -> tuple[int, ...]:
        """Return the actions of a move as other programs write it; in most games it is one action.

        Raises IllegalAction.
        """
        return (self.parse_action(state, text),)

    def turn_name(self, state: State, actions: tuple[int, ...]) -> str:
        """Return actions of one player in a row as one name of other programs, "" if there is none.

        In draughts, a capture of several pieces is one move.
        """
        return self.action_name(state, actions[0]) if len(actions) == 1 else ""

    def view(self, state: State) -> BoardView:
        """Return the position as a drawing; by default the numbers of the state in one row."""
        return BoardView(1, len(state) - 2, cells=state[2:])

    def ways(self, state: State) -> Mapping[int, tuple[tuple[int, ...], ...]]:
        """Return further sequences of clicked cells for legal actions, such as in another order.

        If two actions have the same cells, the player is asked which is meant.
        """
        return {}

    def long_moves(self, state: State) -> Sequence[LongMove]:
        """Return the moves of several actions that a player can choose at once.

        They begin with a legal action. Their cells are those of no legal action, and of no other
        long move.
        """
        return ()

    def observed(self, state: State) -> Vector:
        """Return the input of an evaluation: the state, followed by the numbers of `features`."""
        return np.array(state, dtype=np.int64)

    def show(self, state: State) -> str:
        """Return the position as text, with coordinates."""
        return draw(self.view(state))

    def legal_text(
        self, state: State, *, numbers: bool, name_of: Callable[[int], str] | None = None
    ) -> str:
        """Return `legal are` and the first 20 legal actions, for the message of an error.

        They are named by `name_of`, or as people write them; with `numbers`, for programs, each has
        its number and its name.
        """
        actions = self.legal_actions(state)
        name_of = name_of or functools.partial(self.action_name, state)
        pairs = [(action, name_of(action)) for action in actions[:20]]
        listed = ", ".join(f"{action} ({name})" if numbers else name for action, name in pairs)
        more = f" and {len(actions) - 20} more" if len(actions) > 20 else ""
        label = "legal are, as number (name)" if numbers else "legal are"
        return f"{label}: {listed}{more}"

    def _explain(self, state: State, wanted: str, *, numbers: bool = True) -> str:
        if self.winner(state):
            return f"{wanted} is not legal: the game is over"
        return f"{wanted} is not legal here; {self.legal_text(state, numbers=numbers)}"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a game of `games.load` as its specification."""
        if self.loaded_by is None:
            return super().__reduce__()  # type: ignore[return-value]
        return self.loaded_by, (self.spec,)

    def __str__(self) -> str:
        return self.spec or type(self).__name__

    def __repr__(self) -> str:
        return f"games.load({str(self)!r})"


RETURNS: Mapping[int, tuple[float, float]] = {
    0: (0.0, 0.0),
    1: (1.0, 0.0),
    2: (0.0, 1.0),
    TIE: (0.5, 0.5),
}


class KernelGame(Game):
    """The tuple interface over compiled kernels, the same for all games that have them.

    Each call makes its own board, so that several threads can use one game.
    """

    kernels: ClassVar[Kernels]
    #: Whether the kernel `sensible` writes the most promising action first.
    sorts_sensible: ClassVar[bool] = True
    #: The first words of a board: all but those of `earlier`, see below.
    position_words: int

    def __init__(
        self,
        header: Mapping[int, int] | None = None,
        first: Sequence[int] = (1,),
        *,
        board: int,
        state: int,
        actions: int,
        plies: int,
        earlier: int = 0,
    ) -> None:
        """Take the lengths of a board and of a state, and the bounds of actions and plies.

        `header` has the words of a board that are the same in all positions, by their indices; a
        word may be given as a number without a sign. `first` is the first state; zeros follow if it
        is shorter. The last `earlier` words of a board are about positions before the current one,
        or do not affect the rest of the match.
        """
        self.num_actions = actions
        self.max_plies = plies
        self._numbers = struct.Struct(f"{state}q")
        self._movers = (0, 1, 2) if self.has_chance else (1, 2)
        self._state_size = state
        self.position_words = board - earlier
        self._origin = np.zeros(board, dtype=np.int64)
        for word, value in (header or {}).items():
            self._origin[word] = np.uint64(value & 0xFFFFFFFFFFFFFFFF).astype(np.int64)
        begin = np.zeros(state, dtype=np.int64)
        begin[: len(first)] = first
        self.kernels.read(begin, self._origin)

    def board(self, state: State | None = None) -> Board:
        """Return a new board with that position, by default the first one.

        Raises ValueError if `state` is not a state of this game.
        """
        board = self._origin.copy()
        if state is not None:
            try:  # on large boards, more than twice as fast as np.array
                packed = self._numbers.pack(*state)
            except struct.error as error:
                text = f"a state of {self} is {self._state_size} whole numbers"
                raise ValueError(text) from error
            if state[0] not in self._movers:
                raise ValueError(f"the player to move is one of {self._movers}, not {state[0]}")
            self.kernels.read(np.frombuffer(packed, dtype=np.int64), board)
        return board

    def state(self, board: Board) -> State:
        """Return the flat state of a board."""
        state = np.empty(self._state_size, dtype=np.int64)
        self.kernels.write(board, state)
        return tuple(state.tolist())

    def observed(self, state: State) -> Vector:
        """Return the state as a vector, followed by the numbers that the kernel `observe` adds."""
        found = np.zeros(self._state_size + len(self.features), dtype=np.int64)
        (self.kernels.observe or self.kernels.write)(self.board(state), found)
        return found

    def initial_state(self) -> State:
        return self.state(self._origin)

    def legal_actions(self, state: State) -> tuple[int, ...]:
        return tuple(self._legal(self.board(state)))

    def chances(self, state: State) -> tuple[int, ...]:
        if self.kernels.chances is None:
            return super().chances(state)
        board = self.board(state)
        weights = np.empty(self.num_actions, dtype=np.int64)
        self.kernels.chances(board, weights)
        return tuple(weights[: len(self._legal(board))].tolist())

    def next_state(self, state: State, action: int) -> State:
        return self.state(self._played(state, action))

    def step(self, state: State, action: int) -> tuple[State, tuple[int, ...]]:
        board = self._played(state, action)  # read once for both
        return self.state(board), tuple(self._legal(board))

    def _played(self, state: State, action: int) -> Board:
        board = self.board(state)
        if action not in self._legal(board):
            shown = self.action_name(state, action) if 0 <= action < self.num_actions else ""
            raise IllegalAction(self._explain(state, f"action {action} ({shown or 'no action'})"))
        self.kernels.play(board, action)
        return board

    def _legal(self, board: Board) -> list[int]:
        actions = np.empty(self.num_actions, dtype=np.int64)
        return actions[: self.kernels.legal(board, actions)].tolist()


def square_name(row: int, column: int) -> str:
    """Return the name of a cell: letters for columns, numbers for rows; a1 is the top left."""
    return f"{string.ascii_lowercase[column]}{row + 1}"
