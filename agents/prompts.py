"""Positions as prompts for a language model, and the moves of its answers."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from dataclasses import dataclass

from playout import games
from playout.agents.variants import USUAL, GameVariant, Notation
from playout.commands.text import beginning
from playout.games import BoardView, IllegalAction, Position
from playout.games.core.view import cell_text

#: The messages of a request, in the form of OpenAI's chat completions.
Messages = list[dict[str, str]]
#: How a board is written.
BOARDS = ("text", "coordinates", "fen", "json")
_EMPTY = re.compile(r"\.+")
_END = "end your answer with this line:\nMOVE: the move"
#: The marker of the move in a line of an answer, and the characters around a move, of Markdown.
_MOVE, _MARKS = re.compile(r"\W{0,9}MOVE\W{0,3}:(.*)", re.IGNORECASE), " \t*`\"'."
#: Maximum number of characters of a move, and of an answer that is quoted to its model.
_LONGEST, _MOST_QUOTED = 100, 200


@dataclass(frozen=True)
class PromptForm:
    """How a prompt shows a position.

    `legal`: whether it lists the legal moves. `history`: whether it lists the moves so far.
    """

    board: str = "text"
    legal: bool = True
    history: bool = True

    def __str__(self) -> str:
        lists = [] if self.legal else ["legal moves not listed"]
        return ", ".join([self.board, *lists, *([] if self.history else ["position alone"])])


def prompt(position: Position, form: PromptForm, played: GameVariant) -> str:
    """Return the prompt for the player to move, with the names of a variant."""
    game, player = position.game, position.to_move
    view = played.notation.labelled(game.view(position.state))
    parts = [
        f"You are player {player} in a match of {games.title(str(game))}.",
        f"Rules: {played.rules()}",
        f"Position, with player {player} to move:\n{_board(position, view, form, played)}",
    ]
    if form.history and position.states[0] == game.initial_state():
        parts.append(f"Moves so far: {', '.join(played.move_names(position)) or 'none'}")
    if form.legal:
        names = (played.name(position, action) for action in position.legal_actions)
        parts.append(f"Legal moves: {', '.join(names)}")
    elif not game.has_chance:
        first = Position(game)
        example = played.name(first, first.legal_actions[0])
        parts.append(f"A move is written like this one of the first position: {example}")
    parts.append(f"Choose one legal move, and {_END}")
    return "\n\n".join(parts)


def _board(position: Position, view: BoardView, form: PromptForm, played: GameVariant) -> str:
    notation = played.notation
    if form.board == "text" or view.geometry == "text":
        parts = [notation.draw(view)]
    elif form.board == "json":
        rows = _rows(view, notation)
        told = {"columns": view.column_labels, "row_names": view.row_labels, "rows": rows}
        parts = [json.dumps(told, ensure_ascii=False), view.note]
    elif form.board == "fen" and (fen := _fen(position, view, played)):
        parts = [fen, view.note]
    else:
        parts = [_coordinates(view, notation), view.note]
    if view.geometry != "text":
        parts.append(notation.legend(view))
    return "\n".join(filter(None, parts))


def _fen(position: Position, view: BoardView, played: GameVariant) -> str:
    """Return the rows from the top as FEN writes them, of chess the whole FEN.

    The result is empty for boards whose cells have names of their own or more than one letter.
    """
    game, notation = position.game, played.notation
    if str(game).partition("(")[0] == "chess" and notation is USUAL:
        from playout.games.chess import Chess  # whose rules would be compiled for --help
        from playout.games.chessboard.notation import text_of

        assert isinstance(game, Chess)
        begun = game.current_player(position.states[0]) - 1
        return f"FEN: {text_of(position.state, game.first_number + (begun + position.ply) // 2)}"
    rows = _rows(view, notation)
    if view.geometry not in ("grid", "columns", "hex") or any(len(c) != 1 for r in rows for c in r):
        return ""
    text = _EMPTY.sub(lambda empty: str(len(empty[0])), "/".join(map("".join, rows)))
    names = f"columns {' '.join(view.column_labels)}"
    if any(view.row_labels):
        names = f"rows {' '.join(view.row_labels)}, {names}"
    return f"{text}\nRows from the top; a number is that many empty cells; {names}"


def _rows(view: BoardView, notation: Notation) -> list[list[str]]:
    """Return the texts of the cells by row."""
    cells = [notation.lettered(cell_text(view, view, place)) for place in range(len(view.cells))]
    return [cells[row * view.columns :][: view.columns] for row in range(view.rows)]


def _coordinates(view: BoardView, notation: Notation) -> str:
    """Return the cells of each kind of piece; a row without a name has its number from the top."""
    found: dict[str, list[str]] = {}
    texts = itertools.chain(*_rows(view, notation))
    for place, (owner, text) in enumerate(zip(view.cells, texts, strict=True)):
        row, column = divmod(place, view.columns)
        label = f"{view.column_labels[column]}{view.row_labels[row] or f' in row {row + 1}'}"
        name = view.cell_labels[place] if view.cell_labels else label
        if view.counts:
            if text != name or view.geometry != "points":  # of an empty point, only the name
                found.setdefault("cells", []).extend([text] if text else [])
        elif owner:
            found.setdefault(text, []).append(name)
    board = f"{view.rows} rows and {view.columns} columns"
    return "\n".join([board, *(f"{text}: {', '.join(names)}" for text, names in found.items())])


def move_of(position: Position, answer: str, played: GameVariant) -> int:
    """Return the action that an answer names. Raises IllegalAction, with a reason for people.

    It is what follows the last `MOVE:`, or the whole answer if that is one line without it.
    """
    lines = answer.strip().splitlines()
    marked = (found[1] for line in reversed(lines) if (found := _MOVE.match(line)))
    named = next(marked, answer.strip()).lstrip(_MARKS).rstrip()
    if not named or len(named) > _LONGEST or "\n" in named:
        raise IllegalAction("the answer names no move")
    name = named
    while name:  # a mark may belong to the name, as in backgammon
        with contextlib.suppress(IllegalAction):
            return played.parse(position, name)
        name = name[:-1] if name[-1] in _MARKS else ""
    raise IllegalAction(f"{beginning(named, _LONGEST)!r} is not a legal move")


def correction(answer: str, fault: str) -> Messages:
    """Return the messages after an answer that cannot be used: the answer, and the fault."""
    told = (
        f"This answer cannot be used: {fault}. The position is the same. Choose a legal move, and "
        f"{_END}"
    )
    said = beginning(answer, _MOST_QUOTED) or "(nothing)"
    return [{"role": "assistant", "content": said}, {"role": "user", "content": told}]
