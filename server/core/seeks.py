"""Who looks for an opponent, and who fits whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from server.model.messages import Seat, Seeking
from server.model.names import skeleton


@dataclass
class OpenSeek:
    """A seek that is open: whose it is, and how many matches it still wants.

    `likeness` is the name's skeleton, `rival` that of the only opponent who will do.
    """

    id: str
    session: str
    name: str
    likeness: str
    game: str
    clock: str | None = None
    rated: bool = False
    opponent: str | None = None
    seat: Seat | None = None
    matches: int = 1
    opponent_skeleton: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.opponent_skeleton = skeleton(self.opponent) if self.opponent else None

    def fits(self, other: OpenSeek) -> bool:
        """Would both play each other?"""
        return (
            self.likeness != other.likeness
            and self.game == other.game
            and self.rated == other.rated
            and (self.clock is None or other.clock in (None, self.clock))
            and self.wants(other.likeness)
            and other.wants(self.likeness)
            and (self.seat is None or self.seat != other.seat)
        )

    def wants(self, likeness: str) -> bool:
        """May somebody whose name looks like this be the opponent?"""
        return self.opponent_skeleton is None or self.opponent_skeleton == likeness

    def message(self, re: int | str | None = None) -> Seeking:
        """What others are told of it."""
        return Seeking(
            re=re,
            seek=self.id,
            name=self.name,
            game=self.game,
            clock=self.clock,
            rated=self.rated,
            opponent=self.opponent,
            seat=self.seat,
            matches=self.matches,
        )


class Lobby:
    """The open offers, oldest first, by game."""

    def __init__(self) -> None:
        self._by_game: dict[str, dict[str, OpenSeek]] = {}
        self._games: dict[str, str] = {}

    def add(self, offer: OpenSeek) -> None:
        """Open an offer."""
        self._by_game.setdefault(offer.game, {})[offer.id] = offer
        self._games[offer.id] = offer.game

    def remove(self, offer_id: str) -> None:
        """Close an offer, if it is still open."""
        game = self._games.pop(offer_id, None)
        if game is not None:
            del self._by_game[game][offer_id]
            if not self._by_game[game]:
                del self._by_game[game]

    def get(self, offer_id: str) -> OpenSeek | None:
        """An open offer."""
        game = self._games.get(offer_id)
        return None if game is None else self._by_game[game][offer_id]

    def partner(self, offer: OpenSeek) -> OpenSeek | None:
        """The oldest open offer that fits."""
        others = self._by_game.get(offer.game, {}).values()
        return next((other for other in others if offer.fits(other)), None)

    def take(self, offer: OpenSeek) -> None:
        """One match of `offer` is being played; it closes with the last."""
        offer.matches -= 1
        if offer.matches == 0:
            self.remove(offer.id)

    def of_session(self, session: str) -> list[OpenSeek]:
        """What a session has open."""
        return [offer for offer in self if offer.session == session]

    def __iter__(self) -> Iterator[OpenSeek]:
        return (offer for offers in self._by_game.values() for offer in offers.values())

    def __len__(self) -> int:
        return len(self._games)
