"""The selection rules against their formulas, all-moves-as-first against an independent count."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from playout import games
from playout.games import KernelGame
from playout.games.core.kernels import uncompiled
from playout.games.core.random import Rng
from playout.players.core.rules import rules_of
from playout.players.evaluations.placements import no_placements
from playout.players.mcts.search import search_with_playouts
from playout.players.mcts.selection import (
    FLAT,
    HAND_SELECTED,
    MINIMUM_MSE,
    RAVE,
    TUNED,
    UCB1,
    Selection,
    place_in_table,
    select,
    sqrt_log,
)
from playout.players.mcts.simulation import (
    Callback,
    SearchConfig,
    SearchContext,
    new_leaves,
    new_memory,
    new_positions,
    search_kernels,
    set_proven,
)
from playout.players.mcts.tree import (
    LOSS,
    LOST_MEAN,
    ROOT,
    TIE,
    UNKNOWN,
    WIN,
    Tree,
    interpreted,
    new_tree,
)
from support.scale import repetitions

#: Tolerance for equal scores: ours have single precision and a rounded logarithm.
NEAR = 2e-3


def root_of_log(visits: int) -> np.float32:
    return sqrt_log(place_in_table(visits))


@settings(max_examples=repetitions(1000, short=30))
@given(n=st.integers(1, 2**31 - 1))
def test_the_square_root_of_the_logarithm(n: int) -> None:
    exact = math.sqrt(math.log(n))
    if n <= 512:
        assert root_of_log(n) == pytest.approx(exact, rel=1e-6)
    else:
        assert exact * (1 - 1e-3) < root_of_log(n) < exact * (1 + 1e-6)


def test_the_square_root_of_the_logarithm_never_falls() -> None:
    values = [root_of_log(n) for n in range(1, 5000)]
    assert values == sorted(values)


def family(choose: random.Random, tree: Tree) -> None:
    """Give the root children with random statistics that a search could produce.

    Children are often similar, so that small differences decide.
    """
    width, most = choose.randint(1, 12), choose.choice((3, 50, 10_000, 10**7))
    root = tree.nodes[ROOT]
    root.first_child, root.width, root.visits = 1, width, 1
    root.children = width + choose.randint(0, 3)
    root.tried = width if choose.random() < 0.7 else choose.randint(0, width)
    tree.amaf[ROOT].near = choose.randint(1, width)
    middle, spread = choose.random(), choose.choice((0.01, 0.1, 1.0))
    for child in range(1, 1 + width):
        node, amaf = tree.nodes[child], tree.amaf[child]
        amaf.visits = choose.randint(0, most)
        amaf["average"] = min(1.0, max(0.0, choose.gauss(middle, spread)))
        if child <= root.tried:
            amaf.visits += 1
            node.visits = choose.randint(1, most)
            share = min(1.0, max(0.0, choose.gauss(middle, spread)))
            node.value = round(2 * node.visits * share)
            node["average"], node["inverse_sqrt_visits"] = (
                node.value / 2 / node.visits,
                node.visits**-0.5,
            )
            node.proof = UNKNOWN
            set_proven(tree, child, choose.choice([UNKNOWN] * 8 + [TIE, LOSS]))
            root.visits += node.visits
    root.log_visits = place_in_table(root.visits)


def worth(node: Any) -> float:
    return {TIE: 0.5, LOSS: float(LOST_MEAN), WIN: 1.0}[int(node.proof)]


def ucb1(root: Any, node: Any, selection: Selection) -> float:
    mean = node.value / 2 / node.visits
    return mean + selection.c * math.sqrt(math.log(root.visits) / node.visits)


def ucb1_tuned(root: Any, node: Any, selection: Selection) -> float:
    mean, log = node.value / 2 / node.visits, math.log(root.visits)
    variance = mean - mean**2 + math.sqrt(2 * log / node.visits)
    return mean + selection.c * math.sqrt(log / node.visits * min(0.25, variance))


def rave(root: Any, node: Any, amaf: Any, selection: Selection) -> float:
    if selection.schedule == HAND_SELECTED:
        beta = math.sqrt(selection.k / (3 * root.visits + selection.k))
    else:
        n, m = int(node.visits), int(amaf.visits)
        beta = m / (n + m + 4 * n * m * selection.bias**2)
    exploration = selection.c * math.sqrt(math.log(root.visits) / node.visits)
    return beta * float(amaf["average"]) + (1 - beta) * node.value / 2 / node.visits + exploration


def scores(tree: Tree, selection: Selection) -> dict[int, float]:
    """Return the score of each eligible child: the visited ones and the next untried ones."""
    root, found = tree.nodes[ROOT], dict[int, float]()
    for child in range(1, 1 + root.tried):
        node = tree.nodes[child]
        if node.proof != UNKNOWN:
            found[child] = worth(node) if selection.rule != FLAT else float(LOST_MEAN)
        elif selection.rule == RAVE:
            found[child] = rave(root, node, tree.amaf[child], selection)
        elif selection.rule == FLAT:
            found[child] = -float(node.visits)
        else:
            found[child] = (ucb1 if selection.rule == UCB1 else ucb1_tuned)(root, node, selection)
    if selection.rule == RAVE:
        near = tree.amaf[ROOT].near
        last = near if root.tried < near else root.width
        for child in range(1 + root.tried, 1 + last):
            amaf = tree.amaf[child]
            found[child] = float(amaf["average"]) if amaf.visits else selection.fpu
    elif root.tried < root.width:  # every visited child is as good as the first
        first = root.tried == 0 or selection.fpu > 1
        found[1 + root.tried] = math.inf if first else selection.fpu
    return found


def some_rule(choose: random.Random) -> Selection:
    return Selection(
        rule=choose.choice((UCB1, TUNED, RAVE, FLAT)),
        c=choose.choice((0.0, 0.3, 0.5, 1.0, 1.4)),
        fpu=choose.choice((2.0, 1.0, 0.6, 0.0)),
        schedule=choose.choice((HAND_SELECTED, MINIMUM_MSE)),
        k=choose.choice((1.0, 300.0, 10_000.0)),
        bias=choose.choice((0.0, 0.1, 1.0)),
    )


def test_the_child_with_the_best_score_is_chosen() -> None:
    choose, tree = random.Random(1), interpreted(new_tree(0.01, amaf=True))
    for _ in range(repetitions(5000, short=100)):
        family(choose, tree)
        selection = some_rule(choose)
        wanted, chosen = scores(tree, selection), select(tree, ROOT, selection)
        assert chosen in wanted
        best = max(wanted.values())
        assert wanted[chosen] == best or wanted[chosen] > best - NEAR


class Watched:
    """Kernels of a game that record the moves of a simulation."""

    def __init__(self, game: KernelGame) -> None:
        self._kernels = game.kernels
        self.path: list[int] = []
        self.playout_moves: list[int] = []

    def play(self, board: NDArray[np.int64], action: int) -> None:
        self.path.append(int(action))
        self._kernels.play(board, action)

    def playout(self, board: NDArray[np.int64], rng: Rng, trace: NDArray[np.int64]) -> int:
        plies = self._kernels.playout(board, rng, trace)
        self.playout_moves = trace[:plies].tolist()
        return plies


def neighbours(size: int) -> NDArray[np.int64]:
    """Return the neighbours of each cell of a square board, -1 outside its edge."""
    cells = range(size * size)
    return np.array(
        [
            other if other in cells and abs(other % size - cell % size) <= 1 else -1
            for cell in cells
            for other in (cell - size, cell - 1, cell + 1, cell + size)
        ],
        dtype=np.int64,
    )


NOTHING = np.empty(0, dtype=np.int64)

Count = dict[tuple[int, ...], dict[int, list[float]]]


def count_all_moves(count: Count, game: KernelGame, path: Sequence[int], moves: list[int]) -> None:
    """Count one simulation: for each node on the path, the later actions of its player."""
    states = [game.initial_state()]
    for move in [*path, *moves]:
        states.append(game.next_state(states[-1], move))
    winner = game.winner(states[-1])
    played = [(state[0], move) for state, move in zip(states, [*path, *moves], strict=False)]
    for depth in range(len(path)):
        mover = states[depth][0]
        result = 0.5 if winner < 0 else float(winner == mover)
        for action in game.legal_actions(states[depth]):
            if (mover, action) in played[depth:]:
                count[tuple(path[:depth])][action].append(result)


def check_amaf(tree: Tree, row: int, path: tuple[int, ...], count: Count) -> int:
    """Check the tree against the count; return the number of checked children."""
    node, looked_at = tree.nodes[row], 0
    for child in range(node.first_child, node.first_child + node.width):
        action = int(tree.nodes[child].action)
        results = count[path][action]
        assert tree.amaf[child].visits == len(results)
        if results:
            assert tree.amaf[child]["average"] == pytest.approx(
                sum(results) / len(results), abs=1e-4
            )
        looked_at += 1 + check_amaf(tree, child, (*path, action), count)
    return looked_at


@pytest.mark.parametrize("schedule", [HAND_SELECTED, MINIMUM_MSE])
@pytest.mark.parametrize(
    ("spec", "neighbours"),
    [
        ("connect_four", NOTHING),
        ("mnk(m=4,n=4,k=3)", NOTHING),
        ("mnk(m=4,n=4,k=3)", neighbours(4)),
        ("gomoku(size=5,connect=4)", neighbours(5)),
    ],
)
def test_all_moves_as_first_equals_an_independent_count(
    spec: str, neighbours: NDArray[np.int64], schedule: int
) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    tree = interpreted(new_tree(1, amaf=True))
    watched = Watched(game)
    memory = new_memory(game, len(game.board()), 1, neighbours=neighbours, proofs=True)
    positions = new_positions(game.board())
    selection = Selection(RAVE, 0.1, 2.0, schedule, 50.0, 0.1)
    config = SearchConfig(selection, solver=False, decisive=False, max_depth=game.max_plies)
    rules = rules_of(game)._replace(play=watched.play, compiled=False)
    kernels = search_kernels(rules, watched.playout)
    no_leaves = Callback(lambda n: None)
    watching = SearchContext(
        kernels, positions, memory, no_placements(), new_leaves(game, 0), config, no_leaves
    )
    count: Count = defaultdict(lambda: defaultdict(list))
    for _ in range(repetitions(300, short=100)):
        watched.path, watched.playout_moves = [], []
        positions.left[0] = 1
        ran = uncompiled(search_with_playouts())(tree, watching, 0)
        assert ran == 1
        count_all_moves(count, game, watched.path, watched.playout_moves)
    assert check_amaf(tree, ROOT, (), count) > repetitions(300, short=100)
