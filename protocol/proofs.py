"""The messages between the adjudicator of a tournament and its prover, lines of JSON."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ProofRequest(Struct, frozen=True):
    """A question to the prover: a match with all its actions so far."""

    match: str
    game: str
    actions: tuple[int, ...]


class ProofAnswer(Struct, frozen=True):
    """The prover's answer: the `winner` after `ply` actions, None without a proof; or an error."""

    match: str | None
    ply: int = 0
    winner: Literal[1, 2, -1] | None = None
    error: str | None = None
