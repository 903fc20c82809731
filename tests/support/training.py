"""Records of rounds for tests of `playout-train`."""

from __future__ import annotations

from players.training.record import RoundRecord


def round_record(number: int, **values: float) -> RoundRecord:
    """A record of round `number` with these values and zeros elsewhere."""
    zeros = {name: 0 for name in RoundRecord.__dataclass_fields__ if name != "shards"}
    return RoundRecord(**zeros | {"round": number} | values, shards=(f"{number:04}-0.npz",))
