"""Records of rounds and evaluations, as lines of JSON and for TensorBoard; progress to the limits.

TensorBoard reads an event file: a sequence of records (TFRecord), each the length, a masked CRC-32C
of it, a protocol buffer `Event`, and a masked CRC-32C of that. Only the four fields of `Event` that
scalars need are written, so neither TensorFlow nor protobuf is imported.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

import msgspec

from playout.players.training.settings import EVALUATION, NET, Limits


class Used(NamedTuple):
    """What counts towards the limits, since the start of a run."""

    rounds: int = 0
    evaluations: int = 0
    games: int = 0
    minutes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RoundRecord:
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
        """What the run has used until the end of the round."""
        return Used(rounds=self.round, games=self.games, minutes=self.seconds / 60)

    def line(self) -> bytes:
        """Return the record as a line of JSON."""
        return msgspec.json.encode(asdict(self)) + b"\n"

    def event(self) -> bytes:
        """Return the numbers of the record as a record of an event file."""
        numbers = {
            name: float(value)
            for name, value in asdict(self).items()
            if isinstance(value, int | float) and name not in ("round", "time")
        }
        return event(self.time, self.round, numbers)


@dataclass(frozen=True, kw_only=True)
class NetRound(RoundRecord):
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
        """What the run has used until the end of the round."""
        return super().used._replace(evaluations=self.evaluations)


@dataclass(frozen=True, kw_only=True)
class EvaluationRound(RoundRecord):
    """A round of the learning of an evaluation.

    `positions` are those that it has learned from. `weights_met` is the share of the weights that
    have been changed since the start of the run, and `step_size` the mean of their step sizes, from
    0 to 1.
    """

    positions_per_s: float
    weights_met: float
    step_size: float


#: The class of the records of a run, by what it learns.
ROUNDS: Mapping[str, type[NetRound] | type[EvaluationRound]] = {
    NET: NetRound,
    EVALUATION: EvaluationRound,
}


@dataclass(frozen=True)
class NetScore:
    """The results of the first player: shares from 0 to 1 and Elo, with 95 % intervals.

    None stands for an unknown or infinite number.
    """

    pairs: int
    won: int
    tied: int
    lost: int
    share: float
    low: float
    high: float
    elo: float | None
    elo_low: float | None
    elo_high: float | None

    def __str__(self) -> str:
        """Return the score and the difference in Elo, each with its interval."""
        counts = f"+{self.won} ={self.tied} -{self.lost}"
        score = f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"
        bounds = (self.elo_low, self.elo, self.elo_high)
        low, elo, high = ("unknown" if each is None else f"{each:+.0f}" for each in bounds)
        return f"{2 * self.pairs} games, {counts}: {score}, Elo {elo} ({low} to {high})"


@dataclass(frozen=True)
class EvaluationRecord:
    """The score of what was learned after a round: a line of `evaluations.jsonl`."""

    round: int
    opponent: str
    terms: str
    score: NetScore

    def line(self) -> bytes:
        """Return the record as a line of JSON."""
        return msgspec.json.encode(self) + b"\n"


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


_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def event_header(wall_time: float) -> bytes:
    """Return the first record of an event file, which names the version of the format."""
    return _record(_double(1, wall_time) + _bytes(3, b"brain.Event:2"))


def event(wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """Return a record with the values of a step; `wall_time` is in seconds since 1970."""
    summary = b"".join(
        _bytes(1, _bytes(1, tag.encode()) + _key(2, _FLOAT) + struct.pack("<f", value))
        for tag, value in values.items()
    )
    return _record(_double(1, wall_time) + _key(2, _VARINT) + _varint(step) + _bytes(5, summary))


def masked_crc(content: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of bytes as TFRecord masks it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_table_entry, range(256)))


def _record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    crcs = (struct.pack("<I", masked_crc(each)) for each in (length, content))
    return length + next(crcs) + content + next(crcs)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content
