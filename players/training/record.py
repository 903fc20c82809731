"""Records of a run: of its rounds, and of scores against other players; progress to the limits.

Each record is a line of `metrics.jsonl`, whose `type` is `net`, `evaluation` or `score`.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from playout.players.comparison.pairs import Score
from playout.players.training.settings import EVALUATION, NET, Limits


class Used(NamedTuple):
    """The consumption of a run since its start; each number has a limit."""

    rounds: int = 0
    evaluations: int = 0
    games: int = 0
    minutes: float = 0.0


class RoundRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A round of self-play and learning, of a net or of an evaluation.

    `time` is in seconds since 1970. `seconds`, `games` and `positions` are totals since the start
    of the run, the others are of this round; shares are from 0 to 1. `value_of_start` is the value
    of the first position after the round, from -1 to 1, for the player to move.
    """

    round: int
    time: float
    seconds: float
    games: int
    positions: int
    games_per_s: float
    first_player_wins: float
    ties: float
    value_of_start: float

    @property
    def used(self) -> Used:
        """The consumption of the run until the end of the round."""
        return Used(rounds=self.round, games=self.games, minutes=self.seconds / 60)


class NetRound(RoundRecord, frozen=True, kw_only=True, tag=NET):
    """A round of the training of a net.

    `evaluations` and `steps` are totals since the start of the run. `plies` is the mean length of a
    game, losses and entropies (in nats) are means over the steps, and `net_share` is the share of
    self-play inside the net. `shards` are the files of the round, of which `stale` were played with
    an older net than the newest one at the start of the round.
    """

    evaluations: int
    steps: int
    evaluations_per_s: float
    net_share: float
    learning_share: float
    plies: float
    policy_loss: float
    value_loss: float
    policy_entropy: float
    target_entropy: float
    agreement: float
    learning_rate: float
    window: int
    shards: tuple[str, ...]
    stale: int = 0

    @property
    def used(self) -> Used:
        """The consumption of the run until the end of the round."""
        minutes = self.seconds / 60
        return Used(self.round, self.evaluations, self.games, minutes)


class EvaluationRound(RoundRecord, frozen=True, kw_only=True, tag=EVALUATION):
    """A round of the learning of an evaluation.

    `positions` is the number of positions that it has learned from. `weights_met` is the share of
    the weights that have changed since the start of the run, and `step_size` the mean of their step
    sizes, from 0 to 1.
    """

    positions_per_s: float
    weights_met: float
    step_size: float


class ScoreRecord(msgspec.Struct, frozen=True, tag="score"):
    """The score of a net or an evaluation after a round, against an opponent.

    `terms` describes the limit of a move and the options of the players.
    """

    round: int
    opponent: str
    terms: str
    score: Score


#: A line of `metrics.jsonl`.
MetricsLine = NetRound | EvaluationRound | ScoreRecord


#: The index of the evaluations among the shares of the limits.
_EVALUATIONS = 1


def progress(limits: Limits, used: Used) -> float:
    """Return the complete share of the run, from 0 to 1; 0 without limits."""
    return min(1.0, max(_shares(limits, used)))


def is_over(limits: Limits, last: RoundRecord | None) -> bool:
    """Return whether a limit has been reached."""
    return last is not None and progress(limits, last.used) >= 1.0


def remaining_s(limits: Limits, last: RoundRecord) -> float | None:
    """Return the estimated seconds until the first limit, None if unknown.

    For the limit of evaluations, the rate of all rounds or of the last round counts, whichever is
    higher: in the first rounds, playouts may evaluate instead of the net.
    """
    shares = _shares(limits, last.used)
    rates = [share / last.seconds if last.seconds else 0.0 for share in shares]
    if limits.evaluations and isinstance(last, NetRound):
        in_last_round = last.evaluations_per_s * (1 - last.learning_share) / limits.evaluations
        rates[_EVALUATIONS] = max(rates[_EVALUATIONS], in_last_round)
    known = [(share, rate) for share, rate in zip(shares, rates, strict=True) if rate]
    return min(((1 - min(1.0, share)) / rate for share, rate in known), default=None)


def _shares(limits: Limits, used: Used) -> list[float]:
    """Return the used share of each limit; 0 for no limit."""
    allowed = (limits.rounds, limits.evaluations, limits.games, limits.minutes)
    return [used_ / limit if limit else 0.0 for used_, limit in zip(used, allowed, strict=True)]


def duration(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds: 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
