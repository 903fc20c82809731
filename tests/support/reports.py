"""A finished tournament of random matches, as an account reports it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from playout.games import RETURNS, Position, load
from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import TournamentSpec, dumps
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    TournamentCreated,
    TournamentEnded,
    flat,
)
from playout.server.tournament import formats
from playout.server.tournament.ledger import LEGS, MatchSlot
from playout.server.tournament.reported import packed
from support.fixtures import spec

ID, GAME = "19a3f0c2e100001", "tic_tac_toe"
SPEC = spec("round_robin", 3, games=(GAME,), rounds=2, name="at home")
START = 1_700_000_000.0


def played(number: int, slot: MatchSlot, players: tuple[str, str]) -> list[Record]:
    """A match of random legal moves."""
    rng, match = random.Random(number), f"19a3f0c2e1{number:05x}"
    records: list[Record] = [
        MatchStarted(
            **flat(players=players, sessions=("s", "t"), accounts=("a", "b")),
            match=match,
            game=GAME,
            clock="none",
            rated=True,
            illegal_moves=3,
            credit_cap_s=0.1,
            at=START + number,
            tournament=ID,
            fixture=str(slot),
        )
    ]
    position = Position(load(GAME))
    while not position.winner:
        action = rng.choice(list(position.legal_actions))
        seat: Any = position.to_move
        ply = position.ply
        records.append(
            MovePlayed(
                match=match, ply=ply, seat=seat, action=action, at=START, info='{"visits":9}'
            )
        )
        position = position.play(action)
    winner = position.winner
    end = MatchEnded(
        **flat(returns=RETURNS[winner]),
        match=match,
        winner=winner,
        reason=Reason.RULES,
        text="",
        at=START + number + 0.5,
    )
    return [*records, end]


def tournament(whole: TournamentSpec = SPEC) -> list[Record]:
    """The records of a finished tournament."""
    records: list[Record] = [
        TournamentCreated(tournament=ID, name=whole.name, spec=dumps(whole), at=START)
    ]
    names = [each.name for each in whole.entrants]
    for pair in formats.load(whole).pairs({}):
        for leg in LEGS:
            one, other = pair.entrants if leg == 1 else pair.entrants[::-1]
            slot = MatchSlot(pair.key, leg, 1)
            records += played(len(records), slot, (names[one], names[other]))
    return [*records, TournamentEnded(tournament=ID, at=START + 999)]


def changed(lines: list[bytes], change: Callable[[Any], None], which: int = 0) -> str:
    """The matches, of which one is changed."""
    texts = [msgspec.json.decode(line) for line in lines]
    change(texts[which])
    return packed(b"".join(msgspec.json.encode(each) + b"\n" for each in texts))
