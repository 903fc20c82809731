"""Self-play of a net: many games at a time, whose positions become samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import KernelGame
from playout.players.core.rules import rules_of
from playout.players.evaluations.placements import no_placements
from playout.players.mcts.guided import add_noise, policy_of
from playout.players.mcts.selection import PUCT, Selection
from playout.players.mcts.simulation import (
    Callback,
    SearchConfig,
    SearchContext,
    new_leaves,
    new_memory,
    new_positions,
    search_kernels,
)
from playout.players.mcts.tree import new_forest
from playout.players.nets.encoding import Encoding
from playout.players.training import self_play_moves as moves
from playout.players.training.samples import Played, Samples
from playout.players.training.settings import SelfPlaySettings


class Unfinished(NamedTuple):
    """Games that have not ended, with their samples so far: a row of each array is one game.

    The trees of the next moves are not part of it.
    """

    boards: NDArray[np.int64]  # [game, word]
    last: NDArray[np.int64]  # [game] the action that led to the position, or -1
    ply: NDArray[np.int64]  # [game]; these are described at `MATCH`
    full: NDArray[np.int64]
    length: NDArray[np.int64]
    handicapped: NDArray[np.int64]
    states: NDArray[np.int64]  # [game, sample, word]; these are described at `SampleRecord`
    actions: NDArray[np.int16]
    players: NDArray[np.int16]
    policies: NDArray[np.float32]
    values: NDArray[np.float32]


#: The net: planes [n, plane, row, column] to logits [n, action] and values [n].
Evaluate = Callable[[NDArray[np.float32]], tuple[NDArray[np.float32], NDArray[np.float32]]]


class SelfPlayResult(NamedTuple):
    """Samples of ended games, the counts of these games, and the simulations of all games."""

    samples: Samples
    played: Played
    simulations: int


class SelfPlay:
    """Games of a net against itself, which continue from one call of `play` to the next."""

    def __init__(
        self,
        game: KernelGame,
        settings: SelfPlaySettings,
        seed: int,
        unfinished: Unfinished | None = None,
    ) -> None:
        """Start new games, or continue unfinished ones, whose next moves are searched anew.

        The games follow from these arguments and from the nets. Raises MemoryError if the trees do
        not fit into memory.
        """
        self._game, self._settings = game, settings
        rules = rules_of(game)
        decisive = rules.decisive if settings.decisive else None
        self._kernels = search_kernels(rules, decisive)
        self._config = SearchConfig(
            Selection(PUCT, settings.c_puct, settings.fpu_reduction, relative=True),
            solver=settings.solver,
            decisive=decisive is not None,
        )
        self._encoding = Encoding(game)
        most = settings.simulations
        if settings.playout_rounds > 0:
            most = max(most, settings.playout_simulations)
        self._rows = 1 + (most + 2) * game.num_actions
        try:
            self._tree = new_forest(settings.games, self._rows)
        except OSError as error:
            raise MemoryError(str(error)) from error
        board = game.board()
        self._positions = new_positions(board, settings.games)
        self._memory = new_memory(game, len(board), seed)
        self._leaves = new_leaves(game, settings.games)
        self._planes = np.zeros((settings.games, *self._encoding.shape), dtype=np.float32)
        self._noise = np.random.default_rng(seed)
        self._games = moves.new_games(game, self._schedule(), settings.games)
        self._net_seconds, self._evaluations = 0.0, 0
        self._continued = unfinished is not None
        if unfinished is not None:
            self._continue(unfinished)

    @property
    def unfinished(self) -> Unfinished:
        """The games that have not ended, after a call of `play`."""
        matches, length = self._games.matches, int(self._games.matches["length"].max())
        return Unfinished(
            self._positions.roots,
            self._positions.last,
            *(np.ascontiguousarray(matches[name]) for name in moves.MATCH.names or ()),
            *(np.ascontiguousarray(each[:, :length]) for each in self._by_game()),
        )

    def _by_game(self) -> list[NDArray[Any]]:
        """Return views of the columns of the record: [game, sample, ...]."""
        games = len(self._games.matches)
        return [each.reshape(games, -1, *each.shape[1:]) for each in self._games.record]

    def play(
        self,
        evaluate: Evaluate | None,
        samples: int,
        evaluated: Callable[[int], object] = lambda n: None,
    ) -> SelfPlayResult:
        """Play until the ended games have `samples` samples or some more.

        `evaluate` is the net. Without one, which needs `playout_rounds` in the settings, playouts
        evaluate, and the policy is even. After each batch, `evaluated` is called with its size.
        Raises the errors of `evaluate`; the samples of games that ended before are then lost.
        """
        started, self._net_seconds, self._evaluations = time.perf_counter(), 0.0, 0
        schedule = self._schedule(by_playouts=evaluate is None)
        games = moves.with_room(self._games, self._game, samples)._replace(schedule=schedule)
        self._games = games
        if self._continued:
            self._continued = False
            self._search_anew()
        callback = Callback(lambda n: self._evaluate(evaluate, n, evaluated))
        simulations = moves.play_games(
            self._tree,
            SearchContext(
                self._kernels,
                self._positions,
                self._memory,
                no_placements(),
                self._leaves,
                self._config,
                callback,
            ),
            games,
        )
        callback.raise_error()
        counters = games.counters.tolist()
        n, ended = counters[moves.SAMPLES], games.ended
        found = Samples(
            ended.states[:n],
            ended.actions[:n],
            ended.policies[:n],
            games.outcomes[:n],
            ended.values[:n],
        )
        played = Played(
            games=counters[moves.GAMES],
            positions=n,
            evaluations=self._evaluations if evaluate else 0,
            plies=counters[moves.PLIES],
            first_player_wins=counters[moves.FIRST_WINS],
            ties=counters[moves.TIES],
            net_seconds=self._net_seconds,
            seconds=time.perf_counter() - started,
        )
        return SelfPlayResult(found, played, simulations)

    def _schedule(self, *, by_playouts: bool = False) -> moves.Schedule:
        settings = self._settings
        full, quick = settings.simulations, settings.quick_simulations
        if by_playouts:
            quick = max(2, round(settings.playout_simulations * quick / full))
            full = settings.playout_simulations
        return moves.Schedule(
            full,
            quick,
            moves.share(settings.full_share),
            moves.share(settings.random_openings),
            settings.opening_plies,
            settings.temperature_plies,
            moves.share(settings.handicap_games),
        )

    def _continue(self, unfinished: Unfinished) -> None:
        """Restore unfinished games; the searches of their moves begin with `play`."""
        self._positions.roots[:], self._positions.last[:] = unfinished.boards, unfinished.last
        for name in moves.MATCH.names or ():
            self._games.matches[name] = getattr(unfinished, name)
        for name, room in zip(moves.SampleRecord._fields, self._by_game(), strict=True):
            samples = getattr(unfinished, name)
            room[:, : samples.shape[1]] = samples

    def _search_anew(self) -> None:
        """Reduce the tree of each game to its root."""
        matches, schedule = self._games.matches, self._games.schedule
        handicapped = matches["handicapped"] == self._positions.roots[:, 0]
        quick = np.where(handicapped, 1, schedule.quick_simulations)
        self._positions.left[:] = np.where(matches["full"], schedule.simulations, quick)
        self._tree.used[:] = np.arange(self._settings.games) * self._rows + 1

    def _evaluate(
        self, evaluate: Evaluate | None, n: int, evaluated: Callable[[int], object]
    ) -> None:
        if evaluate is None:
            self._evaluate_by_playouts(n)
        else:
            self._evaluate_by_net(evaluate)
        self._prepare_roots(n)
        self._evaluations += n
        evaluated(n)

    def _evaluate_by_net(self, evaluate: Evaluate) -> None:
        """Evaluate all rows, so that all batches have the same size."""
        leaves = self._leaves
        self._encoding.encode_into(
            leaves.states, leaves.last, self._planes, (leaves.legal, leaves.moves)
        )
        before = time.perf_counter()
        logits, values = evaluate(self._planes)
        self._net_seconds += time.perf_counter() - before
        leaves.logits[:] = logits
        leaves.values[:] = values

    def _evaluate_by_playouts(self, n: int) -> None:
        self._leaves.logits[:] = 0
        moves.evaluate_by_playouts(
            self._memory,
            self._leaves,
            self._positions.board,
            n,
            self._game.board(),
            self._game.kernels.read,
            self._kernels.playout,
        )

    def _prepare_roots(self, n: int) -> None:
        """Store the policy of the roots of full searches, and add noise to it."""
        leaves, settings = self._leaves, self._settings
        full = self._games.matches["full"][leaves.tree[:n]] == 1
        for leaf in np.flatnonzero((leaves.depth[:n] == 0) & full):
            legal = leaves.legal[leaf, : leaves.moves[leaf]]
            logits = leaves.logits[leaf]
            self._games.priors[leaves.tree[leaf], legal] = policy_of(logits, legal)
            if settings.noise > 0:
                add_noise(logits, legal, settings.noise, settings.dirichlet_alpha, self._noise)
