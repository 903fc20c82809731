"""What is said about matches and searches: printed, and sent along with a move."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from games import Game, State
from games.core.view import pieces
from players.core.player import ActionStats, Info
from server.model.messages import Analysis, ClockState, TimeControl

#: What the values of `proven` mean, for the player that they are about.
PROOFS: Mapping[int, str] = {1: "win", 0: "tie", -1: "loss"}
_ACTIONS_SHOWN = 12
_LINE_SENT = 20
_ACTIONS_SENT = 50
_STYLES = {0: "dim", 1: "bold red", 2: "bold cyan"}


def board(game: Game, state: State, last: int | None = None, before: State | None = None) -> Text:
    """The position, coloured, with the cells of the last move marked."""
    view = game.view(state)
    marked = set(game.view(before).clicks.get(last, ())) if last is not None and before else set()
    text = Text()
    for piece, place in pieces(view):
        style = "bold" if place is None else _STYLES.get(view.cells[place], "")
        text.append(piece, style=style + (" reverse" if place in marked else ""))
    if view.note:
        text.append(view.note + "\n")
    return text


def search(game: Game, state: State, info: Info, width: int) -> str:
    """What a search did and thinks: the best actions with their win rates and wins/plays."""
    names = []
    after = state
    for action in info.pv:
        names.append(game.action_name(after, action))
        after = game.next_state(after, action)
    best, more = info.actions[:_ACTIONS_SHOWN], len(info.actions) - _ACTIONS_SHOWN
    return "\n".join(
        [
            f"{info.simulations:,} simulations in {info.seconds:.3f} s, depth {info.depth}, "
            f"win rate {info.win_rate:.1%}{_proof(info.proven, ', proven ')}",
            *(["expects " + " ".join(names)] if names else []),
            *_columns([_considered(game, state, each) for each in best], width),
            *([f"... and {more} more"] if more > 0 else []),
        ]
    )


def _considered(game: Game, state: State, each: ActionStats) -> str:
    plays = "untried"  # as when another action is proven to win
    if each.visits:
        plays = f"{each.win_rate:.1%} ({each.wins:.1f}/{each.visits})".replace(".0/", "/")
    amaf = "" if each.amaf is None else f" AMAF {each.amaf:.1%}"
    return f"{game.action_name(state, each.action)}: {plays}{amaf}{_proof(each.proven, ' ')}"


def _proof(proven: int | None, before: str) -> str:
    return "" if proven is None else before + PROOFS[proven]


def _columns(texts: list[str], width: int) -> list[str]:
    """Lines of equal columns, filled row by row."""
    column = max((len(text) for text in texts), default=0) + 3
    count = max(1, width // column)
    rows = (texts[first : first + count] for first in range(0, len(texts), count))
    return ["".join(text.ljust(column) for text in row).rstrip() for row in rows]


def thought(info: Info) -> Analysis:
    """What is sent to the server with a move."""
    actions = info.actions[:_ACTIONS_SENT]
    return Analysis(
        win_rate=float(info.win_rate),
        simulations=int(info.simulations),
        seconds=float(info.seconds),
        depth=int(info.depth),
        proven=None if info.proven is None else int(info.proven),  # type: ignore[arg-type]
        pv=tuple(int(action) for action in info.pv[:_LINE_SENT]),
        actions=tuple(
            (int(each.action), int(each.visits), float(each.win_rate)) for each in actions
        ),
    )


def clocks(
    names: tuple[str, str], readings: tuple[ClockState, ClockState], control: TimeControl
) -> str:
    """Both players' time."""
    parts = []
    for name, left in zip(names, readings, strict=True):
        minutes, seconds = divmod(left.main_s, 60)
        periods = f" + {left.periods}x{control.period_s:g}" if left.periods else ""
        parts.append(f"{name} {int(minutes)}:{seconds:04.1f}{periods}")
    return "Clocks: " + ", ".join(parts)


def console() -> Console:
    """Where players print; plain text when it is no terminal."""
    return Console(highlight=False)
