"""Random sequences of offers, answers, withdrawals, moves, lost connections and restarts.

Clients know what is stored, and a replay of the stored match ends in the same position.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playout.protocol.messages import (
    Abort,
    AnswerOffer,
    Ended,
    Event,
    Move,
    Offer,
    OfferClosed,
    Offered,
    OfferKind,
    OpenOffer,
    Reason,
    Request,
    Resign,
    Started,
    TakenBack,
    Update,
    Watch,
    WithdrawOffer,
)
from playout.server.core.accounts import digest
from playout.server.core.match_room import MatchRoom
from playout.server.export import jsonl
from playout.server.export.replay import replay
from playout.server.model.records import Record, StoredMatch
from support.hub_harness import HubHarness, MemoryClient, match_between
from support.match_records import portable
from support.restarts import kept_of, restarted
from support.scale import repetitions

GAME = "connect_four"
NAMES = ("Ann", "Bob", "Eve")
#: The steps, each as often as it is listed.
STEPS = (
    *["move"] * 9, *["takeback"] * 7, "draw", *["accept"] * 7, "decline", "withdraw",
    "leave", "come_back", "come_back", "stall", "store", "store", "restart", "wait", "abort",
)  # fmt: skip
#: A step, who takes it (0 or 1), and a number that decides the rest.
steps = st.tuples(st.sampled_from(STEPS), st.integers(0, 1), st.integers(0, 11))


class Knowledge:
    """A client's knowledge of the match from its events."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client
        self.started = False
        self.moves: list[int] = []
        self.offers: set[OpenOffer] = set()
        self.ended: Ended | None = None
        self._read = 0

    def read(self, match: str) -> None:
        for event in self.client.inbox[self._read :]:
            if getattr(event, "match", None) == match:
                self._take(event)
        self._read = len(self.client.inbox)

    def _take(self, event: Event) -> None:
        match event:
            case Started():
                self.started = True
                self.moves, self.offers = list(event.moves), set(event.offers)
            case Update() if event.ply < len(self.moves):  # the answer to a move that was repeated
                assert self.moves[event.ply] == event.action
            case Update():
                assert event.ply == len(self.moves)
                self.moves.append(event.action)
            case TakenBack():
                assert event.ply < len(self.moves)
                del self.moves[event.ply :]
                self.offers.clear()
            case Offered():
                offer = OpenOffer(event.offer, event.player, event.ply)
                assert offer not in self.offers
                self.offers.add(offer)
            case OfferClosed():
                self.offers.remove(OpenOffer(event.offer, event.player, event.ply))
            case Ended():
                self.ended = event
                self.offers.clear()


class OffersModel:
    """Ann and Bob play, Eve watches; the server and its storage come and go."""

    def __init__(self, clock: str, rated: bool) -> None:
        self.harness = HubHarness(stored=True, idle_s=0, reconnect_s=30.0)
        clients = [self.harness.client(name, guest=False) for name in NAMES]
        self.match = match_between(clients[0], clients[1], game=GAME, clock=clock, rated=rated)
        clients[2].say(Watch(match=self.match))
        self.tokens = [(each.token, each.account_token) for each in clients]
        self.here = {name: Knowledge(each) for name, each in zip(NAMES, clients, strict=True)}
        self.rated = rated
        #: The records from before the last start of the server.
        self.earlier: list[Record] = []

    @property
    def room(self) -> MatchRoom | None:
        return self.harness.hub.rooms.get(self.match)

    def take(self, step: str, by: int, number: int) -> None:
        """Take a step, if it is possible."""
        harness, name = self.harness, NAMES[by]
        match step:
            case "wait":
                harness.wait(number * 0.5)
            case "leave" if name in self.here and not number % 4:
                self.here.pop(name).client.hang_up()
            case "come_back" if name not in self.here and not harness.slow:
                self.come_back(by)
            case "stall" if not number % 4:
                harness.slow = True
            case "store":
                harness.commit()
                harness.slow = False
            case "restart" if not number % 4:
                self.restart()
            case _ if self.room:
                self.request(self.room, step, by, number)

    def request(self, room: MatchRoom, step: str, by: int, number: int) -> None:
        """Send a request, every twelfth one for another ply."""
        match, off = self.match, 1 if number == 11 else 0
        ply = room.match.ply + off
        match step:
            case "move":
                legal = room.match.legal_actions()
                mover = by if off else room.match.to_move - 1
                move = Move(match=match, ply=ply, action=legal[number % len(legal)])
                self.say(room, mover, move)
            case "draw" | "takeback" as kind:
                agrees = kind == "draw" and not off and self.opened_for(room, by, kind) is not None
                self.say(room, by, Offer(match=match, offer=kind, ply=ply), agrees=agrees)
            case "accept" | "decline":
                own = bool(off) or not room.offers.open  # no offer that this player may answer
                answered = self.opened_for(room, by) or self.opened_for(room, 1 - by)
                offer = answered or OpenOffer("draw", 1, ply)
                by = by if own else 2 - offer.player
                answer = AnswerOffer(
                    match=match, offer=offer.offer, ply=offer.ply + off, accept=step == "accept"
                )
                self.say(room, by, answer, agrees=step == "accept" and not own)
            case "withdraw":
                self.say(room, by, WithdrawOffer(match=match))
            case "abort":
                kind = Resign if number == 0 else Abort
                self.say(room, by, kind(match=match))

    def opened_for(
        self, room: MatchRoom, by: int, kind: OfferKind | None = None
    ) -> OpenOffer | None:
        """Return the open offer that a player may answer, of one kind or of any."""
        opened = [each for each in room.offers.open if each.player != by + 1]
        return next((each for each in opened if each.offer == (kind or each.offer)), None)

    def say(self, room: MatchRoom, by: int, request: Request, *, agrees: bool = False) -> None:
        """Send a request; moves are taken back, and draws agreed on, only if it `agrees`."""
        if NAMES[by] not in self.here:
            return
        match, before = room.match, room.match.position.moves
        self.here[NAMES[by]].client.say(request)
        is_draw = match.result is not None and match.result.reason is Reason.AGREEMENT
        assert agrees == (is_draw or len(match.position.moves) < len(before))
        assert match.position.moves[: len(before)] == before[: len(match.position.moves)]

    def come_back(self, by: int) -> None:
        """Resume a session, unless it has ended."""
        session, token = self.tokens[by]
        if digest(session) in self.harness.hub.registry.sessions:
            client = self.harness.client(NAMES[by], token=token, session=session)
            self.here[NAMES[by]] = Knowledge(client)

    def restart(self) -> None:
        """Kill the server and start another; records that are not stored are lost."""
        policy: dict[str, Any] = {"idle_s": 0, "reconnect_s": 30.0}
        lost = len(self.harness.stored) - self.harness.committed
        again = restarted(self.harness, lost=lost, earlier=self.earlier, **policy)
        self.earlier += self.harness.stored[: self.harness.committed]
        self.harness, self.here = again, {}

    def stored(self) -> StoredMatch:
        """Return the match as the database has it."""
        (stored,) = kept_of(self.earlier + self.harness.stored[: self.harness.committed])
        return stored

    def check(self) -> None:
        """Check that clients, the hub and the database know the same."""
        stored = self.stored()
        moves = [each.action for each in stored.moves]
        for knowledge in self.here.values():
            knowledge.read(self.match)
            if knowledge.started:  # otherwise it came back after the end
                assert knowledge.moves == moves
                assert (knowledge.ended is None) == (stored.ended is None)
        if self.room and not self.harness.slow:
            self.check_running(self.room, stored)

    def check_running(self, room: MatchRoom, stored: StoredMatch) -> None:
        """Check a match that is stored completely."""
        match, opened = room.match, room.offers.open
        assert replay(stored).position.states == match.position.states
        assert [each.seat for each in stored.moves] == [match.mover(i) for i in range(match.ply)]
        assert len({each.player for each in opened}) == len(opened)
        assert not self.rated or all(each.offer == "draw" for each in opened)
        for name, knowledge in self.here.items():
            assert knowledge.offers == (set(opened) if name in NAMES[:2] else set())

    def finish(self) -> None:
        """End the match, and check its records."""
        self.take("store", 0, 0)
        if self.room:
            for name in [name for name in NAMES[:2] if name in self.here]:
                self.here.pop(name).client.hang_up()
            self.harness.wait(1000.0)
        self.check()
        stored = self.stored()
        assert stored.ended
        assert jsonl.read(jsonl.write(stored)) == portable(stored)


@given(
    script=st.lists(steps, min_size=30, max_size=80),
    clock=st.sampled_from(["none", "60+5", "5/move"]),
    rated=st.sampled_from([False, False, False, True]),
)
@settings(
    max_examples=repetitions(2000, short=40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # the first example may compile the game
)
def test_clients_and_database_agree_after_any_sequence(
    script: list[tuple[str, int, int]], clock: str, rated: bool
) -> None:
    model = OffersModel(clock, rated)
    for step in script:
        model.take(*step)
        model.check()
    model.finish()
