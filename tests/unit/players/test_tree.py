"""Invariants of the rows of a search tree, as it grows and after compaction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from playout import games
from playout.games import Game, State
from playout.players.mcts.search import Worker
from playout.players.mcts.selection import (
    FLAT,
    HAND_SELECTED,
    MINIMUM_MSE,
    RAVE,
    TUNED,
    UCB1,
    Selection,
    place_in_table,
)
from playout.players.mcts.simulation import SearchConfig
from playout.players.mcts.tree import LOSS, LOST_MEAN, NODE, ROOT, TIE, UNKNOWN, WIN, Tree, compact
from support.scale import repetitions

SPECS = (
    "tic_tac_toe",
    "connect_four",
    "mnk(m=4,n=4,k=3)",
    "mnk(m=9,n=5,k=4)",  # more children than rows at the first expansion
    "nim(chips=20)",
    "othello(size=6)",
    "ultimate_tic_tac_toe",
)


class Grown(NamedTuple):
    """A tree with its game, its search options and the state of its root."""

    game: Game
    worker: Worker
    state: State
    config: SearchConfig


def never(left: int) -> bool:
    return False


def search(worker: Worker, simulations: int) -> int:
    return worker.search(simulations, math.inf, never)


selections = st.builds(
    Selection,
    rule=st.sampled_from((UCB1, TUNED, RAVE, FLAT)),
    c=st.sampled_from((0.0, 0.5, 1.4)),
    fpu=st.sampled_from((2.0, 0.6, 0.3)),
    schedule=st.sampled_from((HAND_SELECTED, MINIMUM_MSE)),
    k=st.just(300.0),
    bias=st.just(0.1),
)


@st.composite
def grown(draw: st.DrawFn) -> Grown:
    game = games.load(draw(st.sampled_from(SPECS)))
    state = game.initial_state()
    for pick in draw(st.lists(st.integers(0, 99), max_size=4)):
        actions = game.legal_actions(state)
        following = game.next_state(state, actions[pick % len(actions)])
        if game.winner(following):
            break
        state = following
    selection = draw(selections)
    config = SearchConfig(
        selection,
        solver=draw(st.booleans()),
        decisive=draw(st.booleans()),
        max_plies=draw(st.sampled_from((0, 0, 3))),
        max_depth=1 if selection.rule == FLAT else draw(st.sampled_from((game.max_plies + 1, 2))),
    )
    worker = Worker(game, config, draw(st.integers(0, 2**64 - 1)), 2)
    worker.reset(state)
    search(worker, draw(st.integers(1, 600)))
    return Grown(game, worker, state, config)


def rows_below(tree: Tree, row: int) -> range:
    first = int(tree.nodes[row]["first_child"])
    return range(first, first + int(tree.nodes[row]["width"]))


def walk(made: Grown) -> Iterator[tuple[int, State]]:
    """Yield every expanded row with its state."""
    nodes, left = made.worker.tree.nodes, [(ROOT, made.state)]
    while left:
        row, state = left.pop()
        if nodes[row]["width"]:
            yield row, state
            for child in rows_below(made.worker.tree, row):
                if nodes[child]["width"]:
                    left.append((child, made.game.next_state(state, int(nodes[child]["action"]))))


def check(made: Grown, *, fresh: bool) -> None:
    """Check the invariants of a tree; `fresh` says that no children were ever dropped."""
    tree, taken = made.worker.tree, [ROOT]
    for row, state in walk(made):
        children = rows_below(tree, row)
        taken += children
        check_rows(made.game, tree, row, state)
        for child in children[: int(tree.nodes[row]["tried"])]:
            check_numbers(tree.nodes[child])
        check_sums(tree, row, made.config, fresh)
        check_proof(tree, row, made.config)
    assert len(set(taken)) == len(taken)
    assert max(taken) < tree.used[0] <= len(tree.nodes)


def check_rows(game: Game, tree: Tree, row: int, state: State) -> None:
    """Check that children have distinct legal actions, the visited ones first."""
    node, nodes = tree.nodes[row], tree.nodes[rows_below(tree, row)]
    legal = game.legal_actions(state)
    actions = nodes["action"].tolist()
    assert set(actions) <= set(legal)
    assert len(set(actions)) == len(actions)
    assert node["tried"] <= node["width"] <= node["children"] == len(legal)
    assert (nodes["visits"][: node["tried"]] > 0).all()
    untried = nodes[node["tried"] :]
    for name in ("visits", "value", "proof", "width"):
        assert not untried[name].any()


def check_numbers(node: Any) -> None:
    """Check the statistics of a visited node."""
    assert 0 <= node["value"] <= 2 * node["visits"]
    assert node["log_visits"] == place_in_table(node["visits"])
    if node["proof"] == UNKNOWN:
        assert math.isclose(node["average"], node["value"] / 2 / node["visits"], rel_tol=1e-5)
        assert math.isclose(node["inverse_sqrt_visits"], node["visits"] ** -0.5, rel_tol=1e-5)
    else:
        assert node["average"] == {WIN: 1.0, TIE: 0.5, LOSS: LOST_MEAN}[int(node["proof"])]
        assert node["inverse_sqrt_visits"] == 0


def check_sums(tree: Tree, row: int, config: SearchConfig, fresh: bool) -> None:
    """Check that a node's statistics are the sums of its children's and its own.

    Its own are those of its first visit, of visits after its proof, and of dropped children.
    """
    node, children = tree.nodes[row], tree.nodes[rows_below(tree, row)]
    ended = int(node["visits"]) - int(children["visits"].sum())
    if fresh and node["proof"] == UNKNOWN:
        assert ended == 1
    else:
        assert ended >= 1
    if not config.solver:  # a proof changes the backpropagated result
        points = int(node["value"]) - int((2 * children["visits"] - children["value"]).sum())
        assert 0 <= points <= 2 * ended


def check_proof(tree: Tree, row: int, config: SearchConfig) -> None:
    """Check that a node is proven exactly if its children prove it."""
    node, proofs = tree.nodes[row], tree.nodes["proof"][rows_below(tree, row)].tolist()
    all_known = node["tried"] == node["children"] and UNKNOWN not in proofs
    if WIN in proofs:
        proven = LOSS
    elif all_known:
        proven = TIE if TIE in proofs else WIN
    else:
        proven = UNKNOWN
    assert config.solver or proven == UNKNOWN
    # The root needs an action, so that a root reached by a proven move is proven again.
    assert node["proof"] == proven or (row == ROOT and node["proof"] == UNKNOWN)


@settings(deadline=None)
@given(made=grown())
def test_a_tree_is_sound_as_it_grows(made: Grown) -> None:
    check(made, fresh=True)
    search(made.worker, 100)
    check(made, fresh=True)


def copied(tree: Tree, row: int, least: int, *, root: bool = True) -> dict[str, Any]:
    """Return the subtree without the children of nodes with fewer than `least` visits."""
    node = {name: tree.nodes[row][name].item() for name in NODE.names if name != "first_child"}
    if not root:
        node["amaf"] = tree.amaf[row].item() if len(tree.amaf) else None
    if not root and node["visits"] < least:
        node |= {"children": 0, "width": 0, "tried": 0}
        below: Sequence[int] = ()
    else:
        below = rows_below(tree, row)
    node["below"] = [copied(tree, child, least, root=False) for child in below]
    return node


def size(node: dict[str, Any]) -> int:
    return 1 + sum(map(size, node["below"]))


def descended(made: Grown, picks: Sequence[int]) -> tuple[int, State]:
    """Return a random row of the tree, and its state."""
    row, state = ROOT, made.state
    for pick in picks:
        children = rows_below(made.worker.tree, row)
        if not children:
            break
        row = children[pick % len(children)]
        state = made.game.next_state(state, int(made.worker.tree.nodes[row]["action"]))
    return row, state


@settings(deadline=None)
@given(
    made=grown(),
    picks=st.lists(st.integers(0, 99), max_size=4),
    least=st.one_of(st.just(0), st.integers(0, 8), st.integers(0, 700)),
)
def test_compaction_preserves_the_kept_subtree(made: Grown, picks: list[int], least: int) -> None:
    tree = made.worker.tree
    row, state = descended(made, picks)
    wanted = copied(tree, row, least)
    assert compact(tree, row, least, made.worker._stack) == tree.used[0]
    assert copied(tree, ROOT, 0) == wanted
    assert tree.used[0] == size(wanted)
    if not made.game.winner(state):
        made = made._replace(state=state)
        assert made.worker.advance([], state, math.inf)
        check(made, fresh=False)
        assert search(made.worker, 200) > 0
        check(made, fresh=False)


@settings(max_examples=repetitions(20, short=10))
@given(made=grown(), simulations=st.integers(2000, 20_000))
def test_a_tree_that_is_pruned_stays_sound(made: Grown, simulations: int) -> None:
    """The tree has so little memory that it soon becomes full."""
    rows = 4 * made.game.num_actions + 200
    tree = made.worker.tree
    small = Worker(made.game, made.config, 1, rows * tree_row(tree) / 2**20)
    small.reset(made.state)
    done = search(small, simulations)
    assert small.tree.used[0] <= len(small.tree.nodes) <= rows
    assert done == simulations or small.proven
    check(made._replace(worker=small), fresh=False)


def tree_row(tree: Tree) -> int:
    """Return the number of bytes of a row."""
    return sum(column.itemsize for column in (tree.nodes, tree.amaf, tree.owner) if len(column))
