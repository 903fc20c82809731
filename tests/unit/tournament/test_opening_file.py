"""Files of openings: lists, PGN and SGF, what is read of them, and the places of mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf as sgfmill

from playout import games
from playout.games import Game, Position
from playout.server import export
from playout.server.tournament import opening_file
from playout.server.tournament.opening_file import BadOpening, PlayableOpening
from support.scale import repetitions
from support.stored_game import PlayedGame
from support.variants import EXAMPLES

ENDING = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"
GAMES = ["tic_tac_toe", "gomoku(size=7)", "othello(size=6)"]
PLAYED = """\
[Event "a match"]
[Variant "tic_tac_toe"]

; a comment, and one in braces
1. a1 {why
not} b2 $1 (1... c3 2. a2 (2. b1)) 2. c3 a2!? *

[Event "another"]

1.b1 c1 2. a1 1-0
"""


def read(name: str, text: str, game: str = "tic_tac_toe", most: int = 0) -> list[tuple[int, str]]:
    """Each opening as the line and the names of its moves, or the error."""
    rules = games.load(game)
    return [
        (line, f"error: {found}" if isinstance(found, BadOpening) else named(rules, found))
        for line, found in opening_file.read(name, text, rules, most)
    ]


def named(game: Game, opening: PlayableOpening) -> str:
    """The names of an opening's moves, after its first position in brackets."""
    names = [f"[{opening.fen}]"] if opening.fen else []
    game = games.beginning_at(game, opening.fen) if opening.fen else game
    state = game.initial_state()
    for action in opening.actions:
        names.append(game.action_name(state, action))
        state = game.next_state(state, action)
    return " ".join(names)


def test_pgn_has_an_opening_in_each_match_without_variations_and_comments() -> None:
    assert read("games.pgn", PLAYED) == [(5, "a1 b2 c3 a2"), (10, "b1 c1 a1")]
    assert read("GAMES.PGN", PLAYED, most=2) == [(5, "a1 b2"), (10, "b1 c1")]


def test_equal_openings_are_used_once_or_are_an_error() -> None:
    text = "1. a1 b2 c3 *\n1. a1 b2 a2 *\n"
    assert read("o.pgn", text, most=2) == [(1, "a1 b2")]
    same = "error: it leads to the same position as line 1"
    assert read("o.pgn", "1. a1 b2 *\n1. a1 b2 *\n") == [(1, "a1 b2"), (2, same)]


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("1. a1\nz9 *", 2, "tic_tac_toe, move 2: 'z9' is not legal here; legal are: b1,"),
        (
            "1. a1 b1\n2. a2 b2\n3. a3 *",
            1,
            "tic_tac_toe: the game is over after these moves; ",
        ),
        ('[Variant "othello"]\n\n1. d3 *', 1, "a match of othello, and the openings are for tic_t"),
        ('[Event "x"]\n[FEN "x"]\n\n1. a1 *', 4, "tic_tac_toe begins with no other position"),
        ("1. a1 {\n\n", 1, "a comment that is not closed"),
        ('1. a1\n"b1', 2, "a string that is not closed"),
        ("1. a1 (1. b1\n", 1, "a variation that is not closed"),
        ("1. a1 )\n", 1, "a ')' without a variation"),
    ],
)
def test_an_error_of_pgn_has_its_line(text: str, line: int, error: str) -> None:
    (found,) = read("o.pgn", text)
    assert found[0] == line
    assert found[1].startswith(f"error: {error}")


def test_sgf_has_an_opening_in_each_variation() -> None:
    text = "(;GM[1]SZ[3]C[a \\] b]\n;B[aa];W[bb]\n(;B[cc])(;B[ac]\n;W[ca]))\n(;B[ba])"
    assert read("o.sgf", text) == [(2, "a1 b2 c3"), (2, "a1 b2 a3 c1"), (5, "b1")]
    assert read("o.sgf", text, most=2) == [(2, "a1 b2"), (5, "b1")]


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("(;SZ[4];B[aa])", 1, "a board of size 4, and this game has 3 or 3:3"),
        ("(;B[aa];\nB[bb])", 2, "tic_tac_toe, move 2: B[bb]: it is the turn of the other player"),
        ("(;B[aa];\nW[aa])", 2, "tic_tac_toe, move 2: W[aa] is not legal here"),
        ("(;B[aa];W[zz])", 1, "tic_tac_toe, move 2: W[zz] is not legal here"),
        ("(;\nAB[aa];W[bb])", 2, "AB sets up a position; openings start at the first one"),
        ("(;B[aa];AE[aa])", 1, "AE removes stones; openings have moves only"),
        ("(;B[aa]\n;W[bb", 2, "the value of W is not closed by ']'"),
        ("(;B[aa]", 1, "a game that is not closed by ')'"),
        ("(;B[aa] 7)", 1, "'7' is not expected here"),
        ("(;GM[2]\nB[aa])", 1, "game number 2 (GM), and the game here is 4"),
    ],
)
def test_an_error_of_sgf_has_its_line(text: str, line: int, error: str) -> None:
    assert (line, f"error: {error}") in read("o.sgf", text)


def test_sgf_is_refused_for_a_game_that_it_does_not_describe() -> None:
    assert read("o.sgf", "(;B[aa])", "connect_four") == [
        (1, "error: SGF is for games of placing stones on one grid, not for connect_four")
    ]


@st.composite
def lines_of_play(draw: st.DrawFn) -> tuple[str, tuple[int, ...]]:
    """A game, and legal moves that do not end it."""
    text = draw(st.sampled_from(GAMES))
    game = games.load(text)
    state, actions = game.initial_state(), []
    for _ in range(draw(st.integers(1, 8))):
        action = draw(st.sampled_from(game.legal_actions(state)))
        state = game.next_state(state, action)
        if game.winner(state):
            break
        actions.append(action)
    return text, tuple(actions)


@given(lines_of_play())
@settings(max_examples=repetitions(2000, short=25), deadline=None)
def test_openings_are_read_back_from_every_format_that_is_exported(
    played: tuple[str, tuple[int, ...]],
) -> None:
    game, actions = played
    expected = [PlayableOpening(actions)] if actions else []
    stored = PlayedGame(game).play(*actions).stored
    for kind in ("pgn", "sgf"):
        text = export.writer(kind)(stored)
        found = [opening for _, opening in opening_file.read(f"o.{kind}", text, games.load(game))]
        assert found == expected
    listed = f"{named(games.load(game), PlayableOpening(actions))}\n"
    assert [each for _, each in opening_file.read("o", listed, games.load(game))] == expected


@pytest.mark.parametrize("spec", EXAMPLES)
def test_a_match_of_any_game_is_read_back_without_its_last_move(spec: str) -> None:
    game = games.load(spec)
    stored = PlayedGame(spec).play_anything(1).stored
    *actions, _ = [move.action for move in stored.moves]
    for kind in ("pgn", "sgf") if export.sgf.suits(game) else ("pgn",):
        text = export.writer(kind)(stored)
        (found,) = opening_file.read(f"o.{kind}", text, game, len(actions))
        assert found[1] == PlayableOpening(tuple(actions))


@given(lines_of_play())
@settings(max_examples=repetitions(1000, short=15), deadline=None)
def test_sgf_of_another_writer_is_read(played: tuple[str, tuple[int, ...]]) -> None:
    name, actions = played
    game = games.load(name)
    state, view = game.initial_state(), game.view(game.initial_state())
    tree = sgfmill.Sgf_game(size=view.rows)
    stones = {
        seat: {
            (view.rows - 1 - cell // view.columns, cell % view.columns)
            for cell, owner in enumerate(view.cells)
            if owner == seat
        }
        for seat in (1, 2)
    }
    if any(stones.values()):
        tree.get_root().set_setup_stones(stones[1], stones[2])
    for action in actions:
        clicks = game.view(state).clicks[action]
        colour = "b" if game.current_player(state) == 1 else "w"
        point = None
        if clicks:
            row, column = divmod(clicks[0], view.columns)
            point = (view.rows - 1 - row, column)
        tree.extend_main_sequence().set_move(colour, point)
        state = game.next_state(state, action)
    found = list(opening_file.read("o.sgf", tree.serialise().decode(), game))
    assert [opening for _, opening in found] == ([PlayableOpening(actions)] if actions else [])


FRAGMENTS = st.sampled_from(
    [
        *("(", ")", ";", "B[aa]", "W[bb]", "[", "]", "{", "}", '"', "a1", "b2", "1.", "*", "1-0"),
        *("\n", '[A "b"]', "AB[cc]", "SZ[3]", "\\", "$1", "%", "#", "é", "[0, 4]", "tt", "5"),
    ]
)


@given(st.lists(FRAGMENTS, max_size=20).map("".join), st.sampled_from(["o", "o.pgn", "o.sgf"]))
@settings(max_examples=repetitions(5000, short=100), deadline=None)
def test_arbitrary_files_give_openings_or_an_error_with_a_line(text: str, name: str) -> None:
    game = games.load("tic_tac_toe")
    for line, found in opening_file.read(name, text, game):
        assert 1 <= line <= text.count("\n") + 1
        if isinstance(found, BadOpening):
            assert found.line == line
            assert str(found).isprintable()
        else:
            assert isinstance(named(game, found), str)


def test_pgn_of_chess_programs_has_openings_and_those_that_set_up_the_same_position() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1"
    text = f'[SetUp "1"]\n[FEN "{fen}"]\n\n1. 0-0 Ke7 2. e4! {{[%clk 0:01:00]}} *\n'
    assert read("o.pgn", text, f"chess(fen={fen})") == [(4, "O-O Ke7 e4")]
    assert read("o.pgn", text, "chess") == [(4, f"[{fen}] O-O Ke7 e4")]
    assert read("o.pgn", "1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 *", "chess") == [(1, "e4 e5 Nf3 Nc6 Bb5 a6")]


# Files of other programs.

LAX = [
    "1. e4 e5 2. Ng1f3 Nb8c6 3. Bf1-b5 a7-a6",
    "1.e4 e5 2.Nf3 Nc6 3.Bb5 a6",
    "1 e4 e5 2 Nf3 Nc6 3 Bb5 a6",
    "1. e4 ! e5 2. Nf3 ?! Nc6 3. Bb5 $1 a6 +=",
    "1. e2-e4 e7e5 2. g1f3 b8-c6 3. f1b5 a7a6",
    "1. e4!! e5?? 2. Ngf3 Nbc6 3. Bb5 a6 N",
    "1. Pe4 Pe5 2. \u2658f3 \u265ec6 3. \u2657b5 a6",
    "1.e4 {a [comment]} e5 (1... c5 2. Nf3 (2. d4)) 2. Nf3 Nc6 ; rest\n% escape\n3. Bb5 a6",
    "1. e4 1... e5 2. Nf3 2\u2026 Nc6 3. Bb5 3... a6",
    "1. e4 e5 2. N1f3 N8c6 3. Bb5+ a6",
]


@pytest.mark.parametrize("moves", LAX)
@pytest.mark.parametrize(
    "result",
    [
        *("*", "1-0", "1/2", "\u00bd-\u00bd", "1/2-1/2", ""),
        *("0.5-0.5", "1\u20130", "1 - 0", "1/2 \u2212 1/2", "+:-", "resigns", "1-0 ff"),
    ],
)
def test_moves_of_chess_are_read_as_other_programs_write_them(moves: str, result: str) -> None:
    text = f'[Event "x"]\n\n{moves} {result}\n\n[Event "y"]\n\n1. d4 d5 {result}\n'
    assert [each for _, each in read("o.pgn", text, "chess")] == ["e4 e5 Nf3 Nc6 Bb5 a6", "d4 d5"]


@pytest.mark.parametrize(
    ("moves", "told"),
    [
        ("1. e4 e5 2. Sf3 Sc6", "'Sf3' has no English letter of a piece"),
        ("1. e4 e5 2. Df3+ Cc6", "'Df3+' has no English letter"),
        ("1. e4 e5 2. \u041af3 d6", "has no English letter"),
        ("1. P-K4 P-K4", "'P-K4' is in the old descriptive notation"),
        ("1. e4 e5 2. N-KB3", "'N-KB3' is in the old descriptive notation"),
        ("1. e4 d5 2. PxP", "'PxP' is in the old descriptive notation"),
    ],
)
def test_games_in_other_notations_are_skipped_with_the_reason(moves: str, told: str) -> None:
    text = f'[Event "x"]\n\n{moves} *\n\n[Event "y"]\n\n1. d4 \u265ef6 2. \u2658f3 *\n'
    wrong, right = (each for _, each in read("o.pgn", text, "chess"))
    assert told in wrong
    assert right == "d4 Nf6 Nf3"


EP = "e4 e6 e5 d5 exd6 cxd6"
PROMOTED = "e4 d5 exd5 c6 dxc6 Qd7 cxb7 Qd6 bxa8="
CASTLED = "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O Nf6 d3 O-O"


@pytest.mark.parametrize(
    ("moves", "names"),
    [
        ("1. e4 e6 2. e5 d5 3. exd6 e.p. cxd6", EP),
        ("1. e4 e6 2. e5 d5 3. exd6e.p. cd", EP),
        ("1. e4 e6 2. e5 d5 3. exd6 dis. ch. cd", EP),
        ("1. e4 e6 2. e5 d5 3. ed ep c7:d6", EP),
        ("1. e4, e6 2. e5 d5 3. exd6/ep cxd6 1:0", EP),
        ("1. e4 e6 2. e5 d5 3. exd6 e. p. \u2013 c7xd6", EP),
        ("1. e4 d5 2. exd5 c6 3. dxc6 Qd7 4. cxb7 Qd6 5. bxa8Q", f"{PROMOTED}Q"),
        ("1. e4 d5 2. exd5 c6 3. dxc6 Qd7 4. cxb7 Qd6 5. bxa8(N)", f"{PROMOTED}N"),
        ("1. e4 d5 2. exd5 c6 3. dxc6 Qd7 4. cxb7 Qd6 5. b7xa8=q", f"{PROMOTED}Q"),
        ("1. e4 d5 2. exd5 c6 3. dxc6 Qd7 4. cxb7 Qd6 5. ba8/R", f"{PROMOTED}R"),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0-0 Nf6 5. d3 0-0", CASTLED),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. o-o Nf6 5. d3 o-o!", CASTLED),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 5. d3 e8g8", CASTLED),
        ("1. e2-e4 e7-e5 2. g1-f3 b8-c6 3. f1-c4 f8-c5 4. e1-g1 g8-f6 5. d2-d3 e8-g8", CASTLED),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0\u20130 Nf6 5. d3 O\u2013O+", CASTLED),
        ("1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. Ke1-g1 Nf6 5. d3 Ke8g8", CASTLED),
    ],
)
def test_special_moves_of_chess_are_read(moves: str, names: str) -> None:
    assert [each for _, each in read("o.pgn", f"{moves} *\n", "chess")] == [names]


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ('[Result "0-0"]', "d4 d5 c4"),
        (f'[SetUp "1"]\n[FEN "{START} 0 1"]', "d4 d5 c4"),
        (f'[SetUp "1"]\n[FEN "{START}"]', "d4 d5 c4"),
        ('[SetUp "1"]', "d4 d5 c4"),
        ('[Variant "Standard"]', "d4 d5 c4"),
        ('[Variant "From Position"]', "d4 d5 c4"),
        ('[Site "The "Big" one"]', "d4 d5 c4"),
        ('[Variant "?"]\n[FEN "?"]', "d4 d5 c4"),
        ('[FEN "startpos"]', "d4 d5 c4"),
        ('[Variant "Atomic"]', "error: a match of Atomic, and the openings are for chess"),
        ('[FEN "4k3/8/8/8/8/8/4P3/4K2R w - 0 1"]', "error: chess: cannot read the position"),
        ('[FEN "8/8/8/8/8/8/8/8 w - - 0 1"]', "error: chess: cannot read the position"),
    ],
)
def test_tags_of_chess_decide_which_games_are_used(tags: str, told: str) -> None:
    end = " 0-0" if "0-0" in tags else " *"
    text = f'[Event "x"]\n{tags}\n\n1. d4 d5 2. c4{end}\n\n[Event "y"]\n\n1. e4 e5 *\n'
    (_, first), (_, second) = read("o.pgn", text, "chess")
    assert first.startswith(told)
    assert second == "e4 e5"


@pytest.mark.parametrize(
    "broken", ["1. e4 {never closed", "1. Zz9", "1. e4 )", '1. "e4', "1. e4 -- 2. Nf3 Nf6"]
)
def test_a_game_that_cannot_be_read_does_not_hide_the_next(broken: str) -> None:
    text = f'[Event "x"]\n\n{broken}\n\n[Event "y"]\n\n1. e4 e5 *\n'
    first, second = read("o.pgn", text, "chess")
    assert first[1].startswith("error: ")
    assert second == (7, "e4 e5")


DRAUGHTS = "1. 33-28 19-23 2. 28x19 14x23 3. 32-28 23x32 4. 37x28 10-14 5. 34-30 18-22 6. 31-26"


@pytest.mark.parametrize(
    "moves",
    [
        f"{DRAUGHTS} 22x33 7. 38x29 20-24 8. 30x10 5x14",
        f"{DRAUGHTS} 22x33 7. 38x29 20-24 8. 30x19x10 05x14",
        f"{DRAUGHTS} 22:33 7. 38:29 20-24 8. 30:19:10 5:14",
        f"{DRAUGHTS} 22x33 7. 38x29 20-24 8. 30x19 19x10 5x14",  # a token for each jump
        f"{DRAUGHTS} 22x33! 7. 38x29? 20-24 8. 30*10 5x14 0-0",
    ],
)
def test_a_capture_of_draughts_is_one_move(moves: str) -> None:
    ((_, names),) = read("o.pdn", f'[GameType "20"]\n\n{moves} *\n', "draughts")
    assert names.endswith("38x29 20-24 30x19 19x10 5x14")


@pytest.mark.parametrize(
    "moves", ["1. 33 - 28 19 - 23", "1. 3328 1923 *", "1. 33.28 *", "33 28 19 23 1-1"]
)
def test_numbers_alone_are_not_taken_for_a_match_without_moves(moves: str) -> None:
    ((_, told),) = read("o.pdn", f'[GameType "20"]\n\n{moves}\n', "draughts")
    assert "is no move, and no other is given" in told


@pytest.mark.parametrize(
    ("game", "type_", "told"),
    [
        ("draughts", "20", "32-28"),
        ("draughts", "20,W,10,10,N2,0", "32-28"),
        ("draughts", "25", "error: a match of GameType 25; draughts has 20"),
        ("draughts", "40,W,10,10,N2,0", "error: a match of GameType 40; draughts has 20"),
        ("draughts", "?", "32-28"),
        ("checkers", "20", "error: a match of GameType 20; checkers has 21"),
    ],
)
def test_a_match_of_another_kind_of_draughts_is_an_error(game: str, type_: str, told: str) -> None:
    ((_, found),) = read("o.pdn", f'[GameType "{type_}"]\n\n1. 32-28 *\n', game)
    assert found == told


@pytest.mark.parametrize(
    ("text", "game", "told"),
    [
        ("(;SZ[9];B[];W[];B[ee])", "go(size=9)", "move 3: B[ee] is not legal: the game is over"),
        ("(;SZ[11];R[c4];B[d5])", "hex", "R[c4] is no move: write B and W"),
        ("(;SZ[11];B[d5];blue[c4])", "hex", "BLUE[c4] is no move: write B and W"),
        ("(;SZ[11];B[b2];W[SWAP])", "hex", "move 2: W[SWAP]: hex has no swap; Hex has one with"),
    ],
)
def test_sgf_says_why_a_move_is_refused(text: str, game: str, told: str) -> None:
    ((_, found),) = read("o.sgf", text, game)
    assert told in found


#: The board of Othello before the first move.
GGF = f"{'-' * 27}O*{'-' * 6}*O{'-' * 27}"


@pytest.mark.parametrize(
    ("game", "text", "names"),
    [
        ("othello", "F5D6C3", "f5 d6 c3"),
        ("chess", "position startpos moves e2e4 e7e5", "e4 e5"),
        ("chess", "startpos moves e2e4 e7e5", "e4 e5"),
        (
            "chess",
            "position fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 9 moves e2e4 e8d7",
            "[4k3/8/8/8/8/8/4P3/4K3 w - - 0 9] e4 Kd7",
        ),
        ("othello", "f5d6c3\n", "f5 d6 c3"),
        ("othello", "1. F5 2. d6 3. c3", "f5 d6 c3"),
        ("othello", '"f5d6c3"', "f5 d6 c3"),
        ("othello", "F5 D6 C3", "f5 d6 c3"),
        ("gomoku(size=15)", "0,0, 1,-1, -2,3", "h8 i7 f11"),
        ("gomoku(size=15)", "0,0,1,-1", "h8 i7"),
        ("gomoku(size=15)", "h8;i7", "h8 i7"),
        ("gomoku(size=15)", "h8i7j10", "h8 i7 j10"),
        ("gomoku(size=15)", "Piskvorky 15x15, 11:11, 0\n8,8,1000\n9,7,20\n-1\nan engine", "h8 i7"),
        ("connect_four", "4453", "4 4 5 3"),
        ("chess", "1.e4 e5 2.Nf3", "e4 e5 Nf3"),
        ("hex(size=11,swap=true)", "b3 swap-pieces i2", "b3 swap i2"),
        ("havannah(swap=true)", "e5 swap f6", "e5 e5 f6"),
        ("havannah(swap=true)", "e5 swap-pieces f6", "e5 e5 f6"),
        ("hex(size=11)", "(;GM[11]SZ[11];B[a10];W[j1];B[resign])", "a10 j1"),
        ("othello", f"1 (;GM[Othello]BO[8 {GGF} *]B[F5//0.1]W[d6/1.2]B[C3];)", "f5 d6 c3"),
        ("othello", "(;FF[4]GM[2]SZ[8]AB[e4][d5]AW[d4][e5];B[f5];W[d6];B[c3];)", "f5 d6 c3"),
        ("go(size=9)", "(;sz[9];b[ee];w[cc])", "E5 C7"),
        ("hex(size=11)", "(;FF[4]GM[11]SZ[11];B[a10];W[j1];B[i2])", "a10 j1 i2"),
        ("hex(size=11)", "(;SZ[11];W[aj];B[ja];W[ib])", "a10 j1 i2"),
        ("hex(size=11,swap=true)", "(;SZ[11];B[b3];W[swap-pieces];B[i2])", "b3 swap i2"),
        ("chess", '[Event "x"]\n\n1. e4 e5 *\n', "e4 e5"),
        ("go(size=9)", "(;SZ[9];B[ee];W[cc])", "E5 C7"),
    ],
)
def test_a_file_of_any_name_is_recognized(game: str, text: str, names: str) -> None:
    assert read("openings.txt", text, game) == [(1 if "Event" not in text else 3, names)]


PLACED = "rnbqkbnr/1ppp1pp1/4p2p/p3P3/8/P7/1PPP1PPP/RNBQKBNR w KQkq -"


@pytest.mark.parametrize("name", ["b.epd", "b.fen", "b.txt", "b.pgn", "b"])
@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        (PLACED, "0 1"),
        (f"{PLACED} 0 4", "0 4"),
        (f"{PLACED} hmvc 3; fmvn 4;", "3 4"),
        (f'{PLACED} bm d4; fmvn 12;hmvc 1; id "a; b";', "1 12"),
        (f"{PLACED} 5 7 ; c0 note", "5 7"),
        (f'{PLACED.replace(" w ", " W ")} hmvc "2"; fmvn 7', "2 7"),
        (f'"{PLACED} 0 1"', "0 1"),
    ],
)
def test_each_position_of_epd_and_fen_is_an_opening(name: str, line: str, numbers: str) -> None:
    text = f"{line}\n\n# a comment\n{START} 0 1\r\n"
    assert read(name, text, "chess") == [(1, f"[{PLACED} {numbers}]"), (4, "")]


@pytest.mark.parametrize(
    ("line", "game", "told"),
    [
        ("rnbqkbnr/8/8/8/8/8/8/8 w - -", "chess", "each player has one king"),
        (f"{PLACED[:-6]}HAha - 0 1", "chess", "castling is some of KQkq"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "chess", "the match is over there"),
        ("7K/5Q2/6k1/8/8/8/8/8 w - - 0 1", "draughts", "cannot read the position"),
        ("W:W31-50:B1-20", "othello", "othello begins with no other position"),
    ],
)
def test_a_position_that_the_game_refuses_is_an_error(line: str, game: str, told: str) -> None:
    ((number, text),) = read("o.epd", f"{line}\n", game)
    assert number == 1
    assert text.startswith("error: ")
    assert told in text


@pytest.mark.parametrize(
    ("game", "text", "told"),
    [
        ("gomoku(size=15)", "Piskvorky 20x20, 11:11, 0\n8,8,1", "expected 'Piskvorky 15x15, '"),
        ("gomoku(size=15)", "Piskvorky 15x15, 11:11, 0\n30,8,1", "'30,8,1' is not legal"),
        ("othello", "Piskvorky 8x8, 11:11, 0\n3,3,1", "a record of five in a row"),
        ("othello", f"(;GM[Othello]BO[8 {GGF[:-1]}O *]B[F5])", "BO sets up a position"),
        ("chess", f"{PLACED} 0 1 moves e1e8", "'e1e8' is not legal"),
    ],
)
def test_a_record_of_another_board_is_an_error(game: str, text: str, told: str) -> None:
    assert told in read("o.txt", text, game)[0][1]


def test_a_game_of_pgn_begins_at_its_position() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K2R b K - 3 17"
    text = f'[SetUp "1"]\n[FEN "{fen}"]\n\n17... Ke7 18. O-O *\n'
    assert read("o.pgn", text, "chess") == [(4, f"[{fen}] Ke7 O-O")]
    assert read("o.pgn", text, "chess", most=1) == [(4, f"[{fen}] Ke7")]
    without_moves = f'[Event "x"]\n[FEN "{fen}"]\n\n*\n'
    assert read("o.pgn", without_moves, "chess") == [(2, f"[{fen}]")]


_PIECES = st.sampled_from(
    [
        *("e4", "e5", "Nf3", "bxa8Q", "exd6", "e.p.", "0-0", "1.", "1...", "*", "1-0", "1/2", "!"),
        *("30x10", "33-28", "x", "-", "(", ")", "{", "}", ";", "%", '"', "[", "]", "\n", "$1", "<"),
        *('[Event "x"]\n', '[FEN "', '[Variant "', "(;", "SZ[11]", "B[a10]", "W[swap-pieces]"),
        *(
            "F5D6C3",
            "0,0,",
            "1,-1",
            "\u2658",
            "rnbqkbnr/8/8/8/8/8/8/4K3 w - -",
            "99999",
            "\\",
            "4:5",
        ),
    ]
)
_FUZZED = ["chess", "draughts", "checkers", "hex(size=11,swap=true)", "othello", "gomoku(size=9)"]


@given(
    st.lists(_PIECES | st.text(max_size=3), max_size=30).map(" ".join),
    st.sampled_from(_FUZZED),
    st.sampled_from(["o", "o.pgn", "o.pdn", "o.sgf", "o.epd"]),
    st.sampled_from([0, 4]),
)
@settings(max_examples=repetitions(20_000, short=100), deadline=None)
def test_arbitrary_files_of_any_game_give_openings_or_errors(
    text: str, game: str, name: str, most: int
) -> None:
    rules = games.load(game)
    for line, found in opening_file.read(name, text, rules, most):
        assert line >= 1
        if isinstance(found, BadOpening):
            assert len(str(found)) < 1000
        else:
            assert isinstance(named(rules, found), str)


@pytest.mark.parametrize("name", ["book.epd", "book.fen", "book.txt"])
def test_positions_may_follow_comments(name: str) -> None:
    line = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq -"
    operations = 'id "1"; c0 "Black moves first";'
    (found,) = opening_file.read(name, f"# a book\n\n{line} {operations}\n", games.load("chess"))
    assert found == (3, PlayableOpening((), f"{line} 0 1"))


@pytest.mark.parametrize(
    ("game", "text", "spec", "names"),
    [
        ("chess", "1. e4 e5\r\n2. Nf3", "chess", ("e4", "e5", "Nf3")),
        ("chess", "1.e4 e5 2.Nf3", "chess", ("e4", "e5", "Nf3")),
        ("chess", "1. f3 e5 2. g4 Qh4#", "chess", ("f3", "e5", "g4", "Qh4#")),
        (
            "chess",
            "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1",
            "chess(fen=4k3/8/8/8/8/8/8/R3K3 w Q - 0 1)",
            (),
        ),
        ("go(size=9)", "(;GM[1]SZ[9];B[ee];W[ec])", "go", ("E5", "E7")),
        ("tic_tac_toe", "# the middle first\nb2\na1", "tic_tac_toe", ("b2", "a1")),
    ],
)
def test_people_paste_moves_and_positions(
    game: str, text: str, spec: str, names: tuple[str, ...]
) -> None:
    found, actions = opening_file.pasted(text, games.load(game), most=400)
    position = Position(found, actions)
    assert (str(found), tuple(map(position.move_name, range(position.ply)))) == (spec, names)
    with pytest.raises(BadOpening):
        opening_file.pasted("x9", games.load(game), most=400)
