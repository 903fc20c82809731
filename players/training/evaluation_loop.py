"""The rounds of a run that learns an evaluation: games in threads, the checkpoint, the file.

The threads change the same weights without locks: two games seldom change the same weight at the
same time, and a lost change does little harm (Recht et al. 2011, *Hogwild*). With one thread and a
limit of games alone, the result is the same each time for a seed, also after interruptions: the
checkpoint has all that the next game depends on.

Weights are learned from games against itself, by temporal differences. In each position, the best
move of a small search is played, or a random one now and then. After the game, the evaluation of
each position is moved towards its searched value and those of the later positions up to a random
move, TD(lambda) (Sutton 1988). Each weight has a step size of its own, which falls while its errors
change signs (temporal coherence: Beal & Smith 1999). Where a game says how its players are
exchanged, each position is learned a second time with the players exchanged and the opposite value.

Of a game with chance, a net is learned: see `chance_learner`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.commands.cores import usable_cores
from playout.games import Game, SpecError, State
from playout.games.core.kernels import LEVEL, compiled, helper, in_python
from playout.games.core.random import Rng, draw
from playout.players.core.cells import cells_of
from playout.players.core.rules import rules_of
from playout.players.depth_first import LAST, MOST_PLIES, NODES, STOPPED
from playout.players.depth_first import principal_variation as pv
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import Perceptron, new_perceptron
from playout.players.evaluations.tables import (
    TABLES,
    Floats,
    Ints,
    Tables,
    expected,
    find_weights,
    new_line,
    new_tables,
    set_first,
    sum_at,
)
from playout.players.training import TrainingError, run_folder
from playout.players.training.chance_learner import ChanceLearner
from playout.players.training.display import TrainingDisplay
from playout.players.training.run_folder import (
    Checkpoint,
    EvaluationRound,
    RoundRecord,
    RunFolder,
    Used,
    clear_errors,
)
from playout.players.training.settings import TrainingSettings

#: How much a value counts that lies one move later: lambda.
_LAMBDA = 0.7
#: Random moves at the beginning of a game, at most.
_OPENING = 6
#: Random moves in a thousand: at the beginning of learning, and at its end.
_EXPLORATION = (120, 20)
#: Moves of a game, at most; a longer one counts as a tie.
_MOVES = 400
#: Positions of the search for a move; one ply is always searched to its end.
_SEARCHED = 100
#: Rows of the table of these searches.
_ROWS = 1 << 12
#: A part of the error counts even where the hyperbolic tangent is flat.
_SLOPE = 0.05


class LearnerMemory(NamedTuple):
    """Working memory of the learner: for the weights, and for the positions of a game."""

    errors: Floats  # [weight] sum of the errors
    sizes: Floats  # [weight] sum of their absolute values
    indices: Ints  # [position, image, group]; the second image has the players exchanged
    values: NDArray[np.float64]  # [position] searched value for player 1
    explored: NDArray[np.bool_]  # [position] whether a random move was played there


_F = types.float32[::1]
_MEMORY = types.NamedTuple(
    [_F, _F, types.int64[:, :, ::1], types.float64[::1], types.boolean[::1]], LearnerMemory
)


class Exchange(NamedTuple):
    """How an observed state changes if the players are exchanged."""

    words: Ints  # [word] the word whose value comes here
    values: Ints  # [value - lowest] what becomes of a value of a cell
    lowest: int
    features: int  # the number of the first word that is a number of the game


_V = types.int64[::1]
_EXCHANGE = types.NamedTuple([_V, _V, types.int64, types.int64], Exchange)


@helper
def exchange_players(exchange: Exchange, state: Ints, into: Ints) -> None:
    """Write an observed state with the players exchanged."""
    into[0] = 3 - state[0]
    for word in range(2, len(state)):
        value = state[exchange.words[word]]
        if word < exchange.features:
            place = min(max(0, value - exchange.lowest), len(exchange.values) - 1)
            into[word] = exchange.values[place]
        else:
            into[word] = 2 * LEVEL - value


@compiled(types.void(TABLES, _MEMORY, types.int64, *[types.float64] * 2), allocates=False)
def learn(tables: Tables, memory: LearnerMemory, seen: int, result: float, rate: float) -> None:
    """Move the evaluations of the positions of a game that ended with `result` for player 1.

    With a `rate` of 1 and the largest steps, the evaluation of a position becomes what is wanted.
    """
    target = result
    rate /= len(tables.groups)
    for position in range(seen - 1, -1, -1):
        searched = memory.values[position]
        later = 0 if memory.explored[position] else _LAMBDA
        target = searched + later * (target - searched)
        for image, indices in enumerate(memory.indices[position]):
            value = expected(tables, indices)
            wanted = target if image == 0 else -target
            error = np.float32((wanted - value) * (1 - value * value + _SLOPE))
            for index in indices:
                size = memory.sizes[index]
                step = abs(memory.errors[index]) / size if size > 0 else np.float32(1)
                tables.weights[index] += np.float32(rate) * step * error
                memory.errors[index] += error
                memory.sizes[index] += abs(error)


@compiled(types.void(pv.SEARCH, pv.KERNELS, TABLES, types.int64), allocates=False)
def search_move(
    search: pv.PrincipalSearch, kernels: pv.PrincipalKernels, tables: Tables, n: int
) -> None:
    """Search the first `n` actions of the root: the best one is then the first, with its score."""
    state = search.state
    state[NODES] = state[STOPPED] = 0
    state[LAST] = 1 << 62
    for place in range(n):
        search.scores[0, place] = 0
    for depth in range(1, MOST_PLIES):
        pv.search_root(search, kernels, tables, n, depth, 1)
        state[LAST] = _SEARCHED
        is_certain = abs(search.scores[0, 0]) > pv.CERTAIN
        if n == 1 or is_certain or state[NODES] >= _SEARCHED:
            break


@compiled(
    types.int64(
        pv.SEARCH,
        pv.KERNELS,
        TABLES,
        _MEMORY,
        _EXCHANGE,
        types.uint64[::1],
        types.int64[::1],
        types.int64,
        types.float64,
    ),
    allocates=False,
)
def play_game(
    search: pv.PrincipalSearch,
    kernels: pv.PrincipalKernels,
    tables: Tables,
    memory: LearnerMemory,
    exchange: Exchange,
    rng: Rng,
    start: Ints,
    exploration: int,
    rate: float,
) -> int:
    """Play a game from the board `start`, and learn from it; return the number of positions."""
    board = search.boards[0]
    for word in range(len(start)):
        board[word] = start[word]
    search.state[pv.NUMBER] += 1  # the weights have changed since the game before
    for action in range(search.history.shape[1]):
        search.history[:, action] = 0
    count = draw(rng, _OPENING + 1)
    seen = 0
    for ply in range(_MOVES):
        if board[1] != 0:
            break
        n = kernels.legal(board, search.actions[0])
        action = search.actions[0, draw(rng, n)]
        if ply >= count:
            search_move(search, kernels, tables, n)
            value = pv.expected_of(search.scores[0, 0])
            memory.values[seen] = value if board[0] == 1 else -value
            observed, other = search.line.states[0], search.line.states[1]
            kernels.observe(board, observed)
            find_weights(tables, observed, memory.indices[seen, 0])
            if memory.indices.shape[1] > 1:
                exchange_players(exchange, observed, other)
                find_weights(tables, other, memory.indices[seen, 1])
            memory.explored[seen] = draw(rng, 1000) < exploration
            if not memory.explored[seen]:
                action = search.actions[0, 0]
            seen += 1
        kernels.play(board, action)
    result = 1.0 if board[1] == 1 else -1.0 if board[1] == 2 else 0.0
    learn(tables, memory, seen, result, rate)
    return seen


def _interpreted_play_game() -> Callable[..., int]:
    """Return `play_game` for games in plain Python, which only looks one move ahead.

    With forcing moves and 100 positions it would play an 18th to a 40th of the games.
    """
    search_root = pv.look_ahead()

    def search_one_ply(search: pv.PrincipalSearch, *others: Any) -> None:
        search_root(search, *others, 1, 1)

    return in_python(play_game, search_move=search_one_ply)["play_game"]


def exchange_of(game: Game, tables: Tables) -> Exchange:
    """Return how the observed states of a game change if the players are exchanged."""
    words, values = np.arange(game.observed_words), np.zeros(len(tables.codes), dtype=np.int64)
    lowest = int(tables.numbers[0])
    if game.exchange == "turned":
        words[tables.cells] = tables.cells[::-1]
    elif game.exchange == "mirrored":
        columns = game.view(game.initial_state()).columns
        words[tables.cells] = tables.cells.reshape(-1, columns)[::-1].ravel()
    pieces = cells_of(game).pieces if game.exchange else {}
    numbers = {piece: number for number, piece in reversed([*pieces.items()])}
    for (owner, kind), number in numbers.items():
        if owner:
            values[number - lowest] = numbers[3 - owner, kind]
    return Exchange(words, values, lowest, game.observed_words - len(game.features))


class EvaluationLearner:
    """Learns an evaluation of one game.

    `won` counts the games that player 1 has won, `tied` those without a winner.
    """

    def __init__(
        self,
        game: Game,
        tables: Tables,
        seed: int | None = None,
        shared: EvaluationLearner | None = None,
    ) -> None:
        """Change the weights of `tables` in place.

        Several learners, each in a thread, may change the same tables; all but the first have the
        step sizes of the first, `shared`.
        """
        self.tables = tables
        rules = rules_of(game)
        self._kernels = pv.kernels_of(rules)
        self._search = pv.new_search(game, rules, tables, pv.new_table(_ROWS))
        self._play_game = play_game if rules.compiled else _interpreted_play_game()
        self._exchange = exchange_of(game, tables)
        self._start = rules.board(game.initial_state())
        self.rng = np.array([np.random.default_rng(seed).integers(1 << 62)], dtype=np.uint64)
        own = np.zeros((2, len(tables.weights)), dtype=np.float32)
        errors, sizes = (shared.memory.errors, shared.memory.sizes) if shared else own
        self.memory: LearnerMemory = LearnerMemory(
            errors,
            sizes,
            np.zeros((_MOVES, 1 + bool(game.exchange), len(tables.groups)), dtype=np.int64),
            np.zeros(_MOVES),
            np.zeros(_MOVES, dtype=np.bool_),
        )
        self._game, self.games = game, 0
        self.positions = self.won = self.tied = 0

    @property
    def steps(self) -> dict[str, NDArray[Any]]:
        """The arrays of the step sizes, which learners share."""
        return {"errors": self.memory.errors, "sizes": self.memory.sizes}

    def learned(self) -> tuple[float, float]:
        """Return the share of the weights that have changed, and the mean of their step sizes."""
        met = self.memory.sizes > 0
        steps = np.abs(self.memory.errors[met]) / self.memory.sizes[met]
        return float(met.mean()), float(steps.mean()) if steps.size else 1.0

    def value_of(self, state: State) -> float:
        """Return the evaluation of a position for the player to move, from -1 to 1."""
        line = new_line(self.tables, self._game.observed_words, plies=1)
        line.states[0] = self._game.observed(state)
        set_first(self.tables, line, 0)
        value = math.tanh(sum_at(line, 0))
        return value if self._game.current_player(state) == 1 else -value

    def play(self, done: float) -> None:
        """Play a game and learn from it; `done` is the completed share of the training, 0 to 1."""
        first, last = _EXPLORATION
        exploration = round(first + (last - first) * done)
        self.positions += self._play_game(
            self._search,
            self._kernels,
            self.tables,
            self.memory,
            self._exchange,
            self.rng,
            self._start,
            exploration,
            1.0 - done,
        )
        winner = self._search.boards[0, 1]
        self.games += 1
        self.won += bool(winner == 1)
        self.tied += winner not in (1, 2)


#: Seconds between two looks at the threads.
_POLL_S = 0.1
#: Prefixes in the state of a checkpoint.
_WEIGHTS, _RANDOM = "tables/", "random/"


#: Plays games and learns from them; those of a run share an evaluation and its step sizes.
Learner = EvaluationLearner | ChanceLearner


class _Counts(NamedTuple):
    """Games, positions and results of all threads since the start of the process."""

    games: int
    positions: int
    won: int
    tied: int


class EvaluationLoop:
    """Runs the rounds of a folder, from a checkpoint to the limits."""

    def __init__(
        self,
        folder: RunFolder,
        settings: TrainingSettings,
        checkpoint: Checkpoint | None,
        display: TrainingDisplay,
    ) -> None:
        """Restore the learners, or begin with the game's values of its pieces.

        `settings` may differ from those of the folder in limits and processes. Raises TrainingError
        for a game whose evaluation cannot be learned.
        """
        self._folder = folder
        self._settings = settings
        self._display = display
        self._last: RoundRecord | None = checkpoint.record if checkpoint else None
        state = checkpoint.state if checkpoint else {}
        try:
            evaluation = _evaluation_of(state) if state else _new_evaluation(settings)
            self._learners = self._new_learners(evaluation)
        except SpecError as error:
            raise TrainingError(str(error)) from error
        self._evaluation = evaluation
        if state:
            self._restore(state)
        folder.restore_records(self._last)
        number = self._last.round if self._last else 0
        _write(folder.kept.place(number), evaluation, _card(settings, self._last))

    def _new_learners(self, evaluation: Tables | Perceptron) -> list[Learner]:
        first = _new_learner(self._settings, evaluation)
        others = range(1, self._settings.processes.workers or usable_cores())
        return [
            first,
            *(_new_learner(self._settings, evaluation, number, first) for number in others),
        ]

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the step sizes and the random numbers of a checkpoint.

        A thread that is new has a seed that depends on the games so far.
        """
        for name, steps in self._learners[0].steps.items():
            steps[:] = state[name]
        games = self._last.games if self._last else 0
        for number, learner in enumerate(self._learners):
            fresh = learner.rng + np.uint64(games)
            learner.rng[:] = state.get(f"{_RANDOM}{number}", fresh)

    @property
    def _state(self) -> dict[str, NDArray[Any]]:
        """The state for `_restore`, and the evaluation."""
        return {
            **{f"{_WEIGHTS}{name}": each for name, each in self._evaluation._asdict().items()},
            **{f"{_RANDOM}{number}": each.rng for number, each in enumerate(self._learners)},
            **self._learners[0].steps,
        }

    def run(self) -> None:
        """Play and learn until a limit is reached. Raises TrainingError."""
        with ThreadPoolExecutor(len(self._learners)) as pool:
            while not run_folder.is_over(self._settings.limits, self._last):
                self._round(pool)

    def _round(self, pool: ThreadPoolExecutor) -> None:
        used, before, began = self._used, self._counts, time.monotonic()
        number = used.rounds + 1
        try:
            playing = [
                pool.submit(self._play, each, began, before, used) for each in self._learners
            ]
        except RuntimeError as error:
            raise TrainingError(f"the threads cannot be started: {error}") from error
        while wait(playing, _POLL_S).not_done:
            games = self._counts.games - before.games
            rate = games / (time.monotonic() - began)
            self._display.phase(f"round {number}, learning: {games:,} games, {rate:,.0f}/s")
        for each in playing:
            each.result()  # raises what the thread raised
        self._last = self._record(number, time.monotonic() - began, before)
        card = _card(self._settings, self._last)
        _write(self._folder.kept.place(number), self._evaluation, card)
        self._folder.store_round(Checkpoint(self._state, self._last))
        self._display.round(self._last, run_folder.remaining_s(self._settings.limits, self._last))

    def _play(self, learner: Learner, began: float, before: _Counts, used: Used) -> None:
        """Play games until the end of the round or of the run."""
        limits, seconds = self._settings.limits, self._settings.processes.seconds_per_round
        elapsed_s = 0.0
        while elapsed_s < seconds:
            games = used.games + sum(each.games for each in self._learners) - before.games
            minutes = used.minutes + elapsed_s / 60
            done = run_folder.progress(limits, used._replace(games=games, minutes=minutes))
            if done >= 1:
                return
            learner.play(done)
            elapsed_s = time.monotonic() - began

    @property
    def _used(self) -> Used:
        return self._last.used if self._last else Used()

    @property
    def _counts(self) -> _Counts:
        each = [(one.games, one.positions, one.won, one.tied) for one in self._learners]
        return _Counts(*map(sum, zip(*each, strict=True)))

    def _record(self, number: int, seconds: float, before: _Counts) -> EvaluationRound:
        last, new = self._last, _Counts(*np.subtract(self._counts, before).tolist())
        first, state = self._learners[0], self._settings.game.initial_state()
        met, step_size = first.learned()
        return EvaluationRound(
            round=number,
            time=time.time(),
            seconds=seconds + (last.seconds if last else 0.0),
            games=new.games + (last.games if last else 0),
            positions=new.positions + (last.positions if last else 0),
            games_per_s=new.games / seconds,
            positions_per_s=new.positions / seconds,
            first_player_wins=new.won / max(1, new.games),
            ties=new.tied / max(1, new.games),
            value_of_start=first.value_of(state),
            weights_met=met,
            step_size=step_size,
        )


def size(settings: TrainingSettings) -> str:
    """Return the size of an evaluation in words. Raises TrainingError if none can be learned."""
    try:
        evaluation = _new_evaluation(settings)
        _new_learner(settings, evaluation)
    except SpecError as error:
        raise TrainingError(str(error)) from error
    if isinstance(evaluation, Perceptron):
        inputs, hidden = evaluation.inputs.shape
        return f"an evaluation: a net of {inputs:,} inputs and {hidden} hidden units"
    tables = evaluation
    return f"an evaluation of {len(tables.weights):,} weights in {len(tables.groups):,} groups"


def export(folder: RunFolder, output: Path, author: str | None, licence: str | None) -> RoundRecord:
    """Write the newest evaluation to another file; return the last round that it learned from.

    Raises TrainingError, also if no round is complete.
    """
    folder.refuse_own(output)
    checkpoint = folder.complete_checkpoint()
    card = _card(folder.settings, checkpoint.record, author, licence)
    _write(output, _evaluation_of(checkpoint.state), card)
    return checkpoint.record


def _new_evaluation(settings: TrainingSettings) -> Tables | Perceptron:
    """Return the evaluation before learning. Raises SpecError."""
    if settings.game.net_game:
        raise SpecError(
            f"{settings.game} is played with the evaluation of {settings.game.net_game}; "
            f"learn that one: playout-train new {settings.game.net_game} DIR"
        )
    if settings.game.has_chance:
        return new_perceptron(settings.game, settings.seed)
    return new_tables(settings.game)


def _new_learner(
    settings: TrainingSettings,
    evaluation: Tables | Perceptron,
    number: int = 0,
    first: Learner | None = None,
) -> Learner:
    """Return learner `number` of an evaluation; all have the step sizes of the `first`."""
    seed = settings.seed + number
    if isinstance(evaluation, Perceptron):
        assert first is None or isinstance(first, ChanceLearner)
        return ChanceLearner(settings.game, evaluation, seed, first)
    assert first is None or isinstance(first, EvaluationLearner)
    return EvaluationLearner(settings.game, evaluation, seed, first)


def _evaluation_of(state: Mapping[str, NDArray[Any]]) -> Tables | Perceptron:
    """Return a copy of the evaluation in a checkpoint."""
    weights = {
        name.removeprefix(_WEIGHTS): each.copy()
        for name, each in state.items()
        if name.startswith(_WEIGHTS)
    }
    return Tables(**weights) if "weights" in weights else Perceptron(**weights)


def _card(
    settings: TrainingSettings,
    last: RoundRecord | None,
    author: str | None = None,
    licence: str | None = None,
) -> files.Card:
    """Return the card of the evaluation after a round; author and licence as in the settings."""
    games, workers = last.games if last else 0, settings.processes.workers
    return files.Card(
        game=str(settings.game),
        author=author or settings.author,
        licence=licence or settings.licence,
        command=f'playout-train new "{settings.game}" DIR --evaluation --seed {settings.seed}'
        f" --set processes.workers={workers}; playout-train run DIR --games {games}",
        games=games,
        positions=last.positions if last else 0,
        seconds=round(last.seconds, 1) if last else 0.0,
    )


def _write(path: Path, evaluation: Tables | Perceptron, card: files.Card) -> None:
    """Write an evaluation, complete or not at all. Raises TrainingError."""
    try:
        with clear_errors(path):
            files.write(path, evaluation, card)
    except files.EvaluationError as error:
        raise TrainingError(str(error)) from error
