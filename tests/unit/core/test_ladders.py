"""playout.server.core.handlers.ladders: bots on a ladder, on a hub without sockets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from playout import games
from playout.protocol.messages import (
    Abort,
    Code,
    Ended,
    EnterLadder,
    Error,
    Hello,
    LadderNews,
    LeaveLadder,
    Move,
    Notice,
    Ok,
    OpenSession,
    Reason,
    Resign,
    Seek,
    Seeking,
    SessionOpened,
    Started,
    WatchLadder,
    Welcome,
)
from playout.server.core.handlers.feeds import INTERVAL_S
from playout.server.core.handlers.ladders import (
    MOST_LADDERS,
    MOST_VOID,
    MOST_WITHOUT_RESULT,
    REENTER_S,
)
from playout.server.ladder.hours import parse_hours
from playout.server.model.records import LadderRating, MatchEnded, MatchStarted
from support.hub_harness import EPOCH, HubHarness, administrator
from support.ladders import GAME, LadderPlay
from support.scale import repetitions
from support.tournaments import member

NAMES = ("Ann", "Bob", "Cyd", "Dan")


@pytest.fixture
def play(tmp_path: Path) -> LadderPlay:
    return LadderPlay(tmp_path, {})


def test_two_bots_play_pairs_from_one_opening_with_colours_swapped(play: LadderPlay) -> None:
    play.enter("Ann")
    play.enter("Bob")
    play.play(4)
    matches = play.started("Ann")[:4]
    assert len({each.match for each in matches}) == 4
    for first, second in zip(matches[::2], matches[1::2], strict=True):
        assert first.players == second.players[::-1]
        assert first.moves == second.moves
        assert len(first.moves) == 4
        assert first.rated
        assert first.clock == "0.5/move"
    assert matches[0].moves != matches[2].moves


def test_a_bot_that_enters_a_ladder_alone_gets_a_notice(play: LadderPlay) -> None:
    ann, bob = play.enter("Ann"), play.enter("Bob")
    assert [each.code for each in ann.heard(Notice)] == ["ladder_alone"]
    assert "playout-player any uct" in ann.heard(Notice)[0].text
    assert not bob.heard(Notice)
    play.enter("Ann", "2")
    assert len(ann.heard(Notice)) == 1


def test_a_result_counts_for_the_version_and_moves_the_ratings(play: LadderPlay) -> None:
    play.strengths |= {"Ann": 4000.0}
    play.enter("Ann", "new")
    play.enter("Bob", "old")
    play.play(6)
    state = play.ladder.state
    ann, bob = state.entries
    assert (ann.player.version, ann.won, bob.lost) == ("new", 6, 6)
    assert ann.rating > 0 > bob.rating
    assert state.matches == 6


def test_a_ladder_is_rated_again_after_ratings_that_failed(play: LadderPlay) -> None:
    play.enter("Ann")
    play.enter("Bob")
    works, play.harness.solve = play.harness.solve, lambda problem: None
    play.play(2)
    assert play.ladder.state.ratings is None
    play.harness.solve = works
    play.play(1)
    assert play.ladder.state.ratings
    assert not any(isinstance(each, LadderRating) and each.matches < 3
                   for each in play.harness.stored)  # fmt: skip


def test_all_play_at_once_but_no_more_than_the_operator_allows(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, ladder_matches=2)
    for name in (*NAMES, "Eve", "Fay"):
        play.enter(name)
    assert len(play.harness.matches) == 2
    play.play(3)
    assert len(play.harness.matches) == 2


def test_a_bot_plays_as_many_matches_at_once_as_it_wants(play: LadderPlay) -> None:
    play.enter("Ann", matches=2)
    for name in ("Bob", "Cyd", "Dan"):
        play.enter(name)
    seats = [name for match in play.harness.matches.values() for name in match.players]
    assert Counter(seats) == {"Ann": 2, "Bob": 1, "Cyd": 1}


def test_a_bot_that_is_not_ready_gets_no_match_until_it_is(play: LadderPlay) -> None:
    ann, _ = play.enter("Ann"), play.enter("Bob")
    play.enter("Ann", matches=0)
    play.play(1)
    assert not play.harness.matches
    play.enter("Ann")
    assert len(play.harness.matches) == 1
    assert [each.code for each in ann.heard(Notice)] == ["ladder_alone"], "only at first"


def test_a_bot_that_leaves_gets_no_more_matches(play: LadderPlay) -> None:
    ann = play.enter("Ann")
    play.enter("Bob")
    ann.ask(LeaveLadder(id=1, game=GAME), Ok)
    assert len(play.harness.matches) == 1, "the match goes on"
    running = play.harness.only_match()
    play._decide(running.id)
    assert not play.harness.matches
    play.enter("Ann")
    assert len(play.harness.matches) == 1, "the second of the pair"


def test_a_bot_that_disconnects_gets_no_more_matches(play: LadderPlay) -> None:
    play.enter("Ann")
    play.enter("Bob").hang_up()
    play.harness.wait(play.harness.policy.reconnect_s)
    assert not play.harness.matches
    assert play.ladder.state.matches == 0, "it never made a move"


def test_a_restarted_bot_continues_its_match(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, ladder_clock="none")
    for name in ("Ann", "Bob", "Cyd"):
        play.enter(name)
    match = play.harness.only_match()
    assert "Ann" in match.players
    play.bots.pop("Ann").hang_up()
    again = play.enter("Ann")
    assert len(play.harness.matches) == 1, "no other match before that one"
    assert not again.heard(Started)
    play.harness.wait(play.harness.policy.take_over_after_s)
    assert [each.match for each in again.heard(Started)] == [match.id]
    again.say(Resign(match=match.id))
    assert play.ladder.state.matches == 1


def test_another_version_does_not_continue_a_match(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, ladder_clock="none")
    play.enter("Ann")
    play.enter("Bob")
    play.bots.pop("Ann").hang_up()
    again = play.enter("Ann", "2")
    play.harness.wait(play.harness.policy.take_over_after_s)
    assert again.heard(Started) == []


def test_a_bot_that_never_moves_leaves_the_ladder(play: LadderPlay) -> None:
    """The first match has no result, the others are lost. Its opponent, which is present, stays."""
    ann, bob = play.enter("Ann"), play.enter("Bob")
    for _ in range(MOST_VOID):
        miss_a_match(play, "Bob")
    ends = [(each.reason, each.winner != 0) for each in ann.heard(Ended)]
    assert ends == [(Reason.VOID, False), (Reason.TIME, True), (Reason.TIME, True)]
    assert play.ladder.state.matches == 2
    assert not play.harness.matches
    assert [each.code for each in bob.heard(Notice)] == ["ladder_unplayed", "ladder_left"]
    assert [each.code for each in ann.heard(Notice)] == ["ladder_alone"], "only at first"
    table = play.harness.hub.ladders.table(GAME, EPOCH)
    assert table
    rows = {each.name: each for each in table.standings}
    assert (rows["Bob"].lost, rows["Bob"].unplayed, rows["Bob"].unplayed_share) == (2, 3, 1.0)
    assert (rows["Ann"].won, rows["Ann"].unplayed, rows["Ann"].unplayed_share) == (2, 0, 0.0)


def miss_a_match(play: LadderPlay, name: str) -> None:
    """Let one of the two players of the only match make no first move, and the match end."""
    match = play.harness.only_match()
    mover = match.players[match.to_move - 1]
    if mover != name:
        action = match.legal_actions()[0]
        play.bots[mover].say(Move(match=match.id, ply=match.ply, action=action))
    while match.id in play.harness.matches:
        play.harness.wait(0.1)
    play.harness.finish_jobs()


def test_avoiding_matches_loses_them_with_any_version_and_after_a_kill(play: LadderPlay) -> None:
    ann = play.enter("Ann")
    play.enter("Bob", "1")
    miss_a_match(play, "Bob")
    play.enter("Bob", "2")
    play.kill()
    for number in (1, 2):  # the match from before the kill, and the next one
        miss_a_match(play, "Bob")
        assert play.bots["Ann"].heard(Ended)[-1].winner
        assert play.ladder.state.matches == number
    assert [each.winner for each in ann.heard(Ended)] == [0]


def test_a_bot_that_missed_a_match_enters_again_after_a_wait_that_grows(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, idle_s=0)
    play.enter("Ann")
    play.enter("Bob")
    wait_s = REENTER_S
    for _ in range(3):
        miss_a_match(play, "Bob")
        play.bots["Bob"].say(LeaveLadder(game=GAME))
        if play.harness.matches:
            miss_a_match(play, "Bob")
            wait_s *= 2
        (error,) = play.bots["Bob"].say(EnterLadder(game=GAME, version="1"))
        assert isinstance(error, Error)
        assert error.code is Code.RATE_LIMITED
        assert error.seconds == pytest.approx(wait_s - 0.2, abs=0.5)
        play.harness.wait(error.seconds + 0.01)
        play.enter("Bob")
        wait_s *= 2
    play.play(1)
    miss_a_match(play, "Bob")
    play.bots["Bob"].hang_up()
    del play.bots["Bob"]
    play.enter("Bob")
    (error,) = play.bots["Bob"].heard(Error)
    assert error.seconds == pytest.approx(REENTER_S, abs=0.5), "the first one in a row"


def test_matches_that_run_when_one_is_missed_are_lost(play: LadderPlay) -> None:
    play.enter("Bob", matches=3)
    for name in ("Ann", "Cyd", "Dan"):
        play.enter(name)
    for match in list(play.harness.matches.values()):
        if (mover := match.players[match.to_move - 1]) != "Bob":
            action = match.legal_actions()[0]
            play.bots[mover].say(Move(match=match.id, ply=match.ply, action=action))
    play.bots["Bob"].say(LeaveLadder(game=GAME))
    play.harness.wait(0.7)
    reasons = Counter(each.reason for each in play.bots["Bob"].heard(Ended))
    assert reasons == {Reason.VOID: 1, Reason.TIME: 2}


@pytest.mark.parametrize("prepares", [False, True])
def test_a_bot_whose_matches_have_no_result_leaves_the_ladder(
    play: LadderPlay, prepares: bool
) -> None:
    ann, _ = play.enter("Ann"), play.enter("Bob")
    zoe = administrator(play.harness, "Zoe")
    for _ in range(MOST_VOID):
        if prepares:  # the same bot enters again, and is not forgiven
            play.enter("Ann", matches=0)
            play.enter("Ann")
        zoe.ask(Abort(id=1, match=play.harness.only_match().id), Ok)
    assert not play.harness.matches
    assert ann.heard(Notice)[-1].code == "ladder_left"


def test_versions_of_an_account_do_not_meet(play: LadderPlay) -> None:
    play.enter("Ann", "1")
    play.harness.client("Ann", token="1" * 32).say(EnterLadder(game=GAME, version="2"))
    assert not play.harness.matches
    assert [play.ladder.state.is_retired(place) for place in (0, 1)] == [True, False]


def test_a_ladder_is_for_registered_players_and_its_games(tmp_path: Path) -> None:
    harness = HubHarness(ladders={"nim": "3+1"})
    ann = member(harness, "Ann")
    assert harness.client("guest").refused(EnterLadder(game="nim")) is Code.NOT_FOR_GUESTS
    assert ann.refused(EnterLadder(game="nonsense")) is Code.BAD_GAME
    assert ann.refused(EnterLadder(game=GAME)) is Code.NOT_ALLOWED
    ann.ask(EnterLadder(id=1, game="nim"), Ok)
    member(harness, "Bob").ask(EnterLadder(id=1, game="nim"), Ok)
    assert ann.heard(Started)[0].clock == "3+1"


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\x07", "\u2028", "\u3000", "\u115f"])
def test_a_version_has_only_visible_characters(char: str) -> None:
    ann = member(HubHarness(), "Ann")
    assert ann.refused(EnterLadder(game=GAME, version=f"2{char}1")) is Code.INVALID
    ann.ask(EnterLadder(id=1, game=GAME, version="2.1 (überarbeitet) 版"), Ok)


def test_a_session_may_be_on_some_ladders_only() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    for chips in range(2, MOST_LADDERS + 2):
        ann.ask(EnterLadder(id=1, game=f"nim(chips={chips})"), Ok)
    assert ann.refused(EnterLadder(game="nim(chips=99)")) is Code.TOO_MANY
    ann.ask(EnterLadder(id=1, game="nim(chips=2)", version="new"), Ok)
    ann.ask(LeaveLadder(id=1, game="nim(chips=2)"), Ok)
    ann.ask(EnterLadder(id=1, game="nim(chips=99)"), Ok)


def test_a_ladder_without_sessions_and_results_is_forgotten() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    for end in (lambda: ann.ask(LeaveLadder(id=1, game="nim(chips=5)"), Ok), ann.hang_up):
        ann.ask(EnterLadder(id=1, game="nim(chips=5)"), Ok)
        assert harness.hub.ladders.get("nim(chips=5)")
        end()
        assert harness.hub.ladders.get("nim(chips=5)") is None


def test_a_refused_entrant_leaves_no_ladder() -> None:
    harness = HubHarness(versions_per_hour=1)
    ann = member(harness, "Ann")
    ann.ask(EnterLadder(id=1, game=GAME), Ok)
    assert ann.refused(EnterLadder(game="nim(chips=5)")) is Code.RATE_LIMITED
    assert harness.hub.ladders.get("nim(chips=5)") is None


def test_an_account_and_an_address_enter_only_some_new_versions_in_an_hour() -> None:
    harness = HubHarness(versions_per_hour=3)
    accounts = [harness.client(f"Ann {n}", guest=False) for n in range(5)]
    for ann in accounts[:4]:
        for version in range(3):
            ann.ask(EnterLadder(id=1, game=GAME, version=str(version)), Ok)
        assert ann.refused(EnterLadder(game=GAME, version="3")) is Code.RATE_LIMITED
        ann.ask(EnterLadder(id=1, game=GAME, version="0"), Ok)
    for _ in range(3):  # what its address may not enter is not counted for the account
        assert accounts[4].refused(EnterLadder(game=GAME, version="0")) is Code.RATE_LIMITED
    for ann in accounts[:4]:  # so that no matches are played meanwhile
        ann.ask(LeaveLadder(id=1, game=GAME), Ok)
    harness.wait(3600 / 12)
    accounts[4].ask(EnterLadder(id=1, game=GAME, version="0"), Ok)


def test_a_version_that_leaves_an_empty_ladder_and_enters_again_is_not_new() -> None:
    harness = HubHarness(versions_per_hour=2)
    ann = member(harness, "Ann")
    for _ in range(3):
        for game in (GAME, "nim(chips=5)"):
            ann.ask(EnterLadder(id=1, game=game), Ok)
            ann.ask(LeaveLadder(id=1, game=game), Ok)
            assert harness.hub.ladders.get(game) is None
    assert ann.refused(EnterLadder(game=GAME, version="2")) is Code.RATE_LIMITED


def test_an_account_has_only_some_versions_that_have_not_played() -> None:
    harness = HubHarness()
    ann = member(harness, "Ann")
    for version in range(MOST_WITHOUT_RESULT):
        ann.ask(EnterLadder(id=1, game=GAME, version=str(version)), Ok)
    assert ann.refused(EnterLadder(game=GAME, version="another")) is Code.TOO_MANY
    ann.ask(EnterLadder(id=1, game=GAME, version="0"), Ok)
    member(harness, "Bob").ask(EnterLadder(id=1, game=GAME), Ok)


def test_a_game_without_usable_openings_begins_at_its_first_position() -> None:
    harness = HubHarness()
    game = games.load("nim(chips=5)")
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    ann.say(EnterLadder(game=str(game)))
    bob.say(EnterLadder(game=str(game)))
    harness.wait(5)
    assert ann.heard(Started)[0].moves == ()


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_after_a_kill_no_match_is_lost_or_double(play: LadderPlay, lost: int) -> None:
    matches = repetitions(150, short=7)
    for name in NAMES:
        play.enter(name)
    for _ in range(3):
        play.play(matches)
        play.kill(lost)
    play.play(matches)
    ended = [each for each in play.ended() if each.winner]
    state = play.ladder.state
    assert len({each.match for each in ended}) == len(ended) == state.matches
    assert sum(each.matches for each in state.entries) == 2 * state.matches
    # Each pair has both of its matches, but for those that are being played or owed.
    stored = list(play.database.matches())
    pairs = Counter(each.started.ladder_pair for each in stored if each.started.ladder_pair)
    assert set(pairs.values()) <= {1, 2}
    assert list(pairs.values()).count(1) <= len(NAMES)


def test_the_second_match_of_a_pair_follows_after_a_kill(play: LadderPlay) -> None:
    play.enter("Ann")
    play.enter("Bob")
    first = play.started("Ann")[0]
    play.play(1)
    second = play.started("Ann")[-1]
    assert second.match != first.match
    # The start of the second match and its opening are not stored.
    starts = [isinstance(each, MatchStarted) for each in play.harness.stored]
    play.kill(lost=starts[::-1].index(True) + 1)
    again = play.started("Ann")[-1]
    assert again.players == first.players[::-1]
    assert again.moves == first.moves
    assert sum(isinstance(each, MatchEnded) for each in play.harness.stored) == 0


@pytest.mark.parametrize("killed", [False, True])
def test_a_second_match_without_result_is_played_again(play: LadderPlay, killed: bool) -> None:
    play.enter("Ann")
    play.enter("Bob")
    zoe = administrator(play.harness, "Zoe")
    first = play.started("Ann")[0]
    play.play(1)
    second = play.harness.only_match()
    if killed:
        play.bots["Bob"].say(LeaveLadder(game=GAME))
    zoe.ask(Abort(id=1, match=second.id), Ok)
    if killed:
        play.kill()
    again = play.started("Ann")[-1]
    assert again.match != second.id
    assert again.players == first.players[::-1]
    assert again.moves == first.moves
    play.play(1)
    assert play.started("Ann")[-1].moves != first.moves, "the next pair"


def test_matches_are_paired_in_the_hours_of_the_operator_only(tmp_path: Path) -> None:
    opens_at = 3600.0 * 10
    start = EPOCH % 86_400 / 3600
    assert start == 8, "the time of day at which the hub begins"
    hours = parse_hours(["18:00-20:00"])
    play = LadderPlay(tmp_path, {}, ladder_hours=hours, ladder_clock="none", idle_s=0)
    ann, _ = play.enter("Ann"), play.enter("Bob")
    notice = ann.heard(Notice)[0]
    assert notice.code == "ladder_closed"
    assert "18:00-20:00 UTC" in notice.text
    assert "begins at 18:00 UTC" in notice.text
    table = play.harness.hub.ladders.table(GAME, EPOCH)
    assert table
    assert (table.hours, table.opens_at) == ("18:00-20:00 UTC", EPOCH + opens_at)
    play.harness.wait(opens_at - 1)
    assert not play.harness.matches
    play.harness.wait(2)
    play.play(1)
    (running,) = play.harness.matches
    play.harness.wait(2 * 3600)
    assert list(play.harness.matches) == [running], "what has begun goes on"
    assert [each.code for each in ann.heard(Notice)] == ["ladder_closed"] * 2
    play._decide(running)
    assert not play.harness.matches
    play.harness.wait(22 * 3600)
    assert len(play.harness.matches) == 1


def test_no_notice_of_hours_is_sent_while_matches_are_paired(tmp_path: Path) -> None:
    play = LadderPlay(tmp_path, {}, ladder_hours=parse_hours(["06:00-12:00"]))
    ann, bob = play.enter("Ann"), play.enter("Bob")
    assert len(play.harness.matches) == 1
    assert [each.code for each in ann.heard(Notice)] == ["ladder_alone"]
    assert not bob.heard(Notice)


def test_watchers_of_a_ladder_are_sent_changes_once_a_second(play: LadderPlay) -> None:
    watcher = play.harness.client("Wil", role="spectator")
    assert watcher.ask(WatchLadder(id=1, game=GAME), LadderNews) == LadderNews(re=1, game=GAME)
    play.enter("Ann")
    play.enter("Bob")
    play.play(2)
    play.harness.wait(INTERVAL_S)
    news = LadderNews(game=GAME, matches=2, rated=2, playing=1, versions=2, present=2)
    assert watcher.heard(LadderNews)[1:] == [news]
    watcher.ask(WatchLadder(id=2, game="nim"), LadderNews)
    play.play(1)
    play.harness.wait(INTERVAL_S)
    assert len(watcher.heard(LadderNews)) == 3, "nothing has changed on the ladder of nim"
    watcher.hang_up()
    assert not play.harness.hub.ladder_feed._watchers


def test_a_closed_ladder_is_for_sessions_that_an_administrator_has_opened() -> None:
    harness = HubHarness(closed_ladders=frozenset({GAME}), sessions_per_account=2)
    boss = administrator(harness, "Boss", role="spectator")
    ann = harness.client("Ann", guest=False)
    assert ann.refused(EnterLadder(game=GAME)) is Code.NOT_ALLOWED
    assert ann.refused(OpenSession(name="Bob")) is Code.NOT_ALLOWED
    bots = []
    for name in ("Ann", "House"):
        opened = boss.ask(OpenSession(name=name), SessionOpened)
        bot = harness.connect()
        hello = Hello(protocol_min=1, protocol_max=1, name=opened.name, session=opened.session)
        assert bot.ask(hello, Welcome).name == name
        bot.ask(EnterLadder(game=GAME, version="1"), Ok)
        bots.append(bot)
    assert all(any(isinstance(each, Started) for each in bot.inbox) for bot in bots)
    assert harness.connect().refused(Hello(protocol_min=1, protocol_max=1, name="House")) is (
        Code.NAME_TAKEN
    )
    assert boss.refused(OpenSession(name="Boss")) is Code.NOT_ALLOWED
    again = Hello(protocol_min=1, protocol_max=1, name="Ann", token=ann.account_token)
    harness.connect().ask(again, Welcome)  # opened sessions do not count
    assert harness.connect().refused(again) is Code.TOO_MANY


def test_the_matches_of_opened_sessions_are_between_them() -> None:
    harness = HubHarness()
    boss = administrator(harness, "Boss", role="spectator")
    ann = harness.client("Ann", guest=False)
    ann.ask(Seek(game=GAME, opponent="House"), Seeking)
    opened = boss.ask(OpenSession(name="House"), SessionOpened)
    house = harness.connect()
    house.ask(Hello(protocol_min=1, protocol_max=1, name="House", session=opened.session), Welcome)
    house.ask(Seek(game=GAME, opponent="Ann"), Seeking)
    assert not house.heard(Started)
    opened = boss.ask(OpenSession(name="Ann"), SessionOpened)
    bot = harness.connect()
    bot.ask(Hello(protocol_min=1, protocol_max=1, name="Ann", session=opened.session), Welcome)
    bot.say(Seek(game=GAME, opponent="House"))
    assert len(house.heard(Started)) == len(bot.heard(Started)) == 1
    assert not ann.heard(Started)
