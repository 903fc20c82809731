"""Nim: take chips from a heap; the last chip wins, or loses with misere=true.

Action (n - 1) * heaps + heap takes n chips from a heap, as in OpenSpiel; with one heap, action a
takes a + 1 chips.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from playout.games import (
    Board,
    BoardView,
    KernelGame,
    Kernels,
    Option,
    SpecError,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.random import GAMMA, Rng, below

# board: the header below, then the heaps in one word: the chips of each take _WIDTH bits
_MAX_TAKE, _MISERE, _CHIPS, _COUNT, _WIDTH, _RECIPROCAL, _HEAPS = range(2, 9)

MOST_CHIPS = 1000
MOST_HEAPS = 10
#: The largest of several heaps.
MOST_IN_HEAP = 20


@helper
def set_heaps(board: Board, numbers: Vector) -> None:
    """Set the chips of each heap; the excess in an invalid state is left out."""
    left = board[_CHIPS]
    largest = left if board[_COUNT] == 1 else board[_MAX_TAKE]
    board[_HEAPS] = 0
    for heap in range(board[_COUNT]):
        chips = min(max(0, numbers[heap]), largest, left)
        board[_HEAPS] |= chips << heap * board[_WIDTH]
        left -= chips


@helper
def chips_of(board: Board, heap: int) -> int:
    """Return the chips that are left in a heap."""
    return board[_HEAPS] >> heap * board[_WIDTH] & (1 << board[_WIDTH]) - 1


@kernel
def legal(board: Board, actions: Vector) -> int:
    heaps = board[_COUNT]
    n = 0
    for take in range(board[_MAX_TAKE]):
        for heap in range(heaps):
            if chips_of(board, heap) > take:
                actions[n] = take * heaps + heap
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player, heaps = board[0], board[_COUNT]
    take = action * board[_RECIPROCAL] >> 16  # action // heaps, exact for every action
    left = board[_HEAPS] - (take + 1 << (action - take * heaps) * board[_WIDTH])
    board[_HEAPS] = left
    board[0] = 3 - player
    if left == 0:
        board[1] = 3 - player if board[_MISERE] else player


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    player, heaps, width = board[0], board[_COUNT], board[_WIDTH]
    # Of several heaps, a player may take any number of chips.
    most = board[_MAX_TAKE] if heaps == 1 else board[_CHIPS]
    left, chips, mask = board[_HEAPS], 0, (1 << width) - 1
    for heap in range(heaps):
        chips += left >> heap * width & mask
    ply, state = 0, rng[0]
    while chips > 0:
        state += GAMMA
        take, heap, shift = below(state, min(chips, most)), 0, 0
        while take >= left >> shift & mask:
            take -= left >> shift & mask
            shift += width
            heap += 1
        left -= take + 1 << shift
        chips -= take + 1
        trace[ply] = take * heaps + heap
        ply += 1
        player = 3 - player
    rng[0] = state
    if ply > 0:
        board[0], board[_HEAPS] = player, 0
        board[1] = player if board[_MISERE] else 3 - player
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for heap in range(board[_COUNT]):
        state[2 + heap] = chips_of(board, heap)


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    set_heaps(board, state[2:])


class Nim(KernelGame):
    """Take chips from a heap; the last chip wins."""

    about = (
        "There is one heap of chips, or several. Players take turns to remove at least one chip "
        "from a heap: from a single heap at most max_take chips, from one of several heaps as many "
        "as they want. The player who takes the last chip wins, or loses with misere."
    )
    groups = ("quick",)
    first_steps = (
        "Click a chip to take it and all that come after it. You win by taking the last one. "
        "Leave the opponent a multiple of max_take + 1 chips if you can: after any answer, you "
        "can do so again."
    )
    variants: ClassVar = {
        "piles=1;3;5;7,misere=true": "Four heaps; the player who takes the last chip loses.",
    }

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self,
        chips: Annotated[
            int, Option("chips of a single heap at the start", ge=1, le=MOST_CHIPS)
        ] = 15,
        max_take: Annotated[
            int,
            Option(
                "most chips that a player may take from a single heap in one move", ge=1, le=100
            ),
        ] = 3,
        piles: Annotated[
            str | None,
            Option(
                f"chips of several heaps, as in 1;3;5;7: 2 to {MOST_HEAPS} heaps of 1 to "
                f"{MOST_IN_HEAP} chips; instead of chips and max_take"
            ),
        ] = None,
        misere: Annotated[bool, Option("true: the player who takes the last chip loses")] = False,
    ) -> None:
        if piles and (chips, max_take) != (15, 3):
            raise SpecError("nim: piles cannot be combined with chips or max_take")
        self.heaps = _heaps_of(piles) if piles else (chips,)
        take = max(self.heaps) if piles else max_take
        if piles:
            self.canonical = {"piles": ";".join(map(str, self.heaps))}
        super().__init__(
            {
                _MAX_TAKE: take,
                _MISERE: int(misere),
                _CHIPS: sum(self.heaps),
                _COUNT: len(self.heaps),
                _WIDTH: 10 if len(self.heaps) == 1 else 6,
                _RECIPROCAL: (1 << 16) // len(self.heaps) + 1,
            },
            (1, 0, *self.heaps),
            board=_HEAPS + 1,
            state=2 + len(self.heaps),
            actions=take * len(self.heaps) + (1 if piles else 0),  # OpenSpiel has one more
            plies=sum(self.heaps),
        )

    def action_name(self, state: State, action: int) -> str:
        chips, heap = divmod(action, len(self.heaps))
        return str(chips + 1) if len(self.heaps) == 1 else f"{heap + 1}:{chips + 1}"

    def view(self, state: State) -> BoardView:
        heaps, columns = len(self.heaps), max(self.heaps)
        left = state[2:]
        clicks = {
            action: (action % heaps * columns + left[action % heaps] - 1 - action // heaps,)
            for action in self.legal_actions(state)
        }
        return BoardView(
            heaps,
            columns,
            tuple(int(chip < chips) for chips in left for chip in range(columns)),
            clicks,
            geometry="heap",
            piece="chip",
            note=f"{sum(left)} chip{'' if sum(left) == 1 else 's'} left",
            row_names=tuple(str(heap + 1) for heap in range(heaps)) if heaps > 1 else (),
            cell_labels=self._chip_names() if heaps > 1 else (),
        )

    def _chip_names(self) -> tuple[str, ...]:
        """Return the numbers of the chips in each heap, "" for cells that no chip was on."""
        chips = range(1, max(self.heaps) + 1)
        return tuple(str(chip) if chip <= heap else "" for heap in self.heaps for chip in chips)


def _heaps_of(piles: str) -> tuple[int, ...]:
    """Return the numbers of a text such as 1;3;5;7. Raises SpecError."""
    heaps = piles.split(";")
    if 2 <= len(heaps) <= MOST_HEAPS and all(heap.isascii() and heap.isdecimal() for heap in heaps):
        counts = tuple(map(int, heaps))
        for count in counts:
            Option(ge=1, le=MOST_IN_HEAP).check("nim", "piles", count)
        return counts
    raise SpecError(f"nim: piles must be 2 to {MOST_HEAPS} numbers, as in 1;3;5;7, not {piles!r}")
