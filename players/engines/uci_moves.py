"""Moves as UCI writes them, for chess and the games of OpenSpiel that UCI engines play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from games import Game, State
from games.core import spec

#: The games, each with the UCI_Variant that Fairy-Stockfish calls it.
VARIANTS: Mapping[str, str] = {
    "chess": "chess",
    "breakthrough": "breakthrough",
    "clobber": "clobber",
}


class UciMoves:
    """Names the actions of a game for UCI engines."""

    def __init__(self, game: Game) -> None:
        """Raises ValueError for a game that UCI engines do not play."""
        given = spec.parse(str(game))
        self.variant = VARIANTS.get(given.options.get("game", ""), "")
        #: The first position, as the command `position` names it.
        self.first = "startpos"
        if given.name == "chess":
            self.variant = "chess"
            self.first = f"fen {given.options['fen']}" if given.options else "startpos"
        elif given.name != "open_spiel" or len(given.options) != 1 or not self.variant:
            listed = ", ".join(f"open_spiel(game={each})" for each in VARIANTS)
            raise ValueError(f"UCI engines play chess, {listed}, not {game}")
        self._game: Any = game
        self._name_of = _NAMES[self.variant]

    def name(self, state: State, action: int) -> str:
        """Return the name of a legal action, as `e2e4`."""
        return self._name_of(self._game, state, action)

    def names(self, states: Iterable[State], moves: Iterable[int]) -> list[str]:
        """Return the names of moves, each in its state."""
        return [self.name(state, move) for state, move in zip(states, moves, strict=False)]

    def action(self, state: State, name: str) -> int | None:
        """Return the legal action of that name; None if there is none."""
        legal = self._game.legal_actions(state)
        return next((each for each in legal if self.name(state, each) == name), None)

    def actions(self, state: State, names: Iterable[str]) -> Iterator[int]:
        """Yield the actions of a line of moves from a state, as far as they are legal."""
        for name in names:
            action = self.action(state, name)
            if action is None:
                return
            yield action
            state = self._game.next_state(state, action)


def _chess(game: Any, state: State, action: int) -> str:
    name: str = game.long_algebraic(state, action)
    return name


def _breakthrough(game: Any, state: State, action: int) -> str:
    """The first player of OpenSpiel moves down, and White of UCI moves up: ranks are mirrored."""
    name = game.action_name(state, action)
    return "".join(f"{name[i]}{9 - int(name[i + 1])}" for i in (0, 2))


def _clobber(game: Any, state: State, action: int) -> str:
    """OpenSpiel has five rows and six columns, UCI six rows and five columns: transposed."""
    name = game.action_name(state, action)
    return "".join(f"{'edcba'[int(name[i + 1]) - 1]}{6 - 'abcdef'.index(name[i])}" for i in (0, 2))


_NAMES: Mapping[str, Callable[[Any, State, int], str]] = {
    "chess": _chess,
    "breakthrough": _breakthrough,
    "clobber": _clobber,
}
