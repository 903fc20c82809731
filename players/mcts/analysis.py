"""Results of a search, from the trees of its workers: actions, proofs, principal variation."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np

from playout.players.core.player import MAX_DEPTH, ActionStats, Node
from playout.players.mcts.search import Worker
from playout.players.mcts.tree import LOSS, ROOT, TIE, UNKNOWN, WIN

#: Proofs as they are reported: 1, 0 and -1 for a win, a tie and a loss.
_PROOF_VALUE = {UNKNOWN: None, WIN: 1, TIE: 0, LOSS: -1}


def action_stats(workers: Sequence[Worker]) -> tuple[ActionStats, ...]:
    """Return the statistics of the root's actions, summed over all workers, the best first.

    The best is a proven win, otherwise the most visited action, or the action with the best mean if
    the selection visits evenly. A proven tie ranks above actions with a worse mean than a tie, a
    proven loss ranks last.
    """
    first, *others = (_children(worker, ROOT) for worker in workers)
    merged = {each.action: each for each in first}
    for each in (each for children in others for each in children):
        known = merged.get(each.action)
        merged[each.action] = _merged(known, each) if known else each
    rank = _ranking(merged.values(), visits_evenly=workers[0].visits_evenly)
    return tuple(sorted(merged.values(), key=rank, reverse=True))


def proven_value(actions: Sequence[ActionStats], complete: bool) -> int | None:
    """Return the proven value of the root, for the player to move; or None.

    `complete` says that `actions` are all legal actions.
    """
    proofs = [each.proven for each in actions]
    if 1 in proofs:
        return 1
    if not complete or None in proofs:
        return None
    return max((proof for proof in proofs if proof is not None), default=None)


def principal_variation(worker: Worker, action: int) -> tuple[int, ...]:
    """Return the expected moves, starting with `action`."""
    found, row = [action], worker.find([action])
    while row is not None:
        rank = _ranking(children := _children(worker, row), visits_evenly=worker.visits_evenly)
        best = max(children, key=rank, default=None)
        if best is None or not best.visits:
            break
        found.append(best.action)
        row = worker.find([best.action], row)
    return tuple(found)


def actions_by_visits(worker: Worker, path: Sequence[int]) -> list[int]:
    """Return the actions after those of `path`, the most visited first."""
    row = worker.find(path)
    if row is None:
        return []
    nodes = worker.tree.nodes[worker.children(row)]
    return [int(action) for action in nodes["action"][np.argsort(-nodes["visits"])]]


def is_decided(worker: Worker, left: int) -> bool:
    """Return whether no `left` simulations can change the most visited action."""
    nodes = worker.tree.nodes[worker.children(ROOT)]
    visits = nodes["visits"][nodes["proof"] != LOSS]
    if len(visits) < 2:
        return len(visits) == 1 and worker.complete
    second, first = np.partition(visits, -2)[-2:]
    return bool(first - second > left)


def export_tree(worker: Worker, min_visits: int) -> Node:
    """Return the tree as plain values: the nodes with at least `min_visits` visits."""
    root = worker.tree.nodes[ROOT]
    visits = int(root["visits"])
    proven = _PROOF_VALUE[int(root["proof"])]
    win_rate = int(root["value"]) / 2 / visits
    children = _exported_children(worker, ROOT, min_visits, MAX_DEPTH)
    return Node(None, visits, win_rate, None, 0, proven, children)


def _exported_children(worker: Worker, row: int, min_visits: int, depth: int) -> tuple[Node, ...]:
    """Return the children of a row, exported to `depth` plies."""
    if depth == 0:
        return ()
    nodes = []
    for child in sorted(_children(worker, row), key=lambda each: -each.visits):
        if child.visits >= max(1, min_visits):
            below = worker.find([child.action], row)
            assert below is not None
            counted = int(worker.tree.amaf["visits"][below]) if len(worker.tree.amaf) else 0
            children = _exported_children(worker, below, min_visits, depth - 1)
            nodes.append(
                Node(
                    child.action,
                    child.visits,
                    child.win_rate,
                    child.amaf,
                    counted,
                    child.proven,
                    children,
                    *_guidance(worker, row, below),
                )
            )
    return tuple(nodes)


def _guidance(worker: Worker, row: int, child: int) -> tuple[float | None, float | None]:
    """Return the prior and the exploration term of a child; both None without a net."""
    tree = worker.tree
    if not len(tree.guide):
        return None, None
    prior = float(tree.guide["prior"][child])
    scale = worker.config.selection.c * math.sqrt(tree.nodes["visits"][row])
    return prior, float(scale * prior / (1 + tree.nodes["visits"][child]))


def _children(worker: Worker, row: int) -> list[ActionStats]:
    rows, tree = worker.children(row), worker.tree
    nodes = tree.nodes[rows]
    actions, visits, values, proofs = (
        nodes[name].tolist() for name in ("action", "visits", "value", "proof")
    )
    means: list[float | None] = [None] * len(actions)
    if len(tree.amaf):
        amaf = tree.amaf[rows]
        columns = zip(amaf["average"].tolist(), amaf["visits"].tolist(), strict=True)
        means = [mean if count else None for mean, count in columns]
    priors: list[float | None] = [None] * len(actions)
    if len(tree.guide):
        priors = tree.guide["prior"][rows].tolist()
    return [
        ActionStats(action, count, value / 2, mean, _PROOF_VALUE[proof], prior)
        for action, count, value, mean, proof, prior in zip(
            actions, visits, values, means, proofs, priors, strict=True
        )
    ]


def _merged(one: ActionStats, other: ActionStats) -> ActionStats:
    amaf = [each.amaf for each in (one, other) if each.amaf is not None]
    return ActionStats(
        one.action,
        one.visits + other.visits,
        one.wins + other.wins,
        sum(amaf) / len(amaf) if amaf else None,
        other.proven if one.proven is None else one.proven,
        one.prior,
    )


def _ranking(
    actions: Collection[ActionStats], *, visits_evenly: bool
) -> Callable[[ActionStats], tuple[int, float]]:
    """Return the sort key of actions: by visits or, with `visits_evenly`, by means."""
    hopes = [each.win_rate for each in actions if each.proven is None and each.visits]
    ties = 3 if max(hopes, default=0.0) < 0.5 else 2

    def rank(each: ActionStats) -> tuple[int, float]:
        if each.proven is None:
            return 2, _mean(each) if visits_evenly else each.visits
        return {1: 4, 0: ties, -1: 1}[each.proven], each.visits

    return rank


def _mean(each: ActionStats) -> float:
    return each.win_rate if each.visits else -1.0  # below every action with visits
