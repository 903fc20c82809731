"""The tree between moves: the part that is kept, and the start and the end of searches."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import pytest

from playout import games, players
from playout.games import Position, SpecError
from playout.players import ActionStats, Info, Limit, Player, PlayResult
from playout.players.mcts.searcher import is_decided
from playout.players.mcts.tree import LOSS
from support.scale import repetitions

GAME = games.load("connect_four")


def told(choice: PlayResult) -> Info:
    assert choice.info is not None
    return choice.info


def search(player: Player, moves: Sequence[int], simulations: int = 5000) -> Info:
    return told(player.choose(Position(player.game, moves), Limit(simulations=simulations)))


def visits(info: Info) -> int:
    return sum(each.visits for each in info.actions)


def descend(player: Player, ranks: Sequence[int]) -> tuple[list[int], int]:
    """Follow moves from the root, 0 for the most visited; return the visits of the next moves."""
    node, moves = player.tree(), list[int]()
    assert node is not None
    for rank in ranks:
        node = node.children[min(rank, len(node.children) - 1)]
        assert node.action is not None
        moves.append(node.action)
    return moves, sum(child.visits for child in node.children)


@pytest.mark.parametrize("player", ["uct(seed=1)", "rave(seed=1)", "uct(seed=1,threads=3)"])
@pytest.mark.parametrize("ranks", [[0], [6], [0, 0], [0, 1], [1, 0, 1], [0, 0, 0, 0, 0]])
def test_visits_are_found_again(player: str, ranks: list[int]) -> None:
    """The subtree is kept after one ply, or several at once."""
    searcher = players.load(player, GAME)
    search(searcher, [], repetitions(20_000, short=8000))
    moves, kept = descend(searcher, ranks)
    assert kept > 0 or player.startswith("rave")  # it may not have visited a second one
    info = search(searcher, moves)
    assert info.simulations == 5000
    if "threads" in player:  # the exported tree is that of one thread; the others keep theirs
        assert visits(info) >= 5000 + kept
    else:
        assert visits(info) == 5000 + kept
    searcher.close()


def test_the_same_state_is_thought_about_further() -> None:
    searcher = players.load("uct(seed=1)", GAME)
    assert visits(search(searcher, [3])) == 5000
    assert visits(search(searcher, [3])) == 10_000


@pytest.mark.parametrize("move", range(7))
def test_a_move_that_was_hardly_tried_begins_a_tree(move: int) -> None:
    searcher = players.load("uct(seed=1)", GAME)
    search(searcher, [], 3)
    assert visits(search(searcher, [move], 100)) == 100


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([3], []),  # earlier
        ([3], [2]),  # another move
        ([3], [2, 3, 4]),
        ([3, 3], [2, 3]),
        ([3, 2, 4], [4, 3]),
        ([3], [3, 0, 6, 0, 6, 1, 5, 1, 5]),  # deeper than the tree
    ],
)
def test_an_unrelated_state_begins_a_tree(before: list[int], after: list[int]) -> None:
    searcher = players.load("uct(seed=1,solver=false)", GAME)
    search(searcher, before, 300)
    assert visits(search(searcher, after, 300)) == 300


def test_a_state_of_another_match_begins_a_tree() -> None:
    """A state alone does not show the moves that led to it."""
    searcher = players.load("uct(seed=1)", GAME)
    search(searcher, [])
    position = Position(GAME, start=Position(GAME, [3]).state)
    assert visits(told(searcher.choose(position, Limit(simulations=300)))) == 300


def test_without_reuse_each_tree_is_new() -> None:
    searcher = players.load("uct(seed=1,reuse=false)", GAME)
    for moves in ([], [], [3], [3, 3]):
        assert visits(search(searcher, moves)) == 5000


def test_no_time_is_taken_to_keep_what_can_be_grown_again() -> None:
    searcher = players.load("uct(seed=1)", GAME)
    search(searcher, [], 100_000)
    info = told(searcher.choose(Position(GAME, [3]), Limit(seconds=1e-4)))
    assert visits(info) == info.simulations


@pytest.mark.parametrize("spec", ["connect_four", "othello(size=6)", "nim(chips=30)"])
@pytest.mark.parametrize("second", ["uct(seed=2,reuse=false)", "rave(seed=2)", "flat(seed=2)"])
def test_whole_matches_are_played(spec: str, second: str) -> None:
    game = games.load(spec)
    seats = [players.load(text, game) for text in ("uct(seed=1)", second)]
    position = Position(game)
    while not position.winner:
        info = told(seats[position.to_move - 1].choose(position, Limit(simulations=200)))
        assert {each.action for each in info.actions} <= set(position.legal_actions)
        position = position.play(info.actions[0].action)


def test_proofs_are_kept_between_moves() -> None:
    """In a won position, the proof is still known after each expected move."""
    game = games.load("nim(chips=9)")
    searcher = players.load("uct(seed=1)", game)
    position, sign = Position(game), 1
    assert search(searcher, (), 10_000).proven == sign
    while not position.winner:
        info = told(searcher.choose(position, Limit(simulations=1000)))
        assert info.proven == sign
        position, sign = position.play(info.actions[0].action), -sign


def ponder(player: Player, moves: Sequence[int], seconds: float) -> None:
    """Ponder on the opponent's time until cancelled."""
    timer = threading.Timer(seconds, player.cancel)
    timer.start()
    player.ponder(Position(player.game, moves))
    timer.join()
    player.ready()


def test_the_result_of_pondering_is_used() -> None:
    searcher = players.load("uct(seed=1,ponder=true,c=1)", GAME)
    assert searcher.ponders
    search(searcher, [], 1000)
    ponder(searcher, [3], 0.05)
    moves, kept = descend(searcher, [1])
    assert kept > 0
    assert visits(search(searcher, [3, *moves], 100)) == 100 + kept


def test_pondering_ends_by_itself_when_all_is_known() -> None:
    game = games.load("nim(chips=5)")
    searcher = players.load("uct(seed=1,ponder=true)", game)
    searcher.ponder(Position(game, [0]))
    assert search(searcher, [0, 0], 10).proven == 1
    searcher.ponder(Position(game, [2, 1]))  # nothing is left


def test_a_choice_that_was_cancelled_leaves_a_tree_to_go_on_with() -> None:
    searcher = players.load("uct(seed=1,time=60)", GAME)
    threading.Timer(0.05, searcher.cancel).start()
    assert searcher.choose(Position(GAME), Limit()).action in range(7)
    searcher.ready()
    assert visits(search(searcher, [], 100)) > 100
    searcher.cancel()
    assert searcher.choose(Position(GAME, [3]), Limit()).action in range(7)
    searcher.ready()
    assert visits(search(searcher, [3], 100)) > 100


@pytest.mark.parametrize(
    ("spec", "simulations"), [("connect_four", 20_000), ("nim(chips=12)", 30_000)]
)
@pytest.mark.parametrize("player", ["uct", "rave"])
def test_threads_can_be_repeated(spec: str, simulations: int, player: str) -> None:
    """A search with threads is repeatable, even if one of them proves the result."""
    game = games.load(spec)

    def searched() -> list[tuple[int, int | None, tuple[ActionStats, ...]]]:
        searcher = players.load(f"{player}(seed=7,threads=3,simulations={simulations})", game)
        found = []
        for moves in ([], [0], [0, 1]):
            info = told(searcher.choose(Position(game, moves), Limit()))
            found.append((info.simulations, info.proven, info.actions))
        searcher.close()
        return found

    first = searched()
    assert all(searched() == first for _ in range(repetitions(3, short=1)))


def test_a_proof_of_one_thread_is_reported() -> None:
    """A loss or a tie is reported too, even if other threads have not visited all actions."""
    game = games.load("nim(chips=12)")
    for seed in range(5):
        searcher = players.load(f"uct(seed={seed},threads=3,time=60)", game)
        assert told(searcher.choose(Position(game), Limit())).proven == -1
        searcher.close()


#: Searches in which one answer is far better and must get most visits.
FORCED = [0, 3, 0, 3, 1, 3]


@pytest.mark.parametrize("saves", [False, True])
def test_it_stops_early_only_where_time_is_saved(saves: bool) -> None:
    searcher = players.load("uct(seed=1,solver=false)", GAME)
    limit = Limit(simulations=50_000, time_carries_over=saves)
    info = told(searcher.choose(Position(GAME, FORCED), limit))
    assert info.actions[0].action == 3
    assert (info.simulations < 50_000) is saves


def test_a_lost_action_with_most_visits_does_not_end_the_search() -> None:
    """A lost action is not played, whatever its visits: the choice is among the others."""
    searcher = players.load("uct(seed=1)", GAME)
    search(searcher, [], 1000)
    worker = searcher._workers[0]  # type: ignore[attr-defined]
    rows = worker.children(0)
    nodes = worker.tree.nodes[rows]
    nodes["visits"] = [10_000, 200, 199, 5, 5, 5, 5]
    assert is_decided(worker, 500)
    nodes["proof"][0] = LOSS
    assert not is_decided(worker, 500)
    assert not is_decided(worker, 1)
    assert is_decided(worker, 0)


#: The first player wins by three in a row with both ends free.
WON = [2, 2, 3, 3]


@pytest.mark.parametrize("name", ["uct", "rave", "alphazero"])
def test_a_proof_is_looked_for_first(name: str) -> None:
    """It is the move of `minimax`, and the tree search starts a new tree after it."""
    searcher = players.load(f"{name}(proof=0.5)", GAME)
    search(searcher, WON[:2], 100)
    choice = searcher.choose(Position(GAME, WON), Limit(seconds=60.0))
    info, exact = told(choice), search(players.load("minimax", GAME), WON)
    assert info.proven == exact.proven == 1
    assert choice.action == info.pv[0] in (1, 4)
    assert info.seconds < 30.0
    assert searcher.tree() is None
    assert visits(search(searcher, [3], 100)) in (99, 100)  # a net evaluates the root, too
    searcher.close()


def test_without_a_proof_the_tree_search_has_the_rest() -> None:
    searcher = players.load("uct(seed=1,proof=0.5)", games.load("gomoku"))
    info = told(searcher.choose(Position(searcher.game, [112]), Limit(seconds=0.2)))
    assert info.proven is None
    assert visits(info) == info.simulations > 0


def test_a_number_of_simulations_is_searched_without_a_proof_first() -> None:
    limit = Limit(seconds=60.0, simulations=100)
    plain, first = (players.load(f"uct(seed=1{each})", GAME) for each in ("", ",proof=0.5"))
    expected = told(plain.choose(Position(GAME, WON), limit))
    assert told(first.choose(Position(GAME, WON), limit)).actions == expected.actions


def test_an_endless_search_does_not_begin_with_a_proof() -> None:
    searcher = players.load("uct(proof=0.9,seed=1)", GAME)

    def cancel(info: Info) -> None:
        assert visits(info) > 0
        searcher.cancel()

    assert searcher.choose(Position(GAME), Limit(seconds=math.inf), cancel).info


def test_a_search_for_a_proof_can_be_cancelled() -> None:
    searcher = players.load("uct(proof=0.9,time=600)", GAME)
    threading.Timer(0.05, searcher.cancel).start()
    assert searcher.choose(Position(GAME), Limit()).action in range(7)
    searcher.ready()
    assert visits(search(searcher, [], 100)) == 100 + 1  # one simulation gave the first move


@pytest.mark.parametrize("share", ["-0.1", "0.95", "1"])
def test_a_share_for_proofs_leaves_time_for_the_tree(share: str) -> None:
    with pytest.raises(SpecError, match=r"uct: proof must be from 0 to 0\.9, not"):
        players.load(f"uct(proof={share})", GAME)
