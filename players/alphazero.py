"""AlphaZero: tree search guided by a net."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from playout.games import Game, Position
from playout.players.core.player import Info
from playout.players.mcts.puct_worker import NetWorker, add_noise
from playout.players.mcts.searcher import TreeSearch
from playout.players.mcts.selection import PUCT, Selection
from playout.players.mcts.uct_simulation import SearchConfig
from playout.players.mcts.uct_worker import Worker

MAX_BATCH = 1024
#: The concentration of the noise at the root: with n legal actions, alpha is 10 / n.
_CONCENTRATION = 10.0


class AlphaZero(TreeSearch):
    """PUCT with a net's policy and value instead of playouts (Silver et al. 2017).

    `net` is an ONNX file, by default the one that comes with the game. `c_puct` weighs exploration.
    An unvisited action has its parent's value less `fpu`, on a scale from -1 to 1, or the value
    `fpu` itself if `fpu_relative` is false. `batch` leaves are evaluated at a time. `backend` is
    onnxruntime, openvino, or auto for the faster one that is installed. `noise` is the weight of
    Dirichlet noise in the policy of the root. With a `temperature` above 0, actions are drawn in
    proportion to their visits to the power of 1 / temperature. `decisive` playouts, in games that
    define them, find wins and losses within two plies.
    """

    about_options: ClassVar = {
        "net": "ONNX file of the net; without it, the one that comes with the game",
        "c_puct": "weight of exploration, 0 or more",
        "fpu": "reduction of the value of an unvisited action, from -2 to 2",
        "fpu_relative": "whether fpu is relative to the parent's value, or the value itself",
        "batch": f"leaves that are evaluated at a time, from 1 to {MAX_BATCH}",
        "backend": "onnxruntime, openvino, or auto for the faster one that is installed",
        "temperature": "randomness of the moves by visits, from 0 (none) to 100",
        "noise": "weight of Dirichlet noise in the policy of the root, from 0 to 1",
    }

    def __init__(
        self,
        game: Game,
        /,
        net: str | None = None,
        c_puct: float = 1.5,
        fpu: float = 0.25,
        fpu_relative: bool = True,
        batch: int = 8,
        backend: str = "auto",
        temperature: float = 0.0,
        noise: float = 0.0,
        **options: Any,
    ) -> None:
        from playout.players.nets.files import NetError
        from playout.players.nets.net import load_chosen

        self.game = game  # for error messages
        self._require(0 <= c_puct < np.inf, f"c_puct must be 0 or more, not {c_puct}")
        self._require(abs(fpu) <= 2, f"fpu must be from -2 to 2, not {fpu}")
        self._require(0 < batch <= MAX_BATCH, f"batch must be from 1 to {MAX_BATCH}, not {batch}")
        self._require(
            0 <= temperature <= 100, f"temperature must be from 0 to 100, not {temperature}"
        )
        self._require(0 <= noise <= 1, f"noise must be from 0 to 1, not {noise}")
        try:
            self._net = load_chosen(net, game, backend=backend, batch=batch)
        except NetError as error:
            raise self._error(str(error)) from error
        self._batch, self._temperature, self._noise = batch, temperature, noise
        config = SearchConfig(Selection(PUCT, c_puct, fpu, relative=fpu_relative))
        super().__init__(game, config, 1, **options)
        self._draw = np.random.default_rng(abs(self._seed))

    def _new_worker(self, config: SearchConfig, seed: int, megabytes: float) -> Worker:
        worker = NetWorker(self.game, self._net, self._batch, config, seed, megabytes)
        if self._noise > 0:
            worker.at_root = self._add_noise
        return worker

    def _reset(self, worker: Worker, position: Position) -> None:
        last = -1 if position.last_move is None else position.last_move
        worker.reset(position.state, last)  # type: ignore[call-arg]

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
        self._net.close()
