"""Games with chance: outcomes, their weights and random play, and refusals of what has no dice."""

from __future__ import annotations

import random
from collections import Counter
from types import ModuleType

import numpy as np
import pytest

from playout import games, players
from playout.bridges.comply.game_checks import CHECKS, faults
from playout.games import Game, IllegalAction, KernelGame, Position, SpecError, State
from playout.games.core.random import seeded
from playout.games.core.spec import Spec
from playout.players import Limit
from playout.players.comparison.pairs import openings, play_pair
from playout.players.core.cells import random_positions
from playout.players.core.rules import interpreted_rules, rules_of
from playout.players.engines.engine_server import LocalMatch
from playout.players.nets.encoding import Encoding
from playout.players.training import TrainingError, evaluation_loop, settings
from support.documents import program
from support.scale import repetitions
from support.variants import CHANCE, every_game

every_chance_game = pytest.mark.parametrize("spec", CHANCE)


def two_dice_pig() -> Game:
    """Return the game in plain Python of the documents."""
    module = ModuleType("two_dice_pig")
    exec(program("docs/writing-a-game.md", '"""Two-dice pig'), vars(module))
    game: Game = module.TwoDicePig()
    return game


@every_game
def test_a_game_says_whether_it_has_chance(spec: str) -> None:
    game = games.load(spec)
    draw, found = random.Random(1), False
    for _ in range(3):
        position = Position(game)
        while position.legal_actions:
            found |= position.to_move == 0
            position = position.play(draw.choice(position.legal_actions))
    assert found == game.has_chance


def test_the_game_of_the_documents_passes_the_checks_of_games() -> None:
    game = two_dice_pig()
    found = dict(faults(game, 3))
    assert len(found) == 1 + len(CHECKS)
    # It is no installed game, so that its name cannot be loaded.
    assert [name for name, fault in found.items() if fault] == ["spelling"]
    position = Position(game).play(0).rolled(lambda n: 12)
    assert (position.state, position.move_name()) == ((1, 0, 1, 0, 0, 5, 1), "23")
    assert position.play(1).state == (2, 0, 2, 5, 0, 0, 2)
    for below, after in ((0, (2, 0, 2, 0, 0, 0, 3)), (1, (2, 0, 2, 5, 0, 0, 3))):
        rolled = position.play(1).play(1).play(0).rolled(lambda n, below=below: below)
        assert rolled.state[:5] == after[:5]


def test_the_faults_of_chances_are_found() -> None:
    pig = type(two_dice_pig())

    def first_fault(**members: object) -> str:
        broken: Game = type("Broken", (pig,), members)()
        return next((fault.text for _, fault in faults(broken, 1) if fault), "")

    assert "has_chance is not set" in first_fault(has_chance=False)
    assert "returns 1 weights" in first_fault(chances=lambda self, state: (1,))
    assert "above 0" in first_fault(chances=lambda self, state: (0,) * 20 + (1,))


def test_outcomes_are_drawn_by_their_weights() -> None:
    game = two_dice_pig()
    rolling = game.next_state(game.initial_state(), 0)
    drawn = Counter(game.roll(rolling, lambda n, at=at: at) for at in range(36))
    assert drawn == dict(zip(game.legal_actions(rolling), game.chances(rolling), strict=True))


def test_a_position_rolls_until_a_player_moves() -> None:
    start = Position(games.load("pig"))
    assert start.rolled(lambda n: 0) is start
    rolled = start.play(0).rolled(random.Random(1).randrange)
    assert rolled == start.play(0).rolled(random.Random(1).randrange)
    assert (rolled.ply, rolled.to_move) == (2, 1)


@every_chance_game
def test_the_weights_belong_to_the_legal_outcomes(spec: str) -> None:
    game, draw = games.load(spec), random.Random(3)
    position = Position(game)
    while position.legal_actions:
        if position.to_move == 0:
            weights = game.chances(position.state)
            assert len(weights) == len(position.legal_actions)
            assert all(type(weight) is int and weight > 0 for weight in weights)
        position = position.play(draw.choice(position.legal_actions))
    assert position.to_move in (1, 2)


def first_roll(game: Game) -> State:
    """Return the first state of a match in which nature moves."""
    position, draw = Position(game), random.Random(2)
    while position.to_move:
        position = position.play(draw.choice(position.legal_actions))
    return position.state


@every_chance_game
def test_playouts_draw_outcomes_by_their_weights(spec: str) -> None:
    """Compiled and interpreted playouts, by a test of goodness of fit at five deviations."""
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    state = first_roll(game)
    outcomes, weights = game.legal_actions(state), np.array(game.chances(state))
    trace = np.empty(game.max_plies + game.num_actions, dtype=np.int64)
    for rules, count in (
        (rules_of(game), repetitions(200_000, short=10_000)),
        (interpreted_rules(game), repetitions(1000, short=40)),
    ):
        rng, seen = seeded(1), Counter[int]()
        for _ in range(count):
            board = rules.board(state)
            rules.playout(board, rng, trace)
            seen[int(trace[0])] += 1
        expected = count * weights / weights.sum()
        found = np.array([seen[outcome] for outcome in outcomes])
        assert found.sum() == count
        chi_squared = ((found - expected) ** 2 / expected).sum()
        degrees = len(outcomes) - 1
        assert chi_squared < degrees + 5 * (2 * degrees) ** 0.5


def test_random_positions_are_those_of_players() -> None:
    found = random_positions(games.load("pig"))
    assert all(next(found)[0] in (1, 2) for _ in range(100))


# Players and what else uses games.


def chance_players() -> list[tuple[str, bool]]:
    """Return each player that needs no option, and whether it plays games with chance."""
    found = []
    for name in players.names():
        try:
            players.load(name, games.load("tic_tac_toe")).close()
        except SpecError:
            continue
        found.append((name, players.find(name).plays_chance))
    return found


@pytest.mark.parametrize(("name", "plays"), chance_players())
def test_a_player_plays_games_with_chance_or_refuses_them(name: str, plays: bool) -> None:
    game = games.load("pig(winscore=20)")
    if not plays:
        with pytest.raises(SpecError, match="does not play games with chance, such as pig"):
            players.load(name, game)
        return
    if name == "human":  # asks at the terminal
        return
    player, draw = players.load(name, game), random.Random(1)
    position = Position(game)
    while not position.winner:
        action = player.choose(position, Limit(simulations=20)).action
        position = position.play(action).rolled(draw.randrange)
    player.close()


def test_pairs_repeat_their_rolls_by_the_seed() -> None:
    game = games.load("pig(winscore=30)")

    def first_rolls(seed: int) -> list[tuple[int, ...]]:
        seen: list[tuple[int, ...]] = []

        class Watching(players.find("random")):  # type: ignore[misc]
            def ended(self, winner: int, reason: str) -> None:
                seen.append(self.last.moves)

            def moved(self, seat: int, position: Position) -> None:
                assert seat == position.game.current_player(position.states[-2])
                self.last = position

        def make(game: Game) -> players.Player:
            return Watching(game, seed=1)

        play_pair(game, (make, make), Limit(), openings(game, 2, 1, 1)[0], seed)
        return seen

    assert first_rolls(1) == first_rolls(1) != first_rolls(2)


def test_openings_have_rolls_by_their_weights() -> None:
    found = [opening[1] for opening in openings(games.load("pig"), 4, 1, 100) if opening[0] == 0]
    assert {*found} == {*range(6)}


@every_chance_game
def test_what_has_no_dice_refuses_games_with_chance(spec: str) -> None:
    game = games.load(spec)
    told = f"games with chance, such as {game.spec}"
    for refused in (
        lambda: LocalMatch(game, Spec("random")),
        lambda: Encoding(game),
    ):
        with pytest.raises(SpecError) as caught:
            refused()
        assert told in str(caught.value)
    with pytest.raises(TrainingError, match=r"trains no nets of .*; set kind = 'evaluation'"):
        settings.parse(f"game = '{spec}'", "here")


def test_no_evaluation_of_a_match_is_learned() -> None:
    """The net does not see the score."""
    match = settings.parse("game = 'backgammon(points=3)'\nkind = 'evaluation'", "here")
    with pytest.raises(TrainingError, match=r"learn that one: playout-train new backgammon DIR$"):
        evaluation_loop.size(match)


def test_a_state_with_nature_to_move_is_refused_without_chance() -> None:
    with pytest.raises(ValueError, match="the player to move is one of"):
        games.load("tic_tac_toe").legal_actions((0,) * 11)
    with pytest.raises(IllegalAction):
        games.load("pig").next_state((0, 0, 1, 0, 0, 0, 1), 6)
