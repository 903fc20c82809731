"""A match that a player of Playout plays in this process, directed by another program."""

from __future__ import annotations

from typing import NamedTuple

from playout.games import Game, Position, State
from playout.games.core import spec
from playout.players import PlayResult, find, load
from playout.players.core.player import Limit, Player, Report


def checked_player(text: str) -> spec.Spec:
    """Return the specification of a player that can be an engine.

    Raises SpecError for a person, an unknown player, and options that it does not have.
    """
    wanted = spec.parse(text)
    make = find(wanted.name)
    spec.bind(make, wanted, skip=1)
    if make.human:
        raise spec.SpecError(f"{wanted.name} is a person at a terminal, not an engine")
    return wanted


class Kept(NamedTuple):
    """The positions of a match, and the plies that were skipped."""

    positions: tuple[Position, ...]
    skipped: tuple[int, ...] = ()


class LocalMatch:
    """A game, its player, and the positions of a match, newest last."""

    def __init__(self, game: Game, wanted: spec.Spec) -> None:
        """Load the player. Raises SpecError if it cannot play this game, and for chance."""
        game.require_no_chance("the protocols of engines have no dice for")
        self.game = game
        self._wanted = wanted
        self.player: Player = load(wanted, game)
        self.positions = [Position(game)]

    @property
    def position(self) -> Position:
        """The last position, in which the player chooses."""
        return self.positions[-1]

    @property
    def state(self) -> State:
        """The current position as a tuple."""
        return self.position.state

    @property
    def mover(self) -> int:
        """The player to move, 1 or 2."""
        return self.position.to_move

    @property
    def winner(self) -> int:
        """1 or 2 for the winner, -1 for a tie, 0 while the game goes on."""
        return self.position.winner

    @property
    def plies(self) -> int:
        """The number of moves that can be taken back."""
        return len(self.positions) - 1

    def kept(self) -> Kept:
        """Return the positions, for `restore` after a command that has failed."""
        return Kept(tuple(self.positions))

    def restore(self, kept: Kept) -> None:
        """Return to the positions of an earlier time."""
        self.positions = [*kept.positions]

    def clear(self, state: State | None = None) -> None:
        """Start again, at the first position of the game or at `state`."""
        self.positions = [Position(self.game, start=state)]

    def play(self, action: int) -> None:
        """Play an action. Raises IllegalAction."""
        self.positions.append(self.position.play(action))

    def was_skipped(self, seat: int) -> bool:
        """Return whether the last ply was a pass of that seat that nobody named."""
        return False

    def turn(self, state: State) -> None:
        """Continue from `state`, which replaces the current position, as one with another mover.

        The player is not told the moves that led to it.
        """
        if state != self.state:
            self.positions[-1] = Position(self.game, start=state)

    def replayed(self, game: Game) -> LocalMatch:
        """Return a match of another game with the same actions, with these moves and this player.

        Where `turn` has replaced a position, it has the same state. Raises SpecError if the player
        cannot play it.
        """
        match = type(self)(game, self._wanted)
        match.positions.clear()
        for each in self.positions:
            if each.moves and match.positions:
                match.positions.append(match.position.play(each.moves[-1]))
            else:
                begins = each.state == each.game.initial_state()
                match.positions.append(Position(game, start=None if begins else each.state))
        return match

    def take_back(self) -> None:
        """Take back the last move. Raises IndexError if there is none."""
        if not self.plies:
            raise IndexError("there is no move to take back")
        self.positions.pop()

    def choose(self, limit: Limit, report: Report | None = None) -> PlayResult:
        """Return the player's choice, which is not played.

        Raises Cancelled if the player was cancelled since its `ready` and has no result, Resigned
        and PlayerError.
        """
        return self.player.choose(self.position, limit, report)

    def close(self) -> None:
        """Release the threads and the memory of the player."""
        self.player.close()


class SkippingMatch(LocalMatch):
    """A match in which a player without a move is skipped: its pass is played at once.

    A pass is an action that clicks no cell.
    """

    def __init__(self, game: Game, wanted: spec.Spec) -> None:
        super().__init__(game, wanted)
        #: The numbers of the plies that were skipped.
        self._skipped: list[int] = []

    def clear(self, state: State | None = None) -> None:
        super().clear(state)
        self._skipped.clear()
        self._skip()

    def kept(self) -> Kept:
        return super().kept()._replace(skipped=tuple(self._skipped))

    def restore(self, kept: Kept) -> None:
        super().restore(kept)
        self._skipped = [*kept.skipped]

    def play(self, action: int) -> None:
        super().play(action)
        self._skip()

    def replayed(self, game: Game) -> LocalMatch:
        match = super().replayed(game)
        assert isinstance(match, SkippingMatch)
        match._skipped = [*self._skipped]
        return match

    def take_back(self) -> None:
        while self._skipped and self._skipped[-1] == self.plies - 1:
            super().take_back()
            self._skipped.pop()
        super().take_back()

    def was_skipped(self, seat: int) -> bool:
        return self.plies - 1 in self._skipped and self.positions[-2].to_move == seat

    def _skip(self) -> None:
        while not self.winner and (action := self._only_pass()) is not None:
            self._skipped.append(self.plies)
            super().play(action)

    def _only_pass(self) -> int | None:
        """Return the pass if it is the only action; otherwise None."""
        clicks = self.game.view(self.state).clicks
        return next(iter(clicks)) if [*clicks.values()] == [()] else None
