"""Chess, with the actions of OpenSpiel and its rules of ties, which need no claim.

`playout.games.chessboard.position` describes states and actions, and how the legal moves are found.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Annotated, ClassVar

from playout.games import BoardView, GridGame, IllegalAction, Kernels, Option, SpecError, State
from playout.games.chessboard.knowledge import WORTHS, forcing, heavy, observe
from playout.games.chessboard.notation import (
    FIRST,
    LETTERS,
    cells_of,
    in_check,
    lax_action,
    names,
    number_of,
    position,
    text_of,
    uci_name,
)
from playout.games.chessboard.position import (
    ACTIONS,
    BOARD_WORDS,
    CELLS,
    QUIET_PLIES,
    SIDE,
    SQUARES,
    STATE_QUIET,
    STATE_WORDS,
    legal,
    play,
    playout,
    read,
    write,
)

#: OpenSpiel's bound; each move of a pawn and each capture begins another QUIET_PLIES.
PLIES = 17695

KINDS = ("pawn", "knight", "bishop", "rook", "queen", "king")


class Chess(GridGame):
    """Checkmate the opponent's king: the game of chess, in which ties need no claim."""

    about = (
        "The king moves one square in any direction, the rook straight and the bishop diagonally "
        "as far as the way is free, the queen like both, and the knight two squares straight and "
        "one aside, over other pieces. They capture what stands where they go. A pawn moves one "
        "square ahead, or two from where it began, and captures diagonally, also a pawn that has "
        "just passed that square (en passant); on the last row it becomes another piece. King and "
        "rook that have not moved castle, if the king passes no attacked square. No move may leave "
        "the player's king attacked: without a legal move, a player in check has lost (checkmate), "
        "and otherwise it is a tie (stalemate). It is a tie too when a position occurs for the "
        "third time, after 50 moves of each player without a capture or a move of a pawn, and when "
        "neither player has enough pieces to mate."
    )
    groups = ("classics", "capture")
    first_steps = (
        "Click a piece, then the square to which it goes; to castle, click the king and the rook, "
        "or the square two further. You win by checkmate: the opponent's king is attacked and "
        "cannot be saved. Before each move, look at what the opponent could capture after it. "
        "Bring knights and bishops out, and castle early to make your king safe."
    )
    variants: ClassVar = {
        "fen=8/8/8/8/4k3/8/8/R3K3 w Q - 0 1": "An ending to learn: mate with king and rook.",
    }

    rows = columns = SIDE
    upward = True
    pieces = ((0, ""), *((player, kind) for kind in KINDS for player in (1, 2)))
    action_cells = ()
    look: ClassVar = {"piece": "figure", "surface": "checkered"}
    exchange = "mirrored"
    material: ClassVar = {"pawn": 1, "knight": 3, "bishop": 3, "rook": 5, "queen": 9}

    kernels = Kernels(
        legal, play, playout, write, read, heavy=heavy, forcing=forcing, observe=observe
    )
    features = WORTHS

    def __init__(
        self,
        fen: Annotated[
            str | None,
            Option(
                "the first position as chess programs write it; the usual one if it is left out"
            ),
        ] = None,
    ) -> None:
        super().__init__(
            first=position(FIRST if fen is None else fen),
            board=BOARD_WORDS,
            state=STATE_WORDS,
            actions=ACTIONS,
            plies=PLIES,
            earlier=QUIET_PLIES,
        )
        self.first_number = number_of(fen or FIRST)
        first = self.initial_state()
        text = text_of(first, self.first_number)
        self.canonical = {"fen": None if text == FIRST else text}
        is_over = first[STATE_QUIET] >= QUIET_PLIES or _is_bare(first)
        is_over |= not self.legal_actions(first)
        if is_over or in_check(self.board((3 - first[0], *first[1:]))):
            reason = "the match is over there" if is_over else "the king could be captured"
            raise SpecError(f"chess: no match begins with the position {fen!r}: {reason}")

    def action_name(self, state: State, action: int) -> str:
        return _names(self, state).get(action) or uci_name(state, action)

    def parse_action(self, state: State, text: str) -> int:
        """Return the action of a name, such as `Nf3` or `g1f3`; signs for check may be left out.

        It may be written in other ways, too, if only one legal move fits: see `lax_action`.
        """
        wanted = text.strip()
        found: dict[str, int] = {}
        for action, name in _names(self, state).items():
            found |= dict.fromkeys(
                (self.long_algebraic(state, action), name.rstrip("+#"), name), action
            )
        spelled = wanted.lower().replace("0", "o")  # 0-0 castles too
        alike = {action for name, action in found.items() if name.lower() == spelled}
        if wanted in found:
            return found[wanted]
        if len(alike) == 1:
            return alike.pop()
        fitting = lax_action(state, self.legal_actions(state), wanted)
        if fitting is not None:
            return fitting
        raise IllegalAction(self._explain(state, repr(wanted), numbers=False))

    def long_algebraic(self, state: State, action: int) -> str:
        """Return a move as UCI writes it, from and to, as in `e2e4` and `e7e8q`."""
        return uci_name(state, action)

    def clicked(self, state: State, action: int) -> tuple[int, ...]:
        return cells_of(action, state[0])

    def view(self, state: State) -> BoardView:
        king = self.numbers(state).index(LETTERS.index(".Kk"[state[0]]))
        checked = (king,) if in_check(self.board(state)) else ()
        return dataclasses.replace(super().view(state), checked=checked)

    def note(self, state: State) -> str:
        """Return the reason for the end of the match, or a note on a check or an imminent tie."""
        quiet = state[STATE_QUIET]
        if state[1] > 0:
            return "checkmate"
        if state[1] < 0:
            return self._reason(state)
        check = ["check"] if in_check(self.board(state)) else []
        counted = f"{quiet} of {QUIET_PLIES} moves without a capture or a move of a pawn"
        return ", ".join([*check, *([counted] if quiet >= QUIET_PLIES // 2 else [])])

    def _reason(self, state: State) -> str:
        """Return the reason for which a match is a tie."""
        if not self.legal_actions((state[0], 0, *state[2:])):
            return "stalemate"
        if state[STATE_QUIET] >= QUIET_PLIES:
            return "50 moves of each player without a capture or a move of a pawn"
        return "neither player can mate" if _is_bare(state) else "the position for the third time"


@functools.lru_cache(maxsize=512)  # the positions of a match are named again for files and pages
def _names(game: Chess, state: State) -> Mapping[int, str]:
    return names(game, state)


def _is_bare(state: State) -> bool:
    """Return whether there are only kings and one knight, or bishops on squares of one colour."""
    placed = enumerate(LETTERS[piece].lower() for piece in state[CELLS : CELLS + SQUARES])
    others = [
        (letter, sum(divmod(cell, SIDE)) % 2) for cell, letter in placed if letter not in ".k"
    ]
    bishops = {("b", 0)}, {("b", 1)}
    return (len(others) < 2 and {*others} <= {("n", 0), ("n", 1)}) or {*others} in bishops
