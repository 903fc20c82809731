"""The rules against published counts of positions and games."""

from __future__ import annotations

import pytest

from playout import games
from support.scale import repetitions

#: Maximum number of sequences that are counted in the usual suite.
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
    """Return the number of sequences of 1, 2, ... turns, each of one or more moves of a player.

    Captures of the same pieces on different ways between two squares are one turn.
    """
    counts, layer = [], {game.initial_state(): 1}
    for _ in range(depth):
        following: dict[games.State, int] = {}
        for state, ways in layer.items():
            for after in turns(game, state):
                following[after] = following.get(after, 0) + ways
        layer = following
        counts.append(sum(layer.values()))
    return counts


def turns(game: games.Game, state: games.State) -> set[games.State]:
    """Return the states after the turns of the player to move."""
    found, unfinished = set(), [state]
    while unfinished:
        begun = unfinished.pop()
        for action in game.legal_actions(begun):
            after = game.next_state(begun, action)
            (unfinished.append if after[0] == state[0] else found.add)(after)
    return found


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ("checkers", [7, 49, 302, 1469, 7361, 36768, 179740, 845931, 3963680]),
        ("draughts", [9, 81, 658, 4265, 27117, 167140, 1049442, 6483961]),
    ],
)
def test_perft_by_turns(spec: str, counts: list[int]) -> None:
    depth = min(len(counts), repetitions(9, short=5))
    assert perft_by_turns(games.load(spec), depth) == counts[:depth]


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ("othello", [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]),
        ("othello(size=6)", [4, 12, 56, 244, 1364, 7604, 47740]),
        ("go", [82, 6643, 531522]),
        ("go(size=5)", [26, 651, 15650, 361041, 7984104]),
        ("connect_four", [7, 49, 343, 2401, 16807, 117649, 823536, 5673234]),
        ("breakthrough", [22, 484, 11132, 256036, 6182818]),
        ("clobber", [49, 2116, 80063, 2630382]),
        ("ataxx", [16, 256, 6460, 155888, 4752668]),
        ("lines_of_action", [36, 1244, 44952, 1563208]),
        # Three plies are a move of the rules; 2176 and 4307152 are published.
        ("amazons", [4, 80, 2176, 8704, 168420, 4307152]),
        ("amazons(size=6)", [4, 40, 544, 2176, 19936, 238532]),
        ("havannah(size=4)", [37, 1332, 46620]),
        ("y(size=5)", [15, 210, 2730, 32760]),
        ("dots_and_boxes(rows=2,columns=2)", [12, 132, 1320, 11880, 95040, 665280]),
        ("pentago", [288, 80640, 21934080]),
        ("kalah", [6, 35, 185, 942, 4690, 23233, 114430]),
        ("oware", [6, 36, 190, 1014, 5219, 27332, 139157]),
        ("hex(size=4)", [16, 240, 3360, 43680, 524160, 5765760]),
    ],
)
def test_perft(spec: str, counts: list[int]) -> None:
    most = repetitions(max(counts), short=SHORT)
    counts = [count for count in counts if count <= most]
    assert perft(games.load(spec), len(counts)) == counts


def sequences(game: games.Game, state: games.State, depth: int) -> int:
    """Return the number of move sequences of `depth` plies, without keeping positions."""
    actions = game.legal_actions(state)
    if depth == 1:
        return len(actions)
    return sum(sequences(game, game.next_state(state, action), depth - 1) for action in actions)


@pytest.mark.parametrize(
    ("fen", "counts"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", [8902, 197281, 4865609]),
        (
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            [2039, 97862, 4085603],
        ),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", [2812, 43238, 674624, 11030083]),
        (
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            [264, 9467, 422333, 15833292],
        ),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", [1486, 62379, 2103487]),
        (
            "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
            [2079, 89890, 3894594],
        ),
    ],
)
def test_perft_of_chess(fen: str, counts: list[int]) -> None:
    """Counts of https://www.chessprogramming.org/Perft_Results from a depth of 2 or 3 on."""
    game = games.load(f"chess(fen={fen})")
    first = 3 if counts[0] in (8902, 2812) else 2
    for depth, expected in enumerate(counts, start=first):
        if expected <= repetitions(max(counts), short=200_000):
            assert sequences(game, game.initial_state(), depth) == expected


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
