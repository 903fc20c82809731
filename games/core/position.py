"""A position of a match: the game, the moves so far and the states that they led through."""

from __future__ import annotations

import functools
import marshal
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from playout.games.core.game import Game, State


#: States that are packed together: those of go have 160 bytes each then, instead of 10,800.
_PACKED = 8


class PackedStates(Sequence["State"]):
    """The states of a match that lasts for days, in a small part of the memory of tuples.

    Eight successive states, which differ little, are compressed together; the last ones, up to
    eight, are not. To read an earlier state takes a quarter of a millisecond.
    """

    def __init__(self, states: Iterable[State]) -> None:
        self._packs: tuple[bytes, ...] = ()
        self._last: tuple[State, ...] = ()
        for state in states:
            self._append(state)

    def _append(self, state: State) -> None:
        if len(self._last) == _PACKED:
            self._packs += (zlib.compress(marshal.dumps(self._last), 1),)
            self._last = ()
        self._last += (state,)

    def with_state(self, state: State) -> PackedStates:
        """Return these states, and another one behind them."""
        after = PackedStates(())
        after._packs, after._last = self._packs, self._last
        after._append(state)
        return after

    @property
    def packed_bytes(self) -> int:
        """The size of all states but the last ones."""
        return sum(map(len, self._packs))

    def __len__(self) -> int:
        return _PACKED * len(self._packs) + len(self._last)

    @overload
    def __getitem__(self, index: int) -> State: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[State]: ...
    def __getitem__(self, index: int | slice) -> State | Sequence[State]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return self._at(places)
        chosen = (self._at(place) for place in places)
        return PackedStates(chosen) if places[:1] == range(1) else tuple(chosen)

    def _at(self, place: int) -> State:
        pack, offset = divmod(place, _PACKED)
        states = self._last if pack == len(self._packs) else _unpacked(self._packs[pack])
        return states[offset]


@functools.lru_cache(maxsize=16)  # the states of a match are read one after the other
def _unpacked(pack: bytes) -> tuple[State, ...]:
    states: tuple[State, ...] = marshal.loads(zlib.decompress(pack))
    return states


class Position:
    """An immutable position of a match, with its moves and its states.

    `moves` are the actions played, those of nature among them, and `states[n]` is the state after n
    of them. `Position(game)` is the first position of a match. The constructor plays `moves`, and
    raises IllegalAction. `start` replaces the initial state of the game, for matches from a given
    position; it is not checked.

    Two positions are equal if they have the same game, the same first state and the same moves.
    """

    __slots__ = ("_legal", "game", "moves", "states")

    _legal: tuple[int, ...] | None
    game: Game
    moves: tuple[int, ...]
    states: Sequence[State]

    def __new__(cls, game: Game, moves: Iterable[int] = (), start: State | None = None) -> Position:
        first = game.initial_state() if start is None else start
        position = _position(game, (), (first,), None)
        for action in moves:
            position = position.play(action)
        return position

    @classmethod
    def from_names(cls, game: Game, names: Iterable[str], start: State | None = None) -> Position:
        """Return the position after moves that are written as people write them.

        Raises IllegalAction for a name that is none of a legal action.
        """
        position = cls(game, start=start)
        for name in names:
            position = position.play(game.parse_action(position.state, name))
        return position

    @property
    def state(self) -> State:
        """The last state, in which `to_move` has to move."""
        return self.states[-1]

    @property
    def ply(self) -> int:
        """The number of moves played, which is also the number of the next move."""
        return len(self.moves)

    @property
    def to_move(self) -> int:
        """The player to move: 1 or 2, or 0 where nature moves.

        It has no meaning when the game is over.
        """
        return self.game.current_player(self.states[-1])

    @property
    def winner(self) -> int:
        """The winner, 1 or 2; -1 for a tie, 0 while the game goes on."""
        return self.game.winner(self.states[-1])

    @property
    def last_move(self) -> int | None:
        """The action played last; None in the first position."""
        return self.moves[-1] if self.moves else None

    @property
    def legal_actions(self) -> tuple[int, ...]:
        """The legal actions in ascending order; () when the game is over."""
        if self._legal is None:
            object.__setattr__(self, "_legal", self.game.legal_actions(self.states[-1]))
        assert self._legal is not None
        return self._legal

    def name(self, action: int) -> str:
        """Return an action of this position as people write it."""
        return self.game.action_name(self.state, action)

    def names(self, line: Iterable[int]) -> tuple[str, ...]:
        """Return the names of the moves of a line from here, up to the first that is not legal."""
        after = self.extended(line)
        played = zip(after.states[self.ply :], after.moves[self.ply :], strict=False)
        return tuple(self.game.action_name(state, action) for state, action in played)

    def move_name(self, ply: int = -1) -> str:
        """Return move number `ply` as people write it, by default the last one."""
        return self.game.action_name(self.states[:-1][ply], self.moves[ply])

    def play(self, action: int) -> Position:
        """Return the position after `action`. Raises IllegalAction with the reason."""
        return self.after(action, *self.game.step(self.states[-1], action))

    def rolled(self, below: Callable[[int], int]) -> Position:
        """Return the position after the moves of nature, in which a player moves or the game ends.

        `below` is as in `Game.roll`, such as `random.Random(seed).randrange`. Where a player moves
        already, this position is returned.
        """
        position = self
        while position.game.has_chance and position.to_move == 0 and not position.winner:
            position = position.play(position.game.roll(position.state, below))
        return position

    def after(self, action: int, state: State, legal: tuple[int, ...] | None = None) -> Position:
        """Return the position after `action`, whose state and legal actions are known."""
        before = self.states
        # The class of tuples first: a check by an abstract class such as Sequence takes 0.1 µs.
        if not isinstance(before, tuple) and isinstance(before, PackedStates):
            states: Sequence[State] = before.with_state(state)
        else:
            states = *before, state
        return _position(self.game, (*self.moves, action), states, legal)

    def packed(self) -> Position:
        """Return the same position, which keeps its states and those to come compressed."""
        return _position(self.game, self.moves, PackedStates(self.states), self._legal)

    def extended(self, line: Iterable[int]) -> Position:
        """Return the position after the moves of a line, up to the first that is not legal."""
        position = self
        for action in line:
            if action not in position.legal_actions:
                break
            position = position.play(action)
        return position

    def at(self, ply: int) -> Position:
        """Return the earlier position after the first `ply` moves."""
        if not 0 <= ply <= len(self.moves):
            raise IndexError(f"ply {ply} of a position with {len(self.moves)} moves")
        if ply == len(self.moves):
            return self
        return _position(self.game, self.moves[:ply], self.states[: ply + 1], None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Position cannot be changed: {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        mine, its = (self.moves, self.states[0]), (other.moves, other.states[0])
        return mine == its and str(self.game) == str(other.game)

    def __hash__(self) -> int:
        return hash((str(self.game), self.moves, self.states[0]))

    def __reduce__(self) -> tuple[object, ...]:
        return _position, (self.game, self.moves, self.states, None)

    def __repr__(self) -> str:
        start = self.states[0]
        given = "" if start == self.game.initial_state() else f", start={start}"
        return f"Position({self.game!r}, {self.moves}{given})"


def _position(
    game: Game,
    moves: tuple[int, ...],
    states: Sequence[State],
    legal: tuple[int, ...] | None,
) -> Position:
    """Return a position of known states, without playing its moves."""
    position = object.__new__(Position)
    _set_game(position, game)
    _set_moves(position, moves)
    _set_states(position, states)
    _set_legal(position, legal)
    return position


# `object.__setattr__` takes twice as long as the descriptors of the slots.
_set_game, _set_moves, _set_states, _set_legal = (
    vars(Position)[name].__set__ for name in ("game", "moves", "states", "_legal")
)
