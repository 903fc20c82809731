"""Files of openings: lists, PGN and SGF, by the end of their names.

Each kind has a reader, in a module of its own, that finds the written moves; here they are played.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from games import Game, IllegalAction, State
from server.tournament import opening_list, opening_pgn, opening_sgf
from server.tournament.written_opening import BadOpening, OpeningReader, WrittenOpening

_READERS: Mapping[str, OpeningReader] = {
    "pgn": opening_pgn.read,
    "pdn": opening_pgn.read,
    "sgf": opening_sgf.read,
}


def read(
    path: str, text: str, game: Game, most: int = 0
) -> Iterator[tuple[int, tuple[int, ...] | BadOpening]]:
    """Each opening's line, from 1, and its actions, or the error with the line of the mistake.

    A name that ends in `.pgn`, `.pdn` or `.sgf` tells the kind of the file, which is otherwise a
    list. Openings have at most `most` moves, unless that is 0; the first of those that lead to the
    same position is used then. Without `most`, the others are errors.
    """
    reader = _READERS.get(path.rpartition(".")[2].lower(), opening_list.read)
    seen: dict[State, int] = {}
    for written in reader(text, game):
        try:
            if isinstance(written, BadOpening):
                raise written
            actions, state = _played(written, game, most)
            if state not in seen:
                seen[state] = written.line
                yield written.line, actions
            elif not most:
                same = f"it leads to the same position as line {seen[state]}"
                raise BadOpening(written.line, same)
        except BadOpening as error:
            yield error.line, error


def _played(written: WrittenOpening, game: Game, most: int) -> tuple[tuple[int, ...], State]:
    """The actions of an opening, and the position after them. Raises BadOpening."""
    state = game.initial_state()
    actions: list[int] = []
    for line, word in written.moves[: most or None]:
        try:
            action = written.action(game, state, word)
            state = game.next_state(state, action)
        except IllegalAction as error:
            text = f"{game}, move {len(actions) + 1}: {error}{written.hint}"
            raise BadOpening(line, text) from error
        actions.append(action)
    if game.winner(state):
        hint = "" if most else "; plies = 8 would keep the first eight moves of each"
        text = f"{game}: the game is over after these moves{hint}"
        raise BadOpening(written.line, text)
    return tuple(actions), state
