"""Writes the search tree of a move to a file: as text, JSON, Graphviz or Mermaid, by its suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playout.games import Game, State
from playout.players.core.player import Info, Node, Player
from playout.players.core.rendering import PROOFS

#: The least share of the root's visits with which a node is written by default.
LEAST_SHARE = 0.01
_NOTE = "of the player who makes the move"


class TreeFile:
    """A file that holds the tree of the last move."""

    def __init__(self, path: Path, min_visits: int | None = None) -> None:
        """Nodes with fewer than `min_visits` visits are left out; None: with less than LEAST_SHARE.

        Raises ValueError for a suffix that is not in FORMATS, OSError if it cannot be written.
        """
        if path.suffix not in FORMATS:
            known = ", ".join(FORMATS)
            raise ValueError(f"unknown format of {str(path)!r}: the name must end in {known}")
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._format = FORMATS[path.suffix]
        self._min_visits = min_visits
        if path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder")
        self._part.touch()
        self._part.unlink()

    def write(self, player: Player, state: State, info: Info | None) -> None:
        """Replace the file by the tree of the player's last choice, made in `state`.

        The file is replaced as a whole, so that it is always complete. Raises OSError.
        """
        visits = sum(each.visits for each in info.actions) if info else 0
        least = max(1, int(LEAST_SHARE * visits)) if self._min_visits is None else self._min_visits
        root = player.tree(least)
        if root is not None:
            self._part.write_text(self._format(player.game, state, root), encoding="utf-8")
            self._part.replace(self._path)


@dataclass(frozen=True)
class _Row:
    """A node with its number and that of its parent, in the order of the rows."""

    number: int
    parent: int | None
    depth: int
    name: str
    node: Node


def text(game: Game, state: State, root: Node) -> str:
    """Return the tree as text: a line for each node, indented by its depth."""
    lines = [f"{game}, player {game.current_player(state)} to move; win rates are {_NOTE}"]
    lines += ["  " * row.depth + ", ".join(_label(row)) for row in _rows(game, state, root)]
    return "\n".join(lines) + "\n"


def as_json(game: Game, state: State, root: Node) -> str:
    """Return the tree as JSON: the fields of each node, the name of its action, its children."""
    whole = {"game": str(game), "state": state, "root": _nested(game, state, root)}
    return json.dumps(whole, indent=1) + "\n"


def graphviz(game: Game, state: State, root: Node) -> str:
    """Return the tree as a graph for Graphviz (`dot`)."""
    title = _dot_quoted(f"{game}: win rates are {_NOTE}")
    lines = ["digraph tree {", f"  graph [label={title}];", "  node [shape=box];"]
    for row in _rows(game, state, root):
        lines.append(f"  n{row.number} [label={_dot_quoted(*_label(row))}];")
        if row.parent is not None:
            lines.append(f"  n{row.parent} -> n{row.number};")
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(game: Game, state: State, root: Node) -> str:
    """Return the tree as a Mermaid flow chart, which many web pages and editors show."""
    lines = [f"%% {game}: win rates are {_NOTE}", "flowchart TD"]
    for row in _rows(game, state, root):
        lines.append(f"  n{row.number}[{_mermaid_quoted(*_label(row))}]")
        if row.parent is not None:
            lines.append(f"  n{row.parent} --> n{row.number}")
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[Game, State, Node], str]] = {
    ".txt": text,
    ".json": as_json,
    ".dot": graphviz,
    ".mmd": mermaid,
    ".mermaid": mermaid,
}


def _rows(game: Game, state: State, root: Node) -> Iterator[_Row]:
    """Yield the root and all nodes below it, each before its children, most visited first."""
    waiting: list[tuple[Node, State, int | None, int]] = [(root, state, None, 0)]
    number = 0
    while waiting:
        node, before, parent, depth = waiting.pop()
        yield _Row(number, parent, depth, _name(game, before, node), node)
        after = _after(game, before, node)
        waiting += [(child, after, number, depth + 1) for child in reversed(node.children)]
        number += 1


def _nested(game: Game, before: State, node: Node) -> dict[str, Any]:
    after = _after(game, before, node)
    return {
        "action": node.action,
        "name": _name(game, before, node),
        "visits": node.visits,
        "win_rate": node.win_rate,
        "amaf": node.amaf,
        "amaf_visits": node.amaf_visits,
        "proven": node.proven,
        "prior": node.prior,
        "exploration": node.exploration,
        "children": [_nested(game, after, child) for child in node.children],
    }


def _after(game: Game, before: State, node: Node) -> State:
    return before if node.action is None else game.next_state(before, node.action)


def _name(game: Game, before: State, node: Node) -> str:
    return "root" if node.action is None else game.action_name(before, node.action)


def _label(row: _Row) -> list[str]:
    node = row.node
    parts = [" ".join(row.name.split()), f"{node.visits:,} visits", f"{node.win_rate:.1%}"]
    if node.amaf is not None:
        parts.append(f"AMAF {node.amaf:.1%} of {node.amaf_visits:,}")
    if node.prior is not None:
        parts.append(f"P {node.prior:.1%}")
        parts.append(f"Q {2 * node.win_rate - 1:+.3f}")
    if node.exploration is not None:
        parts.append(f"U {node.exploration:.3f}")
    if node.proven is not None:
        parts.append(f"proven {PROOFS[node.proven]}")
    return parts


def _dot_quoted(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + r"\n".join(escaped) + '"'


#: The codes of characters with a meaning in a quoted label or in HTML.
_MERMAID = str.maketrans({mark: f"#{ord(mark)};" for mark in "#&\"'`<>\\"})


def _mermaid_quoted(*lines: str) -> str:
    return '"' + "<br>".join(line.translate(_MERMAID) for line in lines) + '"'
