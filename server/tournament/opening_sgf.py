"""Openings from SGF (https://www.red-bean.com/sgf/): each variation of each game is an opening.

SGF describes games of placing stones on one grid; Black is the player that moves first.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from games import BoardView, Game, IllegalAction, State
from server.export import sgf
from server.tournament.written_opening import BadOpening, WrittenMove, WrittenOpening

_LETTERS = string.ascii_letters
_COLOURS = {"B": 1, "W": 2}
_SETUP = {"AB": 1, "AW": 2}
#: Boards up to this size have `tt` for a pass in old files.
_OLD_SIZE = 19
_PROPERTY = re.compile(r"\s*([A-Za-z]+)\s*(?=\[)")
_VALUE = re.compile(r"\s*\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_BEGIN = re.compile(r"\(\s*;")


class _Property(NamedTuple):
    line: int
    name: str
    values: tuple[str, ...]


def read(text: str, game: Game) -> Iterator[WrittenOpening | BadOpening]:
    """Yields the moves from the root to each end of the game trees in the file."""
    if not sgf.suits(game):
        yield BadOpening(1, f"SGF is for games of placing stones on one grid, not for {game}")
        return
    view = game.view(game.initial_state())
    moves: list[WrittenMove] = []
    #: For each open tree the moves before it, and whether a tree in it has ended.
    trees: list[tuple[int, bool]] = []
    try:
        for item in _items(text):
            if item == "(":
                trees.append((len(moves), False))
            elif item == ")":
                before, is_divided = trees.pop()
                if not is_divided and moves:
                    yield WrittenOpening(moves[0].line, tuple(moves), _action)
                del moves[before:]
                if trees:
                    trees[-1] = (trees[-1][0], True)
            elif isinstance(item, _Property):
                _check(item, view, has_moves=bool(moves))
                if item.name in _COLOURS:
                    moves.append(WrittenMove(item.line, f"{item.name}[{item.values[0]}]"))
    except BadOpening as error:
        yield error


def _items(text: str) -> Iterator[str | _Property]:
    """Yields parentheses and properties. Raises BadOpening for text that is no SGF."""
    begin = _BEGIN.search(text)
    place = begin.start() if begin else len(text)
    line, depth = 1 + text.count("\n", 0, place), 0
    while place < len(text):
        letter = text[place]
        if found := _PROPERTY.match(text, place) if depth else None:
            start, at = line + found[0].count("\n"), found.end()
            values: list[str] = []
            while value := _VALUE.match(text, at):
                values.append(value[1])
                at = value.end()
            if not values:
                raise BadOpening(start, f"the value of {found[1]} is not closed by ']'")
            yield _Property(start, found[1], tuple(values))
            line += text.count("\n", place, at)
            place = at
            continue
        if letter in "()":
            depth += 1 if letter == "(" else -1
            if depth < 0:
                raise BadOpening(line, "a ')' without a game")
            yield letter
        elif letter == "\n":
            line += 1
        elif depth and letter != ";" and not letter.isspace():
            raise BadOpening(line, f"{letter!r} is not expected here")
        place += 1
    if depth:
        raise BadOpening(line, "a game that is not closed by ')'")


def _check(item: _Property, view: BoardView, *, has_moves: bool) -> None:
    """Raises BadOpening for another board or another first position than those of the game."""
    if item.name == "SZ":
        size = item.values[0].strip()
        allowed = {f"{view.columns}:{view.rows}"}
        allowed |= {str(view.rows)} if view.rows == view.columns else set()
        if size not in allowed:
            text = f"a board of size {size[:20]}, and this game has {' or '.join(sorted(allowed))}"
            raise BadOpening(item.line, text)
    elif item.name in _SETUP:
        own = {cell for cell, owner in enumerate(view.cells) if owner == _SETUP[item.name]}
        if has_moves or {_cell(each, view) for each in item.values} != own:
            text = f"{item.name} sets up a position; openings start at the first one"
            raise BadOpening(item.line, text)
    elif item.name == "AE":
        raise BadOpening(item.line, "AE removes stones; openings have moves only")


def _cell(point: str, view: BoardView) -> int | None:
    """The number of the cell at a point; None if there is none."""
    if len(point) != 2 or not set(point) <= set(_LETTERS):
        return None
    column, row = map(_LETTERS.index, point)
    return row * view.columns + column if column < view.columns and row < view.rows else None


def _action(game: Game, state: State, written: str) -> int:
    """The action of `B[dd]` in a state. Raises IllegalAction."""
    colour, point = written[0], written[2:-1].strip()
    if _COLOURS[colour] != game.current_player(state):
        raise IllegalAction(f"{written[:20]}: it is the turn of the other player")
    view = game.view(state)
    is_old_pass = point == "tt" and max(view.rows, view.columns) <= _OLD_SIZE
    cell = None if is_old_pass or not point else _cell(point, view)
    wanted = () if is_old_pass or not point else (cell,)
    for action, clicks in view.clicks.items():
        if clicks == wanted:
            return action
    raise IllegalAction(f"{written[:20]} is not legal here")
