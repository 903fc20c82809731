"""EinStein würfelt nicht! against OpenSpiel, whose second player is our first."""

from __future__ import annotations

import random

import pyspiel

from playout import games
from playout.games import Position
from support.scale import repetitions


def test_matches_are_those_of_open_spiel() -> None:
    game, draw = games.load("einstein_wurfelt_nicht"), random.Random(1)
    reference = pyspiel.load_game("einstein_wurfelt_nicht")
    for _ in range(repetitions(5000, short=20)):
        state, peer = game.initial_state(), reference.new_initial_state()
        while not state[1]:
            assert not peer.is_terminal()
            assert peer.current_player() == (2 - state[0] if state[0] else -1)
            assert game.legal_actions(state) == tuple(peer.legal_actions())
            action = draw.choice(peer.legal_actions())
            state = game.next_state(state, action)
            peer.apply_action(action)
            cells = (f"{'w' if n < 7 else 'b'}{(n - 1) % 6 + 1}" if n else "__" for n in state[4:])
            assert "".join(cells) == str(peer).translate({ord("|"): "", ord("\n"): ""})
        assert peer.is_terminal()
        assert (peer.returns()[1] > 0) == (state[1] == 1)


def test_without_the_rolled_cube_the_neighbours_move() -> None:
    game = games.load("einstein_wurfelt_nicht")
    cells = [0] * 25
    cells[18], cells[24], cells[1], cells[22] = 2, 5, 7, 6
    named = Position(game, start=(1, 0, 1, 3, *cells))
    assert {name[:2] for name in named.names(named.legal_actions[:1])} <= {"d4", "e5"}
    moved = {game.action_name(named.state, action)[:2] for action in named.legal_actions}
    assert moved == {"d4", "e5"}


def test_the_numbers_of_cubes_are_shown() -> None:
    text = games.load("einstein_wurfelt_nicht").show(
        Position(games.load("einstein_wurfelt_nicht"), (0, 719, 2)).state
    )
    assert " 1 O1 O2 O3  .  ." in text
    assert text.endswith("die: 3")
