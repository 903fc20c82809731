"""Positions and the analyses of searches as text for a terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from playout.commands.text import printable
from playout.games import BoardView, Position
from playout.games.core.view import pieces
from playout.players.core.player import ActionStats, Info

#: The words for the values of `proven`, from the view of the player whose result it is.
PROOFS: Mapping[int, str] = {1: "win", 0: "tie", -1: "loss"}
_ACTIONS = 12
_STYLES = {0: "dim", 1: "bold red", 2: "bold cyan"}


def board(position: Position) -> Text:
    """Return a position in colours, with the cells of the last move marked."""
    view, marked = position.game.view(position.state), set[int]()
    if position.last_move is not None:
        before = position.game.view(position.states[-2])
        marked.update(before.clicks.get(position.last_move, ()))
    text = Text()
    for piece, place in pieces(view):
        style = "bold" if place is None else _STYLES.get(_owner(view, place), "")
        text.append(piece, style=style + (" reverse" if place in marked else ""))
    if view.note:
        text.append(view.note + "\n")
    return text


def _owner(view: BoardView, place: int) -> int:
    """Return the owner of a cell or an edge."""
    return -place if place < 0 else view.cells[place]


def progress(position: Position, info: Info) -> str:
    """Return one line about a search: its effort and the expected moves."""
    names = position.names(info.pv)
    return ", ".join([_effort(info), *(["expects " + " ".join(names)] if names else [])])


def analysis(position: Position, info: Info, width: int) -> str:
    """Return lines about a search: its effort, the expected moves, the most visited actions.

    Lines of actions are at most `width` characters long.
    """
    names = position.names(info.pv)
    best, more = info.actions[:_ACTIONS], len(info.actions) - _ACTIONS
    return "\n".join(
        [
            _effort(info),
            *(["expects " + " ".join(names)] if names else []),
            *_columns([_action(position, each) for each in best], width),
            *([f"... and {more} more"] if more > 0 else []),
        ]
    )


class _PlayerConsole(Console):
    """Prints texts of strangers as text only, which cannot command the terminal.

    It ends the process as SIGTERM does when the pipe that reads its output is closed.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects, whose texts may have been written by strangers; none is markup."""
        options.setdefault("markup", False)
        super().print(*map(_printable, objects), **options)

    def out(self, *objects: Any, **options: Any) -> None:
        """Print objects as they are, except for characters of texts that are not shown."""
        super().out(*map(_printable, objects), **options)

    def on_broken_pipe(self) -> None:
        """Send SIGTERM: the SystemExit that Rich raises is lost in a callback of Twisted."""
        self.quiet = True
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
        signal.raise_signal(signal.SIGTERM)


def _printable(shown: object) -> object:
    return printable(shown) if isinstance(shown, str) else shown


def console() -> Console:
    """Return the console that players print to: in colours on a terminal, otherwise plain text."""
    return _PlayerConsole(highlight=False)


def _effort(info: Info) -> str:
    return (
        f"{info.simulations:,} simulations in {info.seconds:.3f} s, depth {info.depth}, "
        f"win rate {info.win_rate:.1%}{_proof(info.proven, ', proven ')}"
    )


def _action(position: Position, stats: ActionStats) -> str:
    plays = "untried"  # as when another action is proven to win
    if stats.visits:
        plays = f"{stats.win_rate:.1%} ({stats.wins:.1f}/{stats.visits})".replace(".0/", "/")
    amaf = "" if stats.amaf is None else f" AMAF {stats.amaf:.1%}"
    return f"{position.name(stats.action)}: {plays}{amaf}{_proof(stats.proven, ' ')}"


def _proof(proven: int | None, before: str) -> str:
    return "" if proven is None else before + PROOFS[proven]


def _columns(texts: list[str], width: int) -> list[str]:
    """Return lines of equal columns, filled row by row."""
    column = max((len(text) for text in texts), default=0) + 3
    count = max(1, width // column)
    rows = (texts[first : first + count] for first in range(0, len(texts), count))
    return ["".join(text.ljust(column) for text in row).rstrip() for row in rows]
