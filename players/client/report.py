"""What is printed about matches and searches."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from games import Game, State
from games.core.view import pieces
from players.core.player import Info
from server.messages import Control, Reading

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
    """What a search did and thinks: each action with its win rate and wins/plays."""
    names = []
    after = state
    for action in info.line:
        names.append(game.action_name(after, action))
        after = game.next_state(after, action)
    considered = [
        f"{game.action_name(state, each.action)}: {each.win_rate:.1%} "
        + f"({each.wins:.1f}/{each.visits})".replace(".0/", "/")
        for each in info.actions
    ]
    return "\n".join(
        [
            f"{info.simulations:,} simulations in {info.seconds:.3f} s, depth {info.depth}, "
            f"win rate {info.win_rate:.1%}",
            *(["expects " + " ".join(names)] if names else []),
            *_columns(considered, width),
        ]
    )


def _columns(texts: list[str], width: int) -> list[str]:
    """Lines of equal columns, filled row by row."""
    column = max((len(text) for text in texts), default=0) + 3
    count = max(1, width // column)
    rows = (texts[first : first + count] for first in range(0, len(texts), count))
    return ["".join(text.ljust(column) for text in row).rstrip() for row in rows]


def clocks(names: tuple[str, str], readings: tuple[Reading, Reading], control: Control) -> str:
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
