"""Matches with chance: the server rolls with the move, and the rolls follow from a secret key."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from playout import games
from playout.games import Position
from playout.protocol.codec import encode
from playout.protocol.dice import Dice, verified_rolls
from playout.protocol.messages import (
    AnswerOffer,
    Code,
    CreateTournament,
    Ended,
    Error,
    Event,
    Move,
    Offer,
    Reason,
    Started,
    TakenBack,
    Update,
    Watch,
)
from playout.protocol.tournament_spec import Adjudication
from playout.server.core.guarded_game import GameFault
from playout.server.core.match import Match
from playout.server.export import jsonl
from playout.server.model.records import MatchStarted, MovePlayed
from support.hub_harness import HubHarness, MemoryClient, administrator, match_between
from support.ladders import LadderPlay
from support.restarts import kept_of, restarted
from support.tournaments import Bots, member, new_tournament, spec_of
from support.variants import CHANCE

every_chance_game = pytest.mark.parametrize("game", CHANCE)

#: The first states of matches with chance: in pig a player moves first.
BEGINS_WITH_ROLLS = {"backgammon": 1, "einstein_wurfelt_nicht": 3, "pig": 0}


def begun(game: str) -> tuple[HubHarness, tuple[MemoryClient, MemoryClient], str]:
    harness = HubHarness()
    ann, bob = harness.client("Ann", legal_actions=True), harness.client("Bob", legal_actions=True)
    return harness, (ann, bob), match_between(ann, bob, game=game)


def play_on(
    harness: HubHarness,
    players: tuple[MemoryClient, MemoryClient],
    match: str,
    moves: int = 10_000,
    seed: int = 1,
) -> list[Update]:
    """Play random moves; return the updates, which were sent to both players."""
    draw, updates = random.Random(seed), []
    while len(updates) < moves and match in harness.matches:
        played = harness.matches[match]
        mover = players[played.to_move - 1]
        action = draw.choice(played.legal_actions())
        update = mover.ask(Move(match=match, ply=played.ply, action=action), Update)
        assert players[0].heard(Update)[-1] == players[1].heard(Update)[-1] == update
        updates.append(update)
    return updates


def key_of(harness: HubHarness, match: str) -> str:
    records = (each for each in harness.stored if isinstance(each, MatchStarted))
    (key,) = (each.dice_key for each in records if each.match == match)
    assert key
    return key


def told(events: Iterable[Event]) -> str:
    return b"\n".join(map(encode, events)).decode(errors="replace")


@every_chance_game
def test_no_update_ends_on_nature_and_all_rolls_follow_from_the_key(game: str) -> None:
    harness, (ann, bob), match = begun(game)
    watcher = harness.client("Eve", role="spectator", views=True)
    started = watcher.ask(Watch(match=match), Started)
    key = key_of(harness, match)
    assert started.commitment == sha256(bytes.fromhex(key)).hexdigest()
    updates = play_on(harness, (ann, bob), match)
    for before, update in zip([started, *updates], updates, strict=False):
        ply = len(before.moves) if isinstance(before, Started) else before.next_ply
        assert update.ply == ply
        assert update.player == before.to_move
    assert [each.to_move in (1, 2) for each in updates] == [
        each is not updates[-1] for each in updates
    ]
    assert updates[-1].state[1] != 0
    for client in (ann, bob, watcher):
        ended, *before = client.inbox[::-1]
        assert isinstance(ended, Ended)
        assert (ended.key, ended.reason) == (key, Reason.RULES)
        assert key not in told(before)
    moves = [*started.moves, *(each for one in updates for each in (one.action, *one.rolls))]
    position = Position(games.load(game), moves)
    assert position.state == updates[-1].state
    rolls = list(verified_rolls(position, Dice(match, key)))
    assert len(rolls) > 5
    assert all(each.is_right for each in rolls)
    assert key not in "".join(harness.logged)


@every_chance_game
def test_the_start_of_a_match_has_its_first_rolls(game: str) -> None:
    harness, (ann, bob), _match = begun(game)
    (started,) = ann.heard(Started)
    assert len(started.moves) == BEGINS_WITH_ROLLS[game]
    assert started.to_move in (1, 2)
    assert bob.heard(Started)[0].moves == started.moves
    assert bob.heard(Started)[0].commitment == started.commitment
    stored = [each for each in harness.stored if isinstance(each, MovePlayed)]
    assert [(each.ply, each.seat, each.action) for each in stored] == [
        (ply, 0, action) for ply, action in enumerate(started.moves)
    ]


def test_a_roll_is_stored_together_with_the_move_before_it() -> None:
    harness, players, match = begun("backgammon")
    before = len(harness.stored)
    harness.slow = True
    mover = players[harness.matches[match].to_move - 1]
    played = harness.matches[match]
    heard = mover.say(Move(match=match, ply=1, action=played.legal_actions()[0]))
    assert heard == []
    move, roll = harness.stored[before:]
    assert isinstance(move, MovePlayed)
    assert isinstance(roll, MovePlayed)
    assert (move.seat != 0, roll.seat, roll.ply) == (True, 0, 2)
    harness.commit()
    (update,) = mover.heard(Update)
    assert update.rolls == (roll.action,)


@every_chance_game
def test_a_takeback_repeats_the_rolls(game: str) -> None:
    harness, players, match = begun(game)
    play_on(harness, players, match, 6)
    played = harness.matches[match]
    seat = played.to_move
    mover, other = players[seat - 1], players[2 - seat]
    for number in range(3):
        ply = next(p for p in range(played.ply - 1, -1, -1) if played.mover(p) == seat)
        moves = played.position.moves
        mover.say(Offer(match=match, offer="takeback", ply=played.ply))
        heard = mover.heard(TakenBack)
        other.say(AnswerOffer(match=match, offer="takeback", ply=played.ply, accept=True))
        (back,) = mover.heard(TakenBack)[len(heard) :]
        assert (back.ply, back.to_move, played.mover(ply - 1) if ply else 0) == (ply, seat, 0)
        for action in (moves[at] for at in range(ply, len(moves)) if _player(game, moves, at)):
            now = harness.matches[match]
            players[now.to_move - 1].say(Move(match=match, ply=now.ply, action=action))
        assert played.position.moves == moves, number


def _player(game: str, moves: tuple[int, ...], ply: int) -> int:
    position = Position(games.load(game), moves[:ply])
    return position.to_move


@every_chance_game
def test_a_restart_repeats_the_rolls(game: str) -> None:
    harness, players, match = begun(game)
    play_on(harness, players, match, 5)
    (stored,) = kept_of(harness.stored)
    once, again = restarted(harness), restarted(harness)
    updates = []
    for other in (once, again):
        assert other.matches[match].position.moves == harness.matches[match].position.moves
        assert other.matches[match].dice == Dice(match, key_of(harness, match))
        resumed = tuple(
            other.client(name, session=each.token, legal_actions=True)
            for name, each in zip(("Ann", "Bob"), players, strict=True)
        )
        (started,) = resumed[0].heard(Started)
        assert started.moves == tuple(move.action for move in stored.moves)
        assert started.commitment == players[0].heard(Started)[0].commitment
        updates.append(play_on(other, (resumed[0], resumed[1]), match))
    assert updates[0] == updates[1]


def test_two_matches_have_different_keys() -> None:
    harness, players, match = begun("pig")
    other = match_between(*players, game="pig")
    assert key_of(harness, match) != key_of(harness, other)


def test_a_repeated_move_is_answered_with_the_same_rolls() -> None:
    harness, players, match = begun("pig")
    (update,) = play_on(harness, players, match, 1)
    while not update.rolls:
        (update,) = play_on(harness, players, match, 1, seed=update.ply)
    mover = players[update.player - 1]
    play_on(harness, players, match, 3)
    again = mover.ask(Move(match=match, ply=update.ply, action=update.action), Update)
    assert (again.rolls, again.state, again.to_move) == (update.rolls, update.state, update.to_move)
    refused = Move(match=match, ply=update.ply + 1, action=0)
    assert mover.refused(refused) is Code.WRONG_PLY


def test_views_have_the_position_before_each_roll() -> None:
    harness = HubHarness()
    ann, bob = harness.client("Ann", views=True), harness.client("Bob", legal_actions=True)
    match = match_between(ann, bob, game="pig")
    update = ann.ask(Move(match=match, ply=0, action=0), Update)
    assert len(update.rolls) == len(update.views) == 1
    assert update.view
    assert (update.views[0].name, update.view.name) == ("roll", str(update.rolls[0] + 1))
    assert bob.heard(Update)[0].views == ()


def test_a_match_without_a_result_shows_its_key_too() -> None:
    harness, (ann, _), match = begun("backgammon")
    harness.hub.rooms[match].abort("for a test", 0.0)
    harness.do(harness.hub.wake(0.0))
    harness.commit()
    assert ann.heard(Ended)[0].key == key_of(harness, match)


def test_a_tournament_of_pig_begins_each_match_with_its_opening() -> None:
    harness = HubHarness()
    bots = [member(harness, name) for name in ("Ann", "Bob")]
    spec = spec_of(games=("pig(winscore=10)",), rounds=2)
    new_tournament(harness, spec)
    players = Bots(harness, *bots)
    players.join()
    players.play()
    starts = [each for each in harness.stored if isinstance(each, MatchStarted)]
    assert len(starts) == 4
    assert len({each.dice_key for each in starts}) == 4
    for stored in kept_of(harness.stored):
        assert stored.ended
        line = json.loads(jsonl.write(stored))
        assert line["key"] == stored.started.dice_key
        assert jsonl.read(jsonl.write(stored)).started.dice_key == line["key"]
        position = Position(games.load(stored.started.game), [move.action for move in stored.moves])
        assert stored.started.dice
        rolls = verified_rolls(position, stored.started.dice, stored.started.opening)
        assert all(each.is_right for each in rolls)


def test_a_match_without_a_key_is_not_continued() -> None:
    harness, _, match = begun("pig")
    start = next(each for each in harness.stored if isinstance(each, MatchStarted))
    harness.stored[harness.stored.index(start)] = type(start)(
        **{name: getattr(start, name) for name in start.__struct_fields__ if name != "dice_key"}
    )
    again = restarted(harness)
    assert match not in again.matches
    assert any("the key of its rolls is not stored" in line for line in again.logged)


def test_a_game_whose_nature_never_stops_is_at_fault() -> None:
    class Endless(type(games.load("pig"))):  # type: ignore[misc]
        def current_player(self, state: tuple[int, ...]) -> int:
            return 0

        def chances(self, state: tuple[int, ...]) -> tuple[int, ...]:
            return (1,)

        def legal_actions(self, state: tuple[int, ...]) -> tuple[int, ...]:
            return (0,)

        def next_state(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
            return state

    match = Match("m", Endless(), ("Ann", "Bob"), dice=Dice("m", "0f" * 32))
    with pytest.raises(GameFault) as caught:
        match.open(())
    assert "moves in a row" in caught.value.details


def test_a_line_with_another_commitment_is_refused() -> None:
    harness, players, match = begun("pig(winscore=5)")
    play_on(harness, players, match)
    (stored,) = kept_of(harness.stored)
    line = jsonl.write(stored)
    assert stored.started.dice_key
    other = line.replace(stored.started.dice_key, "0f" * 32)
    with pytest.raises(jsonl.BadLine, match="whose SHA-256 is the commitment"):
        jsonl.read(other)


def test_a_ladder_begins_pairs_of_one_opening_with_different_rolls_after_it(tmp_path: Path) -> None:
    """Also after the hub was killed, with what a real database has stored."""
    play = LadderPlay(tmp_path, {}, "backgammon")
    play.enter("Ann")
    play.enter("Bob")
    play.play(3)
    before = {match: room.match for match, room in play.harness.hub.rooms.items()}
    play.kill()
    again = {match: room.match for match, room in play.harness.hub.rooms.items()}
    assert before.keys() == again.keys()
    for match, played in again.items():
        assert played.dice == before[match].dice
        assert played.position.moves == before[match].position.moves
    play.play(1)
    play.ended()
    matches = sorted(play.database.matches(), key=lambda each: each.started.match)[:4]
    for first, second in zip(matches[::2], matches[1::2], strict=True):
        openings = [
            tuple(m.action for m in each.moves[: each.started.opening]) for each in (first, second)
        ]
        assert openings[0] == openings[1]
        assert len(openings[0]) == 4
        assert first.started.dice_key != second.started.dice_key
    play.database.close()


def test_a_match_by_correspondence_continues_with_the_same_rolls() -> None:
    harness = HubHarness()
    ann, bob = (harness.client(name, guest=False, role="human") for name in ("Ann", "Bob"))
    match = match_between(ann, bob, game="pig", clock="259200/move")
    play_on(harness, (ann, bob), match, 5)
    again = restarted(harness, after_s=86_400.0)
    assert again.matches[match].position.moves == harness.matches[match].position.moves
    twice = [
        play_on(
            hub, (hub.client("Ann", session=ann.token), hub.client("Bob", session=bob.token)), match
        )
        for hub in (again, restarted(harness, after_s=86_400.0))
    ]
    assert twice[0] == twice[1]


def test_proofs_are_refused_with_a_game_with_chance() -> None:
    client = administrator(HubHarness(), "Zoe")
    rules = Adjudication(proofs=True)
    spec = spec_of(games=("tic_tac_toe", "pig"), adjudication=rules)
    (error,) = client.say(CreateTournament(spec=spec))
    assert isinstance(error, Error)
    assert error.code is Code.BAD_TOURNAMENT
    assert "no result of pig can be proven" in error.text
