"""players.engines.uci_games: names of moves and FEN, as Fairy-Stockfish writes them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout import games
from playout.games import Game, State
from playout.players.engines.uci_games import (
    VARIANTS,
    UciGame,
    UciVariant,
    first_position,
    uci_game,
)

ROOT = Path(__file__).parents[4]
#: By Fairy-Stockfish: the first five moves of a match, the position after them, without the discs
#: in hand, and the number of its legal moves.
MATCHES = {
    "chess": (
        "g1h3 a7a5 e2e4 a8a7 h3f4",
        "1nbqkbnr/rppppppp/8/p7/4PN2/8/PPPP1PPP/RNBQKB1R b KQk - 2 1",
        21,
    ),
    "breakthrough": (
        "g2h3 d7c6 d2c3 e8d7 h3h4",
        "pppp1ppp/pppppppp/2p5/8/7P/2P5/PPP1PP1P/PPPPPPPP b - - 0 1",
        22,
    ),
    "clobber": ("d5c5 a3b3 c4b4 a1a2 c6d6", "Pp1PP/pPP1p/PP1pP/1ppPp/ppPpP/1PpPp b - - 0 1", 26),
    "clobber10": (
        "h9h8 h4g4 e6d6 c9c10 f1g1",
        "PpppPpPpPp/pP1PpPp1pP/PpPpPpPPPp/pPpPpPpPpP/PpPP1pPpPp/pPpPpPpPpP/PpPpPpp1Pp/"
        "pPpPpPpPpP/PpPpPpPpPp/pPpPp1PPpP b - - 0 1",
        148,
    ),
    "ataxx": ("a7c6 P@a2 P@c7 P@f7 P@b7", "1PP2pp/2P4/7/7/7/p6/p5P b - - 0 1", 30),
    "amazons": (
        "g1g8,g8a8 g10b5,b5b4 a4a6,a6c8 d10h6,h6h7 g8g5,g5f6",
        "10/10/*1*7/q6*1q/Q4*1q2/1q4Q3/1*7Q/10/10/3Q6 b - - 0 1",
        1263,
    ),
    "flipello": ("P@c5 P@e6 P@f5 P@c4 P@d7", "8/3P4/4P3/2PpPP2/2ppp3/8/8/8 b - - 0 1", 8),
    "flipello10": (
        "P@d6 P@f7 P@g6 P@d5 P@e8",
        "10/10/4P5/5P4/3PpPP3/3ppp4/10/10/10/10 b - - 0 1",
        8,
    ),
}
OPEN_SPIEL = [f"open_spiel(game={name})" for name in ("chess", "breakthrough", "clobber")]


def moves(
    game: Game, state: State, size: int, done: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield all moves of a state, each of `size` actions."""
    for action in game.legal_actions(state):
        if size == 1:
            yield (*done, action)
        else:
            yield from moves(game, game.next_state(state, action), size - 1, (*done, action))


def played(uci: UciGame, game: Game, names: str) -> tuple[list[State], list[int]]:
    """Return the positions and the actions of a match."""
    states, actions = [game.initial_state()], []
    for name in names.split():
        found = uci.actions(states[-1], name)
        assert found, name
        for action in found:
            states.append(game.next_state(states[-1], action))
            actions.append(action)
    return states, actions


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.game)
def test_a_match_is_written_as_fairy_stockfish_writes_it(variant: UciVariant) -> None:
    game = games.load(variant.game)
    uci = uci_game(game)
    names, fen, count = MATCHES[uci.variant]
    states, actions = played(uci, game, names)
    assert uci.names(states, actions) == names.split()
    assert uci.line(game.initial_state(), [*names.split(), "a1a1", "a1a2"]) == tuple(actions)
    assert re.sub(r"\[[Pp]*\]", "", uci.fen(states[-1])) == fen
    legal = list(moves(game, states[-1], uci.actions_per_move))
    named = {uci.name(states[-1], *each): each for each in legal}
    assert len(named) == len(legal) == count
    sample = random.Random(7).sample(sorted(named), 8)
    assert [uci.actions(states[-1], name) for name in sample] == [named[name] for name in sample]
    again = uci.position(uci.fen(states[-1]))
    assert {uci.name(again, *each) for each in moves(game, again, uci.actions_per_move)} == set(
        named
    )


@pytest.mark.parametrize("text", OPEN_SPIEL)
def test_open_spiel_has_the_same_names(text: str) -> None:
    game = games.load(text)
    uci = uci_game(game)
    names, _, count = MATCHES[uci.variant]
    states, actions = played(uci, game, names)
    assert uci.names(states, actions) == names.split()
    assert len({uci.name(states[-1], each) for each in game.legal_actions(states[-1])}) == count


def test_an_incomplete_move_has_no_name() -> None:
    game = games.load("amazons")
    uci = uci_game(game)
    states, actions = played(uci, game, "g1g8,g8a8")
    assert uci.names(states[:3], actions[:2]) == []
    assert uci.actions(game.initial_state(), "g1g8,g7a8") == ()


@pytest.mark.parametrize(
    ("game", "fen", "name"),
    [
        ("ataxx", "Pppp3/pppp3/pppp3/pppp3/7/7/7 w - - 7 1", "a7a7"),
        (
            "othello",
            "pPPPp1PP/ppppppPP/ppPPpPpP/pPppPpPP/pPPpPpPP/pPPPppPP/PPPpPpPP/PPPPPPPP[Pp] b - - 0",
            "d2d2",
        ),
    ],
)
def test_a_pass_is_a_square_twice(game: str, fen: str, name: str) -> None:
    rules = games.load(game)
    uci = uci_game(rules)
    state = uci.position(fen)
    legal = rules.legal_actions(state)
    assert [uci.name(state, each) for each in legal] == [name]
    for said in (name, "0000", "@@@@", "b2b2"):
        assert uci.actions(state, said) == legal
    assert uci.actions(state, "") == uci.actions(state, "P@a1") == ()
    assert uci.actions(rules.initial_state(), name) == ()


def test_quiet_plies_of_ataxx_are_kept() -> None:
    game = games.load("ataxx")
    uci = uci_game(game)
    fen = "P5p/7/7/6p/7/4P1P/p6 w - - 42 1"
    assert uci.fen(uci.position(fen)) == fen
    assert uci.position(fen)[-1] == 42


def test_the_first_position_of_chess_may_be_another() -> None:
    fen = "4k3/8/8/8/8/8/1p6/R3K2R b KQ - 0 1"
    game = games.load(f"chess(fen={fen})")
    uci = uci_game(game)
    names = {
        uci.name(game.initial_state(), each) for each in game.legal_actions(game.initial_state())
    }
    assert first_position(game) == f"fen {fen}"
    assert {"b2a1q", "b2b1n", "e8e7"} <= names
    castling = uci.position("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1")
    assert uci.actions(castling, "e1g1")
    assert uci.actions(castling, "e1c1")


@pytest.mark.parametrize(
    ("game", "fen", "said"),
    [
        ("chess", "8/8 w - - 0 1", "cannot read the position"),
        ("ataxx", "P5p/7/7/7/7/7 w - - 0 1", "expected 7 ranks of 7 squares with Pp or numbers"),
        ("ataxx", "P5p/7/3*3/7/7/7/p5P w", "expected 7 ranks"),
        ("ataxx", "P5p/7/7/7/7/7/p5P x", "then w or b"),
        ("ataxx", "P6/7/7/7/7/7/7 w", "the game is over"),
        ("breakthrough", "P7/8/8/8/8/8/8/7p b", "the game is over"),
        ("clobber", "P4/5/5/5/5/4p w", "the game is over"),
        ("amazons", "10/10/10/10/10/10/QQQQQ5/10/10/qqqq6 w", "expected 10 ranks"),
        ("othello", "8/8/8/8/8/8/8/PPPPPPpp w", "the game is over"),
    ],
)
def test_other_positions_are_refused(game: str, fen: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        uci_game(games.load(game)).position(fen)


@pytest.mark.parametrize("game", ["tic_tac_toe", "othello(size=6)", "open_spiel(game=go)"])
def test_other_games_are_refused(game: str) -> None:
    with pytest.raises(ValueError, match=r"UCI programs play chess, breakthrough, .*, not "):
        uci_game(games.load(game))


def test_the_variants_are_documented() -> None:
    text = (ROOT / "docs" / "other-programs.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| `UCI_Variant` \| game \|\n\| --- \| --- \|\n((?:\|.*\n)+)", text)
    listed: dict[str, str] = {}
    for row in table.splitlines():
        names, played = (re.findall("`([^`]+)`", cell) for cell in row.strip("|").split("|"))
        listed |= dict(zip(names, played, strict=True))
    first = {each.name: each.game for each in reversed(VARIANTS)}
    assert listed == first
