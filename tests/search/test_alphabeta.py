"""The player alphabeta, its evaluations, and how they are learned."""

from __future__ import annotations

import functools
import io
import itertools
import math
import random
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from playout import games, players
from playout.games import Game, KernelGame, Position, SpecError, State
from playout.games.chessboard.notation import uci_name
from playout.games.core.kernels import LEVEL
from playout.players import Limit
from playout.players.alphabeta import AlphaBeta
from playout.players.core.rules import rules_of
from playout.players.depth_first import LAST, NODES, STOPPED
from playout.players.depth_first import principal_variation as pv
from playout.players.evaluations import files
from playout.players.evaluations.tables import (
    Tables,
    ends_of,
    expected,
    find_weights,
    new_line,
    new_tables,
    set_first,
    set_next,
    sum_at,
)
from playout.players.training.evaluation_loop import (
    EvaluationLearner,
    exchange_of,
    exchange_players,
    learn,
)
from support.plain import Plain
from support.waiting import wait_until

SMALL = "mnk(m=3,n=3,k=3)"
#: The number of a search: what the table has of other numbers is not used.
NUMBERS = itertools.count(1)
#: Games of several kinds: lines, discs that turn, captures, forced captures with several jumps, and
#: pieces of several kinds.
KINDS = [SMALL, "othello(size=4)", "breakthrough(rows=5,columns=4)", "checkers", "chess"]


@pytest.fixture(scope="session", params=KINDS)
def learned(request: pytest.FixtureRequest) -> tuple[KernelGame, Tables]:
    """A game, and tables that know a little."""
    game = games.load(request.param)
    assert isinstance(game, KernelGame)
    tables = new_tables(game, phases=2)
    learner = EvaluationLearner(game, tables, seed=1)
    for _ in range(20):
        learner.play(0.5)
    return game, tables


def positions(game: Game, seed: int, count: int) -> Iterator[State]:
    """Yield positions of random games in which the game goes on."""
    draw = random.Random(seed)
    state = game.initial_state()
    for _ in range(count):
        if game.winner(state):
            state = game.initial_state()
        yield state
        state = game.next_state(state, draw.choice(game.legal_actions(state)))


def value(tables: Tables, state: Sequence[int] | NDArray[np.int64]) -> float:
    """Return the evaluation of an observed state for player 1."""
    indices = np.zeros(len(tables.groups), dtype=np.int64)
    find_weights(tables, np.array(state), indices)
    return float(expected(tables, indices))


# Evaluations.


def kernel_game(name: str) -> KernelGame:
    game = games.load(name)
    assert isinstance(game, KernelGame)
    return game


def test_groups_that_a_symmetry_maps_to_each_other_have_the_same_weights() -> None:
    game = games.load("othello")
    tables = new_tables(game)
    offsets = {
        frozenset(group[:length].tolist()): int(offset)
        for group, length, offset in zip(*tables[:3], strict=True)
    }
    assert len(set(offsets.values())) < len(offsets) / 6
    for symmetry in game.symmetries:
        for group, offset in offsets.items():
            image = frozenset(2 + symmetry.cells[cell - 2] for cell in group)
            assert offsets[image] == offset


def test_learning_begins_with_the_worth_of_the_pieces() -> None:
    game = kernel_game("chess")
    tables, first = new_tables(game), game.initial_state()
    cells = tables.cells.tolist()
    queens = [list(first) for _ in range(2)]
    for state, queen in zip(queens, (9, 10), strict=True):
        state[next(cell for cell in cells if state[cell] == queen)] = 0
    assert value(tables, game.observed(first)) == pytest.approx(0, abs=1e-5)
    assert value(tables, game.observed(tuple(queens[0]))) < -0.8
    assert value(tables, game.observed(tuple(queens[1]))) > 0.8


@pytest.mark.parametrize("name", ["othello", "chess", "draughts", "pentago", "amazons"])
def test_differences_between_positions_lead_to_the_same_evaluation(name: str) -> None:
    game = kernel_game(name)
    tables = new_tables(game)
    tables.weights[:] = np.random.default_rng(3).normal(0, 0.05, len(tables.weights))
    line = new_line(tables, game.observed_words, 60)
    for ply, state in enumerate(map(game.observed, positions(game, 4, 60))):
        line.states[ply] = state
        (set_next if ply else set_first)(tables, line, ply)
        assert math.tanh(sum_at(line, ply)) == pytest.approx(value(tables, state), abs=1e-5)


def test_the_lead_in_space_of_amazons_is_that_of_a_plain_search() -> None:
    game = kernel_game("amazons(size=6)")
    steps = [(down, across) for down in (-1, 0, 1) for across in (-1, 0, 1) if down or across]

    def distances(cells: Sequence[int], player: int, most: int) -> dict[int, int]:
        """The moves to each cell, of queens that go at most `most` cells."""
        found = {cell: 0 for cell in range(36) if cells[cell] == player}
        for distance in range(1, 37):
            for start in [cell for cell, known in found.items() if known == distance - 1]:
                for down, across in steps:
                    row, column = divmod(start, 6)
                    for _ in range(most):
                        row, column = row + down, column + across
                        inside = 0 <= row < 6 and 0 <= column < 6
                        if not inside or cells[6 * row + column]:
                            break
                        found.setdefault(6 * row + column, distance)
        return found

    leads = set()
    for state in positions(game, 2, 200):
        for place, most in ((0, 6), (1, 1)):
            one, two = (distances(state[2:38], player, most) for player in (1, 2))
            ahead = [one.get(cell, 99) - two.get(cell, 99) for cell in range(36)]
            lead = sum(each < 0 for each in ahead) - sum(each > 0 for each in ahead)
            assert game.observed(state)[38 + 2 + place] == min(max(0, lead + LEVEL), 63)
            leads.add(lead)
    assert len(leads) > 10


def test_pieces_of_clobber_that_never_move_again_count_as_removed() -> None:
    game = kernel_game("clobber(rows=6,columns=7)")
    beside = {cell: [cell + 7, cell - 7] for cell in range(42)}
    for cell in range(42):
        beside[cell] += [cell + 1] * (cell % 7 < 6) + [cell - 1] * (cell % 7 > 0)
    stuck = 0
    for state in positions(game, 6, 300):
        pieces = {cell: state[2 + cell] for cell in range(42) if state[2 + cell]}
        found: set[int] = set()
        more = {a for a in pieces if 3 - pieces[a] in map(pieces.get, beside[a])}
        while more:
            found |= more
            more = {b for a in more for b in beside[a] if b in pieces} - found
        shown = game.observed(state).tolist()[2:44]
        if max(found, default=0) >= 35:  # else pieces that cancel each other are left out as well
            assert shown == [pieces.get(cell, 0) * (cell in found) for cell in range(42)]
            stuck += len(pieces) > len(found)
    assert stuck > 20


def test_components_of_clobber_that_cancel_each_other_do_not_matter() -> None:
    game, fewer, ups = kernel_game("clobber(rows=4,columns=5)"), 0, 0
    assert game.kernels.sensible

    @functools.cache
    def wins(state: State) -> bool:
        """Whether the player to move wins."""
        if game.winner(state):
            return game.winner(state) == state[0]
        return any(not wins(game.next_state(state, each)) for each in game.legal_actions(state))

    for state in positions(game, 8, 600):
        legal = game.legal_actions(state)
        if len(legal) > 6:
            continue
        kept = written(game, game.kernels.sensible, state)
        shown = game.observed(state).tolist()
        assert set(kept) <= set(legal)
        assert wins(state) == any(not wins(game.next_state(state, each)) for each in kept)
        without = (*state[:2], *shown[2:22])
        if game.legal_actions(without):
            assert wins(without) == wins(state)
        elif shown[2:22] != list(state[2:]):
            assert not wins(state)
        fewer += len(kept) < len(legal)
        ups += shown[-2] != LEVEL
    assert min(fewer, ups) > 10


def test_a_runner_of_breakthrough_wins_the_race() -> None:
    game, races = kernel_game("breakthrough(rows=5,columns=4)"), 0
    solver = players.load("minimax", game)
    for state in positions(game, 8, 400):
        lead = int(game.observed(state)[-1]) - LEVEL
        if lead:
            found = solver.choose(Position(game, start=state), Limit()).info
            assert found
            assert found.proven == (1 if (lead > 0) == (state[0] == 1) else -1)
            races += 1
    assert races > 30


def test_forcing_moves_of_breakthrough_are_sensible_captures_and_wins() -> None:
    game, found = kernel_game("breakthrough(rows=6,columns=5)"), 0
    assert game.kernels.sensible
    assert game.kernels.forcing
    for state in positions(game, 9, 300):
        sensible = written(game, game.kernels.sensible, state)
        over = {each for each in sensible if game.winner(game.next_state(state, each))}
        forcing = written(game, game.kernels.forcing, state)
        assert sorted(forcing) == sorted({each for each in sensible if each % 2} | over)
        found += len(forcing)
    assert found > 100


def test_a_position_with_exchanged_players_is_the_opposite() -> None:
    built_in = [games.load(name) for name in games.names() if name != "open_spiel"]
    exchanged = [game for game in built_in if game.exchange]
    assert len(exchanged) > 3
    for game in exchanged:
        assert isinstance(game, KernelGame)
        require_opposite(game)


def require_opposite(game: KernelGame) -> None:
    """The rules agree, and learning from both keeps their evaluations opposite."""
    tables = new_tables(game, phases=2)
    learner = EvaluationLearner(game, tables, seed=1)
    while np.count_nonzero(tables.weights) < 10:
        learner.play(0.0)
    exchange = exchange_of(game, tables)

    def exchanged(state: State) -> State:
        other = np.zeros(game.observed_words, dtype=np.int64)
        exchange_players(exchange, np.array(state + (LEVEL,) * len(game.features)), other)
        winner = game.winner(state)
        rest = state[len(tables.cells) + 2 :]
        if str(game) == "chess":  # castling of both players, and the cell that a pawn has passed
            castling, passed, *earlier = rest
            other_passed = passed ^ 56 if passed >= 0 else passed
            rest = (castling >> 2 | (castling & 3) << 2, other_passed, *earlier)
        if str(game) == "checkers":  # the piece that must jump again
            jumper, quiet = rest
            rest = (63 - jumper if jumper >= 0 else jumper, quiet)
        cells = other[2 : len(tables.cells) + 2].tolist()
        if str(game) == "draughts":  # that, and pieces that are captured until the capture ends
            jumper, quiet = rest
            rest = (51 - jumper if jumper >= 0 else jumper, quiet)
            swapped = {5: 6, 6: 5, 7: 8, 8: 7}
            turned = zip(cells, state[101:1:-1], strict=True)
            cells = [swapped.get(before, each) for each, before in turned]
        return (int(other[0]), 3 - winner if winner > 0 else winner, *cells, *rest)

    def shown(state: State) -> State:
        winner = max(0, state[1])  # without ties, which depend on earlier positions
        return (state[0], winner, *state[2 : len(tables.cells) + 2])

    for state in positions(game, 3, 50):
        other = exchanged(state)
        assert value(tables, game.observed(other)) == pytest.approx(
            -value(tables, game.observed(state)), abs=1e-5
        )
        after = {shown(exchanged(game.next_state(state, a))) for a in game.legal_actions(state)}
        assert {shown(game.next_state(other, a)) for a in game.legal_actions(other)} == after


def test_captured_pieces_of_draughts_count_as_removed() -> None:
    game, captured = kernel_game("draughts"), 0
    for state in positions(game, 3, 400):
        shown = [0 if piece > 4 else piece for piece in state[2:102]]
        assert game.observed(state)[:-1].tolist() == [*state[:2], *shown, *state[102:]]
        captured += shown != list(state[2:102])
    assert captured > 3


def test_every_built_in_game_can_be_learned() -> None:
    for name in {*games.names()} - {"open_spiel"}:
        game = games.load(name)
        if game.has_chance:
            continue
        tables = new_tables(game)
        values = int(tables.numbers[1])
        selected = ends_of(tables.lengths, tables.offsets, values, values).max()
        parts = 2 * (len(tables.cuts) + 1)
        assert 2 * parts * selected < files.MOST_BYTES  # also if nothing is compressed


def written(game: KernelGame, kernel: Callable[..., int], state: State) -> list[int]:
    """Return the actions that a kernel of a game writes."""
    actions = np.zeros(game.num_actions, dtype=np.int64)
    return actions[: kernel(game.board(state), actions)].tolist()


def plain_value(game: KernelGame, tables: Tables, state: State, depth: int, ply: int) -> int:
    """Return the value of a position by a search without any pruning, for the player to move.

    It considers sensible actions only if the game names them, and a single action takes no depth.
    Below depth 0 it considers the forcing actions that the game names, for eight plies.
    """
    winner, me = game.winner(state), game.current_player(state)
    if winner:
        return 0 if winner < 0 else pv.WON - ply if winner == me else ply - pv.WON
    found = []
    actions = written(game, game.kernels.sensible or game.kernels.legal, state)
    further = depth if len(actions) == 1 else depth - 1
    if depth <= 0:
        expected_result = math.atanh(value(tables, game.observed(state)))
        found.append(int(expected_result * pv.SCALE) * (1 if me == 1 else -1))
        goes_on = game.kernels.forcing and depth > -8
        actions = written(game, game.kernels.forcing, state) if goes_on else []
        further = depth - 1
    for action in actions:
        after = game.next_state(state, action)
        its = plain_value(game, tables, after, further, ply + 1)
        same = game.current_player(after) == me or game.winner(after)
        found.append(its if same and not game.winner(after) else -its)
    return max(found)


@pytest.mark.parametrize("name", [SMALL, "othello(size=4)", "connect_four"])
def test_the_search_finds_the_value_of_a_search_without_pruning(name: str) -> None:
    game = games.load(name)  # no move removes a piece: there is no search beyond the horizon
    assert isinstance(game, KernelGame)
    tables = new_tables(game, phases=2)
    tables.weights[:] = np.random.default_rng(2).normal(0, 0.02, len(tables.weights))
    rules = rules_of(game)
    table = pv.new_table(rows=1 << 12)
    search, kernels = pv.new_search(game, rules, tables, table), pv.kernels_of(rules)
    for state in positions(game, 5, 25):
        pv.start(search, game.board(state), next(NUMBERS))
        search.state[LAST], search.state[pv.MARGIN] = 1 << 60, pv.MOST
        found = pv.value_of(search, kernels, tables, 0, 2, -(1 << 30), 1 << 30)
        assert found == pytest.approx(plain_value(game, tables, state, 2, 0), abs=2)


def test_the_values_of_the_candidates_are_those_of_a_search_without_pruning() -> None:
    game = games.load("othello(size=4)")
    assert isinstance(game, KernelGame)
    tables = new_tables(game, phases=2)
    tables.weights[:] = np.random.default_rng(3).normal(0, 0.02, len(tables.weights))
    rules = rules_of(game)
    table = pv.new_table(rows=1 << 12)
    search, kernels = pv.new_search(game, rules, tables, table), pv.kernels_of(rules)
    search.state[pv.MARGIN] = pv.MOST
    seen = 0
    for state in positions(game, 5, 25):
        legal = game.legal_actions(state)
        expected = {}
        for action in legal:
            after = game.next_state(state, action)
            sign = 1 if game.current_player(after) == state[0] and not game.winner(after) else -1
            expected[action] = sign * plain_value(game, tables, after, 1, 1)
        pv.start(search, game.board(state), next(NUMBERS))
        search.actions[0, : len(legal)] = legal
        wanted = min(2, len(legal))
        for depth in (1, 2):  # without reductions
            assert pv.search_root(search, kernels, tables, len(legal), depth, wanted) == len(legal)
        best = sorted(expected.values(), reverse=True)[:wanted]
        assert search.scores[0, :wanted].tolist() == pytest.approx(best, abs=2)
        for action, score in zip(search.actions[0, :wanted], search.scores[0], strict=False):
            assert expected[int(action)] == pytest.approx(score, abs=2)
        seen += wanted > 1
    assert seen > 10


@pytest.mark.parametrize(
    "spec", ["gomoku(size=9)", "mnk(m=4,n=9,k=3)", "mnk(m=7,n=5,k=4,exact=true)"]
)
def test_forcing_moves_of_rows_win_prevent_a_win_or_threaten_one(spec: str) -> None:
    game, draw, threats = games.load(spec), random.Random(9), 0
    assert isinstance(game, KernelGame)
    assert game.kernels.forcing
    actions = np.zeros(game.num_actions, dtype=np.int64)

    def wins(state: State) -> set[int]:
        return {
            action
            for action in game.legal_actions(state)
            if game.winner(game.next_state(state, action)) == state[0]
        }

    def passed(state: State) -> State:
        return (3 - state[0], *state[1:])

    state = game.initial_state()
    for _ in range(60):
        forcing = set(actions[: game.kernels.forcing(game.board(state), actions)].tolist())
        legal = game.legal_actions(state)
        if at_once := wins(state) or wins(passed(state)):
            assert len(forcing & at_once) == len(forcing) == 1
        elif len(legal) > 1:
            after = {action: passed(game.next_state(state, action)) for action in legal}
            threatening = {action for action, each in after.items() if wins(each)}
            assert forcing >= threatening if "exact" in spec else forcing == threatening
            threats += len(threatening)
        state = game.next_state(state, draw.choice(legal))
        if game.winner(state):
            state = game.initial_state()
    assert threats > 10


def test_pentago_searches_each_position_once_and_knows_wins_at_once() -> None:
    game, won, fewer = kernel_game("pentago"), 0, 0
    assert game.kernels.forcing
    assert game.kernels.sensible
    for state in positions(game, 7, 150):
        after = {action: game.next_state(state, action) for action in game.legal_actions(state)}
        wins = {action for action, each in after.items() if game.winner(each) == state[0]}
        forcing = written(game, game.kernels.forcing, state)
        sensible = written(game, game.kernels.sensible, state)
        assert len(forcing) == bool(wins)
        assert wins >= set(forcing)
        if wins:
            assert sensible == forcing
        else:
            assert {after[action] for action in sensible} == set(after.values())
        won += bool(wins)
        fewer += len(sensible) < len(after)
    assert won > 10
    assert fewer > 50


def test_groups_of_one_shape_share_their_weights_on_a_large_board() -> None:
    game = games.load("gomoku(size=11)")
    tables = new_tables(game)
    shapes: dict[tuple[int, ...], set[int]] = {}
    for group, length, offset in zip(tables.groups, tables.lengths, tables.offsets, strict=True):
        if length > 1:
            steps = tuple(int(cell - group[0]) for cell in group[:length])
            shapes.setdefault(steps, set()).add(int(offset))
    assert len(shapes) > 10
    assert all(len(each) == 1 for each in shapes.values())
    assert len({*map(int, tables.offsets)}) < len(tables.groups) / 10


def test_forcing_moves_of_chess_gain_or_preserve_material_the_best_first() -> None:
    game = games.load("chess")
    assert isinstance(game, KernelGame)
    assert game.kernels.forcing
    worths = {chess.PAWN: 1, chess.KING: 1, chess.ROOK: 5, chess.QUEEN: 9}
    wanted = losing = 0
    draw, state, judge = random.Random(8), game.initial_state(), chess.Board()

    def gain(move: chess.Move) -> int:
        """Return the gain of a capture or promotion, if its piece is lost where it is attacked."""
        captured, piece = judge.piece_type_at(move.to_square), judge.piece_type_at(move.from_square)
        worth = worths.get(piece or chess.KING, 3)
        more = worths.get(captured, 3) if captured else 0
        if move.promotion:
            worth = worths[chess.QUEEN]
            more += worth - 1
        return more - worth * judge.is_attacked_by(not judge.turn, move.to_square)

    for _ in range(400):
        forcing, legal = written(game, game.kernels.forcing, state), game.legal_actions(state)
        moves = {each: chess.Move.from_uci(uci_name(state, each)) for each in legal}
        gains = {
            action: gain(move)
            for action, move in moves.items()
            if move.promotion == chess.QUEEN or (judge.is_capture(move) and not move.promotion)
        }
        assert sorted(forcing) == [action for action in sorted(gains) if gains[action] >= 0]
        found = [gains[action] for action in forcing]
        assert found == sorted(found, reverse=True)
        wanted += len(forcing)
        losing += len(gains) - len(forcing)
        action = draw.choice(legal)
        judge.push(moves[action])
        state = game.next_state(state, action)
        if game.winner(state):
            state, judge = game.initial_state(), chess.Board()
    assert wanted > 100
    assert losing > 100


def test_earlier_positions_do_not_count_in_the_table() -> None:
    game = games.load("chess")
    assert isinstance(game, KernelGame)
    tables = new_tables(game, phases=1)
    search = pv.new_search(game, rules_of(game), tables, pv.new_table(rows=4))

    def after(*moves: str) -> State:
        state = Position.from_names(game, moves).state
        return state

    one, same, other = (
        after("Nf3", "Nf6", "Nc3"),
        after("Nc3", "Nf6", "Nf3"),
        after("Nc3", "Nf6", "Nh3"),
    )
    assert one != same
    keys = [int(pv.key_of(search, game.board(state))) for state in (one, same, other)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("name", ["chess", "draughts"])
def test_moves_that_remove_pieces_are_searched_on_but_not_without_end(name: str) -> None:
    game = games.load(name)
    assert isinstance(game, KernelGame)
    tables = new_tables(game, phases=2)
    tables.weights[:] = np.random.default_rng(1).normal(0, 0.1, len(tables.weights))
    rules = rules_of(game)
    table = pv.new_table(rows=1 << 12)
    search, kernels = pv.new_search(game, rules, tables, table), pv.kernels_of(rules)
    deepest = 0
    for state in positions(game, 1, 200):
        pv.start(search, game.board(state), next(NUMBERS))
        search.state[LAST] = 100_000
        pv.value_of(search, kernels, tables, 0, 1, -(1 << 30), 1 << 30)
        assert not search.state[STOPPED]
        deepest = max(deepest, int(search.state[pv.DEEPEST]))
    assert deepest > 2


def test_a_search_of_moves_that_remove_pieces_stops_at_once(
    learned: tuple[KernelGame, Tables],
) -> None:
    game, tables = learned
    rules = rules_of(game)
    search = pv.new_search(game, rules, tables, pv.new_table(rows=4))
    kernels = pv.kernels_of(rules)
    pv.start(search, game.board(), next(NUMBERS))
    search.state[LAST] = 3
    pv.value_of(search, kernels, tables, 0, 1, -(1 << 30), 1 << 30)
    assert search.state[STOPPED]
    assert search.state[NODES] <= 3 + len(game.legal_actions(game.initial_state()))


def test_learning_changes_the_weights(learned: tuple[KernelGame, Tables]) -> None:
    game, tables = learned
    assert np.isfinite(tables.weights).all()
    if "chess" not in str(game):  # whose first games are ties
        assert np.count_nonzero(tables.weights) > 10


@pytest.mark.parametrize("explored", [True, False])
def test_nothing_is_learned_from_what_followed_a_random_move(explored: bool) -> None:
    game = kernel_game(SMALL)
    tables = new_tables(game)
    memory = EvaluationLearner(game, tables, seed=1).memory
    find_weights(tables, game.observed(game.initial_state()), memory.indices[0, 0])
    memory.values[0], memory.explored[0] = 0.1, explored
    learn(tables, memory, 1, -1.0, 1.0)
    assert (value(tables, game.initial_state()) > 0) == explored


def test_learning_is_the_same_for_a_seed() -> None:
    game = games.load(SMALL)
    assert isinstance(game, KernelGame)
    one, same, other = (new_tables(game) for _ in range(3))
    for tables, seed in ((one, 1), (same, 1), (other, 2)):
        learner = EvaluationLearner(game, tables, seed)
        for _ in range(20):
            learner.play(0.0)
    assert np.array_equal(one.weights, same.weights)
    assert not np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("name", ["othello(size=6)", "checkers"])
def test_a_game_in_plain_python_is_searched_like_one_with_compiled_rules(
    name: str, tmp_path: Path
) -> None:
    game, plain = kernel_game(name), Plain(games.load(name))
    plain.spec = name
    tables = new_tables(game)
    tables.weights[:] = np.random.default_rng(5).normal(0, 0.05, len(tables.weights))
    files.write(tmp_path / "some.npz", tables, files.Card(game=name))
    compiled, interpreted = (
        AlphaBeta(each, evaluation=str(tmp_path / "some.npz"), seed=3) for each in (game, plain)
    )
    hurried = AlphaBeta(plain, evaluation=str(tmp_path / "some.npz"), seed=3)
    interpreted._functions = interpreted._functions._replace(first_look=None)
    for state in positions(game, 6, 12):
        one, other = (
            player.choose(Position(game, start=state), Limit(simulations=400))
            for player in (compiled, interpreted)
        )
        assert one.info
        assert other.info
        assert one.info.depth > 2
        assert one.action == other.action
        assert replace(one.info, seconds=0) == replace(other.info, seconds=0)
        sign, after = 3 - 2 * state[0], functools.partial(game.next_state, state)
        values = {
            action: sign * value(tables, game.observed(after(action)))
            for action in game.legal_actions(state)
        }
        first = hurried.choose(Position(game, start=state), Limit(simulations=1)).action
        assert values[first] == pytest.approx(max(values.values()), abs=0.001)


@pytest.mark.parametrize("name", ["open_spiel(game=tic_tac_toe)", SMALL])
def test_a_game_in_plain_python_learns_who_wins(name: str) -> None:
    game = games.load(name) if "spiel" in name else Plain(games.load(name))

    @functools.cache
    def result(state: State) -> int:
        """Return the result for player 1 with best play: 1, 0 or -1."""
        if game.winner(state):
            return {1: 1, 2: -1}.get(game.winner(state), 0)
        results = [result(game.next_state(state, each)) for each in game.legal_actions(state)]
        return max(results) if state[0] == 1 else min(results)

    tables = new_tables(game)
    learner = EvaluationLearner(game, tables, seed=1)
    decided = [state for state in positions(game, 3, 300) if len(state) > 6 and result(state)]

    def agreement() -> float:
        found = [value(tables, game.observed(state)) * result(state) for state in decided]
        return sum(found) / len(found)

    assert agreement() == 0
    for _ in range(300):
        learner.play(0.3)
    assert agreement() > 0.2


def test_a_game_whose_states_differ_in_length_is_refused() -> None:
    class Growing(Plain):
        def observed(self, state: State) -> NDArray[np.int64]:
            return np.array(state[: 3 + sum(map(bool, state[2:]))])

    with pytest.raises(SpecError, match="its states differ in length"):
        new_tables(Growing(games.load(SMALL)))


def test_a_game_that_open_spiel_describes_by_fractions_is_refused() -> None:
    with pytest.raises(SpecError, match=r"describes open_spiel\(game=oware\) by fractions"):
        new_tables(games.load("open_spiel(game=oware)"))


# Files.


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of 3 x 3 in a row that was learned for a moment."""
    game = games.load(SMALL)
    assert isinstance(game, KernelGame)
    tables = new_tables(game)
    learner = EvaluationLearner(game, tables, seed=1)
    for _ in range(2000):
        learner.play(0.0)
    path = tmp_path_factory.mktemp("evaluations") / "small.npz"
    files.write(path, tables, files.Card(game=SMALL, games=learner.games, author="Ada"))
    return path


def test_a_file_is_read_as_it_was_written(file: Path) -> None:
    tables, card = files.read(file, games.load(SMALL))
    assert (card.author, card.games) == ("Ada", 2000)
    assert file.stat().st_size < files.MOST_BYTES
    assert np.abs(tables.weights).max() > 0.01


def changed(file: Path, path: Path, **entries: Any) -> Path:
    with np.load(file) as found:
        kept = {name: found[name] for name in found.files} | entries
    np.savez_compressed(path, **kept)
    return path


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("groups", lambda each: each + 100),
        ("groups", lambda each: -each - 1),
        ("groups", lambda each: each.astype(np.int32)),
        ("lengths", lambda each: each * 0),
        ("lengths", lambda each: each + 9),
        ("offsets", lambda each: each + 10**6),
        ("offsets", lambda each: each - 10**6),
        ("codes", lambda each: each + 70),
        ("codes", lambda each: each[:0]),
        ("numbers", lambda each: each * 1000),
        ("numbers", lambda each: each[:2]),
        ("cells", lambda each: each + 1000),
        ("cuts", lambda each: np.append(each, 3)),
        ("weights", lambda each: each[:-1]),
        ("weights", lambda each: each * np.float16(np.nan)),
        ("weights", lambda each: each.astype(object)),
        ("card", lambda each: each[:-2]),
        ("card", lambda each: np.frombuffer(b'{"game": "go"}', dtype=np.uint8)),
    ],
)
def test_a_file_that_cannot_be_right_is_refused(
    file: Path, tmp_path: Path, name: str, change: Any
) -> None:
    with np.load(file) as found:
        entry = change(found[name])
    path = changed(file, tmp_path / "bad.npz", **{name: entry})
    with pytest.raises(SpecError, match=r"alphabeta: .*bad\.npz"):
        players.load(f"alphabeta(evaluation={path})", games.load(SMALL))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", b"\0" * (80 << 20))
    for content in (b"", b"\0" * 100, b"PK\3\4 garbage", bomb.getvalue(), b"\0" * (2 << 20)):
        path = tmp_path / "other.npz"
        path.write_bytes(content)
        with pytest.raises(SpecError, match=r"other\.npz"):
            players.load(f"alphabeta(evaluation={path})", games.load(SMALL))


# The player.


SHIPPED = sorted(path.stem for path in (Path(files.__file__).parent / "learned").glob("*.npz"))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_evaluation_that_comes_with_a_game_plays_and_is_in_the_document(name: str) -> None:
    game = games.load(name)
    player = players.load("alphabeta(seed=1)", game)
    for state in positions(game, 2, 9):
        if state[0] == 0:
            continue
        result = player.choose(Position(game, start=state), Limit(seconds=0.02))
        assert result.action in game.legal_actions(state)
        assert result.info
        assert all(0 <= each.win_rate <= 1 for each in result.info.actions)
    path = files.shipped(game)
    assert path
    _, card = files.read_net(path, game) if game.has_chance else files.read(path, game)
    assert card.licence == "MIT"
    text = (Path(__file__).parents[2] / "docs" / "learning.md").read_text(encoding="utf-8")
    assert f"| `{name}` | {card.games:,} games" in text


def test_a_game_without_an_evaluation_says_how_to_learn_one() -> None:
    with pytest.raises(SpecError, match=r"playout-train new .* --evaluation"):
        players.load("alphabeta", games.load(SMALL))


def test_it_wins_at_once_and_says_that_it_is_proven(file: Path) -> None:
    game = games.load(SMALL)
    player = players.load(f"alphabeta(evaluation={file})", game)
    result = player.choose(Position(game, (0, 3, 1, 4)), Limit(seconds=1))
    assert result.action == 2
    assert result.info
    assert (result.info.proven, result.info.win_rate, result.info.pv) == (1, 1.0, (2,))


def test_it_keeps_to_its_limits(file: Path) -> None:
    game = games.load(SMALL)
    position = Position(game)
    for text, limit in (("depth=2", Limit()), ("", Limit(simulations=50))):
        player = players.load(f"alphabeta(evaluation={file}{',' * bool(text)}{text})", game)
        result = player.choose(position, limit)
        assert result.action in position.legal_actions
        assert result.info
        if text == "depth=2":
            assert result.info.depth == 2
        if limit.simulations:
            assert result.info.simulations <= 60


def test_its_own_time_ends_a_search_that_would_go_on() -> None:
    game = games.load("breakthrough")
    player = players.load("alphabeta(time=0.01)", game)
    # Otherwise it would search so many nodes, in minutes.
    info = player.choose(Position(game), Limit(simulations=500_000_000)).info
    assert info
    assert 0 < info.simulations < 500_000_000
    player.close()


@pytest.mark.parametrize("seconds", [math.inf, 1e12])
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_limit_that_no_timer_can_keep_is_no_limit(file: Path, seconds: float) -> None:
    game = games.load(SMALL)
    player = players.load(f"alphabeta(evaluation={file},depth=2)", game)
    result = player.choose(Position(game), Limit(seconds=seconds))
    assert result.info
    assert result.info.depth == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_is_cancelled_ends_and_another_begins(threads: int) -> None:
    game = games.load("breakthrough")
    player, position = players.load(f"alphabeta(threads={threads})", game), Position(game)
    assert isinstance(player, AlphaBeta)
    with ThreadPoolExecutor(1) as pool:
        chosen = pool.submit(player.choose, position, Limit(seconds=1000))
        wait_until(lambda: player._first.state[NODES] > 0, "the first node")
        player.cancel()
        assert chosen.result().action in position.legal_actions
    # The second one does not search before `ready`.
    assert player.choose(position, Limit(seconds=1000)).action in position.legal_actions
    player.ready()
    info = player.choose(position, Limit(simulations=1000)).info
    assert info
    assert info.simulations >= 1000
    player.close()


def test_the_table_is_kept_during_a_match_unless_told_otherwise() -> None:
    game = games.load("breakthrough")
    nodes = {}
    for reuse in ("true", "false"):
        player = players.load(f"alphabeta(seed=1,depth=6,reuse={reuse})", game)
        player.choose(Position(game), Limit(seconds=100))
        again = player.choose(Position(game), Limit(seconds=100))
        assert again.info
        nodes[reuse] = again.info.simulations
        player.close()
    assert nodes["true"] < nodes["false"] / 2


def test_results_of_pondering_are_used() -> None:
    game = games.load("breakthrough")
    player = players.load("alphabeta(seed=1,depth=6,ponder=true)", game)
    assert player.ponders
    position = Position(game)
    position = position.play(position.legal_actions[0])
    player.ponder(position)
    position = position.play(position.legal_actions[0])
    with_it = player.choose(position, Limit(seconds=100)).info
    without = (
        players.load("alphabeta(seed=1,depth=6)", game).choose(position, Limit(seconds=100)).info
    )
    assert with_it
    assert without
    assert with_it.depth == without.depth == 6
    assert with_it.simulations < without.simulations


def test_pondering_ends_when_it_is_cancelled() -> None:
    game = games.load("breakthrough")
    player = players.load("alphabeta(ponder=true)", game)
    timer = threading.Timer(0.05, player.cancel)
    timer.start()
    player.ponder(Position(game))
    timer.join()


def test_threads_share_a_table_and_find_the_same_value(file: Path) -> None:
    game = games.load(SMALL)
    player = players.load(f"alphabeta(evaluation={file},threads=3)", game)
    position = Position(game, (0, 4, 8))
    for _ in range(20):
        result = player.choose(position, Limit(seconds=5))
        assert result.info
        assert result.action in (1, 3, 5, 7)  # a corner would lose
        assert result.info.win_rate == 0.5
    player.close()


def test_a_briefly_learned_evaluation_beats_random_moves(file: Path) -> None:
    game = games.load(SMALL)
    player = players.load(f"alphabeta(evaluation={file},depth=3,seed=1)", game)
    draw = random.Random(1)
    for seat in (1, 2) * 10:
        position = Position(game)
        while not position.winner:
            if position.to_move == seat:
                action = player.choose(position, Limit(seconds=1)).action
            else:
                action = draw.choice(position.legal_actions)
            position = position.play(action)
        assert position.winner != 3 - seat
