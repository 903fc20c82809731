"""Games as UCI programs know them: variants of Fairy-Stockfish, its names of moves, and FEN.

White is player 1 and moves first. `e2e4` moves a piece from square to square, `P@e4` puts a new
one on a square, and the lowest square of an own piece twice, as `a1a1`, is a pass. In Amazons a
move is three actions, of queen, target and arrow: `d1d7,d7g7`.

A position is `startpos`, or FEN: the ranks from the highest on, the player to move, two fields that
only chess uses, the plies since the last capture, move of a pawn or new piece, and the number of
the move. Othello has the discs that players still have in brackets behind the ranks.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from playout import games
from playout.games import Game, GridGame, Position, State, square_name
from playout.games.amazons import QUEENS
from playout.games.chessboard import notation
from playout.games.core import spec


@dataclass(frozen=True)
class UciVariant:
    """A variant: its UCI_Variant, its game, and how its positions are written, except in chess.

    `top` says what the highest rank is: the first row of the game, its last row, or its first
    column. `letters` are the contents of a cell, from 0 on.
    """

    name: str
    game: str
    top: str = "first row"
    letters: str = ".Pp"
    fen: str = "{ranks} {player} - - 0 1"
    has_ties: bool = True


_OTHELLO_FEN = "{ranks}[{discs}] {player} - - 0 1"
#: All variants. Of several games with one name, the first is played by that name.
VARIANTS = (
    UciVariant("chess", "chess"),
    UciVariant("breakthrough", "breakthrough", "last row", has_ties=False),
    UciVariant("clobber", "clobber", "first column", has_ties=False),
    UciVariant("clobber", "clobber(rows=6,columns=5)", "last row", has_ties=False),
    UciVariant("clobber10", "clobber(rows=10,columns=10)", "last row", has_ties=False),
    UciVariant("ataxx", "ataxx", fen="{ranks} {player} - - {quiet} 1"),
    UciVariant("amazons", "amazons", letters=".Qq*", has_ties=False),
    UciVariant("flipello", "othello", fen=_OTHELLO_FEN),
    UciVariant("flipello10", "othello(size=10)", fen=_OTHELLO_FEN),
)
#: The games that OpenSpiel has too, with the same numbers of actions.
_IN_OPEN_SPIEL = ("chess", "breakthrough", "clobber")
#: Names of a pass that are understood besides a square twice.
_PASSES = ("0000", "@@@@", "pass")
_PLAYERS = "_wb"


def uci_game(game: Game) -> UciGame:
    """Return the translation of a game. Raises ValueError for a game that UCI programs lack."""
    given = spec.parse(str(game))
    wanted = "chess" if given.name == "chess" else str(game)
    if given.name == "open_spiel" and given.options.keys() == {"game"}:
        wanted = given.options["game"] if given.options["game"] in _IN_OPEN_SPIEL else wanted
    for variant in VARIANTS:
        if variant.game == wanted:
            kind = _KINDS.get(variant.name, _Grid)
            return kind(game, variant)
    listed = ", ".join(each.game for each in VARIANTS)
    also = ", ".join(f"open_spiel(game={each})" for each in _IN_OPEN_SPIEL)
    raise ValueError(f"UCI programs play {listed}, {also}, not {game}")


def first_position(game: Game) -> str:
    """Return the first position of a game, as the command `position` names it."""
    fen = spec.parse(str(game)).options.get("fen")
    return f"fen {fen}" if fen else "startpos"


class UciGame(ABC):
    """Translates the moves and positions of one game."""

    #: How many actions a move is.
    actions_per_move: ClassVar[int] = 1

    def __init__(self, game: Game, variant: UciVariant) -> None:
        self._game: Any = game
        #: The value of UCI_Variant.
        self.variant = variant.name
        self.has_ties = variant.has_ties

    @abstractmethod
    def name(self, state: State, *actions: int) -> str:
        """Return the name of a move: `actions_per_move` legal actions, the first in `state`."""

    @abstractmethod
    def fen(self, state: State) -> str:
        """Return a position of a native game, at the beginning of a move."""

    @abstractmethod
    def position(self, fen: str) -> State:
        """Return the position of a native game that FEN describes.

        Raises ValueError if it cannot be read, and if the game is over in it.
        """

    def names(self, states: Sequence[State], actions: Sequence[int]) -> list[str]:
        """Return the names of complete moves; `states` has the position before each action."""
        size = self.actions_per_move
        begins = range(0, min(len(states), len(actions)) - size + 1, size)
        return [self.name(states[at], *actions[at : at + size]) for at in begins]

    def moves(self, state: State, begun: tuple[int, ...]) -> Iterator[str]:
        """Yield the names of the legal moves from `state` whose first actions are `begun`."""
        after = state
        for action in begun:
            after = self._game.next_state(after, action)
        for action in self._game.legal_actions(after):
            actions = (*begun, action)
            if len(actions) == self.actions_per_move:
                yield self.name(state, *actions)
            else:
                yield from self.moves(state, actions)

    def actions(self, state: State, name: str) -> tuple[int, ...]:
        """Return the actions of a move that begins in `state`, () if it is not legal."""
        wanted = name.lower()
        for action in self._game.legal_actions(state):
            if self.name(state, action).lower() == wanted:
                return (action,)
        return ()

    def line_names(self, position: Position, line: Iterable[int]) -> list[str]:
        """Return the names of the complete moves of a line, as far as it is legal."""
        after, ply = position.extended(line), position.ply
        return self.names(after.states[ply:], after.moves[ply:])

    def line(self, state: State, names: Iterable[str]) -> tuple[int, ...]:
        """Return the actions of a line of moves from `state`, up to the first that is not legal."""
        found: list[int] = []
        for name in names:
            actions = self.actions(state, name)
            for action in actions:
                state = self._game.next_state(state, action)
            if not actions:
                break
            found += actions
        return tuple(found)


class _Chess(UciGame):
    def name(self, state: State, *actions: int) -> str:
        return cast(str, self._game.long_algebraic(state, actions[0]))

    def fen(self, state: State) -> str:
        return notation.text_of(state)

    def position(self, fen: str) -> State:
        return games.load(f"chess(fen={fen})").initial_state()


_Ranks = Sequence[Sequence[int]]
#: The cells of the ranks, from the highest on, by `UciVariant.top`.
_ARRANGED: Mapping[str, Callable[[list[range]], _Ranks]] = {
    "first row": lambda rows: rows,
    "last row": lambda rows: rows[::-1],
    "first column": lambda rows: [*zip(*rows, strict=True)],
}


class _Grid(UciGame):
    """A game whose actions are named by the cells that are clicked for them."""

    def __init__(self, game: Game, variant: UciVariant) -> None:
        super().__init__(game, variant)
        rules = cast(GridGame, games.load(variant.game))
        self._spelled = variant
        self._clicks = rules.action_cells
        columns = rules.columns
        self._area = rules.rows * columns
        rows = [range(begin, begin + columns) for begin in range(0, self._area, columns)]
        self._ranks = _ARRANGED[variant.top](rows)
        self._squares = {
            cell: square_name(rank, file)
            for rank, cells in enumerate(reversed(self._ranks))
            for file, cell in enumerate(cells)
        }

    def name(self, state: State, *actions: int) -> str:
        squares = [self._squares[cell] for cell in self._clicks[actions[0]]]
        if len(squares) == 1:
            return f"P@{squares[0]}"
        return "".join(squares) or 2 * self._lowest_square(state)

    def _lowest_square(self, state: State) -> str:
        """Return the lowest square with a piece of the player to move."""
        return next(name for cell, name in self._squares.items() if state[2 + cell] == state[0])

    def actions(self, state: State, name: str) -> tuple[int, ...]:
        if name.lower() in _PASSES or (name and 2 * name[: len(name) // 2] == name):
            legal: tuple[int, ...] = self._game.legal_actions(state)
            return () if any(self._clicks[each] for each in legal) else legal
        return super().actions(state, name)

    def fen(self, state: State) -> str:
        cells = state[2 : 2 + self._area]
        lines = ("".join(self._spelled.letters[cells[at]] for at in rank) for rank in self._ranks)
        left = cells.count(0)
        return self._spelled.fen.format(
            ranks=re.sub(r"\.+", lambda empty: str(len(empty[0])), "/".join(lines)),
            player=_PLAYERS[state[0]],
            quiet=state[-1],
            discs=left * "P" + left * "p",
        )

    def position(self, fen: str) -> State:
        placed, player, quiet = _fields(fen)
        ranks = re.sub("[1-9][0-9]?", lambda empty: int(empty[0]) * ".", placed).split("/")
        letters = self._spelled.letters
        if not self._fits(ranks) or player not in _PLAYERS[1:]:
            raise ValueError(
                f"cannot read the position {fen!r}: expected {len(self._ranks)} ranks of "
                f"{len(self._ranks[0])} squares with {letters[1:]} or numbers, then w or b"
            )
        state = [*self._game.initial_state()]
        state[0] = _PLAYERS.index(player)
        for cells, rank in zip(self._ranks, ranks, strict=True):
            for cell, letter in zip(cells, rank, strict=True):
                state[2 + cell] = letters.index(letter)
        if "{quiet}" in self._spelled.fen and quiet.isdecimal():
            state[-1] = int(quiet[:4])
        if self._is_over(tuple(state)):
            raise ValueError(f"the game is over in the position {fen!r}")
        return tuple(state)

    def _fits(self, ranks: Sequence[str]) -> bool:
        """Return whether these letters fill the board."""
        has_shape = [*map(len, ranks)] == [*map(len, self._ranks)]
        return has_shape and {*"".join(ranks)} <= {*self._spelled.letters}

    def _is_over(self, state: State) -> bool:
        """Return whether a player has no pieces, the mover has no action, or both can only pass."""
        legal = self._game.legal_actions(state)
        opposite = self._game.legal_actions((3 - state[0], *state[1:]))
        only_passes = not any(self._clicks[each] for each in (*legal, *opposite))
        return not {1, 2} <= {*state[2:]} or not legal or only_passes


class _Breakthrough(_Grid):
    def _is_over(self, state: State) -> bool:
        side = len(self._ranks[0])
        return 1 in state[-side:] or 2 in state[2 : 2 + side] or super()._is_over(state)


class _Amazons(_Grid):
    actions_per_move = 3

    def name(self, state: State, *actions: int) -> str:
        queen, target, arrow = (self._squares[cell] for cell in actions)
        return f"{queen}{target},{target}{arrow}"

    def actions(self, state: State, name: str) -> tuple[int, ...]:
        cells = {square: cell for cell, square in self._squares.items()}
        found = re.fullmatch(r"([a-z]\d+)([a-z]\d+),\2([a-z]\d+)", name.lower(), re.ASCII)
        actions = tuple(cells.get(square, -1) for square in found.groups()) if found else ()
        for action in actions:
            if action not in self._game.legal_actions(state):
                return ()
            state = self._game.next_state(state, action)
        return actions

    def _fits(self, ranks: Sequence[str]) -> bool:
        """Return whether these letters fill the board, with four queens of each player."""
        text = "".join(ranks)
        return super()._fits(ranks) and text.count("Q") == text.count("q") == QUEENS


def _fields(fen: str) -> tuple[str, str, str]:
    """Return the ranks without the discs in brackets, the player to move, and the quiet plies."""
    fields = [*fen.split(), *5 * [""]]
    return fields[0].partition("[")[0], fields[1], fields[4]


_KINDS: Mapping[str, Callable[[Game, UciVariant], UciGame]] = {
    "chess": _Chess,
    "breakthrough": _Breakthrough,
    "amazons": _Amazons,
}
