"""The games of OpenSpiel behind our interface: all of them, move by move, and hostile options."""

from __future__ import annotations

import itertools
import random
import re
import sys
import typing
from pathlib import Path
from types import ModuleType

import pyspiel
import pytest

from playout import games
from playout.games import TIE, IllegalAction, Position, SpecError, open_spiel
from playout.games.core import history_game
from playout.games.open_spiel import BOUNDS, GameName, OpenSpiel
from playout.players import open_spiel_mcts
from support.scale import repetitions

NAMES = typing.get_args(GameName)
MATCHES = repetitions(100, short=1)
WITH_OPTIONS = (
    "open_spiel(game=go,board_size=5,komi=0.5)",
    "open_spiel(game=hex,board_size=3,swap=true)",
    "open_spiel(game=havannah,board_size=2,swap=true)",
    "open_spiel(game=breakthrough,rows=4,columns=3)",
    "open_spiel(game=dots_and_boxes,num_rows=1,num_cols=3)",
)


def peer_of(spec: str) -> pyspiel.Game:
    """OpenSpiel's own game."""
    name, _, options = spec.removeprefix("open_spiel(game=").removesuffix(")").partition(",")
    return pyspiel.load_game("chinese_checkers(players=2)" if "chinese" in name else
                             f"{name}({options})")  # fmt: skip


def outcome(state: pyspiel.State, first: int) -> int:
    """OpenSpiel's result as our outcome; `first` is its number of the player who moves first."""
    if not state.is_terminal():
        return 0
    difference = state.returns()[first] - state.returns()[1 - first]
    return TIE if difference == 0 else 1 if difference > 0 else 2


def is_served(kind: pyspiel.GameType) -> bool:
    return bool(
        kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
        and kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
        and kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        and kind.min_num_players <= 2 <= kind.max_num_players
        and kind.default_loadable
    )


def test_every_game_for_two_without_chance_or_hidden_information_is_served() -> None:
    found = {kind.short_name for kind in pyspiel.registered_games() if is_served(kind)}
    assert found == set(NAMES)
    assert len(NAMES) == 31


@pytest.mark.parametrize("spec", [f"open_spiel(game={name})" for name in NAMES] + [*WITH_OPTIONS])
def test_random_matches_agree_with_open_spiel_at_every_ply(spec: str) -> None:
    ours, theirs, choose = games.load(spec), peer_of(spec), random.Random(spec)
    assert str(ours) == spec
    for _ in range(MATCHES):
        state, other = ours.initial_state(), theirs.new_initial_state()
        first = other.current_player()
        while actions := ours.legal_actions(state):
            assert list(actions) == other.legal_actions()
            assert ours.current_player(state) == (1 if other.current_player() == first else 2)
            assert ours.winner(state) == 0
            action = choose.choice(actions)
            state = ours.next_state(state, action)
            other.apply_action(action)
        assert ours.winner(state) == outcome(other, first) != 0
        assert state[2:] == tuple(other.history())
        assert len(state) - 2 <= ours.max_plies


@pytest.mark.parametrize("name", NAMES)
def test_moves_have_names_and_positions_are_text(name: str) -> None:
    game, choose = games.load(f"open_spiel(game={name})"), random.Random(name)
    state = game.initial_state()
    for _ in range(repetitions(40, short=6)):
        view, actions = game.view(state), game.legal_actions(state)
        assert tuple(view.clicks) == actions
        assert view.text.strip()
        assert "\x1b" not in view.text
        assert max(map(len, view.text.splitlines())) <= 80
        names = {game.action_name(state, action): action for action in actions}
        assert len(names) == len(actions)
        for each in choose.sample(sorted(names), min(2, len(names))):
            assert len(each) <= 40  # the page's field for a move
            assert game.parse_action(state, each) == names[each]
        if not actions:
            break
        state = game.next_state(state, choose.choice(actions))


def test_a_full_board_after_a_swap_is_no_tie() -> None:
    game = games.load("open_spiel(game=hex,board_size=2,swap=true)")
    state = game.initial_state()
    for action in (0, 4, 1, 2, 3):  # the fifth action of four cells, as one was the swap
        assert game.winner(state) == 0
        state = game.next_state(state, action)
    assert game.winner(state) in (1, 2)


def test_chess_is_drawn_as_rows_and_columns_and_the_first_mover_is_player_1() -> None:
    game = games.load("open_spiel(game=chess)")
    state = Position.from_names(game, ("e4", "d5", "exd5")).state
    assert state[:2] == (2, 0)
    assert (
        game.show(state)
        == """\
 r n b q k b n r  8
 p p p . p p p p  7
 . . . . . . . .  6
 . . . P . . . .  5
 . . . . . . . .  4
 . . . . . . . .  3
 P P P P . P P P  2
 R N B Q K B N R  1
 a b c d e f g h
b KQkq - 0 2"""
    )


def test_shogi_has_its_own_coordinates() -> None:
    game = games.load("open_spiel(game=shogi)")
    lines = game.show(game.initial_state()).splitlines()
    assert lines[0] == " l n s g k g s n l  a"
    assert lines[-2:] == [" 9 8 7 6 5 4 3 2 1", "b - 1"]


def test_names_that_differ_in_a_capital_letter_are_different_moves() -> None:
    game = games.load("open_spiel(game=chess)")
    state = Position.from_names(game, ("b4", "a6", "b5", "Nc6", "g3", "h6", "Bg2", "h5")).state
    bishop, pawn = (game.parse_action(state, name) for name in ("Bxc6", "bxc6"))
    assert bishop != pawn
    assert game.action_name(state, bishop) == "Bxc6"


@pytest.mark.parametrize(
    "name", ["mancala", "hex", "pentago", "quoridor", "hive", "shogi", "chess"]
)
def test_an_illegal_action_never_reaches_open_spiel(name: str) -> None:
    """Some of its games accept such an action, and mancala crashes."""
    game = games.load(f"open_spiel(game={name})")
    state = game.initial_state()
    legal = game.legal_actions(state)
    for action in {-3, -1, *range(game.num_actions), game.num_actions, 2**40} - set(legal):
        with pytest.raises(IllegalAction, match="is not legal here; legal are"):
            game.next_state(state, action)
        with pytest.raises(ValueError, match="all legal"):
            game.legal_actions((1, 0, action))
        if action > 300:
            break


@pytest.mark.parametrize(
    ("options", "canonical"),
    [
        ("game=go,board_size=19", "game=go"),
        ("game=go,board_size=9,komi=7.5", "game=go,board_size=9"),
        ("game=hex,swap=false,board_size=11", "game=hex"),
        ("game=hex,swap=true", "game=hex,swap=true"),
        ("game=breakthrough,rows=8,columns=6", "game=breakthrough,columns=6"),
    ],
)
def test_the_defaults_of_open_spiel_are_not_spelled_out(options: str, canonical: str) -> None:
    assert str(games.load(f"open_spiel({options})")) == f"open_spiel({canonical})"


def test_a_forgotten_position_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_game, "KEPT", 2)
    game, choose = OpenSpiel("breakthrough"), random.Random(1)
    states = [game.initial_state()]
    while actions := game.legal_actions(states[-1]):
        states.append(game.next_state(states[-1], choose.choice(actions)))
    for before, after in itertools.pairwise(states):
        assert game.next_state(before, after[-1]) == after


def test_a_match_without_end_is_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_game, "MOST_PLIES", 3)
    game = OpenSpiel("cursor_go")
    state = game.initial_state()
    for _ in range(3):
        assert game.winner(state) == 0
        state = game.next_state(state, game.legal_actions(state)[0])
    assert game.winner(state) == TIE
    assert game.legal_actions(state) == ()
    with pytest.raises(IllegalAction, match="the game is over"):
        game.next_state(state, 0)


@pytest.mark.parametrize("game", BOUNDS)
def test_every_bound_can_be_played(game: str) -> None:
    for end in (0, 1):
        options = {key: bounds[end] for key, bounds in BOUNDS[game].items()}
        spelled = ",".join(f"{k}={v if k != 'swap' else bool(v)}" for k, v in options.items())
        rules = games.load(f"open_spiel(game={game},{spelled})")
        assert rules.legal_actions(rules.initial_state())


def test_the_document_lists_the_games_and_the_bounds_of_their_options() -> None:
    text = (Path(__file__).parents[3] / "docs" / "open-spiel.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_`, ]+) \| (.*) \|$", text, re.MULTILINE)
    described = {
        game: options
        for games_, options in rows
        for game in re.findall(r"`(\w+)`", games_)
        if game in NAMES
    }
    assert set(described) == set(NAMES)
    for game, options in described.items():
        found = re.findall(r"`(\w+)`(?: (-?\d+) to (\d+))?", options)
        bounds = {key: (int(low or 0), int(high or 1)) for key, low, high in found}
        assert bounds == BOUNDS.get(game, {}), game


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "needs the option 'game'"),
        ("game=efg_game", "unknown game of open_spiel 'efg_game' (there are: amazons"),
        ("filename=/etc/passwd,game=efg_game", "unknown option of open_spiel 'filename'"),
        ("game=kuhn_poker", "unknown game"),
        ("game=chest", "did you mean 'chess'"),
        ("game=go(board_size=9)", "unknown game"),
        ("game=mnk,m=3000,n=3000", "unknown option"),
        ("game=hex,board_size=5000", "board_size must be from 1 to 19, not 5000"),
        ("game=y,board_size=1000", "board_size must be from 2 to 19"),
        ("game=gomoku,dims=9,size=20", "unknown option"),
        ("game=oware,num_houses_per_player=0", "unknown option"),
        ("game=go,komi=inf", "komi must be a number"),
        ("game=go,komi=nan", "komi must be a number"),
        ("game=chess,board_size=8", "unknown option of open_spiel(game=chess) 'board_size'"),
        ("game=clobber,rows=-1", "rows must be from 2 to 10"),
        ("game=mnk,swap=true", "unknown option of open_spiel(game=mnk) 'swap'"),
    ],
)
def test_a_hostile_specification_is_one_sentence(options: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        games.load(f"open_spiel({options})")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    games.load.cache_clear()
    with pytest.raises(SpecError, match=r'pip install "\.\[open-spiel\]" in a checkout'):
        games.load("open_spiel(game=clobber,rows=3)")


@pytest.mark.parametrize("module", [open_spiel, open_spiel_mcts])
def test_the_package_is_imported_only_where_a_game_is_loaded(module: ModuleType) -> None:
    assert "pyspiel" not in vars(module)
