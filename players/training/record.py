"""What is recorded about a round, a line of `metrics.jsonl`, and about an evaluation."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import msgspec

from playout.players.training.evaluation import NetScore
from playout.players.training.settings import Limits


@dataclass(frozen=True)
class RoundRecord:
    """A round of self-play and learning.

    `time` is in seconds since 1970. `seconds`, `games`, `positions`, `evaluations` and `steps` are
    totals since the start of the run, the rest is about this round: shares are from 0 to 1,
    `plies` is the mean length of a game, losses and entropies (in nats) are means over its steps,
    `value_of_start` is the net's value of the first position afterwards, and `net_share` the share
    of self-play spent inside the net. `shards` names the files that the round has added, of which
    `stale` were played with an older net than the newest one at the start of the round.
    """

    round: int
    time: float
    seconds: float
    games: int
    positions: int
    evaluations: int
    steps: int
    evaluations_per_s: float
    games_per_s: float
    net_share: float
    learning_share: float
    first_player_wins: float
    ties: float
    plies: float
    policy_loss: float
    value_loss: float
    policy_entropy: float
    target_entropy: float
    agreement: float
    learning_rate: float
    value_of_start: float
    window: int
    shards: tuple[str, ...]
    stale: int = 0

    def line(self) -> bytes:
        """Return the record as a line of JSON."""
        return msgspec.json.encode(asdict(self)) + b"\n"

    def scalars(self) -> dict[str, float]:
        """Return the numbers of the record that are worth a curve, by name."""
        names = asdict(self)
        return {
            name: float(value)
            for name, value in names.items()
            if isinstance(value, int | float) and name not in ("round", "time")
        }


@dataclass(frozen=True)
class EvaluationRecord:
    """The score of the net of a round against an opponent: a line of `evaluations.jsonl`."""

    round: int
    opponent: str
    terms: str
    score: NetScore

    def line(self) -> bytes:
        """Return the record as a line of JSON."""
        return msgspec.json.encode(self) + b"\n"


# How far a run is on its way to its limits, and how long it will take.


#: The place of the evaluations among the shares of the limits.
_EVALUATIONS = 1


def progress(limits: Limits, last: RoundRecord | None) -> float:
    """Return the share of the run that is done, from 0 to 1; 0 without limits."""
    return min(1.0, max(_shares(limits, last))) if last else 0.0


def is_over(limits: Limits, last: RoundRecord | None) -> bool:
    """Return whether a limit has been reached."""
    return progress(limits, last) >= 1.0


def remaining_s(limits: Limits, last: RoundRecord) -> float | None:
    """Return the estimated seconds until the first limit, None if that is unknown.

    In the first rounds playouts may evaluate, not the net: of all rounds and the last one, that
    with more evaluations a second counts.
    """
    shares = _shares(limits, last)
    rates = [share / last.seconds if last.seconds else 0.0 for share in shares]
    if limits.evaluations:
        in_last_round = last.evaluations_per_s * (1 - last.learning_share) / limits.evaluations
        rates[_EVALUATIONS] = max(rates[_EVALUATIONS], in_last_round)
    known = [(share, rate) for share, rate in zip(shares, rates, strict=True) if rate]
    return min(((1 - min(1.0, share)) / rate for share, rate in known), default=None)


def _shares(limits: Limits, last: RoundRecord | None) -> list[float]:
    """The share of each limit that is used up; 0 for no limit."""
    if last is None:
        return [0.0]
    used = (last.round, last.evaluations, last.seconds / 60)
    allowed = (limits.rounds, limits.evaluations, limits.minutes)
    return [used_ / limit if limit else 0.0 for used_, limit in zip(used, allowed, strict=True)]
