"""The search guided by a net: against a plain implementation, and its proofs and batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from playout import games
from playout.games import Game, Position, State
from playout.games.core.kernels import uncompiled
from playout.players.core.player import Limit
from playout.players.mcts import searcher
from playout.players.mcts.guided import NetWorker, by_planes, search_with_net
from playout.players.mcts.selection import PUCT, Selection
from playout.players.mcts.simulation import SearchConfig
from playout.players.mcts.tree import ROOT
from playout.players.minimax import Minimax
from playout.players.nets.encoding import Encoding
from support.scale import repetitions

#: The search of AlphaZero_Gomoku: unvisited moves have the value 0, and nothing is proven.
PLAIN = SearchConfig(Selection(PUCT, 5.0, 0.0), solver=False, decisive=False)
#: The search of `alphazero`.
USUAL = SearchConfig(Selection(PUCT, 1.5, 0.25, relative=True))
SPECS = ("tic_tac_toe", "mnk(m=6,n=6,k=4)", "connect_four", "othello(size=6)", "nim(chips=12)")


class LinearNet:
    """A net without layers: random weights on the planes, and the tanh of their sum as value."""

    def __init__(self, game: Game, seed: int = 1) -> None:
        size = math.prod(Encoding(game).shape)
        numbers = np.random.default_rng(seed)
        self._policy = numbers.normal(size=(game.num_actions, size)) / 4
        self._value = numbers.normal(size=size) / 4
        self.batches: list[int] = []

    def evaluate(self, planes: Any) -> tuple[Any, Any]:
        self.batches.append(len(planes))
        rows = planes.reshape(len(planes), -1).astype(float)
        logits = np.array([(self._policy * row).sum(axis=1) for row in rows])
        values = np.array([math.tanh((self._value * row).sum()) for row in rows])
        return logits.astype(np.float32), values.astype(np.float32)


class PlainNode:
    """A node of the plain search; `mean` is for the player who moved into it."""

    def __init__(self, prior: float) -> None:
        self.prior, self.visits, self.mean = prior, 0, 0.0
        self.children: dict[int, PlainNode] = {}


def plain_search(game: Game, net: LinearNet, root: State, simulations: int, c: float) -> PlainNode:
    """AlphaZero's search as in textbooks: one leaf at a time, in plain Python."""
    encoding, tree = Encoding(game), PlainNode(1.0)
    for _ in range(simulations):
        state, last, path = root, -1, [tree]
        movers = [3 - game.current_player(root)]
        while path[-1].children:
            parent = path[-1]
            scale = np.float32(c) * np.float32(math.sqrt(parent.visits))

            def score(item: tuple[int, PlainNode], scale: Any = scale) -> float:
                child = item[1]
                return float(child.mean + scale * child.prior / (1 + child.visits))

            last, child = max(parent.children.items(), key=score)
            movers.append(game.current_player(state))
            state = game.next_state(state, last)
            path.append(child)
        if winner := game.winner(state):
            mover = movers[-1]
            value = 0.0 if winner < 0 else (1.0 if winner == mover else -1.0)
        else:
            planes = encoding.encode(np.array([state]), np.array([last]))
            logits, values = net.evaluate(planes)
            legal = list(game.legal_actions(state))
            weights = np.exp(logits[0, legal] - logits[0, legal].max())
            for action, weight in zip(legal, weights / weights.sum(), strict=True):
                path[-1].children[action] = PlainNode(float(weight))
            value = float(values[0])
            if game.current_player(state) != movers[-1]:
                value = -value
        for node, mover in zip(path, movers, strict=True):
            node.visits += 1
            mine = value if mover == movers[-1] else -value
            node.mean += (mine - node.mean) / node.visits
    return tree


def new_worker(
    game: Game, net: LinearNet, config: SearchConfig = PLAIN, *, batch: int = 1, seed: int = 1
) -> NetWorker:
    return NetWorker(game, by_planes(game, net, batch), batch, config, seed, 16)


def search(worker: NetWorker, state: State, simulations: int) -> int:
    worker.reset(state)
    return worker.search(simulations, math.inf, lambda left: False)


def visits_of(worker: NetWorker) -> dict[int, int]:
    return {each.action: each.visits for each in searcher.action_stats([worker])}


@pytest.mark.parametrize("spec", SPECS)
def test_with_one_leaf_at_a_time_it_searches_as_textbooks_do(spec: str) -> None:
    game = games.load(spec)
    net, state = LinearNet(game), game.initial_state()
    worker = new_worker(game, net)
    assert search(worker, state, 300) == 300
    tree = plain_search(game, net, state, 300, PLAIN.selection.c)
    expected = {action: child.visits for action, child in tree.children.items()}
    found = visits_of(worker)
    assert sum(found.values()) == sum(expected.values()) == 299
    # Single precision decides a few close scores differently.
    assert sum(abs(found[each] - expected[each]) for each in expected) <= 6
    assert worker.tree.nodes[ROOT]["average"] == pytest.approx((1 + tree.mean) / 2, abs=0.02)


@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("decisive", [False, True])
def test_no_simulation_waits_after_a_search(batch: int, decisive: bool) -> None:
    game = games.load("connect_four")
    net = LinearNet(game)
    worker = new_worker(game, net, USUAL._replace(decisive=decisive), batch=batch)
    assert search(worker, game.initial_state(), 500) == 500
    used = worker.tree.used[0]
    assert not worker.tree.guide["pending"][:used].any()
    assert worker.tree.nodes[ROOT]["visits"] == 500
    assert max(net.batches) <= batch
    priors = worker.tree.guide["prior"][worker.children(ROOT)]
    assert priors.sum() == pytest.approx(1, abs=1e-5)


def test_compiled_and_interpreted_search_agree() -> None:
    game = games.load("tic_tac_toe")
    config = USUAL._replace(decisive=False)
    net, counts = LinearNet(game), []
    for compiled in (True, False):
        worker = new_worker(game, net, config, batch=4)
        if not compiled:
            worker._loop = uncompiled(search_with_net())
            worker._compiled_tree = worker.tree._replace(
                nodes=worker.tree.nodes.view(np.recarray), guide=worker.tree.guide.view(np.recarray)
            )
        search(worker, game.initial_state(), 120)
        counts.append(visits_of(worker))
    assert sum(abs(counts[0][each] - counts[1][each]) for each in counts[0]) <= 4


@pytest.mark.parametrize("spec", ["tic_tac_toe", "nim(chips=9)", "mnk(m=4,n=3,k=3)"])
@pytest.mark.parametrize("decisive", [False, True])
def test_proofs_are_those_of_minimax(spec: str, decisive: bool) -> None:
    game = games.load(spec)
    numbers, proven = np.random.default_rng(3), 0
    for _ in range(repetitions(20, short=4)):
        state = game.initial_state()
        for _ in range(3):
            following = game.next_state(state, int(numbers.choice(game.legal_actions(state))))
            state = state if game.winner(following) else following
        worker = new_worker(game, LinearNet(game), USUAL._replace(decisive=decisive))
        search(worker, state, 4_000)
        actions = searcher.action_stats([worker])
        for each in actions:
            after = game.next_state(state, each.action)
            if each.proven is not None and not game.winner(after):
                assert each.proven == -minimax_value(game, after)
        value = searcher.proven_value(actions, worker.complete)
        assert value in (None, minimax_value(game, state))
        proven += value is not None
    assert proven >= repetitions(20, short=4) // 2


def minimax_value(game: Game, state: State) -> int:
    info = Minimax(game, depth=12).choose(Position(game, start=state), Limit()).info
    assert info is not None
    assert info.proven is not None
    return info.proven


def test_a_net_that_fails_ends_the_search_and_leaves_the_tree_usable() -> None:
    game = games.load("connect_four")
    net = LinearNet(game)
    worker = new_worker(game, net, USUAL, batch=4)
    worker.reset(game.initial_state())
    calls = 0

    def fail(planes: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise RuntimeError("no net")
        return LinearNet.evaluate(net, planes)

    net.evaluate = fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="no net"):
        worker.search(1000, math.inf, lambda left: False)
    assert not worker.tree.guide["pending"][: worker.tree.used[0]].any()
    assert worker.search(100, math.inf, lambda left: False) == 100


def test_a_search_without_time_evaluates_the_root_alone() -> None:
    game = games.load("connect_four")
    net = LinearNet(game)
    worker = new_worker(game, net, USUAL, batch=4)
    worker.reset(game.initial_state())
    assert worker.search(1000, 0.0, lambda left: False) == 1
    assert worker.complete
