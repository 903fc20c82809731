"""Offers of draws and takebacks: when they are allowed, how they close, what is stored."""

from __future__ import annotations

import pytest
from msgspec import structs

from playout import games
from playout.protocol.messages import (
    Abort,
    AnswerOffer,
    ClockState,
    Code,
    Ended,
    Error,
    Event,
    Move,
    Offer,
    OfferClosed,
    Offered,
    OfferKind,
    Ok,
    OpenOffer,
    Reason,
    Started,
    TakenBack,
    Update,
    Watch,
    WithdrawOffer,
)
from playout.server.core.agreements import MatchOffers
from playout.server.core.match import Match, Refused
from playout.server.export import jsonl
from playout.server.model.records import MatchEnded, MovesTakenBack
from support.hub_harness import (
    HubHarness,
    MemoryClient,
    administrator,
    match_between,
    only,
    play,
    sit_down,
)
from support.restarts import kept_of, restarted


@pytest.fixture
def harness() -> HubHarness:
    return HubHarness()


@pytest.fixture
def seats(harness: HubHarness) -> tuple[MemoryClient, MemoryClient, str]:
    """Ann, Bob and their match, in which each has made a move."""
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (4, 0))
    return ann, bob, match


def offer(match: str, kind: OfferKind = "draw", ply: int = 2) -> Offer:
    return Offer(id="o", match=match, offer=kind, ply=ply)


def answer(match: str, accept: bool, kind: OfferKind = "draw", ply: int = 2) -> AnswerOffer:
    return AnswerOffer(id="a", match=match, offer=kind, ply=ply, accept=accept)


def last(client: MemoryClient) -> Event:
    return client.inbox[-1]


def test_an_agreed_draw_is_a_stored_tie(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, bob, match = seats
    assert ann.ask(offer(match), Offered).re == "o"
    assert last(bob) == Offered(match=match, offer="draw", player=1, ply=2)
    ended, ok = bob.say(answer(match, accept=True))
    assert isinstance(ended, Ended)
    assert (ended.winner, ended.returns, ended.reason) == (-1, (0.5, 0.5), Reason.AGREEMENT)
    assert ok == Ok(re="a")
    assert ann.heard(Ended) == [ended]
    assert isinstance(harness.stored[-1], MatchEnded)
    (stored,) = kept_of(harness.stored)
    assert jsonl.read(jsonl.write(stored)).ended == stored.ended


def test_two_offers_of_a_draw_agree(seats: tuple[MemoryClient, MemoryClient, str]) -> None:
    ann, bob, match = seats
    ann.say(offer(match))
    assert only(bob.say(offer(match)), Ended).reason is Reason.AGREEMENT


def test_a_declined_draw_may_be_offered_again_after_the_next_move(
    seats: tuple[MemoryClient, MemoryClient, str],
) -> None:
    ann, bob, match = seats
    ann.say(offer(match))
    closed = OfferClosed(match=match, offer="draw", player=1, ply=2, how="declined")
    assert bob.say(answer(match, accept=False)) == [structs.replace(closed, re="a")]
    assert last(ann) == closed
    assert ann.refused(offer(match)) is Code.NOT_ALLOWED
    play(match, (ann, bob), (1,), ply=2)
    assert ann.ask(offer(match, ply=3), Offered)


def test_a_move_of_the_opponent_declines_a_draw(
    seats: tuple[MemoryClient, MemoryClient, str],
) -> None:
    ann, bob, match = seats
    ann.say(offer(match))
    play(match, (ann, bob), (1,), ply=2)
    assert not ann.heard(OfferClosed)  # it stays open when its own player moves
    play(match, (ann, bob), (7,), ply=3)
    closed = OfferClosed(match=match, offer="draw", player=1, ply=2, how="declined")
    assert (last(ann), last(bob)) == (closed, closed)  # after the update
    assert bob.refused(answer(match, accept=True)) is Code.NO_OFFER


def test_an_offer_is_withdrawn_once(seats: tuple[MemoryClient, MemoryClient, str]) -> None:
    ann, bob, match = seats
    ann.say(offer(match))
    assert ann.refused(offer(match, "takeback")) is Code.NOT_ALLOWED  # one at a time
    assert ann.ask(WithdrawOffer(id="w", match=match), OfferClosed).re == "w"
    assert only([last(bob)], OfferClosed).how == "withdrawn"
    assert ann.refused(WithdrawOffer(match=match)) is Code.NO_OFFER
    assert bob.refused(answer(match, accept=True)) is Code.NO_OFFER
    assert ann.refused(offer(match)) is Code.NOT_ALLOWED


def test_a_draw_needs_moves_of_both_and_the_present_ply(harness: HubHarness) -> None:
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (4,))
    assert bob.refused(offer(match, ply=1)) is Code.NOT_ALLOWED
    play(match, (ann, bob), (0,), ply=1)
    assert bob.refused(offer(match, ply=1)) is Code.WRONG_PLY
    stranger = harness.client("Eve")
    assert stranger.refused(offer(match)) is Code.NOT_YOUR_MATCH


def test_a_takeback_leads_back_to_the_own_last_move(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, bob, match = seats
    eve = harness.client("Eve", views=True, legal_actions=True)
    eve.say(Watch(match=match))
    ann.say(offer(match, "takeback"))
    bob.say(answer(match, True, "takeback"))
    taken = only([last(ann)], TakenBack)
    assert (taken.ply, taken.player, taken.to_move) == (0, 1, 1)
    assert last(bob) == TakenBack(
        re="a", match=match, ply=0, player=1, state=taken.state, to_move=1
    )
    assert only([last(eve)], TakenBack).legal_actions == tuple(range(9))
    assert isinstance(harness.stored[-1], MovesTakenBack)
    play(match, (ann, bob), (8, 4))
    shown = eve.heard(Update)[-1].view
    assert shown is not None
    assert shown.name == "b2"
    assert harness.only_match().position.moves == (8, 4)


def test_taking_back_further_is_another_offer(
    seats: tuple[MemoryClient, MemoryClient, str],
) -> None:
    ann, bob, match = seats
    play(match, (ann, bob), (1,), ply=2)
    for ply, left in ((3, 2), (2, 0)):
        ann.say(offer(match, "takeback", ply))
        assert bob.ask(answer(match, True, "takeback", ply), TakenBack).ply == left
    assert ann.refused(offer(match, "takeback", 0)) is Code.NOT_ALLOWED


@pytest.mark.parametrize(("mover", "how"), [(0, "withdrawn"), (1, "declined")])
def test_any_move_closes_the_offer_of_a_takeback(harness: HubHarness, mover: int, how: str) -> None:
    ann, bob, match = sit_down(harness)
    played = (4, 0)[: 2 - mover]
    play(match, (ann, bob), played)
    ann.say(offer(match, "takeback", len(played)))
    (ann, bob)[mover].say(Move(match=match, ply=len(played), action=1))
    assert only([last(ann)], OfferClosed).how == how
    assert ann.heard(OfferClosed) == bob.heard(OfferClosed)


def test_rated_matches_have_draws_and_no_takebacks(harness: HubHarness) -> None:
    ann = harness.client("Ann", guest=False)
    bob = harness.client("Bob", guest=False)
    match = match_between(ann, bob, rated=True)
    play(match, (ann, bob), (4, 0))
    assert ann.refused(offer(match, "takeback")) is Code.NOT_ALLOWED
    assert ann.ask(offer(match), Offered)


@pytest.mark.parametrize("kind", ["draw", "takeback"])
def test_in_a_match_of_a_tournament_nothing_is_offered(kind: OfferKind) -> None:
    match = Match("m", games.load("tic_tac_toe"), ("Ann", "Bob"))
    match.start(0.0)
    match.play(1, 0, 4, 0.0)
    match.play(2, 1, 0, 0.0)
    MatchOffers(match, draws=True, takebacks=True).require_allowed(1, kind, 2)
    with pytest.raises(Refused, match="ladders") as caught:
        MatchOffers(match, draws=False, takebacks=False).require_allowed(1, kind, 2)
    assert caught.value.code is Code.NOT_ALLOWED


def test_a_takeback_sets_both_clocks_back(harness: HubHarness) -> None:
    ann, bob, match = sit_down(harness, clock="60+5")
    for seconds, client, ply, action in ((10, ann, 0, 4), (20, bob, 1, 0), (30, ann, 2, 1)):
        harness.wait(seconds)
        client.say(Move(match=match, ply=ply, action=action))
    harness.wait(3)
    ann.say(offer(match, "takeback", 3))
    taken = bob.ask(answer(match, True, "takeback", 3), TakenBack)
    assert taken.clocks == (ClockState(55.0, 0), ClockState(45.0, 0))
    harness.wait(7)
    assert harness.only_match().clock_states(harness.now) == (
        ClockState(48.0, 0),
        ClockState(45.0, 0),
    )
    again = restarted(harness, restart_grace_s=0.0)
    assert again.only_match().clock_states(again.now) == taken.clocks


def test_open_offers_survive_a_lost_connection_and_not_a_restart(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, bob, match = seats
    ann.say(offer(match))
    bob.hang_up()
    back = harness.client("Bob", session=bob.token)
    (started,) = back.heard(Started)
    assert started.offers == (OpenOffer("draw", 1, 2),)
    assert harness.client("Eve").ask(Watch(match=match), Started).offers == ()
    again = restarted(harness)
    back = again.client("Bob", session=bob.token)
    assert only(back.heard(Started), Started).offers == ()


def test_a_takeback_waits_until_it_is_stored(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, bob, match = seats
    ann.say(offer(match, "takeback"))
    harness.slow = True
    assert not bob.say(answer(match, True, "takeback"))
    assert not ann.say(Move(match=match, ply=0, action=8))  # too soon
    harness.commit()
    taken, refused = ann.inbox[-2:]
    assert isinstance(taken, TakenBack)
    assert only([refused], Error).code is Code.NOT_YOUR_TURN


def test_a_takeback_that_cannot_be_stored_ends_the_match(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, bob, match = seats
    ann.say(offer(match, "takeback"))
    harness.slow = True
    bob.say(answer(match, True, "takeback"))
    harness.do(harness.hub.record_rejected(harness.stored[-1], harness.now))
    harness.commit()
    assert not ann.heard(TakenBack)
    assert only(ann.heard(Ended), Ended).reason is Reason.ABORTED


def test_a_player_may_abort_before_its_first_move(harness: HubHarness) -> None:
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (4,))
    assert ann.refused(Abort(match=match)) is Code.NOT_ALLOWED
    assert harness.client("Eve").refused(Abort(match=match)) is Code.NOT_YOUR_MATCH
    ended, ok = bob.say(Abort(id="x", match=match, text="not my words"))
    assert isinstance(ended, Ended)
    assert (ended.winner, ended.reason) == (0, Reason.ABORTED)
    assert ended.text == "Bob aborted the match"
    assert ok == Ok(re="x")


def test_an_administrator_may_abort_at_any_time(
    harness: HubHarness, seats: tuple[MemoryClient, MemoryClient, str]
) -> None:
    ann, _, match = seats
    administrator(harness, "Ada").say(Abort(match=match, text="enough"))
    ended = only(ann.heard(Ended), Ended)
    assert (ended.reason, ended.text) == (Reason.ADMINISTRATOR, "enough")


GO = "go(size=5,komi=0.5)"
#: Black has the board, with a white stone in it: C3 C2, D2 A1, B2 pass, C1.
GO_MOVES = (12, 7, 8, 0, 6, 25, 2)


def go_match(harness: HubHarness, moves: int = 7) -> tuple[MemoryClient, MemoryClient, str]:
    ann, bob = harness.client("Ann"), harness.client("Bob")
    match = match_between(ann, bob, game=GO)
    play(match, (ann, bob), GO_MOVES[:moves])
    return ann, bob, match


def score(match: str, ply: int, *dead: int) -> Offer:
    return Offer(id="o", match=match, offer="score", ply=ply, dead=dead)


def test_an_agreed_score_counts_dead_stones_as_captured(harness: HubHarness) -> None:
    ann, bob, match = go_match(harness)
    position = harness.only_match()
    cells = position.game.view(position.state).cells
    dead = tuple(cell for cell, owner in enumerate(cells) if owner == 2)
    offered = bob.ask(score(match, 7, *dead), Offered)
    assert (offered.dead, offered.lead) == (dead, 24.5)
    assert harness.client("Ann", session=ann.token).ask(Watch(match=match), Started).offers == (
        OpenOffer("score", 2, 7, dead, 24.5),
    )
    ann = harness.clients[max(harness.clients)]
    ended, ok = ann.say(answer(match, True, "score", 7))
    assert isinstance(ended, Ended)
    assert (ended.winner, ended.returns, ended.reason) == (1, (1.0, 0.0), Reason.AGREEMENT)
    assert ended.text == "Ann wins by 24.5, as both agreed"
    assert ok == Ok(re="a")
    (stored,) = kept_of(harness.stored)
    assert jsonl.read(jsonl.write(stored)).ended == stored.ended


def test_a_score_is_offered_within_its_rules(harness: HubHarness) -> None:
    ann, bob, match = go_match(harness, moves=1)
    assert ann.refused(score(match, 1)) is Code.NOT_ALLOWED
    play(match, (ann, bob), GO_MOVES[1:2], ply=1)
    assert ann.refused(score(match, 2, 0)) is Code.INVALID
    assert ann.refused(score(match, 1)) is Code.WRONG_PLY
    assert ann.ask(score(match, 2), Offered).lead is not None
    play(match, (ann, bob), GO_MOVES[2:3], ply=2)
    assert only(bob.heard(OfferClosed), OfferClosed).how == "withdrawn"


def test_a_game_without_points_has_no_score(
    seats: tuple[MemoryClient, MemoryClient, str],
) -> None:
    ann, _, match = seats
    assert ann.refused(offer(match, "score")) is Code.NOT_ALLOWED
