"""Backgammon, by default a match of one point; rolls, points and actions have OpenSpiel's numbers.

An action moves two checkers: it is `first + 26 * second`, plus 676 if the first one moves by the
lower number. Both are points, 24 for the bar, or 25 for none. A double is two actions in a row. Of
the actions that lead to the same position, only the lowest is legal.

In compiled code, each player has a row of checkers by their distance to the end: place 0 are those
borne off, 1 to 24 the points, 25 the bar. The point of distance d is 25 - d for the opponent.

A match of more points is a sequence of games with the doubling cube, in one state. Before a roll, a
player who may double decides to roll or to double, and the opponent takes or drops the cube. A
player may not double whose points and the cube are enough for the match, nor in the Crawford game;
these are the rules of GNU Backgammon. Where a player may not double, nature rolls at once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np

from playout.games import (
    Board,
    BoardView,
    IllegalAction,
    KernelGame,
    Kernels,
    Option,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import lowest, without_lowest
from playout.games.core.kernels import inlined_helper, insert
from playout.games.core.random import GAMMA, Rng, below

CHECKERS = 15
#: A match is a tie after this many turns for each of its points.
TURNS = 500
#: Maximum number of points of a match.
MOST_POINTS = 25
BAR, NONE, PASS = 24, 25, 1351
#: The actions of the cube, whose names they have; only matches of more than one point have them.
ROLL, DOUBLE, TAKE, DROP = range(PASS + 1, PASS + 5)
_CUBE_NAMES = {ROLL: "roll", DOUBLE: "double", TAKE: "take", DROP: "drop"}
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
# Behind them, in a match of more points: its points, those of both players, the cube, its owner (0
# for the middle), the part of the match and the decision about the cube, see below
_MATCH, _SCORES, _CUBE, _OWNER, _PART, _DECISION = 59, 60, 62, 63, 64, 65
_WORDS = 66
#: The parts of a match: until a player lacks one point, the next game, and the games after it.
BEFORE_CRAWFORD, CRAWFORD, AFTER_CRAWFORD = range(3)
#: The decisions about the cube.
_NO_DECISION, _ROLL_OR_DOUBLE, _TAKE_OR_DROP = range(3)

#: Maximum number of ways to move two checkers, with repetitions.
_WAYS = 2 * CHECKERS**2
#: Numbers whose sum identifies what a move changes: of the player's checkers, by their distance,
#: and of the opponent's that are hit. Two different moves have equal sums once in 2^64 times.
_OWN, _HIT = np.random.default_rng(1).integers(-(2**63), 2**63, (2, _ROW), dtype=np.int64)
#: The row of each player at the start.
_START_ROW = np.array([START.get(place, 0) for place in range(_ROW)])
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


@inlined_helper
def is_decision(board: Board) -> bool:
    """Return whether a player decides about the cube."""
    return len(board) > _MATCH and board[_DECISION] != _NO_DECISION


@inlined_helper
def may_double(board: Board, player: int) -> bool:
    """Return whether a player may double the cube of a match."""
    if board[_PART] == CRAWFORD or board[_OWNER] == 3 - player:
        return False
    return board[_SCORES + player - 1] + board[_CUBE] < board[_MATCH]


@inlined_helper
def begin_turn(board: Board, player: int) -> None:
    """Let a player roll, or decide whether to double; player 0 is for an opening roll."""
    board[0], board[_ROLLER], board[_SECOND] = 0, player, 0
    board[_DICE_HIGH], board[_DICE_LOW] = 0, 0
    if len(board) > _MATCH and player and may_double(board, player):
        board[0], board[_DECISION] = player, _ROLL_OR_DOUBLE


@helper
def end_match(board: Board, outcome: int, to_move: int) -> None:
    """End the match; `to_move` is the player who would move next."""
    board[0], board[1], board[_ROLLER] = to_move, outcome, to_move
    board[_DICE_HIGH], board[_DICE_LOW], board[_SECOND] = 0, 0, 0


@helper
def win_game(board: Board, player: int, points: int) -> None:
    """Add the points of a game, before they are multiplied by the cube, and begin the next one."""
    if len(board) == _MATCH:
        end_match(board, player, 3 - player)
        return
    score = board[_SCORES + player - 1] + points * board[_CUBE]
    board[_SCORES + player - 1], board[_DECISION] = score, _NO_DECISION
    if score >= board[_MATCH]:
        end_match(board, player, 3 - player)
        return
    if board[_PART] == CRAWFORD:
        board[_PART] = AFTER_CRAWFORD
    elif board[_PART] == BEFORE_CRAWFORD and score == board[_MATCH] - 1:
        board[_PART] = CRAWFORD
    board[_CUBE], board[_OWNER] = 1, 0
    for place in range(_ROW):
        board[row_of(1) + place] = board[row_of(2) + place] = _START_ROW[place]
    begin_turn(board, 0)


@helper
def worth(board: Board, player: int) -> int:
    """Return the points of a game that a player has won: 2 for a gammon, 3 for a backgammon."""
    theirs = row_of(3 - player)
    if board[theirs] > 0:
        return 1
    for place in range(19, 26):
        if board[theirs + place] > 0:
            return 3
    return 2


@helper
def play_cube(board: Board, action: int) -> None:
    """Play an action of the cube."""
    player = board[0]
    if action == DOUBLE:
        board[0], board[_DECISION] = 3 - player, _TAKE_OR_DROP
    elif action == DROP:
        win_game(board, 3 - player, 1)
    else:
        if action == TAKE:
            board[_CUBE], board[_OWNER] = 2 * board[_CUBE], player
        board[0], board[_DECISION] = 0, _NO_DECISION


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
        win_game(board, player, worth(board, player))
    elif high == low and board[_SECOND] == 0 and second != NONE:
        board[_SECOND] = 1
    else:
        board[_TURNS] += 1
        if board[_TURNS] >= TURNS * (board[_MATCH] if len(board) > _MATCH else 1):
            end_match(board, -1, 3 - player)
        else:
            begin_turn(board, 3 - player)


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
    if is_decision(board):
        actions[0] = ROLL if board[_DECISION] == _ROLL_OR_DOUBLE else TAKE
        actions[1] = actions[0] + 1
        return 2
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
    elif is_decision(board):
        play_cube(board, action)
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
        elif is_decision(board):
            # Nobody doubles: games that end by random drops would tell little about a move.
            action = ROLL if board[_DECISION] == _ROLL_OR_DOUBLE else TAKE + below(state, 2)
            play_cube(board, action)
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
    if len(board) > _MATCH:
        state[35:] = board[_SCORES:]


#: Inputs of a place from which a player moves, of a player, and of both. With contact, and without
#: it, the inputs have different numbers.
_OF_PLACE = 4
_OF_PLAYER = 25 * _OF_PLACE + CHECKERS
_OF_BOTH = 2 * _OF_PLAYER


@kernel
def inputs(board: Board, found: Vector) -> int:
    before_roll = board[0] == 0 or is_decision(board)
    found[0] = max(1, board[_ROLLER]) if before_roll else 3 - board[0]
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
    board[:_MATCH] = 0
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
    if len(board) > _MATCH:
        for player in range(2):
            score = max(0, state[35 + player])
            board[_SCORES + player] = min(score, board[_MATCH] - 1) if board[1] == 0 else score
        board[_CUBE] = min(max(1, state[37]), 2 * MOST_POINTS)
        board[_OWNER], board[_PART] = min(max(0, state[38]), 2), min(max(0, state[39]), 2)
        may_decide = board[0] != 0 and board[1] == 0
        board[_DECISION] = min(max(0, state[40]), 2) if may_decide else _NO_DECISION
    if is_decision(board):
        board[_ROLLER] = board[0] if board[_DECISION] == _ROLL_OR_DOUBLE else 3 - board[0]
        board[_DICE_HIGH] = board[_DICE_LOW] = board[_SECOND] = 0
    elif board[0] != 0:
        board[_ROLLER] = board[0]
        if board[1] == 0:
            board[_DICE_HIGH], board[_DICE_LOW] = max(1, board[3]), max(1, board[4])
    if board[1] == 0 and (board[row_of(1)] == CHECKERS or board[row_of(2)] == CHECKERS):
        board[1] = 1 if board[row_of(1)] == CHECKERS else 2


# The expected result of a match, from that of its current game.

#: Chances to win a match, in parts of 10,000: of the player who lacks 1 point against an opponent
#: who lacks 2, 3 to 25, then of the one who lacks 2 against 3 to 25, and so on. In the first row,
#: the next game is the Crawford game. The table Kazaross-XG2 (Neil Kazaross, 2011).
_AHEAD = """
    6774 7508 8144 8418 8873 9072 9325 9440 9593 9664 9755 9798 9853 9879 9911 9927 9947 9956 9968
    9974 9981 9984 9988 9990 5995 6687 7436 7994 8422 8754 9020 9230 9393 9525 9625 9707 9769 9820
    9858 9889 9913 9932 9947 9958 9968 9975 9980 5715 6480 7112 7621 8047 8402 8706 8944 9148 9307
    9444 9549 9640 9709 9769 9814 9852 9881 9906 9925 9941 9953 5773 6428 6992 7458 7880 8241 8540
    8791 9002 9180 9327 9450 9550 9634 9702 9759 9804 9842 9873 9898 9917 5664 6264 6779 7254 7671
    8027 8337 8599 8829 9020 9185 9322 9440 9537 9619 9686 9743 9790 9828 9860 5626 6164 6679 7131
    7534 7886 8196 8466 8700 8902 9076 9225 9351 9458 9549 9625 9689 9743 9788 5548 6085 6563 7002
    7391 7741 8052 8326 8566 8776 8959 9117 9254 9370 9470 9555 9628 9689 5544 6037 6499 6914 7294
    7636 7944 8216 8458 8671 8859 9023 9166 9290 9397 9489 9568 5502 5979 6415 6821 7189 7528 7830
    8104 8348 8566 8759 8929 9079 9210 9324 9423 5485 5935 6359 6748 7111 7437 7738 8009 8254 8474
    8670 8845 8999 9135 9255 5456 5892 6297 6679 7030 7353 7649 7920 8165 8386 8585 8763 8921 9062
    5441 5857 6253 6618 6961 7278 7570 7838 8083 8304 8505 8686 8848 5419 5825 6204 6562 6897 7208
    7496 7762 8005 8228 8430 8612 5407 5794 6163 6512 6839 7145 7429 7692 7934 8156 8359 5392 5768
    6126 6466 6786 7086 7366 7627 7867 8088 5380 5744 6093 6424 6738 7032 7308 7566 7805 5368 5722
    6062 6386 6692 6982 7254 7509 5357 5702 6034 6350 6651 6936 7204 5347 5684 6007 6317 6612 6892
    5339 5667 5983 6286 6576 5330 5651 5960 6258 5323 5636 5939 5315 5622 5309
"""
#: The same after the Crawford game: of the player who lacks 1 to 25 points against one who lacks 1.
_BEHIND = """
    5000 4880 3226 3100 1901 1807 1156 1091 695 652 421 391 254 234 153 140 92 84 56 50 34 30 20 18
    12
"""
#: By the points that player 1 and player 2 lack; the first index is 1 after the Crawford game.
_CHANCES = np.full((2, MOST_POINTS + 1, MOST_POINTS + 1), 0.5)
for _own, _ahead in zip(itertools.combinations(range(1, 26), 2), _AHEAD.split(), strict=True):
    _CHANCES[:, *_own], _CHANCES[:, *_own[::-1]] = int(_ahead) / 1e4, 1 - int(_ahead) / 1e4
for _lacks, _behind in enumerate(_BEHIND.split(), 1):
    _CHANCES[1, _lacks, 1], _CHANCES[1, 1, _lacks] = int(_behind) / 1e4, 1 - int(_behind) / 1e4
#: How much a cube that can be turned is worth, from 0 (dead) to 1 (live): that of gnubg.
_LIVE = 0.68


@helper
def chance_after(board: Board, player: int, points: int) -> float:
    """Return a player's chance to win the match after a game that gives the player these points.

    Negative points are the opponent's; 0 is for the chance before the game.
    """
    lacks = board[_MATCH] - board[_SCORES + player - 1] - max(0, points)
    theirs = board[_MATCH] - board[_SCORES + 2 - player] - max(0, -points)
    if lacks <= 0 or theirs <= 0:
        return 1.0 if lacks <= 0 else 0.0
    is_later = board[_PART] == AFTER_CRAWFORD or (board[_PART] == CRAWFORD and points != 0)
    return _CHANCES[1 if is_later else 0, lacks, theirs]


@helper
def gammons(board: Board, player: int) -> float:
    """Return the share of gammons among the games that a player wins, as an estimate.

    It depends on the pips of the player, and on those by which the opponent still has to come home.
    The two weights are fitted to 2,019 evaluations of gnubg, of which they differ by 0.18.
    """
    row, theirs = row_of(player), row_of(3 - player)
    if board[theirs] > 0:
        return 0.0
    pips = home = 0
    for place in range(1, 26):
        pips += place * board[row + place]
        home += max(0, place - 6) * board[theirs + place]
    return 1 / (1 + math.exp(0.48 + 0.0096 * pips - 0.017 * home))


@helper
def chance_with_gammons(board: Board, player: int, points: int) -> float:
    """Return `chance_after` for a game that counts twice these points if it is a gammon."""
    double = gammons(board, player if points > 0 else 3 - player)
    once, twice = chance_after(board, player, points), chance_after(board, player, 2 * points)
    return (1 - double) * once + double * twice


@helper
def take_point(board: Board, player: int, cube: int) -> float:
    """Return the share of games that a player has to win to take a double of this cube.

    A cube that the player can turn again is worth more than a dead one: the share is lower by the
    factor 1 - t, where t is the take point of the opponent at the next double (Janowski 1993).
    """
    share, product = 0.0, 1.0
    while True:
        lost = chance_with_gammons(board, player, -2 * cube)
        won = chance_with_gammons(board, player, 2 * cube)
        dropped = chance_after(board, player, -cube)
        # dead (1 - dead' (1 - dead'' ...)), as a sum
        product *= min(max(0.0, (dropped - lost) / max(1e-9, won - lost)), 1.0)
        share += product
        product = -product
        cube *= 2
        if board[_SCORES + player - 1] + cube >= board[_MATCH]:
            return share
        player = 3 - player


@helper
def chance_with_cube(board: Board, player: int, share: float, cube: int, owner: int) -> float:
    """Return a player's chance to win the match, by the share of games that the player wins.

    It is between that with a dead cube and that with a live one (Janowski 1993, *Take-points in
    money games*), which is linear between the points at which the players double and drop.
    """
    lost = chance_with_gammons(board, player, -cube)
    won = chance_with_gammons(board, player, cube)
    dead = lost + share * (won - lost)
    score, theirs = board[_SCORES + player - 1], board[_SCORES + 2 - player]
    can_turn = owner != 3 - player and score + cube < board[_MATCH]
    they_can = owner != player and theirs + cube < board[_MATCH]
    if board[_PART] == CRAWFORD or (board[_PART] == AFTER_CRAWFORD and can_turn == they_can):
        return dead
    at_low, at_high = chance_after(board, player, -cube), chance_after(board, player, cube)
    if board[_PART] == AFTER_CRAWFORD:
        # The player behind doubles at the next decision, unless the chance of a gammon is better.
        lost = chance_with_gammons(board, player, -2 * cube)
        doubled = lost + share * (chance_with_gammons(board, player, 2 * cube) - lost)
        live = max(dead, min(doubled, at_high)) if can_turn else min(dead, max(doubled, at_low))
        if board[0] != 0 or (board[_ROLLER] == player) != can_turn:
            return live
        return _LIVE * live + (1 - _LIVE) * dead  # that player has just decided to roll
    low = take_point(board, player, cube) if they_can else 0.0
    high = 1 - take_point(board, 3 - player, cube) if can_turn else 1.0
    if low >= high:
        return dead
    at_low, at_high = at_low if they_can else lost, at_high if can_turn else won
    if share < low:
        live = lost + share / low * (at_low - lost)
    elif share > high:
        live = won - (1 - share) / (1 - high) * (won - at_high)
    else:
        live = at_low + (share - low) / (high - low) * (at_high - at_low)
    return _LIVE * live + (1 - _LIVE) * dead


@kernel
def in_match(board: Board, expected: float) -> float:
    if len(board) == _MATCH:
        return expected
    if board[_ROLLER] == 0:  # before the opening roll
        return 2 * chance_after(board, 1, 0) - 1
    share, cube = (1 + expected) / 2, board[_CUBE]
    if board[_DECISION] == _TAKE_OR_DROP:
        player = board[0]
        own = share if player == 1 else 1 - share
        taken = chance_with_cube(board, player, own, 2 * cube, player)
        chance = max(taken, chance_after(board, player, -cube))
        return 2 * chance - 1 if player == 1 else 1 - 2 * chance
    return 2 * chance_with_cube(board, 1, share, cube, board[_OWNER]) - 1


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
        "otherwise the higher one. A match of one point is one game, without gammons and doubling. "
        "In a match of more points, a game counts the number on the doubling cube: twice if the "
        "loser has borne off no checker (a gammon), and three times if one of them is still on the "
        "bar or among the winner's last six points (a backgammon). Before a roll, a player may "
        "double the cube, unless the opponent owns it: the opponent takes it and owns it, or drops "
        "it and loses the game. Nobody doubles in the Crawford game, the first one after a player "
        "lacks one point."
    )
    groups = ("classics",)
    first_steps = (
        "Click a checker and then the point to which it goes, for each number of the dice. 8/5 "
        "is a move from the point 8 to 5; points are numbered by the way that is left. Two "
        "checkers on a point are safe; make such points in a row to block the opponent, and "
        "avoid single checkers that can be hit. In a match of several points, double when you are "
        "well ahead, and drop a double if you would win fewer than one game in four."
    )
    variants: ClassVar = {
        f"points={points}": f"A match of {points} points, with the doubling cube and gammons."
        for points in (3, 7)
    }

    kernels = Kernels(
        legal, play, playout, write, read, chances=chances, inputs=inputs, in_match=in_match
    )
    num_inputs, most_inputs = 2 * _OF_BOTH, 2 * CHECKERS

    def __init__(
        self,
        points: Annotated[
            int, Option("points of the match; more than 1 with the cube", ge=1, le=MOST_POINTS)
        ] = 1,
    ) -> None:
        self.points, self.net_game = points, "backgammon" if points > 1 else ""
        is_long = points > 1
        board = [0] * 24
        for place, count in START.items():
            board[24 - place] += count
            board[place - 1] -= count
        super().__init__(
            {_MATCH: points} if is_long else {},
            (0, 0, 0, 0, 0, 0, *board, *([0] * 7 + [1] if is_long else [])),
            board=_WORDS if is_long else _MATCH,
            state=41 if is_long else 35,
            actions=DROP + 1 if is_long else PASS + 1,
            # A turn has a roll, two actions, and two of the cube. The rest is room for `playout`.
            plies=(5 if is_long else 3) * TURNS * points + 2 * _WAYS,
        )

    def checkers(self, state: State, player: int) -> tuple[int, ...]:
        """Return a player's checkers by their distance to the end: 0 are off, 25 is the bar."""
        sign = 3 - 2 * player
        points = [max(0, sign * each) for each in state[6:30]]
        if player == 1:
            points.reverse()
        return (state[31 + player], *points, state[29 + player])

    def decides(self, state: State) -> bool:
        """Return whether the player to move decides about the cube."""
        return self.points > 1 and state[40] != _NO_DECISION

    def scores(self, state: State) -> tuple[int, int]:
        """Return the points of both players in the match."""
        if self.points > 1:
            return state[35], state[36]
        return int(state[1] == 1), int(state[1] == 2)

    def begins(self, state: State) -> bool:
        """Return whether a game of the match begins, with an opening roll."""
        return state[2] == 0

    def pips(self, state: State, player: int) -> int:
        """Return the sum of the distances of a player's checkers to the end."""
        return sum(place * count for place, count in enumerate(self.checkers(state, player)))

    def action_name(self, state: State, action: int) -> str:
        if state[0] == 0:
            if not 0 <= action < _DOUBLES + 6:
                return ""
            name = f"{_HIGH[action]}{_LOW[action]}"
            return name[::-1] if state[2] == 0 and action % 2 == 0 else name
        if action > PASS:
            return _CUBE_NAMES.get(action, "")
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
        if state[0] == 0 or self.decides(state):
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
        for action in self.legal_actions(state):
            after, middle = self.next_state(state, action), self._rows_after(state, action)
            if not after[5]:
                yield middle, middle, (action,)
                continue
            for second in self.legal_actions(after):
                yield middle, self._rows_after(after, second), (action, second)

    def _rows_after(self, state: State, action: int) -> _Rows:
        """Return the checkers of the player to move and of the opponent after an action."""
        rows = self.checkers(state, state[0]), self.checkers(state, 3 - state[0])
        for step in self.steps(state, action):
            rows = _after(*rows, step)
        return rows

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
            cube=self._cube(state),
            note=self._note(state),
        )

    def _note(self, state: State) -> str:
        high, low = state[3:5]
        found = [f"pips {self.pips(state, 1)}-{self.pips(state, 2)}"]
        if high:
            rolled = f"second half of {high}-{low}" if state[5] else f"dice {high}-{low}"
            found.insert(0, rolled)
        if self.points > 1:
            first, second, cube, owner, part, decision = state[35:]
            found.append(f"score {first}-{second} of {self.points}")
            if part == CRAWFORD:
                found.append("Crawford game")
            else:
                found.append(f"cube {cube}" + f" of player {owner}" * (owner > 0))
            if decision == _TAKE_OR_DROP:
                found.append(f"doubled to {2 * cube}")
        return ", ".join(found)

    def _dice(self, state: State) -> tuple[int, ...]:
        """Return the dice of the player to move: four of a double, two of them used at its end."""
        high, low = state[3], state[4]
        if high != low:
            return high, low
        if high == 0:
            return ()
        used = -high if state[5] else high
        return used, used, high, high

    def _cube(self, state: State) -> tuple[int, ...]:
        """Return the number on the cube and its owner, as in `BoardView`."""
        if self.points == 1 or state[39] == CRAWFORD:
            return ()
        return (2 * state[37], -state[0]) if state[40] == _TAKE_OR_DROP else (state[37], state[38])

    def _clicks(self, state: State) -> dict[int, tuple[int, ...]]:
        """Return for each action of a player its moves of checkers, as pairs of cells."""
        legal = self.legal_actions(state)
        if state[0] == 0 or self.decides(state):
            return dict.fromkeys(legal, ())
        return {action: _cells(state[0], self.steps(state, action)) for action in legal}

    def ways(self, state: State) -> dict[int, tuple[tuple[int, ...], ...]]:
        """Return the other ways to each action: by the dice in another order, in one move, ..."""
        if state[0] == 0 or state[1] or self.decides(state):
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
            after = self._rows_after(state, action)
            each = dict.fromkeys(_cells(player, steps) for steps in found.get(after, ()))
            ways[action] = tuple(way for way in each if way != clicks)
        return ways
