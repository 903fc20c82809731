"""AlphaZero: tree search guided by a net."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from playout.games import Game, KernelGame, Option
from playout.players.core.player import Exploration, Info
from playout.players.core.rules import rules_of
from playout.players.evaluations import files
from playout.players.evaluations.perceptron import kernels_of
from playout.players.mcts import chance
from playout.players.mcts.guided import (
    EvaluateLeaves,
    NetWorker,
    add_noise,
    by_planes,
    search_with_net,
)
from playout.players.mcts.search import Worker
from playout.players.mcts.searcher import TreeSearch
from playout.players.mcts.selection import PUCT, Selection
from playout.players.mcts.simulation import Leaves, SearchConfig

if TYPE_CHECKING:
    from playout.players.nets.net import Net

MAX_BATCH = 1024
Backend = Literal["auto", "onnxruntime", "openvino"]
#: The concentration of the noise at the root: with n legal actions, alpha is 10 / n.
_CONCENTRATION = 10.0
#: The logits of the policy in games with chance: the expected results, from -1 to 1, times this.
_SHARPNESS = 20.0


class AlphaZero(TreeSearch):
    """PUCT with a net's policy and value instead of playouts (Silver et al. 2017).

    In games with chance, the net is an evaluation, as `alphabeta` has it. It values the positions
    after all actions of a leaf: the policy prefers actions with a high value, and the value of the
    leaf is that of the best one.

    An unvisited action has its parent's value less `fpu`, on a scale from -1 to 1, or the value
    `fpu` itself if `fpu_relative` is false. `noise` adds Dirichlet noise to the policy of the root.
    With a `temperature` above 0, actions are drawn in proportion to their visits to the power of
    1 / temperature. `decisive` playouts, in games that define them, find wins and losses within two
    plies.
    """

    plays_chance = True

    def __init__(
        self,
        game: Game,
        /,
        net: Annotated[
            str | None,
            Option(
                "ONNX file of the net; in games with chance the file of an evaluation",
                default="the one that comes with the game",
            ),
        ] = None,
        c_puct: Exploration = 1.5,
        fpu: Annotated[
            float, Option("reduction of the value of an unvisited action", ge=-2, le=2)
        ] = 0.25,
        fpu_relative: Annotated[
            bool,
            Option("whether `fpu` is relative to the parent's value, or the value itself"),
        ] = True,
        batch: Annotated[
            int, Option("number of leaves that are evaluated at once", ge=1, le=MAX_BATCH)
        ] = 8,
        backend: Annotated[
            Backend,
            Option("library that runs the net; `auto` is the faster one of those installed"),
        ] = "auto",
        temperature: Annotated[
            float, Option("randomness of the moves by their visits; 0 for none", ge=0, le=100)
        ] = 0.0,
        noise: Annotated[
            float, Option("weight of Dirichlet noise in the policy of the root", ge=0, le=1)
        ] = 0.0,
        **options: Any,
    ) -> None:
        self._net: Net | None = None
        self._batch, self._temperature, self._noise = batch, temperature, noise
        if game.has_chance:
            self._evaluate, self._loop = self._by_expectation(game, net), chance.search_with_net()
        else:
            self._evaluate, self._loop = self._by_net(game, net, backend), search_with_net()
        config = SearchConfig(Selection(PUCT, c_puct, fpu, relative=fpu_relative))
        super().__init__(game, config, 1, **options)
        self._draw = np.random.default_rng(abs(self._seed))

    def _new_worker(self, config: SearchConfig, seed: int, megabytes: float) -> Worker:
        given = self._batch, config, seed, megabytes
        worker = NetWorker(self.game, self._evaluate, *given, loop=self._loop)
        if self._noise > 0:
            worker.at_root = self._add_noise
        return worker

    def _by_net(self, game: Game, net: str | None, backend: Backend) -> EvaluateLeaves:
        """Return a function that evaluates leaves by an ONNX file. Raises SpecError."""
        from playout.players.nets.files import NetError
        from playout.players.nets.net import load_chosen

        try:
            self._net = load_chosen(net, game, backend=backend, batch=self._batch)
        except NetError as error:
            raise self._error(str(error)) from error
        return by_planes(game, self._net, self._batch)

    def _by_expectation(self, game: Game, net: str | None) -> EvaluateLeaves:
        """Return a function that evaluates leaves by the evaluation of a game with chance.

        The value of a leaf is that of its best action. Raises SpecError.
        """
        kernels_of(game, rules_of(game))  # refuses games in plain Python
        assert isinstance(game, KernelGame)
        try:
            evaluation = files.load_net(game, net or files.SHIPPED)
        except files.EvaluationError as error:
            raise self._error(str(error)) from error
        from playout.players.depth_first import expectiminimax  # compiled when it is needed

        evaluate = expectiminimax.action_values(game, evaluation, _SHARPNESS)

        def evaluate_leaves(leaves: Leaves, n: int) -> None:
            actions = leaves.legal, leaves.moves, leaves.logits
            evaluate(n, leaves.states, leaves.player, *actions, leaves.values)

        return evaluate_leaves

    def _add_noise(self, legal: NDArray[np.int64], logits: NDArray[np.float32]) -> None:
        add_noise(logits, legal, self._noise, _CONCENTRATION, self._draw)

    def _pick(self, info: Info) -> int:
        best = info.actions[0]
        if self._temperature == 0 or best.proven is not None:
            return best.action
        open_ = [each for each in info.actions if each.proven != -1 and each.visits]
        visits = np.array([each.visits for each in open_], dtype=float)
        weights = (visits / visits.max()) ** (1 / self._temperature)
        return open_[int(self._draw.choice(len(open_), p=weights / weights.sum()))].action

    def close(self) -> None:
        super().close()
        if self._net:
            self._net.close()
