"""Trees of variations: read from the query of an address, written as PGN or SGF.

A tree is written as numbers of actions; variations are in brackets behind the move that they
replace, as in PGN: `3 5 ( 4 2 ) 6`. PGN has the names of moves, for any game. SGF is for the games
whose matches it can describe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from playout.commands.text import filled
from playout.games import Game, Position
from playout.server.export import pgn, sgf

#: Maximum number of moves and brackets, and of brackets in each other.
_LONGEST, _DEEPEST = 4000, 100
_TOKEN = re.compile(r"[0-9]{1,10}|[()]")

#: The moves of a line; a list is a variation that replaces the move before it.
Line = list["int | Line"]


class BadTree(ValueError):
    """Raised for a tree that cannot be read, or that the rules do not allow."""


def read(text: str) -> Line:
    """Return the main line of a tree with its variations. Raises BadTree."""
    tokens = text.split()
    if len(tokens) > _LONGEST or not all(map(_TOKEN.fullmatch, tokens)):
        raise BadTree(f"a tree has up to {_LONGEST} numbers of actions and brackets: 3 5 ( 4 2 ) 6")
    lines: list[Line] = [[]]
    for token in tokens:
        if token == "(":
            if not lines[-1] or len(lines) > _DEEPEST:
                text = f"a variation follows a move, and at most {_DEEPEST} are in each other"
                raise BadTree(text)
            lines.append([])
        elif token == ")":
            variation = lines.pop()
            if not lines or not variation:
                raise BadTree("a variation is in brackets, and has moves")
            lines[-1].append(variation)
        else:
            lines[-1].append(int(token))
    if len(lines) > 1:
        raise BadTree("a ')' is missing")
    return lines[0]


def write_pgn(game: Game, line: Line) -> str:
    """Return a tree as PGN. Raises BadTree."""
    tags = "\n".join(pgn.tag(name, value) for name, value in _tags(game))
    return f"{tags}\n\n{filled([*_named(line, Position(game)), '*'], ' ')}\n\n"


def _tags(game: Game) -> Iterator[tuple[str, str]]:
    yield "Event", "Analysis"
    yield "Site", "?"
    yield "Date", "????.??.??"
    yield "Round", "-"
    yield "White", "?"
    yield "Black", "?"
    yield "Result", "*"
    yield from pgn.game_tags(str(game))


def _named(
    line: Line,
    position: Position,
    number: int | None = None,
    seat: int = 0,
    begun: tuple[int, ...] = (),
) -> Iterator[str]:
    """Yield the names of moves with their numbers; `seat` has made the move `number` before.

    Several captures of draughts are one move: `position` is the one before it, and `begun` are its
    captures before the line. A variation of one of them replaces the whole move.
    """
    number = position.game.first_number - 1 if number is None else number
    is_first = True
    for turn, others in _turns(line, position, begun):
        mover = position.to_move
        before = position, number, seat
        if mover:
            number += seat == 0 or (mover, seat) == (1, 2)
            if mover == 1 and seat != 1:
                yield f"{number}."
            elif mover == 2 and is_first:
                yield f"{number}..."
            seat, is_first = mover, False
        yield pgn.symbol(position.game.turn_name(position.state, turn))
        for done, variation in others:
            yield "("
            yield from _named(variation, *before, turn[:done])
            yield ")"
            is_first = True
        position = position.extended(turn)


#: The actions of a move, and its variations, each with the number of actions before it.
_Turn = tuple[tuple[int, ...], list[tuple[int, Line]]]


def _turns(line: Line, position: Position, begun: tuple[int, ...]) -> Iterator[_Turn]:
    """Yield the moves of a line, which may be several actions of one player. Raises BadTree."""
    start, turn, others = position, begun, list[tuple[int, Line]]()
    position = position.extended(begun)
    for move in line:
        if isinstance(move, list):
            others.append((len(turn) - 1, move))
            continue
        is_same = turn and position.to_move == start.to_move
        if turn and not (is_same and start.game.turn_name(start.state, (*turn, move))):
            yield turn, others
            start, turn, others = position, (), []
        position, turn = _played(position, move), (*turn, move)
    if turn:
        yield turn, others


def write_sgf(game: Game, line: Line) -> str:
    """Return a tree as SGF. Raises BadTree, or Unsuitable for a game that SGF cannot describe."""
    root = sgf.root_of(game)
    return f"(;{root}\n{filled([*_nodes(line, Position(game)), ')'])}\n"


def _nodes(line: Line, position: Position) -> Iterator[str]:
    """Yield nodes, and game trees in parentheses where there are variations."""
    open_trees = list[tuple[Position, list[Line]]]()
    for at, move in enumerate(line):
        if isinstance(move, list):
            open_trees[-1][1].append(move)
            continue
        before, position = position, _played(position, move)
        if at + 1 < len(line) and isinstance(line[at + 1], list):
            open_trees.append((before, []))
            yield "("
        yield sgf.node(before, position)
    for before, variations in reversed(open_trees):  # of a move: they follow the whole line
        yield ")"
        for each in variations:
            yield "("
            yield from _nodes(each, before)
            yield ")"


def _played(position: Position, action: int) -> Position:
    if position.winner or action not in position.legal_actions:
        raise BadTree(f"move {position.ply + 1}, action {action}, is not legal")
    return position.play(action)
