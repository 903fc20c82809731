"""Matches as the database stores them, for export."""

from __future__ import annotations

import random

from playout import games
from playout.protocol.dice import Dice
from playout.protocol.messages import Analysis
from playout.protocol.time_control import parse_time_controls
from playout.server.core.match import Match, Terms
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    flat,
    stored_analysis,
)

AT = 1_700_000_000.0  # 2023-11-14 22:13:20


LOST = (0, 3, 1, 4, 2)
"""
x x x
o o .
. . .
"""


class PlayedGame:
    """A match that is played by the rules, and its records."""

    def __init__(
        self,
        spec: str,
        clock_text: str = "none",
        players: tuple[str, str] = ("Ann", "Bob"),
        match: str = "m1",
    ) -> None:
        first, second = parse_time_controls(clock_text) or (None, None)
        terms = Terms(first, rated=True, second_time_control=second)
        game = games.load(spec)
        dice = Dice(match, "5e" * 32) if game.has_chance else None
        self.match = Match(match, game, players, terms, dice)
        self.now = 0.0
        self.moves: list[MovePlayed] = []
        self.match.open(())
        self._note(0)
        self.match.start(0.0)

    def play(self, *actions: int) -> PlayedGame:
        match = self.match
        for action in actions:
            seat, ply = match.game.current_player(match.state), match.ply
            self.now += (0.8, 0.1, 0.3)[ply % 3]
            assert match.play(seat, ply, action, self.now)
            self._note(ply)
        return self

    def _note(self, first: int) -> None:
        """Store the moves and rolls from that ply on."""
        match = self.match
        for ply in range(first, match.ply):
            action, seat = match.position.moves[ply], match.mover(ply)
            thought = Analysis(win_rate=0.1 + 0.2, simulations=ply, pv=(action, 0))
            self.moves.append(
                MovePlayed(
                    **flat(
                        match=match.id,
                        ply=ply,
                        seat=seat,
                        action=action,
                        clocks=match.clock_states(self.now),
                        info=stored_analysis(thought) if ply % 2 and seat else None,
                        at=AT + self.now,
                    )
                )
            )

    def adjudicated(self, winner: int) -> StoredMatch:
        self.match.adjudicate(self.match.ply, winner)
        return self.stored

    def play_anything(self, seed: int, plies: int = 1000) -> PlayedGame:
        choose = random.Random(seed)
        while self.match.to_move and self.match.ply < plies:
            self.play(choose.choice(self.match.legal_actions()))
        return self

    @property
    def stored(self) -> StoredMatch:
        match, result = self.match, self.match.result
        started = MatchStarted(
            **flat(
                match=match.id,
                game=str(match.game),
                players=match.players,
                accounts=("17", None),
                sessions=("a secret's digest", "another's"),
                clock=match.clock_name,
                rated=match.terms.rated,
                illegal_moves=match.terms.illegal_moves,
                credit_cap_s=0.1,
                at=AT,
                dice_key=match.dice and match.dice.key,
            )
        )
        finished = result and MatchEnded(
            **flat(
                match=match.id,
                winner=result.winner,
                returns=result.returns,
                reason=result.reason,
                text=result.text,
                at=AT + self.now,
            )
        )
        return StoredMatch(started=started, moves=tuple(self.moves), ended=finished)
