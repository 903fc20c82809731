"""Self-play of a net: many games at a time, whose positions become samples.

In a game whose search has ended, the tree search chooses a move by the visits, records the position
for learning, plays the move, and begins the next game where one has ended. The tree of a game is
cleared after every move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

from playout.games import KernelGame
from playout.games.core.kernels import SIGNATURES, compiled, given, inlined
from playout.games.core.random import Rng, draw
from playout.players.core.rules import rules_of
from playout.players.evaluations.placements import no_placements
from playout.players.mcts.guided import WITH_NET, add_noise, policy_of
from playout.players.mcts.search import search_trees, signature_for
from playout.players.mcts.selection import PUCT, Selection
from playout.players.mcts.simulation import (
    LEAVES,
    MEMORY,
    TABLE,
    VECTOR,
    Callback,
    Leaves,
    SearchConfig,
    SearchContext,
    SearchMemory,
    new_leaves,
    new_memory,
    new_positions,
    search_kernels,
)
from playout.players.mcts.tree import LOSS, TIE, UNKNOWN, WIN, Tree, clear_node, new_forest, root_of
from playout.players.nets.encoding import Encoding
from playout.players.training.samples import Played, Samples
from playout.players.training.settings import SelfPlaySettings

#: Random shares are compared with a number below this.
_WHOLE = 2**16
#: The counters, by their index in `Games.counters`; WANTED is the number of samples to play for.
SAMPLES, GAMES, PLIES, FIRST_WINS, TIES, WANTED = range(6)

#: A game that is played.
MATCH = np.dtype(
    [
        ("ply", np.int64),
        ("full", np.int64),  # whether the net learns from the move
        ("length", np.int64),  # samples so far
        ("handicapped", np.int64),  # the player that moves without search, or 0
    ],
    align=True,
)


class Schedule(NamedTuple):
    """The settings of games: searches, openings, and how moves are drawn."""

    simulations: int  # of a full search, from which the net learns
    quick_simulations: int  # of the other searches
    full_share: int  # of the moves, in 1/65536
    opening_share: int  # of the games with random moves at the start, in 1/65536
    opening_plies: int  # maximum number of random moves
    temperature_plies: int  # moves before this ply are drawn in proportion to their visits
    handicap_share: int  # of the games in which one player has a handicap, in 1/65536


class SampleRecord(NamedTuple):
    """Positions to learn from; a row each."""

    states: NDArray[np.int64]  # [row, word]
    actions: NDArray[np.int16]  # [row] the action that led to the state, or -1
    players: NDArray[np.int16]  # [row] the player to move
    policies: NDArray[np.float32]  # [row, action] shares of the visits
    values: NDArray[np.float32]  # [row] of the search, -1 to 1 for the player to move


class Games(NamedTuple):
    """The games that are played, and the record of those that have ended."""

    schedule: Schedule
    origin: NDArray[np.int64]  # [word] board of the first position
    matches: Any  # [game] of MATCH
    record: SampleRecord  # [game * plies + sample]
    ended: SampleRecord  # [row]
    outcomes: NDArray[np.float32]  # [row] of the ended games: 1, 0 or -1 for the player to move
    counters: NDArray[np.int64]  # see SAMPLES and the following
    weights: NDArray[np.float32]  # [child] working memory
    priors: NDArray[np.float32]  # [game, action] policy of the net at the root, without noise


_READ, _PLAYOUT = (types.FunctionType(SIGNATURES[name]) for name in ("read", "playout"))
_FLOATS, _FLOAT_ROWS = types.float32[::1], types.float32[:, ::1]
_RECORD = types.NamedTuple(
    [TABLE, types.int16[::1], types.int16[::1], _FLOAT_ROWS, _FLOATS], SampleRecord
)
_GAMES = types.NamedTuple(
    [
        types.NamedUniTuple(types.int64, 7, Schedule),
        *(VECTOR, from_dtype(MATCH)[::1], _RECORD, _RECORD, _FLOATS, VECTOR, _FLOATS),
        _FLOAT_ROWS,
    ],
    Games,
)


def share(part: float) -> int:
    """Return a share from 0 to 1 in units of 1/65536, as `Schedule` holds it."""
    return round(part * _WHOLE)


def new_record(game: KernelGame, rows: int) -> SampleRecord:
    """Return an empty record of `rows` positions."""
    return SampleRecord(
        states=np.zeros((rows, len(game.initial_state())), dtype=np.int64),
        actions=np.zeros(rows, dtype=np.int16),
        players=np.zeros(rows, dtype=np.int16),
        policies=np.zeros((rows, game.num_actions), dtype=np.float32),
        values=np.zeros(rows, dtype=np.float32),
    )


def new_games(game: KernelGame, schedule: Schedule, at_a_time: int) -> Games:
    """Return `at_a_time` games that have not begun, without room for those that end."""
    return Games(
        schedule=schedule,
        origin=game.board(),
        matches=np.zeros(at_a_time, dtype=MATCH),
        record=new_record(game, at_a_time * game.max_plies),
        ended=new_record(game, 0),
        outcomes=np.zeros(0, dtype=np.float32),
        counters=np.zeros(6, dtype=np.int64),
        weights=np.zeros(game.num_actions, dtype=np.float32),
        priors=np.zeros((at_a_time, game.num_actions), dtype=np.float32),
    )


def with_room(games: Games, game: KernelGame, samples: int) -> Games:
    """Return the same games with an empty record of ended ones, for `samples` samples and more."""
    rows = samples + len(games.matches) * game.max_plies
    counters = np.zeros_like(games.counters)
    counters[WANTED] = samples
    return games._replace(
        ended=new_record(game, rows),
        outcomes=np.zeros(rows, dtype=np.float32),
        counters=counters,
    )


@inlined
def start_search(tree: Tree, search: SearchContext, games: Games, number: int) -> None:
    """Clear a tree but for an unvisited root, and draw the number of simulations for the move."""
    root, match, schedule = root_of(tree, number), games.matches[number], games.schedule
    positions, rng = search.positions, search.memory.rng
    clear_node(tree, root)
    tree.guide[root].pending = 0
    tree.guide[root].tie = 0
    tree.used[number] = root + 1
    full = draw(rng, _WHOLE) < schedule.full_share
    match.full = 1 if full else 0
    positions.left[number] = schedule.simulations if full else schedule.quick_simulations
    if not full and match.handicapped == positions.roots[number, 0]:
        positions.left[number] = 1  # gives the policy


@inlined
def start_game(search: SearchContext, games: Games, number: int) -> None:
    """Set the first position, after random moves in some of the games."""
    kernels, positions = search.kernels, search.positions
    board, actions, rng = positions.roots[number], search.memory.actions, search.memory.rng
    match, schedule = games.matches[number], games.schedule
    wanted = 0
    if schedule.opening_plies > 0 and draw(rng, _WHOLE) < schedule.opening_share:
        wanted = 1 + draw(rng, schedule.opening_plies)
    while True:
        for i in range(len(games.origin)):
            board[i] = games.origin[i]
        positions.last[number] = -1
        for _ in range(wanted):
            if board[1] == 0:
                positions.last[number] = actions[draw(rng, kernels.legal(board, actions))]
                kernels.play(board, positions.last[number])
        if board[1] == 0:
            break
        wanted -= 1  # the game ended
    match.ply = wanted
    match.length = 0
    match.handicapped = 0
    if schedule.handicap_share > 0 and draw(rng, _WHOLE) < schedule.handicap_share:
        match.handicapped = 1 + draw(rng, 2)


@inlined
def weigh_children(tree: Tree, root: int, weights: Any) -> Any:
    """Set the weights of the children of a root, in the order of their rows; return the sum.

    The weights are the visits, corrected for proofs, as proven children are not visited again: if a
    win is proven, only wins count; proven losses count only if all children are lost; and if no
    unproven child has the mean of a tie, the proven ties together count as much as all visits.
    """
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    wins, losses, ties, visits, hope = 0, 0, 0, np.float32(0.0), np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        wins += each.proof == WIN
        losses += each.proof == LOSS
        ties += each.proof == TIE
        visits += np.float32(each.visits)
        if each.proof == UNKNOWN and each.visits > 0:
            hope = max(hope, each.average)
    total = np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        weight = np.float32(each.visits)
        if wins > 0:
            weight = np.float32(1.0) if each.proof == WIN else np.float32(0.0)
        elif each.proof == LOSS and losses < width:
            weight = np.float32(0.0)
        elif each.proof == TIE and hope < np.float32(0.5):
            weight = visits / np.float32(ties)
        weights[i] = weight
        total += weight
    return total


@inlined
def chosen_child(tree: Tree, root: int, weights: Any, total: Any, drawn: bool, rng: Rng) -> int:
    """Return the row of the child with the greatest weight, or of one that is drawn by weight."""
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    best = 0
    for i in range(width):
        if weights[i] > weights[best]:
            best = i
    if drawn and total > 0:
        left = np.float32(draw(rng, _WHOLE)) / np.float32(_WHOLE) * total
        for i in range(width):
            left -= weights[i]
            if left < 0:
                return int(first + i)
    return int(first + best)


@inlined
def weigh_by_policy(games: Games, number: int, tree: Tree, root: int) -> Any:
    """Set the weights of the children of a root to the policy without noise; return the sum."""
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    total = np.float32(0.0)
    for i in range(width):
        weight = tree.guide[first + i].prior
        if games.matches[number].full == 1:  # its priors have noise
            weight = games.priors[number, tree.nodes[first + i].action]
        games.weights[i] = weight
        total += weight
    return total


@inlined
def next_child(games: Games, number: int, tree: Tree, root: int, player: int, rng: Rng) -> int:
    """Return the row of the child to play, which is drawn in the first plies of a game."""
    match = games.matches[number]
    if match.handicapped == player and tree.nodes[root].proof == UNKNOWN:
        total = weigh_by_policy(games, number, tree, root)
        return chosen_child(tree, root, games.weights, total, True, rng)
    total = weigh_children(tree, root, games.weights)
    drawn = match.ply < games.schedule.temperature_plies
    return chosen_child(tree, root, games.weights, total, drawn, rng)


@inlined
def add_sample(tree: Tree, search: SearchContext, games: Games, number: int) -> None:
    """Add the position and the result of its search to the record of a game."""
    match, record, root = games.matches[number], games.record, root_of(tree, number)
    positions = search.positions
    row = number * (len(record.values) // len(games.matches)) + match.length
    total = weigh_children(tree, root, games.weights)
    total = prune_policy(games, number, tree, root, search.config.selection.c, total)
    match.length += 1
    search.kernels.write(positions.roots[number], record.states[row])
    record.actions[row] = positions.last[number]
    record.players[row] = positions.roots[number, 0]
    each = tree.nodes[root]
    first = np.int64(each.first_child)
    for action in range(record.policies.shape[1]):
        record.policies[row, action] = np.float32(0.0)
    for i in range(each.width):
        share = games.weights[i] / max(total, np.float32(1.0))
        record.policies[row, tree.nodes[first + i].action] = share
    # The mean of a root is that of the player who moved into it.
    record.values[row] = np.float32(1.0) - np.float32(2.0) * max(np.float32(0.0), each.average)


@inlined
def prune_policy(games: Games, number: int, tree: Tree, root: int, c: Any, total: Any) -> Any:
    """Reduce the weights to the visits that a search without noise would make; return the sum.

    A child keeps the visits up to which its score by PUCT, with the policy without noise, is as
    high as that of the most visited child (policy target pruning: Wu 2019, KataGo, section 3.2).
    """
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    weights, best = games.weights, 0
    for i in range(width):
        if tree.nodes[first + i].proof != UNKNOWN:
            return total  # proofs count as they are
        if weights[i] > weights[best]:
            best = i
    scale = np.float32(c) * np.float32(math.sqrt(max(total, np.float32(1.0))))
    each = tree.nodes[first + best]
    highest = np.float32(2.0) * each.average - np.float32(1.0)
    highest += scale * games.priors[number, each.action] / (np.float32(1.0) + weights[best])
    kept = np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        if i != best and weights[i] > 0:
            behind = highest - (np.float32(2.0) * each.average - np.float32(1.0))
            if behind > 0:
                most = scale * games.priors[number, each.action] / behind - np.float32(1.0)
                weights[i] = min(weights[i], most) if most >= 1 else np.float32(0.0)
        kept += weights[i]
    return kept


@inlined
def finish_game(games: Games, number: int, outcome: int) -> None:
    """Move the samples of an ended game to those of all ended games."""
    match, record, ended, counters = (
        games.matches[number],
        games.record,
        games.ended,
        games.counters,
    )
    first = number * (len(record.values) // len(games.matches))
    for row in range(first, first + match.length):
        to = counters[SAMPLES]
        for word in range(record.states.shape[1]):
            ended.states[to, word] = record.states[row, word]
        for action in range(record.policies.shape[1]):
            ended.policies[to, action] = record.policies[row, action]
        ended.actions[to] = record.actions[row]
        ended.players[to] = record.players[row]
        ended.values[to] = record.values[row]
        mine = np.float32(1.0) if outcome == record.players[row] else np.float32(-1.0)
        games.outcomes[to] = np.float32(0.0) if outcome < 0 else mine
        counters[SAMPLES] += 1
    counters[GAMES] += 1
    counters[PLIES] += match.ply
    counters[FIRST_WINS] += 1 if outcome == 1 else 0
    counters[TIES] += 1 if outcome < 0 else 0


@inlined
def goes_on(games: Games) -> bool:
    """Return whether the games that ended have too few samples."""
    return bool(games.counters[SAMPLES] < games.counters[WANTED])


@inlined
def next_search(tree: Tree, search: SearchContext, games: Games, number: int) -> bool:
    """Play the move that a search has found, and prepare the search of the next position."""
    positions, match, root = search.positions, games.matches[number], root_of(tree, number)
    board = positions.roots[number]
    if tree.used[number] > 0:  # it is 0 before the first game
        best = next_child(games, number, tree, root, board[0], search.memory.rng)
        if match.full == 1:
            add_sample(tree, search, games, number)
        positions.last[number] = tree.nodes[best].action
        search.kernels.play(board, positions.last[number])
        match.ply += 1
        if board[1] != 0:
            finish_game(games, number, board[1])
    if tree.used[number] == 0 or board[1] != 0:
        start_game(search, games, number)
    start_search(tree, search, games, number)
    return True


#: The tree search in games of self-play, until `goes_on` returns false.
play_games = compiled(signature_for(_GAMES), allocates=False)(
    given(
        search_trees,
        "play_games",
        __name__,
        goes_on=goes_on,
        next_search=next_search,
        **WITH_NET,
    )
)


@compiled(
    types.void(MEMORY, LEAVES, VECTOR, types.int64, VECTOR, _READ, _PLAYOUT),
    allocates=False,
)
def evaluate_by_playouts(
    memory: SearchMemory,
    leaves: Leaves,
    board: Any,
    n: int,
    origin: Any,
    read: Callable[..., None],
    playout: Callable[..., int],
) -> None:
    """Set the values of the first n leaves by playouts: 1, 0 or -1 for the player to move.

    A net with random weights does not guide a search: in long games both players move almost at
    random. Until it has learned, playouts are better and faster (Wang, Preuss & Plaat 2020,
    "Warm-Start AlphaZero Self-Play Search Enhancements"). `origin` is the board of the first
    position, `board` working memory.
    """
    for leaf in range(n):
        for i in range(len(origin)):
            board[i] = origin[i]
        read(leaves.states[leaf], board)
        playout(board, memory.rng, memory.trace)
        outcome = board[1]
        points = 1 if outcome == leaves.player[leaf] else -1
        leaves.values[leaf] = np.float32(points if outcome > 0 else 0)


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
        self._games = new_games(game, self._schedule(), settings.games)
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
            *(np.ascontiguousarray(matches[name]) for name in MATCH.names or ()),
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
        games = with_room(self._games, self._game, samples)._replace(schedule=schedule)
        self._games = games
        if self._continued:
            self._continued = False
            self._search_anew()
        callback = Callback(lambda n: self._evaluate(evaluate, n, evaluated))
        simulations = play_games(
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
        n, ended = counters[SAMPLES], games.ended
        found = Samples(
            ended.states[:n],
            ended.actions[:n],
            ended.policies[:n],
            games.outcomes[:n],
            ended.values[:n],
        )
        played = Played(
            games=counters[GAMES],
            positions=n,
            evaluations=self._evaluations if evaluate else 0,
            plies=counters[PLIES],
            first_player_wins=counters[FIRST_WINS],
            ties=counters[TIES],
            net_seconds=self._net_seconds,
            seconds=time.perf_counter() - started,
        )
        return SelfPlayResult(found, played, simulations)

    def _schedule(self, *, by_playouts: bool = False) -> Schedule:
        settings = self._settings
        full, quick = settings.simulations, settings.quick_simulations
        if by_playouts:
            quick = max(2, round(settings.playout_simulations * quick / full))
            full = settings.playout_simulations
        return Schedule(
            full,
            quick,
            share(settings.full_share),
            share(settings.random_openings),
            settings.opening_plies,
            settings.temperature_plies,
            share(settings.handicap_games),
        )

    def _continue(self, unfinished: Unfinished) -> None:
        """Restore unfinished games; the searches of their moves begin with `play`."""
        self._positions.roots[:], self._positions.last[:] = unfinished.boards, unfinished.last
        for name in MATCH.names or ():
            self._games.matches[name] = getattr(unfinished, name)
        for name, room in zip(SampleRecord._fields, self._by_game(), strict=True):
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
        evaluate_by_playouts(
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
