"""The rules, settings and memory of a simulation, and how its result is backed up.

The result is added to each node of the path, from the leaf to the root. It is the outcome of a
game, which is counted exactly, or the estimate of a net, whose mean is kept.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game
from playout.games.core.kernels import inlined
from playout.games.core.random import Rng, seeded
from playout.players.core.rules import Rules, type_of
from playout.players.evaluations.placements import PLACEMENTS, Placements
from playout.players.mcts.selection import SELECTION, Selection, place_in_table
from playout.players.mcts.tree import (
    LOSS,
    LOST_MEAN,
    TIE,
    UNKNOWN,
    WIN,
    Tree,
    apart,
    at,
    new_proofs,
    zeros,
)

#: Results of a simulation: it is backed up, it waits for the net, or its leaf waits already.
KNOWN, WAITING, TAKEN = 0, 1, 2
NO_ACTION = -1
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
_HALF, _1, _2 = np.float32(0.5), np.float32(1.0), np.float32(2.0)


class SearchKernels(NamedTuple):
    """The functions of a game that a tree search calls."""

    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    prior: Callable[..., None]
    write: Callable[..., None]
    key: Callable[..., int]
    observe: Callable[..., None]
    chances: Callable[..., None]


SEARCH_KERNELS = type_of(SearchKernels)


def search_kernels(rules: Rules, playout: Callable[..., int] | None) -> SearchKernels:
    """Return the kernels of a game for a search; `playout` replaces its random one if given."""
    return SearchKernels(
        rules.legal,
        rules.play,
        playout or rules.playout,
        rules.prior or rules.write,  # the same type; without a prior, it is not called
        rules.write,
        rules.key,
        rules.observe,
        rules.chances or rules.write,  # not called without chance
    )


class SearchConfig(NamedTuple):
    """The settings of a search."""

    selection: Selection
    solver: bool = True  # backpropagate proofs
    decisive: bool = True  # playouts are decisive: they win at once and prevent immediate losses
    expected: int = 0  # visits that the evaluation of an action counts for, if there is one
    max_plies: int = 0  # above 0, playouts end at this length as ties
    max_depth: int = 2**31 - 1  # of the tree; by default, deeper than any game
    heavy: bool = False  # playouts use the knowledge of the game


class Positions(NamedTuple):
    """The positions that are searched, one for each tree, and the one that a simulation reaches."""

    roots: Any  # [tree, word] boards
    last: NDArray[np.int64]  # [tree] the action that led to the root, or -1
    left: NDArray[np.int64]  # [tree] number of simulations to run
    board: Any  # [word] that a simulation has reached
    probe: Any  # [word] a copy of it


class Leaves(NamedTuple):
    """The leaves that wait for a net; a row each."""

    states: NDArray[np.int64]  # [leaf, word] flat states
    last: NDArray[np.int64]  # [leaf] the action that led there, or -1
    tree: NDArray[np.int64]  # [leaf] number of its tree
    player: NDArray[np.int64]  # [leaf] the player to move
    win: NDArray[np.int64]  # [leaf] an action that wins at once, for a root; or -1
    depth: NDArray[np.int64]  # [leaf] plies below the root
    path: NDArray[np.int64]  # [leaf, depth] nodes from the root
    movers: NDArray[np.int64]  # [leaf, depth] players who moved into them
    moves: NDArray[np.int64]  # [leaf] number of legal actions
    legal: NDArray[np.int64]  # [leaf, action] legal actions
    logits: NDArray[np.float32]  # [leaf, action] of the net's policy
    values: NDArray[np.float32]  # [leaf] from -1 to 1 for the player to move


class SearchMemory(NamedTuple):
    """Working memory of a search, allocated once."""

    actions: NDArray[np.int64]  # [legal actions]
    path: NDArray[np.int64]  # [depth] nodes from the root
    movers: NDArray[np.int64]  # [depth] players who moved into them
    trace: NDArray[np.int64]  # [plies] actions of a playout
    played: NDArray[np.int64]  # [player, action] the last stamp on it, flat
    neighbours: NDArray[np.int64]  # [action, neighbour] flat, padded with -1; or empty
    proofs: NDArray[np.int64]  # see `playout.players.mcts.tree`
    assumed: NDArray[np.int64]  # [action, half points and visits] flat
    counters: NDArray[np.int64]  # see STAMPS and the following
    rng: Rng


class Callback(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A Python function of a whole number that compiled code calls, once for a batch of leaves.

    It returns 1, or 0 if the function raised an exception. No exception passes through compiled
    code: `raise_error` raises it again.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._pointer = _PROTOTYPE(self)

    def __call__(self, n: int) -> int:
        try:
            self._function(n)
        except BaseException as error:  # Ctrl-C, too
            self._error = error
            return 0
        return 1

    def raise_error(self) -> None:
        """Raise the exception of the last call, if any."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __wrapper_address__(self) -> int:
        return ctypes.cast(self._pointer, ctypes.c_void_p).value or 0

    def signature(self) -> object:
        """Return the signature by which compiled code calls the function."""
        return types.int64(types.int64)


class SearchContext(NamedTuple):
    """The rules, settings and memory that all functions of a search share, besides the tree."""

    kernels: SearchKernels
    positions: Positions
    memory: SearchMemory
    placements: Placements  # of an evaluation, for playouts; or empty
    leaves: Leaves  # for a net; or empty
    config: SearchConfig
    evaluate: Callable[[int], int]  # has the net evaluate the first leaves; 0 if it failed


#: The counters: stamps used in `played`, the greatest depth, and the number of actions of the game.
STAMPS, DEPTH, ACTIONS = range(3)

VECTOR, TABLE = types.int64[::1], types.int64[:, ::1]
POSITIONS = types.NamedTuple([TABLE, *[VECTOR] * 4], Positions)
LEAVES = types.NamedTuple(
    [
        *(TABLE, *[VECTOR] * 5, TABLE, TABLE, VECTOR, TABLE),
        *(types.float32[:, ::1], types.float32[::1]),
    ],
    Leaves,
)
MEMORY = types.NamedTuple([*[VECTOR] * 9, types.uint64[::1]], SearchMemory)
CONFIG = types.NamedTuple(
    [SELECTION, types.boolean, types.boolean, *[types.int64] * 3, types.boolean],
    SearchConfig,
)
#: A function of the number of leaves that returns 0 on failure.
EVALUATE = types.FunctionType(types.int64(types.int64))
SEARCH = types.NamedTuple(
    [SEARCH_KERNELS, POSITIONS, MEMORY, PLACEMENTS, LEAVES, CONFIG, EVALUATE], SearchContext
)


def new_positions(board: Any, trees: int = 1) -> Positions:
    """Return positions whose boards are copies of a board: an array, or a list in plain Python."""
    own = apart if isinstance(board, np.ndarray) else list
    return Positions(
        roots=np.stack([board] * trees) if isinstance(board, np.ndarray) else [board],
        last=apart(np.full(trees, NO_ACTION)),
        left=zeros(trees),
        board=own(board),
        probe=own(board),
    )


def new_memory(
    game: Game,
    words: int,
    seed: int,
    *,
    neighbours: NDArray[np.int64] | None = None,
    proofs: bool = False,
) -> SearchMemory:
    """Return memory for every match of `game`; `words` is the length of a board.

    `neighbours` of actions are tried first; with `proofs` there is a table of proven positions.
    """
    plies = max(game.max_plies, game.num_actions) + 2
    none: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    return SearchMemory(
        actions=zeros(game.num_actions + 1),
        path=zeros(plies),
        movers=zeros(plies),
        trace=zeros(plies),
        played=zeros(2 * game.num_actions),
        neighbours=none if neighbours is None else neighbours,
        proofs=new_proofs(words) if proofs else none,
        assumed=zeros(2 * game.num_actions),
        counters=apart(np.array([0, 0, game.num_actions], dtype=np.int64)),
        rng=apart(seeded(seed)),
    )


def new_leaves(game: Game, batch: int) -> Leaves:
    """Return room for `batch` leaves that wait for a net."""
    return Leaves(
        states=np.zeros((batch, len(game.initial_state())), dtype=np.int64),
        last=np.full(batch, NO_ACTION, dtype=np.int64),
        tree=np.zeros(batch, dtype=np.int64),
        player=np.ones(batch, dtype=np.int64),
        win=np.full(batch, NO_ACTION, dtype=np.int64),
        depth=np.zeros(batch, dtype=np.int64),
        path=np.zeros((batch, game.max_plies + 2), dtype=np.int64),
        movers=np.zeros((batch, game.max_plies + 2), dtype=np.int64),
        moves=np.zeros(batch, dtype=np.int64),
        legal=np.zeros((batch, game.num_actions), dtype=np.int64),
        logits=np.zeros((batch, game.num_actions), dtype=np.float32),
        values=np.zeros(batch, dtype=np.float32),
    )


@inlined
def proof_of(outcome: int, player: int) -> int:
    """Return the outcome of a game as a proof for a player."""
    if outcome < 0:
        return TIE
    return WIN if outcome == player else LOSS


@inlined
def outcome_of(proof: int, player: int) -> int:
    """Return the outcome of a game from a proof for a player."""
    if proof == TIE:
        return -1
    return player if proof == WIN else 3 - player


@inlined
def set_proven(tree: Tree, node: int, proof: int) -> None:
    """Set the proof of a node, unless it is UNKNOWN, and its mean accordingly."""
    if proof != UNKNOWN:
        each = at(tree, node)
        each.proof = proof
        each.inverse_sqrt_visits = np.float32(0.0)
        if proof == TIE:
            each.average = np.float32(0.5)
        else:
            each.average = np.float32(1.0) if proof == WIN else LOST_MEAN


@inlined
def proof_by_children(tree: Tree, node: int, again: bool) -> int:
    """Return the proof that follows from the children: a win of the mover, or proofs of all.

    `again` says that the player to move also moved into the node.
    """
    each = at(tree, node)
    first = np.int64(each.first_child)
    best = UNKNOWN if each.tried < each.children else LOSS
    for child in range(first, first + each.tried):
        proof = at(tree, child).proof
        if proof == WIN:
            return WIN if again else LOSS
        if proof == UNKNOWN:
            best = UNKNOWN
        elif proof == TIE and best == LOSS:
            best = TIE
    if best == LOSS and not again:
        return WIN
    return best


@inlined
def back_up(tree: Tree, memory: SearchMemory, depth: int, player: int, points: Any) -> int:
    """Add a result, `points` from 0 to 1 for `player`, to each node of the path.

    Proofs of children are backed up too (Winands, Björnsson & Saito 2008). With a net, where a
    player can choose a certain tie, a worse result counts as a tie (score bounds: Cazenave &
    Saffidine 2010). Returns the least depth below which all nodes of the path are proven.
    """
    path, movers, guided = memory.path, memory.movers, len(tree.guide) > 0
    proven, first_proven = False, depth + 1
    for i in range(depth, -1, -1):
        node = path[i]
        each = at(tree, node)
        if proven:
            set_proven(tree, node, proof_by_children(tree, node, movers[i] == movers[i + 1]))
        if guided and i < depth and each.nature == 0:
            if proven and at(tree, path[i + 1]).proof == TIE:
                tree.guide[node].tie = 1
            if tree.guide[node].tie == 1:
                worse = points < _HALF if player == movers[i + 1] else points > _HALF
                points = _HALF if worse else points
        proven = each.proof != UNKNOWN
        if proven:
            first_proven, player = i, movers[i]
            points = _HALF
            if each.proof != TIE:
                points = _1 if each.proof == WIN else np.float32(0.0)
        mine = points if movers[i] == player else _1 - points
        each.visits += 1
        if proven or not guided:
            each.value += np.int32(_2 * mine + _HALF)
        if not guided:
            each.log_visits = place_in_table(each.visits)
            if not proven:
                share = _1 / np.float32(each.visits)
                each.inverse_sqrt_visits = math.sqrt(share)
                each.average = _HALF * np.float32(each.value) * share
        elif not proven:
            each.average += (mine - each.average) / np.float32(each.visits)
            each.value = np.int32(_2 * each.average * np.float32(each.visits) + _HALF)
    return first_proven
