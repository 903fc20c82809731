"""Boards of the system that Playout descends from, as games.

The original system, boardgame-socketserver, finds classes `Board` through the entry point group
`jrb_board.games`. A Board has no list of all actions, so an action is its place among the legal
actions of the position, sorted by their JSON.

The published Boards differ. In some, the methods about legal actions and the end of the game take
the newest state, in others all states so far; the name of their first parameter, `state` or
`history`, tells which. The end of a game is taken from `is_ended`, or else from `winner`, and the
result from `win_values`, or else from `winner`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from playout.games.core import plugins, spec
from playout.games.core.game import TIE, IllegalAction, State
from playout.games.core.history_game import MOST_PLIES, HistoryGame
from playout.games.core.plugins import ORIGINAL_BOARDS
from playout.games.core.spec import Option
from playout.games.core.view import BoardView

#: Legal actions of a position, at most.
MOST_ACTIONS = 1024

#: The families of Boards, by the letters and digits of their names.
_FAMILIES = {
    "connectfour": "connect_four",
    "connect4": "connect_four",
    "reversi": "othello",
    "t3": "mnk",
    "tictactoe": "mnk",
    "ultimate": "ultimate_tic_tac_toe",
    "ultimatet3": "ultimate_tic_tac_toe",
    "ultimatetictactoe": "ultimate_tic_tac_toe",
}

Json = dict[str, Any]


class BoardError(RuntimeError):
    """Raised when a Board fails or returns an invalid value. The message is for people."""


class BoardName(spec.Choice):
    """The name of an installed Board."""

    @classmethod
    def values(cls) -> tuple[str, ...]:
        return plugins.outside(ORIGINAL_BOARDS)


@dataclass(frozen=True)
class BoardPosition:
    """A position: the Board's states so far, with the player to move and the outcome of the newest.

    `actions` has its legal actions by their JSON, sorted; `last` is the JSON of the last action.
    """

    states: tuple[Any, ...]
    mover: int
    outcome: int
    actions: Mapping[str, Any]
    last: str | None


class Original(HistoryGame[BoardPosition]):
    """A game of the original system, by its own Board."""

    title = "Original system"

    about = (
        "Games of boardgame-socketserver, the system that Playout descends from: those whose "
        f"packages are installed, found through the entry point group {ORIGINAL_BOARDS}. Positions "
        "are shown as text, and moves are chosen by name. A match that is not over after "
        f"{MOST_PLIES:,} moves is a tie."
    )
    first_steps = "Choose a move by its name, from the buttons below the position."

    def __init__(
        self, board: Annotated[BoardName, Option("name of the game in the original system")]
    ) -> None:
        super().__init__(actions=MOST_ACTIONS, plies=MOST_PLIES)
        self.board_name = str(board)
        plain = "".join(filter(str.isalnum, board.lower()))
        self.family = _FAMILIES.get(plain, str(board))
        self._board = _created(board)
        self._has_history: dict[str, bool] = {}
        try:
            self._try()
        except BoardError as error:
            raise spec.SpecError(str(error)) from error

    def first_position(self) -> BoardPosition:
        return self._position((self._ask("starting_state"),), None)

    def position_after(self, position: BoardPosition, action: int) -> BoardPosition:
        text = list(position.actions)[action]
        after = self._ask_about("next_state", position.states, position.actions[text])
        return self._position((*position.states, after), text)

    def actions_in(self, position: BoardPosition) -> tuple[int, ...]:
        return tuple(range(len(position.actions)))

    def mover_in(self, position: BoardPosition) -> int:
        return position.mover

    def outcome_in(self, position: BoardPosition) -> int:
        return position.outcome

    def action_name(self, state: State, action: int) -> str:
        return self._names(state)[action]

    def view(self, state: State) -> BoardView:
        clicks = dict.fromkeys(self.legal_actions(state), ())
        return BoardView(0, 0, (), clicks, geometry="text", text=self._text(self.position(state)))

    # JSON, as the original system writes it.

    def state_json(self, state: State) -> Json:
        """Return a state as the Board writes it, with the two players."""
        return self._state_json(self.position(state))

    def action_json(self, state: State, action: int) -> object:
        """Return a legal action as the Board writes it."""
        return self._ask("to_json_action", list(self.position(state).actions.values())[action])

    def action_of(self, state: State, message: object) -> int:
        """Return the legal action for its JSON. Raises IllegalAction."""
        texts = list(self.position(state).actions)
        text = _text_of(message)
        if text not in texts:
            raise IllegalAction(self._explain(state, text, numbers=False))
        return texts.index(text)

    def points(self, state: State) -> dict[str, float]:
        """Return the points of a final state as the Board counts them, by player."""
        method = "points_values" if self._has("points_values") else "win_values"
        first, second = self._values(method, self.position(state).states)
        return {"1": first, "2": second}

    # Calls of the Board, and checks of what it returns.

    def _try(self) -> None:
        """Play a move, so that a Board without a method fails early. Raises BoardError."""
        if getattr(self._board, "num_players", 2) != 2:
            raise self._fault("it is not for two players")
        first = self.first_position()
        if first.outcome:
            raise self._fault("it is over before the first move")
        self.position_after(first, 0)
        start = self.initial_state()
        self.view(start)
        self.action_name(start, 0)
        self.state_json(start)

    def _position(self, states: tuple[Any, ...], last: str | None) -> BoardPosition:
        outcome = self._outcome(states)
        mover = self._ask("current_player", states[-1])
        if not outcome and mover not in (1, 2):
            raise self._fault(f"current_player returned {_shown(mover)}, not 1 or 2")
        return BoardPosition(states, mover, outcome, {} if outcome else self._actions(states), last)

    def _actions(self, states: tuple[Any, ...]) -> Mapping[str, Any]:
        found = self._ask_about("legal_actions", states)
        try:
            legal = list(found)
        except TypeError:
            raise self._fault(f"legal_actions returned {_shown(found)}, not a list") from None
        if not 0 < len(legal) <= MOST_ACTIONS:
            text = f"legal_actions returned {len(legal)} actions, not 1 to {MOST_ACTIONS}"
            raise self._fault(f"{text}, and the game is not over")
        texts = [self._json("to_json_action", action) for action in legal]
        if len(set(texts)) < len(texts):
            raise self._fault("to_json_action returned the same for two legal actions")
        return dict(sorted(zip(texts, legal, strict=True), key=lambda each: each[0]))

    def _outcome(self, states: tuple[Any, ...]) -> int:
        ends = "is_ended" if self._has("is_ended") else "winner"
        ended = self._ask_about(ends, states)
        if not ended:
            return 0
        if self._has("win_values"):
            first, second = self._values("win_values", states)
            return TIE if first == second else 1 if first > second else 2
        winner = self._ask_about("winner", states)
        if winner not in (1, 2, 3):
            raise self._fault(f"winner returned {_shown(winner)}, not 1, 2 or 3 for a tie")
        return TIE if winner == 3 else int(winner)

    def _values(self, method: str, states: tuple[Any, ...]) -> tuple[float, float]:
        """Return the numbers of both players that the Board gives at the end of the game."""
        values = self._ask_about(method, states)
        try:
            by_player = {str(player): float(value) for player, value in values.items()}
            return by_player["1"], by_player["2"]
        except (AttributeError, KeyError, TypeError, ValueError):
            text = f"{method} returned {_shown(values)}, not a number for 1 and for 2"
            raise self._fault(text) from None

    def _names(self, state: State) -> list[str]:
        """Return the names of the legal actions: their notation if it tells them apart."""
        position = self.position(state)
        if not self._has("to_notation"):
            return list(position.actions)
        names = [str(self._ask("to_notation", each)) for each in position.actions.values()]
        names = [" ".join(name.split()) for name in names]
        usable = len(set(names)) == len(names) and all(names) and "".join(names).isprintable()
        return names if usable else list(position.actions)

    def _text(self, position: BoardPosition) -> str:
        told = self._state_json(position)
        if not self._has("display"):
            return json.dumps(told, indent=1)
        last = {} if position.last is None else json.loads(position.last)
        text = self._ask("display", told, last)
        if not isinstance(text, str):
            raise self._fault(f"display returned {_shown(text)}, not a text")
        return "\n".join(line.rstrip() for line in text.rstrip().splitlines())

    def _state_json(self, position: BoardPosition) -> Json:
        told = json.loads(self._json("to_json_state", position.states[-1]))
        if not isinstance(told, dict) or "player" not in told:
            raise self._fault(f"to_json_state returned {_shown(told)}, without its player")
        return told

    def _json(self, method: str, value: Any) -> str:
        found = self._ask(method, value)
        try:
            return _text_of(found)
        except (TypeError, ValueError):
            raise self._fault(f"{method} returned {_shown(found)}, which is no JSON") from None

    def _ask_about(self, method: str, states: tuple[Any, ...], *arguments: Any) -> Any:
        """Call a method that takes the newest state, or a list of all states."""
        takes = list(states) if self._takes_history(method) else states[-1]
        return self._ask(method, takes, *arguments)

    def _takes_history(self, method: str) -> bool:
        if method not in self._has_history:
            try:
                names = list(inspect.signature(getattr(self._board, method)).parameters)
            except (AttributeError, TypeError, ValueError):
                names = []
            name = names[0] if names else ""
            is_other = "history" not in name and ("state" in name or method != "next_state")
            self._has_history[method] = not is_other
        return self._has_history[method]

    def _ask(self, method: str, *arguments: Any) -> Any:
        if not self._has(method):
            raise self._fault(f"it has no method {method}")
        try:
            return getattr(self._board, method)(*arguments)
        except Exception as error:  # it may be any program
            raise self._fault(f"{method} failed: {error!r}") from error

    def _has(self, method: str) -> bool:
        return callable(getattr(self._board, method, None))

    def _fault(self, what: str) -> BoardError:
        return BoardError(f"the Board of {self.board_name} cannot be used: {what}")


def _created(name: str) -> Any:
    """Return an installed Board. Raises SpecError."""
    if not plugins.outside(ORIGINAL_BOARDS):
        text = f"a package has to offer one through the entry point group {ORIGINAL_BOARDS}"
        raise spec.SpecError(f"original: no board {name!r} is installed: {text}")
    make = plugins.find_outside(ORIGINAL_BOARDS, object, "board of the original system", name)
    return plugins.create(make)


def _text_of(value: object) -> str:
    """Return the JSON that names an action."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]} ..."
