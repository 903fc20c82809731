"""Files of tournaments: the specification they give, and the errors with their lines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playout.commands.toml_lines import Path, lines_of
from playout.protocol import versions
from playout.protocol.tournament_spec import (
    Adjudication,
    Entrant,
    Openings,
    SandboxSettings,
    Sprt,
    TournamentSpec,
    dumps,
    loads,
)
from playout.ratings.book import shipped
from support.organizer import SpecFaults, read
from support.scale import repetitions
from support.variants import EXAMPLES

EXAMPLE = """\
name = "uct against rave"
games = ["connect_four", "mnk(m=8,n=8,k=5)"]
format = "round_robin"      # gauntlet, swiss, knockout, match, sprt
rounds = 10                  # pairs per pairing and game
clock = "0.1/move"
concurrency = 2
seed = 7
openings = { plies = 2 }     # or { file = "openings.txt" }
[[entrants]]
name = "uct"
player = "uct(c=1.2)"
[[entrants]]
name = "mine"
command = "python my_bot.py"
version = "2.1"
"""
TWO = """
[[entrants]]
name = "old"
[[entrants]]
name = "new"
"""
SMALL = f'name = "small"\ngames = ["tic_tac_toe"]\nformat = "match"\n%s{TWO}'


def no_file(path: str) -> bytes | None:
    return None


def errors_of(text: str, files: dict[str, bytes] | None = None) -> list[str]:
    with pytest.raises(SpecFaults) as caught:
        read(text, where="T.toml", files=(files or {}).get)
    return str(caught.value).split("\n")


def test_the_example_is_read() -> None:
    assert read(EXAMPLE) == TournamentSpec(
        name="uct against rave",
        games=("connect_four", "mnk(m=8,n=8)"),
        format="round_robin",
        entrants=(
            Entrant("uct", versions.of_player("uct(c=1.2)", no_file), player="uct(c=1.2)"),
            Entrant("mine", "2.1", command="python my_bot.py"),
        ),
        rounds=10,
        clock="0.1/move",
        concurrency=2,
        seed=7,
        openings=Openings(plies=2),
    )


def test_missing_keys_have_their_defaults() -> None:
    spec = read(SMALL % "")
    assert spec == TournamentSpec(
        "small", ("tic_tac_toe",), "match", (Entrant("old", ""), Entrant("new", ""))
    )
    assert (spec.rounds, spec.clock, spec.concurrency, spec.sprt) == (1, "0.1/move", 0, None)


def test_a_test_of_two_has_bounds_and_ends_by_itself() -> None:
    text = SMALL.replace("match", "sprt")
    assert read(text % "").sprt == Sprt()
    assert read(text % "").rounds == 0
    assert read(text % "rounds = 0").rounds == 0
    some = "sprt = { elo0 = -1, elo1 = 2.5, alpha = 0.1, beta = 0.01, model = 'logistic' }\n"
    assert read(text % some).sprt == Sprt(-1.0, 2.5, 0.1, 0.01, "logistic")


def test_the_other_keys_are_read() -> None:
    spec = read(
        SMALL
        % 'clock = "60+5x10"\nanchor = "new"\nadjudication = { max_plies = 90, proofs = true }'
    )
    assert spec.clock == "60+5x10"
    assert spec.anchor == "new"
    assert spec.adjudication == Adjudication(90, proofs=True)


def test_a_player_that_thinks_in_threads_needs_as_many_cores() -> None:
    text = EXAMPLE.replace("c=1.2", "threads=3")
    assert [each.threads for each in read(text).entrants] == [3, 1]
    text = EXAMPLE.replace('command = "python', 'threads = 2\ncommand = "python')
    assert [each.threads for each in read(text).entrants] == [1, 2]


@pytest.mark.parametrize(
    ("change", "to", "error"),
    [
        ("rounds", "ronds", "4: unknown key of a tournament 'ronds'; did you mean 'rounds'?"),
        ("player", "playr", "11: unknown key of an entrant 'playr'; did you mean 'player'?"),
        ("plies", "ply", "8: unknown key of openings 'ply'"),
        ('"round_robin"', '"round_robbin"', "3: format: unknown format 'round_robbin'; did you"),
        ('"connect_four"', '"connect_for"', "2: games: unknown game 'connect_for'; did you mean"),
        ("m=8", "m=80", "2: games: mnk: m must be from 1 to 20, not 80"),
        ("m=8", "q=8", "2: games: unknown option of mnk 'q'"),
        ('"mnk(m=8,n=8,k=5)"', '\n"connect_four"', "3: games: connect_four is there twice"),
        ('"mnk(m=8,n=8,k=5)"', "\n\n7", "4: games: must be text in quotes, not 7"),
        ('["connect_four", "mnk(m=8,n=8,k=5)"]', '"othello"', "2: games: must be a list of one or"),
        ('"connect_four", "mnk(m=8,n=8,k=5)"', "", "2: games: must be a list of one or more, not "),
        ("rounds = 10", "rounds = 0", "4: rounds: must be a whole number from 1 to 1000000, not 0"),
        ("rounds = 10", "rounds = true", "4: rounds: must be a whole number from 1 to 1000000, n"),
        ("rounds = 10", "rounds = 0x" + 5000 * "f", "4: rounds: must be a whole number from 1 to"),
        (
            "0.1/move",
            "0.1 a move",
            "5: clock: cannot use the clock '0.1 a move': write it as 1/m",
        ),
        ("concurrency = 2", "concurrency = -1", "6: concurrency: must be a whole number from 0 t"),
        ("seed = 7", "seed = 'x'", "7: seed: must be a whole number from -9007199254740991 t"),
        ("{ plies = 2 }", "3", "8: openings: must be a table, { key = value }, not 3"),
        ("plies = 2", "plies = 42", "8: plies: connect_four lasts at most 42 plies"),
        ('name = "uct"', 'name = ""', "10: name: a name has 1 to 32 characters; this has 0"),
        ('name = "mine"', 'name = "U-C-T"', "13: name: 'U-C-T' is taken: another entrant is cal"),
        ('name = "mine"', 'name = "uct"', "13: name: 'uct' is taken: another entrant has this na"),
        ('name = "mine"', "", "12: an entrant needs 'name'"),
        ("uct(c=1.2)", "uct(c)", "11: player: cannot read the option 'c': write it as key=value"),
        (
            "python my_bot.py",
            "python 'my_bot",
            "14: command: cannot be split into words as a sh",
        ),
        ("python my_bot.py", "", "14: command: must be 1 to 1000 visible characters"),
        (
            "command",
            "player = 'uct'\ncommand",
            "15: command: an entrant has a player or a command, not bo",
        ),
        ('"2.1"', "2.1", "15: version: must be text in quotes, not 2.1"),
        ("seed = 7", "anchor = 'utc'", "7: anchor: unknown entrant 'utc'; did you mean 'uct'?"),
        ("seed = 7", "[sprt]", "7: sprt: only for the format 'sprt', not for 'round_robin'"),
        ("seed = 7", "adjudication.proofs = 1", "7: proofs: must be true or false, not 1"),
        ('name = "uct against rave"', "", "1: a tournament needs 'name'"),
        ('version = "2.1"', "rounds = 2", "15: rounds must stand above the first [[entrants]]"),
        ("seed = 7", "seed = ", "7: Invalid value (text stands in quotes): seed ="),
        (
            '"0.1/move"',
            '"0.1/move',
            "5: Illegal character '\\n' (the quotes are not closed): clock =",
        ),
        ("[[entrants]]", "[entrants]", "12: "),
        (
            'name = "uct against rave"',
            "name = \u201cuct against rave\u201d",
            "1: Invalid value (a straight quotation mark is expected, not \u201c)",
        ),
        (
            '"uct against rave"',
            '"the bot\u2019s match',
            "1: Illegal character '\\n' (the quotes are not closed)",
        ),
        (
            "seed = 7",
            "seed\u00a0= 7",
            "7: Expected '=' after a key in a key/value pair (the line has the invisible character "
            "U+00A0)",
        ),
        (
            '"0.1/move"',
            '"C:\\Users"',
            "5: Invalid hex value (within single quotes, a backslash is itself)",
        ),
        (
            "seed = 7",
            "rounds = 7",
            "7: Cannot overwrite a value (the key is there twice): rounds = ",
        ),
        (
            "seed = 7",
            "seed = " + 5000 * "7",
            "1: a number with thousands of digits, or text that is not UTF-8",
        ),
        ("seed = 7", "seed = " + 5000 * "[", "1: lists and tables are nested too deeply"),
        ('version = "2.1"\n', 'version = """', "15: Unterminated string"),
    ],
)
def test_an_error_has_its_line_and_what_is_allowed(change: str, to: str, error: str) -> None:
    assert change in EXAMPLE
    assert errors_of(EXAMPLE.replace(change, to, 1))[0].startswith(f"T.toml:{error}")


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ("elo0 = 5\nelo1 = 5", "9: sprt: elo0 must be below elo1, not 5 and 5"),
        ("elo0 = nan", "10: elo0: must be a number from -1000 to 1000, not nan"),
        ("elo1 = 2000", "10: elo1: must be a number from -1000 to 1000, not 2000"),
        ("elo1 = true", "10: elo1: must be a number from -1000 to 1000, not true"),
        ("\nalpha = 0.5", "11: alpha: must be a number between 0 and 0.5, not 0.5"),
        ("beta = 0", "10: beta: must be a number between 0 and 0.5, not 0"),
        ("model = 'normal'", "10: model: unknown model 'normal'; did you mean 'normalized'?"),
        ("gamma = 1", "10: unknown key of sprt 'gamma' (there are: alpha, beta, elo0, elo1, m"),
    ],
)
def test_the_bounds_of_a_test_are_checked(bounds: str, error: str) -> None:
    text = SMALL.replace("match", "sprt").replace("%s", "") + f"[sprt]\n{bounds}\n"
    assert errors_of(text)[0].startswith(f"T.toml:{error}")


def test_all_errors_are_reported_in_the_order_of_the_file() -> None:
    text = EXAMPLE.replace("10", "ten'", 1).replace("ten'", "'ten'")
    text = text.replace("seed", "sed").replace("uct(c=1.2)", "").replace("2.1", "\\u0000")
    assert [line.split(": ")[0] for line in errors_of(text)] == [
        "T.toml:4",
        "T.toml:7",
        "T.toml:11",
        "T.toml:15",
    ]


def test_two_or_more_take_part_and_two_in_a_match_or_a_test() -> None:
    one = SMALL.removesuffix('[[entrants]]\nname = "new"\n') % ""
    assert errors_of(one) == ["T.toml:5: entrants: a tournament has two or more entrants, not 1"]
    assert errors_of("")[0] == "T.toml:1: a tournament needs 'name'"
    assert "T.toml:1: a tournament needs 'entrants'" in errors_of("")
    for format_ in ("match", "sprt"):
        text = SMALL.replace("match", format_) % "" + "[[entrants]]\nname = 'third'\n"
        three = f"T.toml:5: entrants: the format '{format_}' is for two entrants, not 3"
        assert errors_of(text) == [three]


def test_openings_are_read_from_a_file_in_notation_or_numbers() -> None:
    lines = b"# a comment\n a1 b2\t# another\r\n\n[0, 5]\nc3,C1\n"
    spec = read(SMALL % 'openings.file = "o.txt"\n', files={"o.txt": lines}.get)
    assert spec.openings == Openings(lines={"tic_tac_toe": ((0, 4), (0, 5), (8, 2))})


def test_each_game_may_have_its_own_openings() -> None:
    text = EXAMPLE.replace("plies = 2", 'file = { connect_four = "c", "mnk(m=8,n=8,k=5)" = "m" }')
    spec = read(text, files={"c": b"4 4", "m": b"a1 h8"}.get)
    assert spec.openings.lines == {"connect_four": ((3, 3),), "mnk(m=8,n=8)": ((0, 63),)}
    assert errors_of(text.replace("connect_four =", "othello ="))[0].startswith(
        "T.toml:8: file: unknown game of the tournament 'othello' (there are: connect_four, mnk"
    )
    assert errors_of(EXAMPLE.replace("plies = 2", "file = { connect_four = 'c' }")) == [
        "T.toml:8: file: there must be a file for mnk(m=8,n=8) too"
    ]


def test_errors_in_a_file_of_openings_have_its_lines() -> None:
    lines = b"a1 b2\nb1 z9\n[0, 4]\n[0, x]\n[0, 0]\na1 b1 a2 b2 a3\n"
    found = errors_of(SMALL % '\nopenings.file = "o"\n', {"o": lines})
    assert [line[:60] for line in found] == [
        "o:2: tic_tac_toe, move 2: 'z9' is not legal here; legal are:",
        "o:3: it leads to the same position as line 1",
        "o:4: tic_tac_toe, move 2: expected the number of an action i",
        "o:5: tic_tac_toe, move 2: action 0 (a1) is not legal here; l",
        "o:6: tic_tac_toe: the game is over after these moves; plies ",
    ]
    assert found[0].endswith("(numbers of actions are written in brackets)")


def test_a_file_of_openings_must_be_there_and_have_some() -> None:
    text = SMALL % '\nopenings = { file = "o" }\n'
    assert errors_of(text) == ["T.toml:5: file: there is no file 'o'"]
    assert errors_of(text, {"o": b"a\0"}) == ["T.toml:5: file: 'o' is no text: it has zero bytes"]
    assert errors_of(text, {"o": b"\n# none\n"}) == [
        "T.toml:5: file: 'o' has no opening that could be played"
    ]


def test_openings_of_a_file_may_be_cut_and_used_in_order() -> None:
    text = SMALL % 'openings = { file = "o.pgn", plies = 1, order = "in_order" }\n'
    openings = read(text, files={"o.pgn": b"1. a1 b2 *\n1. a1 *\n1. c3 *"}.get).openings
    assert openings == Openings(lines={"tic_tac_toe": ((0,), (8,))}, order="in_order")
    wrong = text.replace("in_order", "sorted")
    assert errors_of(wrong, {"o.pgn": b"1. a1 *"})[0].startswith(
        "T.toml:4: order: unknown order 'sorted'"
    )
    assert errors_of(SMALL % "openings.order = 'in_order'\n") == [
        "T.toml:4: order: needs file or shipped, whose openings it orders"
    ]


def test_shipped_openings_and_random_ones_for_games_without_a_book() -> None:
    text = SMALL % "openings = { shipped = true }\n"
    openings = read(text).openings
    assert openings == Openings(lines={"tic_tac_toe": shipped("tic_tac_toe")})
    both = text.replace('["tic_tac_toe"]', '["tic_tac_toe", "othello(size=4)"]')
    (error,) = errors_of(both)
    assert error.startswith("T.toml:4: shipped: othello(size=4) has no shipped openings")
    found = read(both.replace("true }", "true, plies = 3 }")).openings
    assert found == Openings(plies=3, lines={"tic_tac_toe": shipped("tic_tac_toe")})
    assert errors_of(text.replace("true }", 'true, file = "o" }'), {"o": b"a1"}) == [
        "T.toml:4: shipped: openings are shipped ones or those of a file, not both"
    ]


DEFAULTS = """\
name = "limits"
games = ["tic_tac_toe"]
format = "match"
[defaults]
clock = "60+1"
threads = 3
options = { simulations = 400, solver = false }
[[entrants]]
name = "one"
player = "uct(c=1.2)"
clock = "10/move"
options = { simulations = 10, threads = 2 }
[[entrants]]
name = "two"
player = "uct"
"""


def test_entrants_have_limits_of_their_own_or_the_defaults() -> None:
    one, two = read(DEFAULTS).entrants
    assert one.player == "uct(c=1.2,simulations=10,threads=2,solver=false)"
    assert (one.clock, one.threads) == ("10/move", 2)
    assert two.player == "uct(simulations=400,solver=false)"
    assert (two.clock, two.threads) == ("60+1", 3)
    assert two.version == versions.of_player(two.player, no_file)
    assert read(DEFAULTS + "defaults = false").entrants[1] == Entrant(
        "two", versions.of_player("uct", no_file), player="uct"
    )


@pytest.mark.parametrize(
    ("change", "to", "error"),
    [
        ("threads = 2", "c = 2", "12: options: c is given with the player, too"),
        ("threads = 2", "c_ = [1]", "12: options: c_ must be a number, text, true or false, not a"),
        ("threads = 2", "net = 'a,b'", "12: options: net = 'a,b' cannot be an option of a player"),
        ("10/move", "none", "11: clock: either all entrants have a clock, or none of them has"),
        (
            "threads = 3",
            "thread = 3",
            "6: unknown key of defaults 'thread'; did you mean 'threads'",
        ),
        ('player = "uct"\n', "options = { c = 1 }", "15: options: only for an entrant with a pla"),
        ("[defaults]", "[default]", "4: unknown key of a tournament 'default'; did you mean"),
        ("threads = 2", "net = '" + "x" * 490 + "'", "8: player: with its options, it has more"),
    ],
)
def test_an_error_in_limits_has_its_line(change: str, to: str, error: str) -> None:
    assert change in DEFAULTS
    assert errors_of(DEFAULTS.replace(change, to, 1))[0].startswith(f"T.toml:{error}")


def test_the_version_of_a_player_is_what_it_plays_with() -> None:
    def of(player: str, files: dict[str, bytes] | None = None) -> str:
        return versions.of_player(player, (files or {}).get)

    assert of("uct(c=1.2,time=1)") == of(" uct( time = 1, c=1.2 )")
    assert of("uct") == of("uct()")
    assert len({of("uct"), of("rave"), of("uct(c=1)"), of("uct(c=2)"), of("uct(c=1,d=2)")}) == 5
    old, new = {"bots/mine.py": b"old"}, {"bots/mine.py": b"new"}
    assert of("bots.mine:Bot", old) == of("bots.mine:Bot", old)
    assert len({of("bots.mine:Bot", files) for files in (None, old, new)}) == 3


def test_with_other_players_installed_a_player_is_another_version() -> None:
    digests = {versions.of_player("uct", {}.get, code) for code in ("", "1", "2")}
    assert len(digests) == 3
    entrants = [read(EXAMPLE, code=code).entrants for code in ("1", "2")]
    changed = [one.name for one, other in zip(*entrants, strict=True) if one != other]
    assert changed == ["uct"], "and not what has a version that was given"


def test_the_version_of_a_command_is_its_words_and_the_files_among_them() -> None:
    def of(command: str, **files: bytes) -> str:
        return versions.of_command(command, files.get)

    assert of("bot  'a b'") == of('bot "a b"', b=b"not a word of it")
    different = {
        of("bot a b"),
        of("bot 'a b'"),
        of("bot ab"),
        of("bot a b", bot=b"1"),
        of("bot a b", bot=b"2"),
        of("bot a b", a=b"1"),
        of("bot a b", a=b"1", bot=b"1"),
    }
    assert len(different) == 7
    assert all(len(each) == 12 and int(each, 16) >= 0 for each in different)


FRAGMENTS = st.sampled_from(
    [
        *EXAMPLE.splitlines(keepends=True),
        *"abc.=\n\n\n\n,{}[]\"'#\\1-: \t\r\x00é",
        *("[a]\n", "[[a]]\n", "[[a.b]]\n", "[a.b.c]\n", "[sprt]\n", "x = [\n", '"""', "'''"),
        *("a = 1\n", "a.b = {c = [1, 2.5], d.e = 'x'}\n", "'q.r' = 1979-05-27 07:32:00 # t\n"),
        *('x = """\n\\"""\n]"""""\n', "y = '''\n'''\n", 'z = [[], [{a = 1}],\n#]\n {b = "]"}]\n'),
        *("elo0 = inf\n", "alpha = nan\n", "proofs = true\n", "version = '\x7f'\n", "anchor = 1\n"),
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=30).map("".join)
PLACES = st.integers(0, len(EXAMPLE))
DAMAGED = st.builds(lambda a, b, text: EXAMPLE[:a] + text + EXAMPLE[b:], PLACES, PLACES, FRAGMENTS)


def paths_of(value: object, path: Path = ()) -> Iterator[Path]:
    """The paths of all values."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths_of(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from paths_of(each, (*path, place))


@given(TEXTS)
@settings(max_examples=repetitions(1000, short=30))
def test_every_key_of_a_text_has_a_line(text: str) -> None:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = lines_of(text)
    assert set(lines) == set(paths_of(values))
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in text.split("\n")[line - 1]


def test_lines_are_those_of_the_keys() -> None:
    text = 'a = """\n[b]\n"""\n[[c]]\nd.e = [\n  1,\n  { f = 2 },\n]\n[[c]]\n[c.g]\n"h\\n.i" = 3\n'
    assert lines_of(text) == {
        ("a",): 1,
        ("c",): 4,
        ("c", 0): 4,
        ("c", 0, "d"): 5,
        ("c", 0, "d", "e"): 5,
        ("c", 0, "d", "e", 0): 6,
        ("c", 0, "d", "e", 1): 7,
        ("c", 0, "d", "e", 1, "f"): 7,
        ("c", 1): 9,
        ("c", 1, "g"): 10,
        ("c", 1, "g", "h\n.i"): 11,
    }


@given(st.one_of(TEXTS, st.text(), DAMAGED))
@settings(max_examples=repetitions(500, short=30))
def test_any_text_is_read_or_its_errors_are_reported(text: str) -> None:
    try:
        spec = read(text)
    except SpecFaults as error:
        for line in str(error).split("\n"):
            assert line.startswith("SPEC.toml:")
            assert 1 <= int(line.split(":")[1]) <= text.count("\n") + 1
    else:
        assert loads(dumps(spec)) == spec


def test_many_long_errors_are_cut_and_counted() -> None:
    keys = "".join(f'"{number}{"x" * 20_000}\\n" = 1\n' for number in range(100))
    errors = errors_of(keys)
    assert len("\n".join(errors)) < 10_000
    assert errors[-1].startswith("T.toml:")
    assert errors[-1].endswith(" more errors")
    assert all(each.isprintable() for each in errors)


def test_text_that_is_not_unicode_is_refused() -> None:
    assert errors_of("name = '\ud800'")[0].startswith("T.toml:1: ")


@given(
    rounds=st.integers(1, 10**6),
    seed=st.integers(-(2**53) + 1, 2**53 - 1),
    game=st.sampled_from(EXAMPLES),
    bounds=st.tuples(st.floats(-1000, 0), st.floats(0.001, 1000), st.floats(0.001, 0.499)),
    how=st.sampled_from([{"player": "uct"}, {"command": "bot '\"é"}, {}]),
)
@settings(max_examples=repetitions(200, short=30))
def test_a_specification_is_stored_and_comes_back(
    rounds: int, seed: int, game: str, bounds: tuple[float, float, float], how: dict[str, str]
) -> None:
    elo0, elo1, alpha = bounds
    spec = TournamentSpec(
        name="é|<&>",
        games=(game,),
        format="sprt",
        entrants=(
            Entrant("a", "1", how.get("player"), how.get("command"), 2),
            Entrant("b", ""),
        ),
        rounds=rounds,
        seed=seed,
        openings=Openings(lines={game: ((0, 1), (2,))}),
        adjudication=Adjudication(5, proofs=True),
        sprt=Sprt(elo0, elo1, alpha),
        anchor="a",
    )
    assert loads(dumps(spec)) == spec


# Programs with a protocol, and their sandbox.


def test_a_sandboxed_program_has_a_protocol() -> None:
    program = 'name = "old"\ncommand = "python3 bot.py"\nfolder = "old"\nsandbox = true'
    text = (SMALL % "").replace('name = "old"', program)
    assert errors_of(text) == [
        "T.toml:9: sandbox: a program that connects by itself needs the network, which a sandbox "
        "does not have: set the protocol that it speaks on its standard input and output (gtp, "
        "uci, gomocup, lines)"
    ]
    assert read(text.replace("folder", 'protocol = "lines"\nfolder')).entrants[0].sandbox


def test_the_sandbox_has_limits() -> None:
    limits = "sandbox = { memory_mb = 100, without = ['cgroup'], reads = ['lib', '/opt/x'] }"
    assert read(SMALL % limits).sandbox == SandboxSettings(
        memory_mb=100, without=("cgroup",), reads=("lib", "/opt/x")
    )
    wrong = "sandbox = { memory_mb = 1, without = ['all'] }"
    assert errors_of(SMALL % wrong) == [
        "T.toml:4: memory_mb: must be a whole number from 16 to 1000000, not 1",
        "T.toml:4: without: unknown part of the sandbox 'all' (there are: cgroup, seccomp)",
    ]


@pytest.mark.parametrize("key", ['protocol = "gtp"', 'folder = "x"', "sandbox = true"])
def test_only_a_command_has_a_protocol_a_folder_and_a_sandbox(key: str) -> None:
    text = (SMALL % "").replace('name = "old"', f'name = "old"\nplayer = "uct"\n{key}')
    name = key.split(maxsplit=1)[0]
    assert errors_of(text) == [f"T.toml:8: {name}: only for an entrant with a command"]


def test_the_version_of_a_program_follows_from_the_file_in_its_folder() -> None:
    program = 'name = "old"\ncommand = "python3 bot.py"\nfolder = "old"'
    text = (SMALL % "").replace('name = "old"', program)
    one, other = (
        read(text, files={"old/bot.py": content}.get).entrants[0].version
        for content in (b"1", b"2")
    )
    assert one != other
