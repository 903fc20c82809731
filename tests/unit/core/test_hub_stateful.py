"""Random requests of several clients at any time, and the conditions that must always hold."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from playout.protocol.messages import (
    Cancel,
    Code,
    Ended,
    Move,
    Request,
    Resign,
    Seek,
    Started,
    Unwatch,
    Update,
    Watch,
    Welcome,
)
from playout.protocol.names import skeleton
from playout.server.core.accounts import digest
from playout.server.core.match import Match
from playout.server.core.sessions import Session
from support.hub_harness import GAME, THOUGHT, HubHarness, MemoryClient, hello_of
from support.scale import repetitions

NAMES = ("Ann", "Bob", "Eve", "Zoe")
names = st.sampled_from(NAMES)
clocks = st.sampled_from([None, "none", "10+1", "2/move"])


class KnownMatch:
    """A match as one client knows it from its messages."""

    def __init__(self, started: Started) -> None:
        self.started = started
        self.moves = list(started.moves)
        self.ended: Ended | None = None

    def update(self, update: Update) -> None:
        assert self.ended is None
        if update.ply == len(self.moves):
            self.moves.append(update.action)
        else:  # the answer to a repeated move
            assert self.moves[update.ply] == update.action
            assert update.re is not None

    def end(self, ended: Ended) -> None:
        assert self.ended in (None, ended)  # a client that comes back may be sent it again
        self.ended = ended


class Participant:
    """A client that comes and goes, and remembers its messages since it came."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client
        self.token = client.token
        self.views: dict[str, KnownMatch] = {}
        #: The ends of matches while it was away, or just before.
        self.missed: dict[str, Ended] = {}
        self._read = 0

    def read(self) -> None:
        """Read the new messages, and check that they fit the earlier ones."""
        for event in self.client.inbox[self._read :]:
            match event:
                case Started():
                    self.views[event.match] = KnownMatch(event)
                case Update():
                    self.views[event.match].update(event)
                case Ended() if event.match in self.views:
                    self.views[event.match].end(event)
                case Ended():
                    self.missed[event.match] = event
        self._read = len(self.client.inbox)


class StatefulHub(RuleBasedStateMachine):
    """Some clients that send random requests to a server at random times."""

    @initialize()
    def open(self) -> None:
        # No client of this model answers pings, which tests of rate limits do.
        self.harness = HubHarness(
            idle_s=0, reconnect_s=20.0, illegal_moves=1, matches_per_session=4
        )
        self.here: dict[str, Participant] = {}
        self.tokens: dict[str, str] = {}
        self.watching: dict[str, set[str]] = defaultdict(set)
        self.matches: dict[str, Match] = {}
        self.running: set[str] = set()
        self.seated: dict[str, set[tuple[str, int | None]]] = defaultdict(set)
        for name in NAMES:
            self.seat(name, self.harness.client(name))

    def anyone_is_away(self) -> bool:
        return len(self.here) < len(NAMES)

    def anyone_plays(self) -> bool:
        return bool(self.harness.matches)

    @precondition(anyone_is_away)
    @rule(name=names, legal_actions=st.booleans(), role=st.sampled_from(["bot", "spectator"]))
    def arrive(self, name: str, legal_actions: bool, role: str) -> None:
        hello = hello_of(name, legal_actions=legal_actions, role=role)
        client = self.harness.connect()
        if any(session.connection or session.matches for session in self.sessions_of(name)):
            assert client.refused(hello) is Code.NAME_TAKEN
            client.hang_up()
        else:
            client.welcome = client.ask(hello, Welcome)
            self.seat(name, client)

    @rule(name=names)
    def come_back(self, name: str) -> None:
        token = self.tokens[name]
        client = self.harness.connect()
        hello = hello_of(name, session=token)
        if digest(token) not in self.harness.hub.registry.sessions:
            assert client.refused(hello) is Code.UNKNOWN_SESSION
            client.hang_up()
            return
        before = self.here.get(name)
        client.welcome = client.ask(hello, Welcome)
        assert before is None or not before.client.open
        self.seat(name, client)

    def sessions_of(self, name: str) -> list[Session]:
        return self.harness.hub.registry.like(skeleton(name))

    def seat(self, name: str, client: MemoryClient) -> None:
        self.here[name] = Participant(client)
        self.tokens[name] = client.token
        self.watching[name].clear()

    @rule(name=names)
    def leave(self, name: str) -> None:
        if person := self.here.pop(name, None):
            self.watching[name].clear()
            person.client.hang_up()

    @rule(
        name=names,
        game=st.sampled_from([GAME, "nim(chips=4)"]),
        clock=clocks,
        opponent=st.none() | names,
        seat=st.sampled_from([None, None, 1, 2]),
        matches=st.integers(1, 2),
    )
    def seek(self, name: str, **terms: Any) -> None:
        self.say(name, Seek(id="s", **terms))

    @rule(pair=st.permutations(NAMES), clock=clocks)
    def challenge(self, pair: list[str], clock: str | None) -> None:
        for name, opponent in itertools.permutations(pair[:2], 2):
            self.say(name, Seek(id="s", game=GAME, clock=clock, opponent=opponent))

    @rule(name=names, data=st.data())
    def cancel(self, name: str, data: st.DataObject) -> None:
        offers = sorted(offer.id for offer in self.harness.hub.lobby)
        self.say(name, Cancel(seek=data.draw(st.sampled_from([*offers, "none"]))))

    @precondition(anyone_plays)
    @rule(data=st.data(), moves=st.integers(1, 9), thinks=st.booleans())
    def play_on(self, data: st.DataObject, moves: int, thinks: bool) -> None:
        match, info = self.draw_match(data), THOUGHT if thinks else None
        for _ in range(moves):
            name = match.players[match.to_move - 1]
            if not match.to_move or name not in self.here:
                break
            action = data.draw(st.sampled_from(match.legal_actions()))
            self.say(name, Move(id="m", match=match.id, ply=match.ply, action=action, info=info))

    @precondition(anyone_plays)
    @rule(name=names, data=st.data(), action=st.integers(0, 9), back=st.sampled_from([0, 0, 1, -1]))
    def move_somehow(self, name: str, data: st.DataObject, action: int, back: int) -> None:
        match = self.draw_match(data)
        ply = max(0, match.ply - back)
        name = data.draw(st.sampled_from([*match.players, name]))
        self.say(name, Move(id="m", match=match.id, ply=ply, action=action))

    @precondition(anyone_plays)
    @rule(data=st.data())
    def move_illegally(self, data: st.DataObject) -> None:
        match = self.draw_match(data)
        name = match.players[match.to_move - 1]
        self.say(name, Move(id="m", match=match.id, ply=match.ply, action=9))

    @precondition(anyone_plays)
    @rule(name=names, data=st.data())
    def resign(self, name: str, data: st.DataObject) -> None:
        self.say(name, Resign(match=self.draw_match(data).id))

    @precondition(anyone_plays)
    @rule(name=names, data=st.data(), stops=st.booleans())
    def watch(self, name: str, data: st.DataObject, stops: bool) -> None:
        match = self.draw_match(data).id
        request = Unwatch(match=match) if stops else Watch(match=match)
        if name in self.here:
            (self.watching[name].discard if stops else self.watching[name].add)(match)
            self.say(name, request)

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0, 15.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.harness.wait(seconds)

    @rule(seconds=st.sampled_from([1.0, 15.0]))
    def be_busy_elsewhere(self, seconds: float) -> None:
        """The timers are called late, after later input."""
        self.harness.now += seconds

    def draw_match(self, data: st.DataObject) -> Match:
        running = self.harness.matches
        return running[data.draw(st.sampled_from(sorted(running)))]

    def say(self, name: str, request: Request) -> None:
        if name in self.here:
            answers = self.here[name].client.say(request)
            assert answers
            assert request.id is None or request.id in [answer.re for answer in answers]

    @invariant()
    def everybody_knows_the_same(self) -> None:
        for name, person in self.here.items():
            person.read()
            for view in person.views.values():
                if view.started.seat:
                    self.seated[view.started.match].add((name, view.started.seat))
        running = self.harness.matches
        self.matches |= running
        for match in running.values():
            for name in self.participants(match):
                view = self.here[name].views[match.id]
                assert tuple(view.moves) == match.position.moves
                assert view.ended is None
        for match_id in self.running - set(running):
            self.check_end(self.matches[match_id])
        self.running = set(running)

    def participants(self, match: Match) -> list[str]:
        """The present clients that play or watch."""
        return [
            name for name in self.here if name in match.players or match.id in self.watching[name]
        ]

    def check_end(self, match: Match) -> None:
        for name in self.participants(match):
            view = self.here[name].views[match.id]
            assert match.result is not None
            assert view.ended is not None
            assert (view.ended.winner, view.ended.reason) == (
                match.result.winner,
                match.result.reason,
            )
            assert tuple(view.moves) == match.position.moves
            assert view.ended.state == match.state

    @invariant()
    def every_match_was_begun_by_two(self) -> None:
        for match in self.matches.values():
            first, second = match.players
            assert first != second
            assert self.seated[match.id] == {(first, 1), (second, 2)}

    @invariant()
    def the_tables_agree(self) -> None:
        hub = self.harness.hub
        connected = {name: person.client.number for name, person in self.here.items()}
        assert {
            number: connection.session and connection.session.name
            for number, connection in hub.registry.connections.items()
        } == {number: name for name, number in connected.items()}
        for session in hub.registry.sessions.values():
            assert self.sessions_of(session.name) == [session]
            assert session.connection == connected.get(session.name)
            assert session.connection is not None or session.matches or session.results
            assert all(session in hub.rooms[match].seats for match in session.matches)
            promised = sum(offer.matches for offer in hub.lobby.of_session(session))
            assert len(session.matches) + promised <= hub.policy.matches_per_session
        assert all(offer.session.connection for offer in hub.lobby)

    @invariant()
    def no_offers_that_fit_wait_beside_each_other(self) -> None:
        offers = list(self.harness.hub.lobby)
        assert not any(one.fits(other) for one, other in itertools.permutations(offers, 2))

    @invariant()
    def the_server_will_wake_in_time(self) -> None:
        deadlines = [match.deadline() for match in self.harness.matches.values()]
        times = [at for at in deadlines if at is not None]
        if times:
            assert self.harness.alarm is not None
            assert self.harness.alarm <= min(times)

    def teardown(self) -> None:
        if not hasattr(self, "harness"):
            return
        for name in list(self.here):
            self.leave(name)
        self.harness.wait(1000.0)
        self.everybody_knows_the_same()
        assert self.harness.is_empty()


StatefulHub.TestCase.settings = settings(
    max_examples=repetitions(150, short=20), stateful_step_count=60
)
TestStatefulHub = StatefulHub.TestCase
