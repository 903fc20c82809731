"""A long history of matches, made for benchmarks: of people, of tournaments and of a ladder.

The moves are those of a few random matches of each game, which are used again and again under other
names: only their number matters. Who plays is drawn so that few play most, as on a real server.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import games
from games import Game
from server.core.accounts import digest
from server.export import jsonl
from server.model.messages import Reason
from server.model.records import (
    Account,
    LadderMatch,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    TournamentCreated,
    TournamentEnded,
)
from server.model.tournament_spec import Entrant, TournamentSpec, dumps
from server.storage import Database
from server.tournament import formats
from server.tournament.state import LEGS, MatchSlot

#: Short ones, so that the files do not become larger than needed.
GAMES = ("tic_tac_toe", "nim", "connect_four", "mnk(m=4,n=4,k=3)")
LADDER_GAME = "connect_four"
#: How many of each ten matches belong to tournaments, and how many to the ladder.
_OF_TOURNAMENTS, _OF_LADDER = 1, 1
PLAYERS, BOTS, ENTRANTS = 300, 20, 8
#: The ids of matches and of tournaments.
_MATCH, _TOURNAMENT = "m{:08}", "t{:05}"
#: The most pairs of a tournament.
_PAIRS = 500
#: The random matches of each game.
_DRAWN = 300
#: The time of the first match, and the seconds from one match to the next.
_SINCE, _STEP_S = 1.7e9, 30.0
#: The deviation of the strengths of players, in logarithms of odds.
_SPREAD = 1.0


@dataclass(frozen=True)
class _Moves:
    """A random match: its actions, its winner and the returns."""

    actions: tuple[int, ...]
    winner: int
    returns: tuple[float, float]


class MadeHistory:
    """The same matches for each number of them and seed."""

    def __init__(self, matches: int, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._tournament_matches = matches * _OF_TOURNAMENTS // 10
        self._ladder_matches = matches * _OF_LADDER // 10
        self._matches = matches - self._tournament_matches - self._ladder_matches
        self._games = {name: games.load(name) for name in GAMES}
        self._drawn = {name: self._draw(game) for name, game in self._games.items()}
        self._names = [f"Player {number}" for number in range(1, PLAYERS + 1)]
        self._strength = {name: self._random.gauss(0, _SPREAD) for name in self._names}
        self._weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(PLAYERS)))
        self._ids = itertools.count()

    @property
    def most_active(self) -> str:
        """The name of the player with the most matches."""
        return self._names[0]

    @property
    def first_match(self) -> str:
        """The id of a match."""
        return _MATCH.format(0)

    @property
    def first_tournament(self) -> str:
        """The id of a tournament."""
        return _TOURNAMENT.format(0)

    def store_accounts(self, database: Database) -> None:
        """Store the accounts, the tournaments without their matches, and the ladder's matches.

        The rest is imported: see `write`.
        """
        database.save(
            [
                Account(id=_account(name), name=name, digest=digest(name), created_at=_SINCE)
                for name in self._names
            ]
        )
        for number, spec in enumerate(self._tournaments()):
            key = _TOURNAMENT.format(number)
            begun = TournamentCreated(tournament=key, name=spec.name, spec=dumps(spec), at=_SINCE)
            database.save([begun, TournamentEnded(tournament=key, at=_SINCE + 1)])
        database.add(self._of_ladder())

    def write(self, path: Path) -> None:
        """Write the other matches as JSON Lines."""
        with path.open("w", encoding="utf-8") as file:
            for stored in itertools.chain(self._of_tournaments(), self._of_people()):
                file.write(jsonl.write(stored))

    def _of_people(self) -> Iterator[StoredMatch]:
        for number in range(self._matches):
            game = GAMES[number % len(GAMES)]
            yield self._match(game, self._pair(), rated=True)

    def _of_ladder(self) -> Iterator[StoredMatch]:
        for number in range(self._ladder_matches):
            first, second = self._random.sample(self._names[:BOTS], 2)
            yield self._match(
                LADDER_GAME,
                (first, second),
                rated=True,
                accounts=(_account(first), _account(second)),
                ladder=LadderMatch(f"pair{number // 2}", ("1", "1")),
            )

    def _of_tournaments(self) -> Iterator[StoredMatch]:
        left = self._tournament_matches
        for number, spec in enumerate(self._tournaments()):
            for pair in formats.load(spec).pairs({}, ()):
                one, other = (spec.entrants[place].name for place in pair.entrants)
                for leg in LEGS:
                    left -= 1
                    if left < 0:
                        return
                    yield self._match(
                        pair.game,
                        (one, other) if leg == 1 else (other, one),
                        rated=True,
                        tournament=_TOURNAMENT.format(number),
                        fixture=str(MatchSlot(pair.key, leg, 1)),
                    )

    def _tournaments(self) -> Iterator[TournamentSpec]:
        each = ENTRANTS * (ENTRANTS - 1) // 2
        rounds = _PAIRS // each
        for number in range(math.ceil(self._tournament_matches / (2 * rounds * each))):
            first = number * ENTRANTS % (PLAYERS - ENTRANTS)
            yield TournamentSpec(
                name=f"cup {number + 1}",
                games=(GAMES[number % len(GAMES)],),
                format="round_robin",
                entrants=tuple(
                    Entrant(name, "1") for name in self._names[first : first + ENTRANTS]
                ),
                rounds=rounds,
                clock="none",
            )

    def _pair(self) -> tuple[str, str]:
        first, second = self._random.choices(self._names, cum_weights=self._weights, k=2)
        return (first, second) if first != second else self._pair()

    def _match(self, game: str, players: tuple[str, str], **fields: object) -> StoredMatch:
        number = next(self._ids)
        match, at = _MATCH.format(number), _SINCE + number * _STEP_S
        moves = self._choose(game, players)
        terms = {"accounts": (None, None)} | fields
        return StoredMatch(
            started=MatchStarted(
                match=match,
                game=game,
                players=players,
                sessions=("", ""),
                clock="none",
                illegal_moves=3,
                credit_cap_s=0.1,
                at=at,
                **terms,  # type: ignore[arg-type]
            ),
            moves=tuple(
                MovePlayed(
                    match=match,
                    ply=ply,
                    seat=1 if ply % 2 == 0 else 2,
                    action=action,
                    clocks=None,
                    info=None,
                    at=at + ply,
                )
                for ply, action in enumerate(moves.actions)
            ),
            ended=MatchEnded(
                match=match,
                winner=moves.winner,
                returns=moves.returns,
                reason=Reason.RULES,
                text="",
                at=at + len(moves.actions),
            ),
        )

    def _choose(self, game: str, players: tuple[str, str]) -> _Moves:
        """Return a random match, which the stronger player wins more often."""
        one, other = self._random.choices(self._drawn[game], k=2)
        if one.winner == other.winner or -1 in (one.winner, other.winner):
            return one
        ahead = self._strength[players[0]] - self._strength[players[1]]
        wanted = 1 if self._random.random() < 1 / (1 + math.exp(-ahead)) else 2
        return one if one.winner == wanted else other

    def _draw(self, game: Game) -> list[_Moves]:
        return [self._playout(game) for _ in range(_DRAWN)]

    def _playout(self, game: Game) -> _Moves:
        state, actions = game.initial_state(), list[int]()
        while not game.winner(state):
            actions.append(self._random.choice(game.legal_actions(state)))
            state = game.next_state(state, actions[-1])
        first, second = game.returns(state)
        return _Moves(tuple(actions), game.winner(state), (first, second))


def _account(name: str) -> str:
    return f"id-{name.rpartition(' ')[2]}"
