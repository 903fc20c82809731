"""The rules of every game commute with the symmetries that it declares."""

from __future__ import annotations

import pytest

from playout import games
from playout.games import BoardView, Symmetry
from support.images import match_and_image, moved
from support.scale import repetitions
from support.variants import every_game


def image_of_clicks(view: BoardView, symmetry: Symmetry) -> dict[int, tuple[int, ...]]:
    return {
        symmetry.actions[action]: tuple(symmetry.cells[cell] for cell in cells)
        for action, cells in view.clicks.items()
    }


@every_game
def test_rules_and_views_commute_with_every_symmetry(spec: str) -> None:
    game = games.load(spec)
    for seed in range(repetitions(10, short=1)):
        for symmetry in game.symmetries:
            for state, image, _, _ in match_and_image(game, symmetry, seed):
                assert game.current_player(image) == game.current_player(state)
                assert game.winner(image) == game.winner(state)
                legal = (symmetry.actions[action] for action in game.legal_actions(state))
                assert game.legal_actions(image) == tuple(sorted(legal))
                view, view_of_image = game.view(state), game.view(image)
                assert view_of_image.cells == moved(view.cells, symmetry.cells)
                assert view_of_image.clicks == image_of_clicks(view, symmetry)


@every_game
def test_symmetries_are_permutations_that_form_a_group(spec: str) -> None:
    game = games.load(spec)
    cells = len(game.view(game.initial_state()).cells)
    assert game.symmetries[0] == Symmetry(tuple(range(cells)), tuple(range(game.num_actions)))
    for one in game.symmetries:
        assert sorted(one.cells) == list(range(cells))
        assert sorted(one.actions) == list(range(game.num_actions))
    found = set(game.symmetries)
    assert len(found) == len(game.symmetries)
    for one in found:
        for other in found:
            assert (
                Symmetry(
                    tuple(other.cells[cell] for cell in one.cells),
                    tuple(other.actions[action] for action in one.actions),
                )
                in found
            )


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ("tic_tac_toe", 8),
        ("gomoku", 8),
        ("mnk(m=8,n=8)", 8),
        ("mnk(m=7,n=6,k=4)", 4),
        ("mnk(m=1,n=7,k=3)", 2),
        ("othello", 8),
        ("go", 8),
        ("ultimate_tic_tac_toe", 8),
        ("connect_four", 2),
        ("nim", 1),
        ("kalah", 1),
        ("ataxx", 8),
        ("pentago", 8),
        ("havannah", 12),
        ("y", 6),
        ("lines_of_action", 4),
        ("amazons", 2),
        ("dots_and_boxes", 8),
        ("dots_and_boxes(rows=2,columns=3)", 4),
        ("oware", 1),
        ("checkers", 1),
        ("chess", 1),
        ("chong", 2),
        ("draughts", 1),
        ("hex", 2),
        ("hex(size=1)", 1),
        ("breakthrough", 2),
        ("clobber", 4),
        ("clobber(rows=4,columns=4)", 8),
        ("clobber(rows=1,columns=4)", 2),
    ],
)
def test_games_declare_all_their_symmetries(spec: str, count: int) -> None:
    assert len(games.load(spec).symmetries) == count
