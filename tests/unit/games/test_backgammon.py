"""Backgammon against OpenSpiel, and the published numbers of positions after each roll."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playout import games
from playout.games import IllegalAction, State
from playout.games.backgammon import (
    AFTER_CRAWFORD,
    BEFORE_CRAWFORD,
    CRAWFORD,
    DOUBLE,
    DROP,
    PASS,
    ROLL,
    TAKE,
    Backgammon,
    cell_of,
    chance_after,
    in_match,
    take_point,
)
from support.scale import repetitions

#: Distinct positions after each roll from the start.
AFTER = {
    **{"21": 15, "31": 16, "32": 17, "41": 14, "42": 18, "43": 17, "51": 8, "52": 8, "53": 9},
    **{"54": 9, "61": 10, "62": 14, "63": 14, "64": 14, "65": 7},
    **{"11": 42, "22": 75, "33": 73, "44": 52, "55": 4, "66": 11},
}


def backgammon() -> Backgammon:
    game = games.load("backgammon")
    assert isinstance(game, Backgammon)
    return game


def after_the_turn(game: Backgammon, state: State) -> set[State]:
    """Return the positions that a player can reach in a turn, with both halves of a double."""
    found = set()
    for action in game.legal_actions(state):
        after = game.next_state(state, action)
        found |= after_the_turn(game, after) if after[5] else {after}
    return found


def test_the_positions_after_each_roll_from_the_start() -> None:
    game = backgammon()
    before = (0, 0, 1, *game.initial_state()[3:])
    found = {
        game.action_name(before, roll): len(after_the_turn(game, game.next_state(before, roll)))
        for roll in game.legal_actions(before)
    }
    assert found == AFTER
    assert sum(found.values()) == 447


def test_the_moves_after_the_opening_rolls() -> None:
    """OpenSpiel has 758 moves and 36 rolls after them: of these, 380 and 21 are different."""
    game = backgammon()
    first = [game.next_state(game.initial_state(), roll) for roll in range(30)]
    second = [game.next_state(state, move) for state in first for move in game.legal_actions(state)]
    assert len(first) == len(game.legal_actions(game.initial_state())) == 30
    assert len(second) == 380
    assert {len(game.legal_actions(state)) for state in second} == {21}
    assert {sum(game.chances(state)) for state in second} == {36}


def shown(peer: Any) -> tuple[int, ...]:
    """Return the points, the bars and the checkers borne off of a position of OpenSpiel."""
    points = [peer.board(0, point) - peer.board(1, point) for point in range(24)]
    lines = dict(line.split(":", 1) for line in str(peer).splitlines() if ":" in line)
    off = [int(word.strip("O: ")) for word in lines["Scores, X"].split(",")]
    return (*points, lines["Bar"].count("x"), lines["Bar"].count("o"), *off)


def require_the_same_moves(game: Backgammon, state: State, peer: Any) -> None:
    """The legal actions are the lowest of OpenSpiel's that lead to each position."""
    lowest: dict[tuple[int, ...], int] = {}
    for action in sorted(peer.legal_actions(), reverse=True):
        lowest[shown(peer.child(action))] = action
    assert tuple(sorted(lowest.values())) == game.legal_actions(state)
    for after, action in lowest.items():
        assert game.next_state(state, action)[6:34] == after


def test_matches_are_those_of_open_spiel() -> None:
    game, reference, draw = backgammon(), pyspiel.load_game("backgammon"), random.Random(1)
    for _ in range(repetitions(2500, short=3)):
        state, peer = game.initial_state(), reference.new_initial_state()
        while not state[1]:
            assert not peer.is_terminal()
            assert peer.current_player() == state[0] - 1
            assert shown(peer) == state[6:34]
            if state[0] == 0:
                theirs = dict(peer.chance_outcomes())
                weights = dict(zip(game.legal_actions(state), game.chances(state), strict=True))
                for roll, weight in weights.items():
                    both = (roll, roll + 1) if state[2] and roll < 30 else (roll,)
                    share = weight / sum(weights.values())
                    assert abs(sum(theirs[each] for each in both) - share) < 1e-9
                assert len(weights) == (21 if state[2] else len(theirs))
            elif draw.random() < 0.3:
                require_the_same_moves(game, state, peer)
            action = draw.choice(game.legal_actions(state))
            state = game.next_state(state, action)
            peer.apply_action(action)
        assert peer.is_terminal()
        assert (peer.returns()[0] > 0) == (state[1] == 1)


def named(state: State) -> list[str]:
    game = backgammon()
    return [game.action_name(state, action) for action in game.legal_actions(state)]


def position(
    player: int, dice: tuple[int, int], first: dict[int, int], second: dict[int, int]
) -> State:
    """Return a position by the distances of the checkers of both players; 25 is the bar."""
    points = [0] * 24
    for place, count in first.items():
        if place < 25:
            points[24 - place] += count
    for place, count in second.items():
        if place < 25:
            points[place - 1] -= count
    off = (15 - sum(first.values()), 15 - sum(second.values()))
    return (player, 0, player, *dice, 0, *points, first.get(25, 0), second.get(25, 0), *off, 9)


def test_moves_are_written_as_players_do() -> None:
    assert "8/5 6/5" in named(position(1, (3, 1), {8: 3, 6: 5, 13: 7}, {6: 15}))
    # The blots of player 2 are on the points 10 and 9 of player 1.
    both = position(1, (4, 3), {13: 1, 1: 14}, {15: 1, 16: 1, 1: 13})
    assert {*named(both)} == {"13/10*/6", "13/9*/6"}
    assert named(position(1, (5, 2), {25: 1, 3: 14}, {5: 2, 1: 13})) == ["bar/18"]
    assert named(position(2, (6, 5), {24: 15}, {25: 2, 20: 13})) == ["bar/20 bar/19"]
    assert named(position(1, (6, 5), {25: 2, 3: 13}, {6: 8, 5: 7})) == ["pass"]
    assert "2/off 1/off" in named(position(2, (6, 5), {10: 15}, {2: 1, 1: 1}))
    assert named(position(1, (3, 3), {6: 2}, {24: 15})) == ["6/3(2)", "6/off"]


def test_a_typed_move_has_its_checkers_in_any_order() -> None:
    state = position(1, (3, 1), {8: 3, 6: 5, 13: 7}, {6: 15})
    game = games.load("backgammon")
    assert game.parse_action(state, "6/5 8/5") == game.parse_action(state, "8/5 6/5")
    with pytest.raises(IllegalAction, match="'6/5 6/5' is not legal here"):
        game.parse_action(state, "6/5 6/5")


def test_the_higher_number_is_moved_if_only_one_can_be() -> None:
    # From 20, both 14 and 15 are open, and 9 is closed.
    state = position(1, (6, 5), {20: 1}, {16: 2, 1: 13})
    assert named(state) == ["20/14"]


def test_the_board_shows_points_bar_dice_and_pips() -> None:
    game = backgammon()
    state = position(1, (3, 1), {25: 1, 8: 3, 6: 6, 1: 2}, {6: 5, 8: 3, 13: 6})
    shown = "\n".join(map(str.rstrip, game.show(state).splitlines()))
    assert (
        shown
        == """\
  13  14  15  16  17  18 bar  19  20  21  22  23  24 off
   .   .   .   .   O   .   X   O   .   .   .   .   .   O
                   O           O
                   O           O
                               O
                               O

   6                           6
   O                           X
   O               X           X                       X
   O               X           X                   X   X
   O   .   .   .   X   .   .   X   .   .   .   .   X   X
  12  11  10   9   8   7 bar   6   5   4   3   2   1 off
dice 3-1, pips 87-132"""
    )
    opening = game.initial_state()
    assert game.view(opening).dice == ()
    assert game.view(game.next_state(opening, 2)).dice == (3, 1)
    double = game.next_state(game.next_state((0, 0, 1, 0, 0, 0, *opening[6:]), 31), 0)
    assert game.view(double).dice == (-2, -2, 2, 2)


def test_a_turn_is_written_and_read_in_the_notation_of_other_programs() -> None:
    game, start = backgammon(), backgammon().initial_state()
    double = game.next_state((0, 0, 1, 0, 0, 0, *start[6:]), 32)
    for written, names in (
        ("24/21 24/21 13/10 13/10", ["24/21(2)", "13/10(2)"]),
        ("13/10(2) 24/21(2)", ["13/10(2)", "24/21(2)"]),
        ("13/4 6/3", ["13/10 6/3", "10/4"]),
        ("8/5 5/2 6/3 6/3", ["8/2", "6/3(2)"]),
    ):
        first, second = game.parse_turn(double, written)
        half = game.next_state(double, first)
        assert [game.action_name(double, first), game.action_name(half, second)] == names
    bar = position(1, (5, 2), {25: 1, 3: 14}, {5: 2, 1: 13})
    assert game.parse_turn(bar, "25/23/18") == game.parse_turn(bar, "bar/18")
    assert game.parse_turn(position(1, (6, 5), {25: 2, 3: 13}, {6: 8, 5: 7}), "") == (PASS,)
    home = position(2, (6, 5), {10: 15}, {2: 1, 1: 1})
    assert game.parse_turn(home, "1/0 2/0") == game.parse_turn(home, "2/off 1/off")
    for wrong in ("24/19", "8/5 9/8", "8/5 6/", "99/3", "hello"):
        with pytest.raises(IllegalAction, match="legal are"):
            game.parse_turn(game.next_state(start, 2), wrong)


def stepped(
    own: tuple[int, ...], theirs: tuple[int, ...], begin: int, goal: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Move a checker, and hit one of the opponent, whose places count from the other end."""
    moved, others = [*own], [*theirs]
    assert moved[begin]
    moved[begin] -= 1
    moved[goal] += 1
    if goal and others[25 - goal]:
        assert others[25 - goal] == 1
        others[25 - goal] -= 1
        others[25] += 1
    return tuple(moved), tuple(others)


def test_every_move_is_reached_by_clicks_in_any_order_of_the_dice() -> None:
    game, draw = backgammon(), random.Random(1)
    places = {cell_of(player, place): place for player in (1, 2) for place in (0, 25)}
    for _ in range(repetitions(50, short=3)):
        state = game.initial_state()
        while not state[1]:
            player, clicks = state[0], game.view(state).clicks
            both = game.ways(state)
            assert {*both} <= {*clicks}
            for action, others in both.items():
                after = game.next_state(state, action)
                end = game.checkers(after, player), game.checkers(after, 3 - player)
                for cells in (clicks[action], *others):
                    rows = game.checkers(state, player), game.checkers(state, 3 - player)
                    at = [
                        places[cell] if cell in places else place_at(cell, player) for cell in cells
                    ]
                    for begin, goal in zip(at[::2], at[1::2], strict=True):
                        rows = stepped(*rows, begin, goal)
                    # In one move, a checker may hit on its way.
                    assert rows == end or (len(cells) == 2 and rows[0] == end[0])
                steps = game.steps(state, action)
                places_of = [place for begin, goal, _ in steps for place in (begin, goal)]
                if len({*places_of}) == 4 and not {0, 25} & {*places_of}:  # of two checkers
                    assert others
            state = game.next_state(state, draw.choice(game.legal_actions(state)))


def place_at(cell: int, player: int) -> int:
    label = backgammon().view(backgammon().initial_state()).cell_labels[cell]
    return int(label) if player == 1 else 25 - int(label)


# Matches of several points. tests/process/test_backgammon_files.py compares them with gnubg.


def match_to(points: int) -> Backgammon:
    game = games.load(f"backgammon(points={points})")
    assert isinstance(game, Backgammon)
    return game


@given(st.integers(2, 9), st.randoms(use_true_random=False), st.floats(0, 0.5))
@settings(max_examples=repetitions(300, short=5), deadline=None)
def test_scores_and_cubes_of_matches(points: int, draw: random.Random, doubling: float) -> None:
    game = match_to(points)
    states = [game.initial_state()]
    while legal := game.legal_actions(states[-1]):
        action = draw.choice(legal)
        if legal == (ROLL, DOUBLE):
            action = DOUBLE if draw.random() < doubling else ROLL
        states.append(game.next_state(states[-1], action))
    played = [0]
    for before, after in itertools.pairwise(states):
        (one, two, cube, owner, part, _), (first, second, *_) = before[35:], after[35:]
        assert max(one, two) < points
        assert cube.bit_count() == 1
        assert (owner == 0) == (cube == 1)
        assert part != CRAWFORD or cube == 1
        if game.legal_actions(before) == (ROLL, DOUBLE):
            assert part != CRAWFORD
            assert owner in (0, before[0])
            assert (one, two)[before[0] - 1] + cube < points
        gained = first - one, second - two
        if any(gained):
            assert sorted(gained)[0] == 0
            assert max(gained) in (cube, 2 * cube, 3 * cube)
            played.append(part)
    # The first game after somebody lacks one point is the Crawford game, and no other one is.
    assert played == sorted(played)
    assert played.count(CRAWFORD) <= 1
    if states[-1][1] > 0:
        assert states[-1][34 + states[-1][1]] >= points
        lacked = any(points - 1 in state[35:37] for state in states)
        assert lacked == (CRAWFORD in played)


def test_a_gammon_counts_twice_and_a_backgammon_three_times() -> None:
    game = match_to(10)
    last = {1: 1}
    for theirs, points in (
        ({6: 14}, 2),  # player 2 has borne one off
        ({6: 15}, 4),
        ({18: 1, 6: 14}, 4),
        ({19: 1, 6: 14}, 6),  # among the last six points of the winner
        ({25: 1, 6: 14}, 6),
    ):
        before = (*position(1, (2, 1), last, theirs), 3, 1, 2, 1, 0, 0)
        after = game.next_state(before, game.legal_actions(before)[0])
        assert after[:3] == (0, 0, 0)  # the opening roll of the next game
        assert after[6:34] == game.initial_state()[6:34]
        assert after[35:] == (3 + points, 1, 1, 0, int(points == 6), 0)


def test_decisions_about_the_cube_have_names_and_the_board_tells_them() -> None:
    game = match_to(5)
    before = (*position(1, (0, 0), {6: 15}, {6: 15}), 1, 2, 2, 1, 2, 1)
    assert [game.action_name(before, each) for each in game.legal_actions(before)] == [
        "roll",
        "double",
    ]
    assert game.view(before).note == "pips 90-90, score 1-2 of 5, cube 2 of player 1"
    assert game.view(before).cube == (2, 1)
    offered = game.next_state(before, game.parse_action(before, "double"))
    assert game.view(offered).cube == (4, -2)
    assert offered[0] == 2
    assert game.view(offered).clicks == {TAKE: (), DROP: ()}
    assert game.view(offered).note.endswith("cube 2 of player 1, doubled to 4")
    assert game.next_state(offered, TAKE)[35:] == (1, 2, 4, 2, 2, 0)
    assert game.next_state(offered, DROP)[35:] == (3, 2, 1, 0, 2, 0)
    with pytest.raises(IllegalAction, match="legal are: take, drop"):
        game.parse_action(offered, "roll")


# The chances to win a match. tests/process/test_backgammon_files.py compares them with gnubg's.


def race(
    points: int, scores: tuple[int, int], roller: int = 1, to_move: int = 0, part: int = 0
) -> Any:
    """Return the board of a match before a roll; both have borne off a checker: no gammons.

    If a player is to move, it is the roller, who decides whether to double.
    """
    left = {6: 7, 5: 7}
    state = list(position(roller, (0, 0), left, left))
    state[0] = to_move
    return match_to(points).board((*state, *scores, 1, 0, part, int(to_move > 0)))


def chance(board: Any, share: float) -> float:
    """Return player 1's chance to win the match if the player wins a share of the games."""
    return (1 + in_match(board, 2 * share - 1)) / 2


def test_take_points_are_those_computed_by_hand() -> None:
    # Both lack 2. Dropped: 1 against 2 in the Crawford game, 0.3226; taken: all or nothing.
    assert take_point(race(2, (0, 0)), 1, 1) == pytest.approx(0.3226)
    # Both lack 3. Dropped: 3 against 2, 0.4005; taken: 0.7508 or 0.2492 with a dead cube, of
    # which the opponent takes the next double, for the match, with 0.2492.
    dead = (0.4005 - 0.2492) / (0.7508 - 0.2492)
    assert take_point(race(3, (0, 0)), 1, 1) == pytest.approx(dead * (1 - 0.2492))
    # The player lacks 4, the opponent 2. Dropped: 4 against 1 in the Crawford game, 0.1856; taken,
    # the player doubles again at once, so that the game is for the match.
    assert take_point(race(4, (0, 2)), 1, 1) == pytest.approx(0.1856)


def test_the_crawford_game_and_those_after_it_have_their_own_chances() -> None:
    for part, before in ((CRAWFORD, 0.7508), (AFTER_CRAWFORD, 1 - 0.3226)):
        opening = race(3, (2, 0), roller=0, part=part)
        assert chance(opening, 0.9) == pytest.approx(before)
        assert chance_after(race(3, (2, 0), part=part), 1, -1) == pytest.approx(1 - 0.4880)
    # Nobody doubles in the Crawford game: the chance is linear.
    crawford = race(3, (2, 0), part=CRAWFORD)
    assert chance(crawford, 0.3) == pytest.approx(0.3 + 0.7 * (1 - 0.4880))


def test_the_player_behind_doubles_after_the_crawford_game() -> None:
    """At 2 points of 3 against 1, the leader drops for 0.5, or takes for the share of games."""
    for leads in (race(3, (2, 1), part=AFTER_CRAWFORD), race(3, (2, 1), 2, 2, AFTER_CRAWFORD)):
        for share in (0.2, 0.5, 0.6, 0.9):
            assert chance(leads, share) == pytest.approx(max(0.5, share))
    # Who has decided to roll instead has lost by it.
    assert chance(race(3, (2, 1), 2, part=AFTER_CRAWFORD), 0.6) > 0.6
    # At 2 against 2, nobody doubles.
    assert chance(race(3, (2, 2), part=AFTER_CRAWFORD), 0.3) == pytest.approx(0.3)


def test_both_players_have_the_same_chances_in_exchanged_positions() -> None:
    draw = random.Random(7)
    for _ in range(100):
        points = draw.randint(2, 9)
        scores = draw.randrange(points), draw.randrange(points)
        part, share = draw.randrange(3), draw.random()
        if part == BEFORE_CRAWFORD and points - 1 in scores:
            continue
        roller = draw.choice((1, 2))
        board = race(points, scores, roller, draw.choice((0, roller)), part)
        mover = int(board[0])
        turned = race(points, scores[::-1], 3 - roller, 3 - mover if mover else 0, part)
        assert chance(board, share) == pytest.approx(1 - chance(turned, 1 - share))
        assert chance(board, share) >= chance(board, share - 0.1) - 1e-9


def test_a_single_game_has_the_chance_of_the_net() -> None:
    game = backgammon()
    assert [in_match(game.board(game.initial_state()), each) for each in (-0.3, 0.7)] == [-0.3, 0.7]
