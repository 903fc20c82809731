"""Agreements of both players: on a draw, a takeback, a score, or the result by win rates.

Offers of a draw, a takeback or a score:

* A player has one open offer at most. It is open until the opponent answers or moves, which
  declines it, or until the player withdraws it. A player that moves withdraws its offer to take
  moves back or of a score, and keeps its offer of a draw.
* An offer that was declined or withdrawn may be repeated after the player's next move.
* A draw may be offered once both players have moved, and so may a score, in games with points: how
  the match ends if it is counted now, without the pieces that the offer names as dead.
* A takeback ends before the player's own last move: the opponent's moves after it are taken back,
  too. It is for matches that are not rated.
* In a tournament and on a ladder there are no offers, but draws in a tournament that allows them.

A player sends its win rate with a move, as `info`. The rules are those of tournament programs for
chess: a match is lost after a number of moves that one player reports as lost and the other as won,
and tied after a number of moves that both report as level. A move without a win rate ends the
agreement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from playout.games import TIE
from playout.protocol.messages import Analysis, Code, OfferKind, OpenOffer, Seat
from playout.protocol.tournament_spec import Adjudication
from playout.server.core.match import Match, Refused, opponent_of

How = Literal["declined", "withdrawn"]


class MatchOffers:
    """The open offers of a match, and the rules for offers."""

    def __init__(self, match: Match, *, draws: bool, takebacks: bool) -> None:
        """`draws` and `takebacks`: whether they may be offered, if other rules allow it, too."""
        self._match = match
        self.draws = draws
        self._takebacks = takebacks
        self._open: dict[Seat, OpenOffer] = {}
        #: What each player has offered since its last move.
        self._offered: set[tuple[Seat, OfferKind]] = set()

    @property
    def open(self) -> tuple[OpenOffer, ...]:
        """The offers that are open, the oldest first."""
        return tuple(self._open.values())

    def of_opponent(self, seat: Seat, kind: OfferKind) -> OpenOffer | None:
        """The open offer of this kind that a player may answer; None if there is none."""
        offer = self._open.get(opponent_of(seat))
        return offer if offer and offer.offer == kind else None

    def require_allowed(self, seat: Seat, kind: OfferKind, ply: int) -> None:
        """Raise Refused unless a player may offer this after `ply` moves, or agree to it."""
        match = self._match
        match.require_ply(ply, "the offer")
        if kind == "takeback" and not self._takebacks:
            text = "in matches of tournaments and ladders no move can be taken back"
            raise Refused(Code.NOT_ALLOWED, text)
        if kind == "draw" and not self.draws:
            text = "on ladders, and in this tournament, no draw can be offered"
            raise Refused(Code.NOT_ALLOWED, text)
        if kind == "score" and (match.game.komi is None or not self._takebacks):
            text = "a score is offered in games with komi, outside of tournaments and ladders"
            raise Refused(Code.NOT_ALLOWED, text)
        if kind != "takeback" and not (match.has_moved(1) and match.has_moved(2)):
            raise Refused(Code.NOT_ALLOWED, f"a {kind} can be offered once both players have moved")
        if kind == "takeback" and match.terms.rated:
            raise Refused(Code.NOT_ALLOWED, "in a rated match no move can be taken back")
        if kind == "takeback" and self.first_taken_back(seat) is None:
            raise Refused(Code.NOT_ALLOWED, "you have made no move that could be taken back")

    def make(self, offer: OpenOffer) -> OpenOffer:
        """Open an offer, which `require_allowed` has admitted, and return it. Raises Refused."""
        seat, kind = offer.player, offer.offer
        if seat in self._open:
            text = f"you have offered a {self._open[seat].offer} already; withdraw that offer first"
            raise Refused(Code.NOT_ALLOWED, text)
        if (seat, kind) in self._offered:
            text = f"you have offered a {kind} since your last move; make a move first"
            raise Refused(Code.NOT_ALLOWED, text)
        self._open[seat] = offer
        self._offered.add((seat, kind))
        return offer

    def answered(self, seat: Seat, kind: OfferKind, ply: int) -> OpenOffer:
        """Close the opponent's offer, which `seat` answers, and return it. Raises Refused."""
        offer = self.of_opponent(seat, kind)
        if offer is None or offer.ply != ply:
            text = f"your opponent has no open offer of a {kind} from ply {ply}"
            raise Refused(Code.NO_OFFER, text)
        return self._open.pop(opponent_of(seat))

    def withdrawn(self, seat: Seat) -> OpenOffer:
        """Close a player's own offer, and return it. Raises Refused."""
        if seat not in self._open:
            raise Refused(Code.NO_OFFER, "you have no open offer")
        return self._open.pop(seat)

    def moved(self, seat: Seat) -> Iterator[tuple[OpenOffer, How]]:
        """Close the offers that a move of `seat` ends; yield each one with its outcome."""
        if not self._offered and not self._open:
            return
        self._offered = {each for each in self._offered if each[0] != seat}
        own = self._open.get(seat)
        if own and own.offer != "draw":
            yield self._open.pop(seat), "withdrawn"
        if opponent_of(seat) in self._open:
            yield self._open.pop(opponent_of(seat)), "declined"

    def taken_back(self, seat: Seat) -> None:
        """Close all offers: `seat` has taken moves back, and may offer to take back more."""
        self._open.clear()
        self._offered.discard((seat, "takeback"))

    def first_taken_back(self, seat: Seat) -> int | None:
        """The number of the last move of a player; None if it has made none itself."""
        match = self._match
        plies = range(match.ply - 1, match.opening_plies - 1, -1)
        return next((ply for ply in plies if match.mover(ply) == seat), None)


#: The win rate of what is proven: a win, a tie, a loss.
_PROVEN = {1: 1.0, 0: 0.5, -1: 0.0}


class AgreedScores:
    """The last win rates of both players in a match, each from the player's own side."""

    def __init__(self, rules: Adjudication) -> None:
        self._rules = rules
        self._plies = 0
        longest = max(rules.resign_moves, rules.draw_moves)
        self._rates: dict[Seat, deque[float | None]] = {
            1: deque(maxlen=longest),
            2: deque(maxlen=longest),
        }

    def moved(self, seat: Seat, ply: int, info: Analysis | None) -> None:
        """Add the analysis of move number `ply`."""
        self._plies = ply + 1
        self._rates[seat].append(_win_rate(info))

    def winner(self) -> int | None:
        """The result that both agree on: 1, 2, or -1 for a tie; None if there is none."""
        rules = self._rules
        below, within = rules.resign_below, rules.draw_within
        if self._plies >= rules.draw_after and self._agree(
            rules.draw_moves, (0.5 - within, 0.5 + within), (0.5 - within, 0.5 + within)
        ):
            return TIE
        lost, won = (0.0, below), (1.0 - below, 1.0)
        if self._agree(rules.resign_moves, won, lost):
            return 1
        return 2 if self._agree(rules.resign_moves, lost, won) else None

    def _agree(self, moves: int, first: tuple[float, float], second: tuple[float, float]) -> bool:
        """Whether the last moves of both players have win rates between these bounds."""
        bounds: dict[Seat, tuple[float, float]] = {1: first, 2: second}
        return moves > 0 and all(
            len(rates) >= moves
            and all(rate is not None and low <= rate <= high for rate in list(rates)[-moves:])
            for rates, (low, high) in ((self._rates[seat], bounds[seat]) for seat in bounds)
        )


def decides(rules: Adjudication) -> bool:
    """Whether agreed win rates end matches at all."""
    return bool(rules.resign_moves or rules.draw_moves)


def _win_rate(info: Analysis | None) -> float | None:
    if info is None:
        return None
    return info.win_rate if info.proven is None else _PROVEN[info.proven]
