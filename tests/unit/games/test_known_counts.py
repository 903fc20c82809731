"""The rules against published counts of positions and games."""

from __future__ import annotations

import pytest
from support.scale import repetitions

import games

#: The most sequences that are counted in the usual suite.
SHORT = 120_000


def perft(game: games.Game, depth: int) -> list[int]:
    """Return the number of move sequences of 1, 2, ... plies; a finished game is a leaf.

    Sequences that lead to the same state are counted together, which also tests that equal
    positions are equal states. After the last ply, only the actions are counted.
    """
    counts, layer = [], {game.initial_state(): 1}
    for _ in range(depth - 1):
        following: dict[games.State, int] = {}
        for state, ways in layer.items():
            for action in game.legal_actions(state):
                after = game.next_state(state, action)
                following[after] = following.get(after, 0) + ways
        layer = following
        counts.append(sum(layer.values()))
    last = sum(ways * len(game.legal_actions(state)) for state, ways in layer.items())
    return [*counts, last]


def perft_by_turns(game: games.Game, depth: int) -> list[int]:
    """Return the number of sequences of 1, 2, ... turns, each of one or more moves of a player."""
    counts, layer = [], {game.initial_state(): 1}
    for _ in range(depth):
        following: dict[games.State, int] = {}
        unfinished = layer
        while unfinished:
            same_player: dict[games.State, int] = {}
            for state, ways in unfinished.items():
                for action in game.legal_actions(state):
                    after = game.next_state(state, action)
                    target = same_player if after[0] == state[0] else following
                    target[after] = target.get(after, 0) + ways
            unfinished = same_player
        layer = following
        counts.append(sum(layer.values()))
    return counts


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ("checkers", [7, 49, 302, 1469, 7361, 36768, 179740, 845931]),
        ("draughts", [9, 81, 658, 4265, 27117, 167140, 1049442]),
    ],
)
def test_perft_by_turns(spec: str, counts: list[int]) -> None:
    turns = min(len(counts), repetitions(8, short=5))
    assert perft_by_turns(games.load(spec), turns) == counts[:turns]


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ("othello", [4, 12, 56, 244, 1396, 8200, 55092, 390216]),
        ("othello(size=6)", [4, 12, 56, 244, 1364, 7604, 47740]),
        ("go", [82, 6643, 531522]),
        ("go(size=5)", [26, 651, 15650, 361041]),
        ("connect_four", [7, 49, 343, 2401, 16807, 117649, 823536, 5673234]),
        ("breakthrough", [22, 484, 11132, 256036]),
        ("clobber", [49, 2116, 80063, 2630382]),
        ("hex(size=4)", [16, 240, 3360, 43680, 524160]),
    ],
)
def test_perft(spec: str, counts: list[int]) -> None:
    most = repetitions(max(counts), short=SHORT)
    counts = [count for count in counts if count <= most]
    assert perft(games.load(spec), len(counts)) == counts


def test_there_are_255168_games_of_tic_tac_toe_and_5478_positions() -> None:
    game = games.load("tic_tac_toe")
    finished = 0
    seen = {game.initial_state()}
    layer = {game.initial_state(): 1}
    while layer:
        following: dict[games.State, int] = {}
        for state, ways in layer.items():
            if game.winner(state):
                finished += ways
            for action in game.legal_actions(state):
                after = game.next_state(state, action)
                following[after] = following.get(after, 0) + ways
        layer = following
        seen |= set(layer)
    assert finished == 255_168
    assert len(seen) == 5478


def test_nim_has_a_game_for_each_way_to_add_up() -> None:
    # Compositions of 10 into parts of 1 to 3: the tribonacci number T(12).
    game = games.load("nim(chips=10)")

    def count(state: games.State) -> int:
        actions = game.legal_actions(state)
        return sum(count(game.next_state(state, a)) for a in actions) if actions else 1

    assert count(game.initial_state()) == 274
