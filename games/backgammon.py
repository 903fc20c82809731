"""Backgammon, a match of one point; the rolls, the points and the actions have OpenSpiel's numbers.

An action moves two checkers: it is `first + 26 * second`, plus 676 if the first one moves by the
lower number. Both are points, 24 for the bar, or 25 for none. A double is two actions in a row. Of
the actions that lead to the same position, only the lowest is legal.

In compiled code, each player has a row of checkers by their distance to the end: place 0 are those
borne off, 1 to 24 the points, 25 the bar. The point of distance d is 25 - d for the opponent.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

import numpy as np

from playout.games import (
    Board,
    BoardView,
    IllegalAction,
    KernelGame,
    Kernels,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import lowest, without_lowest
from playout.games.core.kernels import inlined_helper, insert
from playout.games.core.random import GAMMA, Rng, below

CHECKERS = 15
#: A match is a tie after this many turns.
TURNS = 500
BAR, NONE, PASS = 24, 25, 1351
_LOW_FIRST = 676
#: The rolls of two different numbers, the lower one first. The outcome 2n is roll n, and at the
#: opening 2n + 1 is that roll if player 2 begins; the outcome 29 + n is the double of n.
PAIRS = tuple(itertools.combinations(range(1, 7), 2))
_LOW = np.array([*(low for low, _ in PAIRS for _ in range(2)), *range(1, 7)])
_HIGH = np.array([*(high for _, high in PAIRS for _ in range(2)), *range(1, 7)])
_DOUBLES = 30
#: Player 1's distances to the end at the start; player 2 has the same ones.
START = {24: 2, 13: 5, 8: 3, 6: 5}

# board: player, outcome, player whose turn it is (0 before the opening), higher and lower number of
# the dice, whether it is the second half of a double, the rows of both players, the number of turns
_ROLLER, _DICE_HIGH, _DICE_LOW, _SECOND, _ROWS, _TURNS = 2, 3, 4, 5, 6, 58
_ROW = 26

#: Maximum number of ways to move two checkers, with repetitions.
_WAYS = 2 * CHECKERS**2
#: Numbers whose sum identifies what a move changes: of the player's checkers, by their distance,
#: and of the opponent's that are hit. Two different moves have equal sums once in 2^64 times.
_OWN, _HIT = np.random.default_rng(1).integers(-(2**63), 2**63, (2, _ROW), dtype=np.int64)
#: The highest place in a set of places below 7.
_HIGHEST = np.array(
    [max((n for n in range(7) if places >> n & 1), default=0) for places in range(128)]
)


@inlined_helper
def row_of(player: int) -> int:
    """Return the index of the first word of a player's row."""
    return _ROWS + _ROW * (player - 1)


@inlined_helper
def digit(player: int, place: int) -> int:
    """Return OpenSpiel's number of a place from which a player moves."""
    if place == 25:
        return BAR
    return 24 - place if player == 1 else place - 1


@inlined_helper
def place_of(player: int, number: int) -> int:
    """Return the place of OpenSpiel's number of a point or of the bar."""
    if number == BAR:
        return 25
    return 24 - number if player == 1 else number + 1


@helper
def sources(own: int, open_: int, die: int) -> int:
    """Return the places from which a checker can move; `own` and `open_` are sets of places."""
    if own >> 25:
        return 1 << 25 & open_ << die
    found = own & open_ << die
    if own >> 7 == 0:
        found |= own & 1 << die
        highest = _HIGHEST[own]
        if 0 < highest < die:
            found |= 1 << highest
    return found


@inlined_helper
def add(out: Vector, at: int, n: int, action: int, change: int) -> int:
    """Add an action, unless another one changes the same; of these, the lowest is kept."""
    same = -1
    for i in range(at + _WAYS, at + _WAYS + n):
        if out[i] == change:
            same = i - _WAYS
    if same >= 0:
        out[same] = min(out[same], action)
        return n
    out[at + n] = action
    out[at + _WAYS + n] = change
    return n + 1


@helper
def add_pairs(
    board: Board, out: Vector, at: int, n: int, own: int, open_: int, dice: int, first: int
) -> int:
    """Add the actions that move by one die and then by another; `first` is added to each number.

    `dice` has both numbers, three bits for each, the first one in the lower bits.
    """
    player, one, other = board[0], dice & 7, dice >> 3
    row, theirs = row_of(player), row_of(3 - player)
    begins = sources(own, open_, one)
    while begins:
        begin = lowest(begins)
        begins = without_lowest(begins)
        goal = max(0, begin - one)
        after = own ^ 1 << begin if board[row + begin] == 1 else own
        change = _OWN[goal] - _OWN[begin]
        if goal:
            after |= 1 << goal
            if board[theirs + 25 - goal] == 1:
                change += _HIT[goal]
        number = first + digit(player, begin)
        nexts = sources(after, open_, other)
        while nexts:
            second = lowest(nexts)
            nexts = without_lowest(nexts)
            to = max(0, second - other)
            total = change + _OWN[to] - _OWN[second]
            # The second checker hits nothing on the goal of the first one.
            if to and to != goal and board[theirs + 25 - to] == 1:
                total += _HIT[to]
            n = add(out, at, n, number + 26 * digit(player, second), total)
    return n


@helper
def generate(board: Board, out: Vector, at: int) -> int:
    """Write the legal actions of a player from the index `at` on, in no order; return their number.

    There is room for 2 * _WAYS numbers.
    """
    player, high, low = board[0], board[_DICE_HIGH], board[_DICE_LOW]
    row, theirs = row_of(player), row_of(3 - player)
    own = open_ = 0
    for place in range(1, 26):
        own |= (board[row + place] > 0) << place
    for place in range(1, 25):
        open_ |= (board[theirs + 25 - place] < 2) << place
    n = add_pairs(board, out, at, 0, own, open_, high | low << 3, 0)
    if high != low:
        n = add_pairs(board, out, at, n, own, open_, low | high << 3, _LOW_FIRST)
    if n > 0:
        return n
    # At most one checker can move: by the higher number, if possible.
    first, ways = 26 * NONE, sources(own, open_, high)
    if ways == 0:
        first, ways = first + _LOW_FIRST, sources(own, open_, low)
    while ways:
        out[at + n] = first + digit(player, lowest(ways))
        ways = without_lowest(ways)
        n += 1
    if n == 0:
        out[at] = PASS
        n = 1
    return n


@inlined_helper
def move(board: Board, row: int, theirs: int, begin: int, die: int) -> None:
    """Move a checker, and put the opponent's on the bar if it is hit."""
    goal = max(0, begin - die)
    board[row + begin] -= 1
    board[row + goal] += 1
    if goal and board[theirs + 25 - goal] > 0:
        board[theirs + 25 - goal] -= 1
        board[theirs + 25] += 1


@helper
def play_roll(board: Board, outcome: int) -> None:
    """Play an outcome of nature."""
    if board[_ROLLER] == 0:
        board[_ROLLER] = 1 + outcome % 2
    board[0] = board[_ROLLER]
    board[_DICE_HIGH], board[_DICE_LOW] = _HIGH[outcome], _LOW[outcome]


@helper
def play_turn(board: Board, action: int) -> None:
    """Play an action of a player."""
    player, high, low = board[0], board[_DICE_HIGH], board[_DICE_LOW]
    row, theirs = row_of(player), row_of(3 - player)
    both, one, other = action, high, low
    if action >= _LOW_FIRST:
        both, one, other = action - _LOW_FIRST, low, high
    first, second = both % 26, both // 26
    if first != NONE:
        move(board, row, theirs, place_of(player, first), one)
    if second != NONE:
        move(board, row, theirs, place_of(player, second), other)
    if board[row] == CHECKERS:
        board[0], board[1] = 3 - player, player
        board[_ROLLER], board[_DICE_HIGH], board[_DICE_LOW], board[_SECOND] = 3 - player, 0, 0, 0
    elif high == low and board[_SECOND] == 0 and second != NONE:
        board[_SECOND] = 1
    else:
        board[_TURNS] += 1
        board[_ROLLER], board[_DICE_HIGH], board[_DICE_LOW], board[_SECOND] = 3 - player, 0, 0, 0
        board[0] = 0
        if board[_TURNS] >= TURNS:
            board[0], board[1] = 3 - player, -1


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    if board[0] == 0:
        n = 0
        for outcome in range(_DOUBLES if board[_ROLLER] == 0 else _DOUBLES + 6):
            if board[_ROLLER] == 0 or outcome >= _DOUBLES or outcome % 2 == 0:
                actions[n] = outcome
                n += 1
        return n
    n = generate(board, actions, 0)
    for i in range(1, n):
        insert(actions, i, actions[i])
    return n


@kernel
def chances(board: Board, weights: Vector) -> None:
    if board[_ROLLER] == 0:
        weights[:_DOUBLES] = 1
    else:
        weights[: len(PAIRS)] = 2
        weights[len(PAIRS) : len(PAIRS) + 6] = 1


@kernel
def play(board: Board, action: int) -> None:
    if board[0] == 0:
        play_roll(board, action)
    else:
        play_turn(board, action)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply, state = 0, rng[0]
    room = len(trace) - 2 * _WAYS  # behind the actions, which no match reaches
    while board[1] == 0:
        state += GAMMA
        if board[0] == 0:
            opening = board[_ROLLER] == 0
            action = below(state, _DOUBLES if opening else _DOUBLES + 6)
            if not opening and action < _DOUBLES:
                action &= ~1
            play_roll(board, action)
        else:
            action = trace[room + below(state, generate(board, trace, room))]
            play_turn(board, action)
        trace[ply] = action
        ply += 1
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:6] = board[:6]
    first, second = row_of(1), row_of(2)
    for point in range(24):
        state[6 + point] = board[first + 24 - point] - board[second + 1 + point]
    state[30], state[31] = board[first + 25], board[second + 25]
    state[32], state[33] = board[first], board[second]
    state[34] = board[_TURNS]


#: Inputs of a place from which a player moves, of a player, and of both. With contact, and without
#: it, the inputs have different numbers.
_OF_PLACE = 4
_OF_PLAYER = 25 * _OF_PLACE + CHECKERS
_OF_BOTH = 2 * _OF_PLAYER


@kernel
def inputs(board: Board, found: Vector) -> int:
    found[0] = max(1, board[_ROLLER]) if board[0] == 0 else 3 - board[0]
    n, own, last = 1, 0, 0
    for side in range(2):
        row = row_of(found[0] if side == 0 else 3 - found[0])
        begin = _OF_PLAYER * side
        for off in range(board[row]):
            found[n] = begin + 25 * _OF_PLACE + off
            n += 1
        for place in range(1, 26):
            for count in range(board[row + place]):
                found[n] = begin + (place - 1) * _OF_PLACE + min(count, _OF_PLACE - 1)
                n += 1
            if board[row + place] and place > last:
                last = place
        if side == 0:
            own, last = last, 0
    if own + last > 25:
        for i in range(1, n):
            found[i] += _OF_BOTH
    return n


@kernel
def read(state: Vector, board: Board) -> None:
    board[:] = 0
    board[:2] = state[:2]
    board[_ROLLER] = min(max(0, state[2]), 2)
    board[_DICE_HIGH], board[_DICE_LOW] = min(max(0, state[3]), 6), min(max(0, state[4]), 6)
    board[_SECOND] = state[5] != 0
    board[_TURNS] = max(0, state[34])
    # Of an invalid state, the checkers in excess are left out, and missing ones are borne off.
    for player in range(1, 3):
        row, left, sign = row_of(player), CHECKERS, 3 - 2 * player
        board[row + 25] = min(max(0, state[29 + player]), left)
        left -= board[row + 25]
        for point in range(24):
            place = 24 - point if player == 1 else point + 1
            board[row + place] = min(max(0, sign * min(max(-15, state[6 + point]), 15)), left)
            left -= board[row + place]
        board[row] = left
    if board[0] != 0:
        board[_ROLLER] = board[0]
        if board[1] == 0:
            board[_DICE_HIGH], board[_DICE_LOW] = max(1, board[3]), max(1, board[4])
    if board[1] == 0 and (board[row_of(1)] == CHECKERS or board[row_of(2)] == CHECKERS):
        board[1] = 1 if board[row_of(1)] == CHECKERS else 2


# The view has two rows of 14 cells: six points, the bar, six points, and the checkers borne off.

_COLUMNS = 14
_CELLS = 2 * _COLUMNS
_LABELS = (
    *(*map(str, range(13, 19)), "bar", *map(str, range(19, 25)), "off"),
    *(*map(str, range(12, 6, -1)), "bar", *map(str, range(6, 0, -1)), "off"),
)


def cell_of(player: int, place: int) -> int:
    """Return the cell of the view at a player's distance to the end, 25 for the bar."""
    if place == 25:
        return 6 if player == 1 else _COLUMNS + 6
    if place == 0:
        return 2 * _COLUMNS - 1 if player == 1 else _COLUMNS - 1
    point = place if player == 1 else 25 - place  # as player 1 counts
    if point > 12:
        return point - 13 + (point > 18)
    return _COLUMNS + 12 - point + (point < 7)


#: The move of a checker: the places where it begins and ends, and whether it hits.
_Step = tuple[int, int, bool]
#: The checkers of the player and of the opponent, by their distances.
_Rows = tuple[tuple[int, ...], tuple[int, ...]]


#: Places of one checker, and the number of checkers that make the same moves.
_WRITTEN = re.compile(r"(\d{1,2}(?:/\d{1,2})+)(?:\(([2-4])\))?")


def _place(number: int) -> str:
    return {0: "off", 25: "bar"}.get(number, str(number))


def _cells(player: int, steps: Iterable[_Step]) -> tuple[int, ...]:
    return tuple(cell_of(player, place) for begin, goal, _ in steps for place in (begin, goal))


def _moved(
    own: tuple[int, ...], theirs: tuple[int, ...], die: int
) -> Iterator[tuple[_Step, _Rows]]:
    """Yield the moves of one checker by a number of the dice, and the checkers after them."""
    farthest = max(place for place in range(26) if own[place])
    for begin in [25] if own[25] else range(farthest, 0, -1):
        goal = max(0, begin - die)
        if not own[begin] or (goal and theirs[25 - goal] > 1):
            continue
        if goal or (farthest < 7 and begin in (die, farthest)):
            step = begin, goal, goal > 0 and theirs[25 - goal] == 1
            yield step, _after(own, theirs, step)


def _after(own: tuple[int, ...], theirs: tuple[int, ...], step: _Step) -> _Rows:
    """Return the checkers after the move of one of them."""
    begin, goal, hits = step
    moved, others = [*own], [*theirs]
    moved[begin] -= 1
    moved[goal] += 1
    if hits:
        others[25 - goal] -= 1
        others[25] += 1
    return tuple(moved), tuple(others)


class Backgammon(KernelGame):
    """Bear off all your checkers first, by rolls of two dice."""

    has_chance = True
    sgf_number = 6

    about = (
        "Each player moves 15 checkers along 24 points to their own last six, and then bears them "
        "off. The player who first has none left wins. In each turn, a player rolls two dice, and "
        "each number moves a checker by that many points; equal numbers count twice. A point with "
        "two checkers of the opponent is closed; a single one there is hit, goes to the bar, and "
        "has to enter again before other checkers move. Both numbers must be used if possible, "
        "otherwise the higher one. Gammons and doubling do not count: a match is one point."
    )
    groups = ("classics",)
    first_steps = (
        "Click a checker and then the point to which it goes, for each number of the dice. 8/5 "
        "is a move from the point 8 to 5; points are numbered by the way that is left. Two "
        "checkers on a point are safe; make such points in a row to block the opponent, and "
        "avoid single checkers that can be hit."
    )

    kernels = Kernels(legal, play, playout, write, read, chances=chances, inputs=inputs)
    num_inputs, most_inputs = 2 * _OF_BOTH, 2 * CHECKERS

    def __init__(self) -> None:
        points = [0] * 24
        for place, count in START.items():
            points[24 - place] += count
            points[place - 1] -= count
        super().__init__(
            first=(0, 0, 0, 0, 0, 0, *points),
            board=_TURNS + 1,
            state=35,
            actions=PASS + 1,
            # A turn has a roll and two actions at most. The rest is room for `playout`.
            plies=3 * TURNS + 2 * _WAYS,
        )

    def checkers(self, state: State, player: int) -> tuple[int, ...]:
        """Return a player's checkers by their distance to the end: 0 are off, 25 is the bar."""
        sign = 3 - 2 * player
        points = [max(0, sign * each) for each in state[6:30]]
        if player == 1:
            points.reverse()
        return (state[31 + player], *points, state[29 + player])

    def pips(self, state: State, player: int) -> int:
        """Return the sum of the distances of a player's checkers to the end."""
        return sum(place * count for place, count in enumerate(self.checkers(state, player)))

    def action_name(self, state: State, action: int) -> str:
        if state[0] == 0:
            if not 0 <= action < _DOUBLES + 6:
                return ""
            name = f"{_HIGH[action]}{_LOW[action]}"
            return name[::-1] if state[2] == 0 and action % 2 == 0 else name
        return self._spelled(self.steps(state, action)) or "pass"

    def parse_action(self, state: State, text: str) -> int:
        """Return the legal action that `text` names; its checkers may come in any order.

        Raises IllegalAction.
        """
        try:
            return super().parse_action(state, text)
        except IllegalAction:
            wanted = sorted(text.lower().split())
            for action in self.legal_actions(state):
                if sorted(self.action_name(state, action).lower().split()) == wanted:
                    return action
            raise

    def parse_turn(self, state: State, text: str) -> tuple[int, ...]:
        """Return the actions of a move as files have it: of a double, up to four checkers.

        The bar may be 25, and off the board 0. The checkers may come in any order.
        """
        if state[0] == 0:
            return (self.parse_action(state, text),)
        written = text.lower().replace("bar", "25").replace("off", "0")
        if written in ("pass", ""):
            written = ""
        rows = [(self.checkers(state, state[0]), self.checkers(state, 3 - state[0]))]
        for word in written.replace("*", "").split():
            found = _WRITTEN.fullmatch(word)
            if found is None:
                return (self.parse_action(state, text),)
            places = [int(place) for place in found[1].split("/")]
            for begin, goal in [*itertools.pairwise(places)] * int(found[2] or 1):
                own, theirs = rows[-1]
                if begin > 25 or goal > 24 or not own[begin]:
                    return (self.parse_action(state, text),)
                hits = goal > 0 and theirs[25 - goal] == 1
                rows.append(_after(own, theirs, (begin, goal, hits)))
        same = [(middle, line) for middle, end, line in self._turns(state) if end == rows[-1]]
        as_written = (line for middle, line in same if middle in rows[2:3])
        return next(as_written, same[0][1] if same else (self.parse_action(state, text),))

    def _turns(self, state: State) -> Iterator[tuple[_Rows, _Rows, tuple[int, ...]]]:
        """Yield the turns of a player: the checkers after one action, those at the end, actions."""
        player = state[0]
        for action in self.legal_actions(state):
            after = self.next_state(state, action)
            middle = self.checkers(after, player), self.checkers(after, 3 - player)
            if not after[5] or after[1]:
                yield middle, middle, (action,)
                continue
            for second in self.legal_actions(after):
                end = self.next_state(after, second)
                rows = self.checkers(end, player), self.checkers(end, 3 - player)
                yield middle, rows, (action, second)

    def roll_of(self, state: State, player: int, dice: tuple[int, int]) -> int:
        """Return the outcome by which a player rolls two numbers. Raises IllegalAction."""
        low, high = sorted(dice)
        for outcome in self.legal_actions(state) if state[0] == 0 else ():
            begins = 1 + outcome % 2 if state[2] == 0 else state[2]
            if (_LOW[outcome], _HIGH[outcome]) == (low, high) and begins == player:
                return outcome
        text = f"player {player} cannot roll {high}-{low} here"
        raise IllegalAction(text)

    def steps(self, state: State, action: int) -> list[_Step]:
        """Return the moves of checkers of an action."""
        player, high, low = state[0], state[3], state[4]
        dice = (low, high) if action >= _LOW_FIRST else (high, low)
        both = action % _LOW_FIRST
        theirs = [*self.checkers(state, 3 - player)]
        found = []
        for number, die in zip((both % 26, both // 26), dice, strict=True):
            if number == NONE:
                continue
            begin = 25 if number == BAR else 24 - number if player == 1 else number + 1
            goal = max(0, begin - die)
            hits = goal > 0 and theirs[25 - goal] == 1
            theirs[25 - goal] -= hits
            found.append((begin, goal, hits))
        return found

    def _spelled(self, steps: list[_Step]) -> str:
        """Return moves of checkers as players write them: `24/18*(2)`, `13/10*/6`."""
        ways: list[list[_Step]] = []
        for step in sorted(steps, reverse=True):
            before = next((way for way in ways if way[-1][1] == step[0] > 0), None)
            if before:  # one checker moves on
                before.append(step)
            else:
                ways.append([step])
        counted: dict[str, tuple[int, bool]] = {}
        for way in ways:
            between = "".join(f"/{goal}*" for _, goal, hits in way[:-1] if hits)
            text = f"{_place(way[0][0])}{between}/{_place(way[-1][1])}"
            count, hits = counted.get(text, (0, False))
            counted[text] = count + 1, hits or way[-1][2]
        return " ".join(
            text + "*" * hits + (f"({count})" if count > 1 else "")
            for text, (count, hits) in counted.items()
        )

    def view(self, state: State) -> BoardView:
        first, second = self.checkers(state, 1), self.checkers(state, 2)
        counts, cells = [0] * _CELLS, [0] * _CELLS
        for player, row in ((1, first), (2, second)):
            for place, count in enumerate(row):
                if count:
                    cell = cell_of(player, place)
                    counts[cell], cells[cell] = count, player
        return BoardView(
            2,
            _COLUMNS,
            tuple(cells),
            self._clicks(state),
            geometry="points",
            piece="disc",
            surface="wood",
            cell_labels=_LABELS,
            counts=tuple(counts),
            dice=self._dice(state),
            note=self._note(state),
        )

    def _note(self, state: State) -> str:
        high, low = state[3:5]
        rolled = f"second half of {high}-{low}" if state[5] else f"dice {high}-{low}"
        pips = f"pips {self.pips(state, 1)}-{self.pips(state, 2)}"
        return f"{rolled}, {pips}" if high else pips

    def _dice(self, state: State) -> tuple[int, ...]:
        """Return the dice of the player to move: four of a double, two of them used at its end."""
        high, low = state[3], state[4]
        if high != low:
            return high, low
        if high == 0:
            return ()
        used = -high if state[5] else high
        return used, used, high, high

    def _clicks(self, state: State) -> dict[int, tuple[int, ...]]:
        """Return for each action of a player its moves of checkers, as pairs of cells."""
        legal = self.legal_actions(state)
        if state[0] == 0:
            return dict.fromkeys(legal, ())
        return {action: _cells(state[0], self.steps(state, action)) for action in legal}

    def ways(self, state: State) -> dict[int, tuple[tuple[int, ...], ...]]:
        """Return the other ways to each action: by the dice in another order, in one move, ..."""
        if state[0] == 0 or state[1]:
            return {}
        player, dice = state[0], {(state[3], state[4]), (state[4], state[3])}
        begin = self.checkers(state, player), self.checkers(state, 3 - player)
        found: dict[_Rows, list[tuple[_Step, ...]]] = {}
        for one, other in dice:
            for first, between in _moved(*begin, one):
                for second, after in _moved(*between, other):
                    found.setdefault(after, []).append((first, second))
                    if first[1] == second[0] and second[1]:  # the same checker moves on
                        found[after].append(((first[0], second[1], first[2]),))
        ways = {}
        for action, clicks in self._clicks(state).items():
            after = begin
            for step in self.steps(state, action):
                after = _after(*after, step)
            each = dict.fromkeys(_cells(player, steps) for steps in found.get(after, ()))
            ways[action] = tuple(way for way in each if way != clicks)
        return ways
