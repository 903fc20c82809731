"""Adjudication of matches by proofs: the prover, and a tournament of a hub."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from playout import games, players
from playout.games import Position
from playout.players import Limit
from playout.players.analyst.analyst_process import Prover
from playout.protocol.analyst import AnalysisReport, ProofOrder
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import Adjudication, Openings
from playout.server.model.records import StoredMatch
from support.hub_harness import HubHarness, MemoryClient
from support.tournaments import (
    NAMES,
    Bots,
    last,
    member,
    new_tournament,
    spec_of,
    stored_tournament,
)

#: More than any of these positions takes.
SECONDS = 20.0
WON = (5, 5, 5, 3, 1, 4, 6, 4, 4, 5, 3, 2, 4, 4, 6, 6, 5, 2, 5, 0, 1, 1)
"""
1 2 3 4 5 6 7
. . . . . X .
. . . . O X .
. . . . X O .
. O . . X X O
. X O X O O X
O X O O O X X
"""
LOST = (4, 5, 6, 4, 5, 0, 0, 6, 1, 2, 2, 4, 5, 2, 4, 2, 5, 4, 0, 3, 2, 2, 6)
"""
1 2 3 4 5 6 7
. . O . . . .
. . X . O . .
. . O . X X .
X . O . O X X
X . X . O X O
O X O O X O X
"""
TIED = (0, 0, 2, 4, 3, 5, 0, 5, 4, 1, 0, 3, 6, 6, 3, 4, 4, 5, 5, 5, 5, 3)
"""
1 2 3 4 5 6 7
. . . . . X .
. . . . . O .
X . . O X X .
X . . X O O .
O . . O X O O
X O X X O O X
"""
#: Positions with their winner: the player to move, first or second, the other one, or none.
ENDINGS = [
    ("tic_tac_toe", (0, 3, 1, 4), 1),
    ("tic_tac_toe", (1, 8, 0), 2),
    ("tic_tac_toe", (0, 1, 4), 1),
    ("tic_tac_toe", (0, 4, 8), -1),
    ("connect_four", WON, 1),
    ("connect_four", LOST, 1),
    ("connect_four", TIED, -1),
]


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover()


def order(game: str, actions: Sequence[int], seconds: float = SECONDS) -> ProofOrder:
    return ProofOrder("a", game, tuple(actions), seconds)


def played_out(game_name: str, actions: Sequence[int]) -> int:
    """Who wins if minimax plays both sides to the end by the rules."""
    game = games.load(game_name)
    position = Position(game, actions)
    player = players.load("minimax(seed=1,memory_mb=4)", game)
    while not position.winner:
        position = position.play(player.choose(position, Limit(seconds=SECONDS)).action)
    return position.winner


# The prover.


@pytest.mark.parametrize(("game", "actions", "winner"), ENDINGS)
def test_an_ending_is_proven(
    prover: Prover, game: str, actions: tuple[int, ...], winner: Any
) -> None:
    report = prover.prove(order(game, actions))
    assert report == AnalysisReport("a", over=True, winner=winner)
    assert played_out(game, actions) == winner


def test_a_proof_that_takes_too_long_is_not_reported(prover: Prover) -> None:
    for game in ("connect_four", "othello"):
        assert prover.prove(order(game, (), 0.01)) == AnalysisReport("a", over=True)


@pytest.mark.parametrize(
    ("game", "actions", "told"),
    [("shogi", (), "unknown game 'shogi'"), ("nim", (9,), "move 1 is not legal: action 9")],
)
def test_a_position_that_cannot_be_searched_is_reported(
    prover: Prover, game: str, actions: tuple[int, ...], told: str
) -> None:
    report = prover.prove(order(game, actions))
    assert report.over
    assert told in report.error
    assert prover.prove(order("tic_tac_toe", (0, 3, 1, 4))).winner == 1


def test_a_fault_of_a_game_is_no_fault_of_the_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(_: str) -> games.Game:
        raise ZeroDivisionError

    monkeypatch.setattr(games, "load", faulty)
    failure = Prover().prove(order("nim", ()))
    assert failure == AnalysisReport("a", over=True, error="ZeroDivisionError()")


# With a hub.


def prove_all(harness: HubHarness, prover: Prover) -> None:
    """Work as an analyst until no position is left."""
    while harness.proofs:
        harness.proven(prover.prove(structs.replace(harness.proofs[0], seconds=SECONDS)).winner)


def hosted(**fields: Any) -> tuple[MemoryClient, Bots]:
    """A tournament with proofs: its watcher and its entrants."""
    harness = HubHarness()
    zoe, _ = new_tournament(harness, spec_of(adjudication=Adjudication(proofs=True), **fields))
    return zoe, Bots(harness, *(member(harness, name) for name in NAMES[:2]))


@pytest.mark.parametrize(("game", "actions", "winner"), ENDINGS)
def test_an_ending_is_adjudicated(
    prover: Prover, game: str, actions: tuple[int, ...], winner: Any
) -> None:
    openings = Openings(lines={game: (actions,)})
    zoe, bots = hosted(games=(game,), openings=openings)
    bots.join()
    prove_all(bots.harness, prover)
    ends = [(each.winner, each.reason, each.plies) for each in last(zoe).values()]
    assert ends == [(winner, Reason.ADJUDICATION, len(actions))] * 2


@pytest.mark.parametrize(("game", "plies"), [("tic_tac_toe", 0), ("connect_four", 26)])
def test_a_match_ends_as_the_rules_and_best_play_would_have_it(
    prover: Prover, game: str, plies: int
) -> None:
    lines = tuple(opening(game, plies, seed) for seed in range(4))
    zoe, bots = hosted(games=(game,), rounds=4, openings=Openings(lines={game: lines}))
    bots.join(matches=2)
    bots.play(3)  # those who prove come later than those who play
    while bots.harness.matches:
        prove_all(bots.harness, prover)
        bots.play(1)
    matches = stored_tournament(bots.harness.stored).matches
    assert len(matches) == 8
    for match in matches:
        assert match.ended
        assert match.ended.reason in (Reason.ADJUDICATION, Reason.RULES)
        assert match.ended.winner == played_out(game, actions_of(match))
    assert Reason.ADJUDICATION in {each.reason for each in last(zoe).values()}


def opening(game_name: str, plies: int, seed: int) -> tuple[int, ...]:
    """Random moves after which it goes on."""
    game, choose = games.load(game_name), random.Random(seed)
    while True:
        state = game.initial_state()
        actions: list[int] = []
        while len(actions) < plies and not game.winner(state):
            actions.append(choose.choice(game.legal_actions(state)))
            state = game.next_state(state, actions[-1])
        if not game.winner(state):
            return tuple(actions)


def actions_of(match: StoredMatch) -> list[int]:
    return [move.action for move in match.moves]
