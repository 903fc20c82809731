"""Searches of games with chance, against expectations that plain recursion finds."""

from __future__ import annotations

import functools
import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from playout import games, players
from playout.games import KernelGame, Position, SpecError, State
from playout.games.backgammon import DOUBLE, DROP, ROLL, TAKE
from playout.games.pig import HOLD, Pig
from playout.players import Info, Limit
from playout.players.alphabeta import AlphaBeta
from playout.players.alphazero import AlphaZero
from playout.players.core.rules import rules_of
from playout.players.depth_first import expectiminimax as em
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import (
    Perceptron,
    expected_by,
    kernels_of,
    new_activations,
    new_perceptron,
)
from playout.players.evaluations.tables import new_tables
from support.variants import CHANCE
from testbed.pubeval import CONTACT, value_of

every_chance_game = pytest.mark.parametrize("spec", CHANCE)
#: Values are whole numbers, which are rounded at each move of nature.
ROUNDED = 1e-4
#: Maximum number of lines from an endgame to the end of the game.
_MOST_LINES = 60_000
_ENDGAMES = 12


def kernel_game(spec: str) -> KernelGame:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    return game


def knowing_nothing(game: KernelGame) -> Perceptron:
    """Return a net that expects half of the points everywhere."""
    return Perceptron(*(np.zeros_like(each) for each in new_perceptron(game, 1)))


class NetSearch:
    """A search of a game with a net."""

    def __init__(self, game: KernelGame, net: Perceptron) -> None:
        self.game, self.net, self.rules = game, net, rules_of(game)
        self.kernels = kernels_of(game, self.rules)
        self.search = em.new_search(game, self.rules, net)

    def value(self, state: State, depth: int) -> float:
        """Return the expected result of player 1."""
        em.start(self.search, self.rules.board(state), 0)
        value = em.value_of(self.search, self.kernels, self.net, 0, depth)
        return em.FUNCTIONS.expected_of(value)

    def root(self, state: State, depth: int, wanted: int = 1) -> list[tuple[int, int]]:
        """Return the actions with their scores after searches of all depths up to one."""
        em.start(self.search, self.rules.board(state), 0)
        legal = self.game.legal_actions(state)
        self.search.actions[0, : len(legal)] = legal
        for each in range(1, depth + 1):
            arguments = self.search, self.kernels, self.net, len(legal), each, wanted
            assert em.search_root(*arguments) == len(legal)
        found = zip(self.search.actions[0].tolist(), self.search.scores[0].tolist(), strict=True)
        return list(islice(found, len(legal)))


def exact_values(game: KernelGame) -> functools._lru_cache_wrapper[float]:
    """Return a function for the exact expected result of player 1 in a position."""

    @functools.cache
    def value(state: State) -> float:
        if game.winner(state):
            first, second = game.returns(state)
            return first - second
        after = [value(game.next_state(state, each)) for each in game.legal_actions(state)]
        if state[0] == 0:
            weights = game.chances(state)
            return float(np.dot(weights, after) / sum(weights))
        return max(after) if state[0] == 1 else min(after)

    return value


def cubes(own: dict[int, int], other: dict[int, int], roller: int) -> State:
    """Return a position before a roll, from the cells of the cubes of both players."""
    cells = [0] * 25
    for cube, cell in own.items():
        cells[cell] = cube
    for cube, cell in other.items():
        cells[cell] = cube + 6
    return (0, 0, roller, 0, *cells)


@functools.cache
def endgames() -> tuple[KernelGame, functools._lru_cache_wrapper[float], list[State]]:
    """Return EinStein, its exact values, and positions with two or three cubes near the end."""
    game = kernel_game("einstein_wurfelt_nicht")

    @functools.cache
    def lines(state: State) -> int:
        children = (game.next_state(state, each) for each in game.legal_actions(state))
        return 1 if game.winner(state) else min(_MOST_LINES + 1, sum(map(lines, children)))

    exact, draw, found = exact_values(game), random.Random(5), list[State]()
    while len(found) < _ENDGAMES:
        near = draw.sample([1, 2, 5, 6, 7, 10, 11, 12], 3)
        first = dict(zip(draw.sample(range(1, 7), 2), near[: draw.choice((1, 2))], strict=False))
        second = {draw.randint(1, 6): draw.choice((near[2], 18, 19, 23))}
        if draw.random() < 0.5:
            first, second = (
                {cube: 24 - cell for cube, cell in each.items()} for each in (second, first)
            )
        state = cubes(first, second, draw.choice((1, 2)))
        if lines(state) <= _MOST_LINES and abs(exact(state)) < 1:
            found.append(state)
    return game, exact, found


def test_small_endgames_of_einstein_have_exact_expectations() -> None:
    game, exact, states = endgames()
    searched = NetSearch(game, knowing_nothing(game))
    for state in states:
        assert searched.value(state, 12) == pytest.approx(exact(state), abs=ROUNDED)


def test_the_best_actions_of_small_endgames_are_found() -> None:
    game, exact, states = endgames()
    searched, several = NetSearch(game, knowing_nothing(game)), 0
    for state in states:
        rolled = game.next_state(state, random.Random(sum(state)).randrange(6))
        sign = 3 - 2 * rolled[0]
        after = {
            each: sign * exact(game.next_state(rolled, each)) for each in game.legal_actions(rolled)
        }
        best = searched.root(rolled, 12)[0][0]
        assert after[best] >= max(after.values()) - ROUNDED
        several += min(after.values()) < max(after.values()) - ROUNDED
    assert several >= 4


def test_short_games_of_pig_have_exact_expectations() -> None:
    """Decisions of both players without a roll between them take depth, too."""
    for spec in ("pig(winscore=6,diceoutcomes=3,horizon=5)", "pig(winscore=4,horizon=4)"):
        game = kernel_game(spec)
        exact, searched = exact_values(game), NetSearch(game, knowing_nothing(game))
        state = game.initial_state()
        assert searched.value(state, 6) == pytest.approx(exact(state), abs=ROUNDED)
        assert abs(exact(state)) > 10 * ROUNDED


@pytest.mark.parametrize("spec", [*CHANCE, "backgammon(points=3)"])
def test_a_search_is_that_of_plain_recursion(spec: str) -> None:
    """With a net of random weights, to depth 1, and to depth 2 with a cut at the candidates.

    Where a match is doubled or not, both actions are searched to the same number of rolls.
    """
    game, draw = kernel_game(spec), random.Random(1)
    net, is_match = new_perceptron(game, 3), bool(game.net_game)
    searched, kernels = NetSearch(game, net), kernels_of(game, rules_of(game))
    memory = new_activations(game, net)

    def still(state: State) -> float:
        if game.winner(state):
            first, second = game.returns(state)
            return first - second
        return expected_by(kernels, net, memory, game.board(state))

    def plain(state: State, depth: int) -> float:
        nature, player = state[0] == 0, state[0]
        if game.winner(state) or (nature and depth == 0):
            return still(state)
        actions = game.legal_actions(state)
        children = [game.next_state(state, each) for each in actions]
        if nature:
            weights = game.chances(state)
            return float(np.dot(weights, [plain(each, depth - 1) for each in children])) / sum(
                weights
            )
        sign = 3 - 2 * player
        first = [
            sign * (plain(each, 0) if each[0] == player and not game.winner(each) else still(each))
            for each in children
        ]
        if depth == 0 or max(first) == 1:
            return sign * max(first)
        order = sorted(range(len(actions)), key=lambda at: -first[at])[: em.CANDIDATES]
        return sign * max(
            sign * plain(children[at], depth - (children[at][0] == 3 - player and not is_match))
            for at in order
        )

    position, checked = Position(game).rolled(draw.randrange), 0
    while not position.winner and checked < 3:
        for _ in range(5):
            if not position.winner:
                action = draw.choice(position.legal_actions)
                position = position.play(action).rolled(draw.randrange)
        if position.winner:
            break
        for depth in (0, 1):
            value = searched.value(position.state, depth)
            assert value == pytest.approx(plain(position.state, depth), abs=ROUNDED)
        checked += 1
    assert checked > 0


def test_a_match_is_played_with_the_net_of_a_single_game(tmp_path: Path) -> None:
    match = kernel_game("backgammon(points=3)")
    with pytest.raises(SpecError, match=r"is for backgammon\(points=3\), not for backgammon"):
        with_net(match, tmp_path)
    # Player 1 bears the last checker off by 27 rolls of 36, player 2 by all; both lack 2 points.
    points = [-1, *[0] * 17, 1, *[0] * 5]
    state = (1, 0, 1, 0, 0, 0, *points, 0, 0, 14, 14, 9, 1, 1, 1, 0, 0, 1)
    doubled = match.next_state(state, DOUBLE)
    ahead = 0.6774  # 1 point against 2 in the Crawford game
    chances = {
        state: {ROLL: 0.75 * ahead + 0.25 * (1 - ahead), DOUBLE: ahead},
        doubled: {TAKE: 0.25, DROP: 1 - ahead},
    }
    player = players.load("alphabeta(depth=2,candidates=2)", match)
    for start, wanted in chances.items():
        result = player.choose(Position(match, start=start), Limit())
        assert result.info is not None
        assert {each.action: each.win_rate for each in result.info.actions} == pytest.approx(
            wanted, abs=0.01
        )  # the first roll of the next game is searched, too
        assert result.action == max(wanted, key=wanted.__getitem__)
    player.close()


def test_one_lucky_roll_proves_nothing() -> None:
    """Player 1 wins at once by one number of the die, and may lose by the others."""
    game = kernel_game("einstein_wurfelt_nicht")
    searched = NetSearch(game, knowing_nothing(game))
    state = cubes({1: 6, 2: 20}, {1: 18}, 1)
    lucky = game.next_state(state, 0)
    assert searched.root(lucky, 1)[0][1] > em.CERTAIN
    em.start(searched.search, searched.rules.board(state), 0)
    value = em.value_of(searched.search, searched.kernels, searched.net, 0, 1)
    assert value / em.SCALE == pytest.approx(1 / 6, abs=ROUNDED)
    assert searched.value(state, 2) == pytest.approx(-2 / 3, abs=ROUNDED)


def with_net(game: KernelGame, folder: Path, options: str = "") -> AlphaBeta:
    """Return the player with a net of random weights."""
    file = folder / "net.npz"
    files.write(file, new_perceptron(game, 8), files.Card(game=str(game)))
    player = players.load(f"alphabeta(evaluation={file}{options})", game)
    assert isinstance(player, AlphaBeta)
    return player


def test_a_result_after_all_rolls_is_proven_with_the_shortest_way(tmp_path: Path) -> None:
    game = kernel_game("einstein_wurfelt_nicht")
    searched = NetSearch(game, knowing_nothing(game))
    state = game.next_state(cubes({1: 6}, {1: 1}, 1), 3)
    found = searched.root(state, 3)
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    assert (len(found), values[0]) == (3, em.WON - 1)
    player = with_net(game, tmp_path, ",depth=3")
    result = player.choose(Position(game, start=state), Limit())
    assert result.info is not None
    assert (dict(found)[result.action], result.info.proven) == (em.WON - 1, 1)
    player.close()


@every_chance_game
def test_a_player_keeps_to_its_limits_and_reports_its_candidates(spec: str, tmp_path: Path) -> None:
    game, draw = kernel_game(spec), random.Random(4)
    position = Position(game).rolled(draw.randrange)
    while len(position.legal_actions) < 2 or position.ply < 12:
        position = position.play(draw.choice(position.legal_actions)).rolled(draw.randrange)
    player = with_net(game, tmp_path, ",candidates=3,seed=1")
    for limit in (Limit(simulations=200), Limit(seconds=0.02)):
        reports: list[Info] = []
        result = player.choose(position, limit, reports.append)
        assert result.info is not None
        assert result.info.simulations <= 201 or limit.seconds
        found = result.info.actions
        assert len(found) == min(3, len(position.legal_actions))
        assert found == tuple(sorted(found, key=lambda each: each.visits, reverse=True))
        if limit.simulations:  # the time may leave out actions: these keep earlier, greater values
            assert found == tuple(sorted(found, key=lambda each: each.win_rate, reverse=True))
        assert result.info.pv == (result.action,) == (result.info.actions[0].action,)
        assert result.info.proven is None
    player.close()


@pytest.mark.parametrize("option", ["threads=2", "ponder=true"])
def test_options_without_use_in_games_with_chance_are_refused(option: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"leave out the option {option.partition('=')[0]}"):
        with_net(kernel_game("pig"), tmp_path, f",{option}")


class PigWithoutInputs(Pig):
    """A game with chance that no net can evaluate."""

    kernels = Pig.kernels._replace(inputs=None)


def test_a_game_without_inputs_is_refused() -> None:
    with pytest.raises(SpecError, match="no compiled rules with the kernel `inputs`"):
        AlphaBeta(PigWithoutInputs())


def test_games_with_chance_have_no_tables() -> None:
    """Tables have weights for each player to move, and where nature moves there is none."""
    for spec in CHANCE:
        with pytest.raises(SpecError, match="tables do not evaluate games with chance"):
            new_tables(games.load(spec))


def test_the_net_of_pig_is_near_the_known_best_play() -> None:
    """It wins 53.06 % for the first player, and first holds at 21 (Neller & Presser 2004)."""
    game = kernel_game("pig")
    player = players.load("alphabeta(depth=2)", game)
    info = player.choose(Position(game), Limit()).info
    assert info is not None
    assert info.win_rate == pytest.approx(0.5306, abs=0.02)
    others = 0
    for turn in range(2, 60):
        position = Position(game, start=(1, 0, 1, 0, 0, turn, 1))
        others += (player.choose(position, Limit()).action == HOLD) != (turn >= 21)
    assert others <= 3
    player.close()


# The tree searches, which draw outcomes.

#: Players whose leaves are evaluated by a net of random weights, and by playouts.
TREE_SEARCHES = ("alphazero(net={net},seed=1,memory_mb={mb})", "uct(seed=1,memory_mb={mb})")
every_tree_search = pytest.mark.parametrize("spelled", TREE_SEARCHES)
#: How far the win rate of a search may be from the exact one, and simulations that suffice.
_SAMPLED, _ENOUGH = 0.02, 30_000


def tree_search(spelled: str, game: KernelGame, folder: Path, mb: int = 64) -> players.Player:
    file = folder / "net.npz"
    files.write(file, new_perceptron(game, 8), files.Card(game=str(game)))
    return players.load(spelled.format(net=file, mb=mb), game)


@every_tree_search
@pytest.mark.parametrize("mb", [64, 1])
def test_drawn_outcomes_lead_to_the_exact_expectations(
    spelled: str, mb: int, tmp_path: Path
) -> None:
    """A tree of 1 MB is full after a part of the simulations."""
    game, exact, states = endgames()
    player = tree_search(spelled, game, tmp_path, mb)
    for state in states[:: 1 if mb > 1 else 4]:
        rolled = game.next_state(state, random.Random(sum(state)).randrange(6))
        sign = 3 - 2 * rolled[0]
        result = player.choose(Position(game, start=rolled), Limit(simulations=_ENOUGH))
        best = sign * exact(rolled)
        assert sign * exact(game.next_state(rolled, result.action)) >= best - _SAMPLED
        assert result.info is not None
        assert result.info.win_rate == pytest.approx((1 + best) / 2, abs=_SAMPLED)
        if abs(best) < 1 - ROUNDED:
            assert result.info.proven is None
    player.close()


@every_tree_search
def test_drawn_outcomes_of_pig_with_ties_lead_to_the_exact_expectations(
    spelled: str, tmp_path: Path
) -> None:
    """A tie after one number of the die is nothing that the player can choose."""
    for spec in ("pig(winscore=6,diceoutcomes=3,horizon=5)", "pig(winscore=4,horizon=4)"):
        game = kernel_game(spec)
        exact, player = exact_values(game), tree_search(spelled, game, tmp_path)
        position = Position(game)
        while not position.winner:
            value = (3 - 2 * position.to_move) * exact(position.state)
            result = player.choose(position, Limit(simulations=_ENOUGH))
            assert result.info is not None
            assert result.info.win_rate == pytest.approx((1 + value) / 2, abs=_SAMPLED)
            position = position.play(result.action).rolled(random.Random(3).randrange)
        player.close()


@every_tree_search
def test_outcomes_are_drawn_by_their_weights(spelled: str, tmp_path: Path) -> None:
    game, draw = kernel_game("backgammon"), random.Random(2)
    player, position = tree_search(spelled, game, tmp_path), Position(game).rolled(draw.randrange)
    while len(position.legal_actions) > 1:
        position = position.play(draw.choice(position.legal_actions)).rolled(draw.randrange)
    player.choose(position, Limit(simulations=5000))
    tree = player.tree(min_visits=50)
    assert tree is not None
    (after,) = tree.children
    state = game.next_state(position.state, after.action)
    weights = dict(zip(game.legal_actions(state), game.chances(state), strict=True))
    seen = {each.action: each.visits for each in after.children}
    expected = {each: sum(seen.values()) * weight / 36 for each, weight in weights.items()}
    assert len(seen) == len(weights) == 21
    assert sum((seen[each] - n) ** 2 / n for each, n in expected.items()) < 20 + 5 * 40**0.5
    player.close()


@every_tree_search
def test_a_tree_search_proves_a_result_after_all_rolls(spelled: str, tmp_path: Path) -> None:
    game = kernel_game("einstein_wurfelt_nicht")
    player = tree_search(spelled, game, tmp_path)
    state = game.next_state(cubes({1: 6}, {1: 1}, 1), 3)
    info = player.choose(Position(game, start=state), Limit(simulations=2000)).info
    assert info is not None
    assert info.proven == 1
    player.close()


def test_alphazero_without_a_fitting_net_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is no evaluation of pig"):
        players.load("alphazero", games.load("pig(winscore=20)"))
    with pytest.raises(SpecError, match="cannot be read"):
        players.load(f"alphazero(net={tmp_path / 'none.npz'})", games.load("pig"))
    with pytest.raises(SpecError, match="no compiled rules with the kernel `inputs`"):
        AlphaZero(PigWithoutInputs())


# Tesauro's public evaluation.


def played(position: Position, *names: str) -> Position:
    for name in names:
        position = position.play(position.game.parse_action(position.state, name))
    return position


def test_pubeval_plays_the_same_openings_from_both_seats() -> None:
    game = games.load("backgammon")
    player, found = players.load("testbed.pubeval:Pubeval", game), dict[str, str]()
    for roll in ("31", "42", "61", "53", "65"):
        for text in (roll, roll[::-1]):
            position = played(Position(game), text)
            action = player.choose(position, Limit()).action
            found[text] = game.action_name(position.state, action)
    wanted = {"31": "8/5 6/5", "42": "8/4 6/4", "61": "13/7 8/7", "53": "8/3 6/3", "65": "24/13"}
    assert found == wanted | {roll[::-1]: move for roll, move in wanted.items()}


def test_pubeval_moves_both_halves_of_a_double_as_one_move() -> None:
    game = games.load("backgammon")
    player = players.load("testbed.pubeval:Pubeval", game)
    position = played(Position(game), "31", "8/5 6/5", "33")
    mover = position.to_move
    values = {
        second.state: value_of(mover, second.state, CONTACT)
        for first in map(position.play, position.legal_actions)
        for second in map(first.play, first.legal_actions)
    }
    for _ in range(2):
        assert position.to_move == mover
        position = position.play(player.choose(position, Limit()).action)
    assert values[position.state] == max(values.values())
    assert len(values) > 50
