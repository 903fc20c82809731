"""The commands `export` and `import` of playout-server, on a real database."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from playout.server.cli.database_commands import opened
from playout.server.cli.export_commands import export, import_
from playout.server.export import backgammon, jsonl, pgn, sgf
from playout.server.model.records import Account, StoredMatch
from playout.server.storage.queries import Reader
from support.match_records import portable
from support.stored_game import AT, LOST, PlayedGame


class MatchDatabase:
    """A database with the given matches, in a folder of its own."""

    def __init__(self, folder: Path, *matches: StoredMatch) -> None:
        self.url = f"sqlite:///{folder / 'database.db'}"
        with opened(self.url, create=True) as database:
            database.add(matches)

    def register(self, name: str) -> None:
        with opened(self.url) as database:
            database.put_account(Account(id=name, name=name, digest=name, created_at=AT))

    @property
    def matches(self) -> list[StoredMatch]:
        with opened(self.url) as database:
            return list(database.matches())

    def export(self, *arguments: str) -> Result:
        return CliRunner().invoke(export, [*arguments, "--database", self.url])

    def import_(self, *arguments: str, given: str | None = None) -> Result:
        return CliRunner().invoke(import_, [*arguments, "--database", self.url], input=given)


def called(name: str, match: StoredMatch) -> StoredMatch:
    """The same match under another id."""
    rename = {"match": name}
    return StoredMatch(
        started=structs.replace(match.started, **rename),
        moves=tuple(structs.replace(move, **rename) for move in match.moves),
        ended=match.ended and structs.replace(match.ended, **rename),
    )


STONES = called("stones", PlayedGame("tic_tac_toe", "300+3").play(*LOST).stored)
HEAP = called("heap", PlayedGame("nim(chips=3)").play(2).stored)
RUNNING = called("running", PlayedGame("nim").play(2).stored)


def test_a_database_that_is_not_there_is_not_exported(tmp_path: Path) -> None:
    result = CliRunner().invoke(export, ["--database", f"sqlite:///{tmp_path}/none.db"])
    assert result.exit_code == 1
    assert f"there is no database {tmp_path}/none.db" in result.stderr
    assert not list(tmp_path.iterdir())


def test_exported_matches_are_imported(tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    result = MatchDatabase(tmp_path, STONES, HEAP).export(str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1:] == ["playout-server: 2 matches written"]
    (tmp_path / "elsewhere").mkdir()
    other = MatchDatabase(tmp_path / "elsewhere", HEAP)
    result = other.import_(str(file))
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1:] == ["playout-server: 1 match imported, 1 known before"]
    assert other.matches == [HEAP, portable(STONES)]
    lines = file.read_text(encoding="utf-8")
    for encoding in ("utf-8-sig", "utf-16"):  # as editors store it
        file.write_bytes(lines.encode(encoding))
        result = other.import_(str(file))
        assert result.stderr.splitlines()[-1:] == [
            "playout-server: 0 matches imported, 2 known before"
        ]


def test_rated_matches_count_for_accounts_with_the_names_of_their_players(tmp_path: Path) -> None:
    """Also for an account that is made later: players register on the server to which they move."""
    unrated = structs.replace(HEAP, started=structs.replace(HEAP.started, rated=False))
    given = jsonl.write(STONES) + jsonl.write(unrated)
    database = MatchDatabase(tmp_path)
    database.register("Ann")
    assert database.import_("-", given=given).exit_code == 0
    database.register("Bob")
    with contextlib.closing(Reader(database.url)) as reader:
        for name, won in (("Ann", 1), ("Bob", 0)):
            player = reader.player(name)
            assert player
            assert player.created_at == AT
            assert {game: each.won for game, each in player.games.items()} == {"tic_tac_toe": won}
        board = reader.leaderboard("tic_tac_toe")
        assert {each.name: each.won for each in board.entries} == {"Ann": 1, "Bob": 0}


def test_a_match_on_standard_output_in_each_format(tmp_path: Path) -> None:
    database = MatchDatabase(tmp_path, STONES, HEAP)
    assert database.export("--match", "stones").stdout == jsonl.write(STONES)
    assert database.export("--format", "sgf", "--match", "stones").stdout == sgf.write(STONES)
    assert database.export("--format", "pgn").stdout == pgn.write(HEAP) + pgn.write(STONES)
    assert database.export("--format", "auto").stdout == pgn.write(HEAP) + sgf.write(STONES)


def test_a_game_is_chosen_by_all_spellings_of_its_parameters(tmp_path: Path) -> None:
    database = MatchDatabase(tmp_path, HEAP, RUNNING)
    for game, found in (
        ("nim(max_take=3)", [RUNNING]),
        ("nim( max_take=3 , chips=3 )", [HEAP]),
        ("nim", [HEAP, RUNNING]),
    ):
        texts = sorted(map(jsonl.write, found))
        assert sorted(database.export("--game", game).stdout.splitlines(keepends=True)) == texts


def test_selections_of_matches(tmp_path: Path) -> None:
    database = MatchDatabase(tmp_path, STONES, HEAP)
    for arguments, found in (
        (["--game", "nim"], [HEAP]),
        (["--game", "nim(chips=3)"], [HEAP]),
        (["--game", "ni"], []),
        (["--player", STONES.started.players[0]], [HEAP, STONES]),
        (["--player", "nobody"], []),
        (["--since", f"{datetime.fromtimestamp(AT - 1, UTC):%Y-%m-%dT%H:%M:%S}"], [HEAP, STONES]),
        (["--since", f"{datetime.fromtimestamp(AT + 86400, UTC):%Y-%m-%d}"], []),
    ):
        assert database.export(*arguments).stdout == "".join(map(jsonl.write, found)), arguments
    result = database.export("--match", "none")
    assert result.exit_code == 1
    assert "there is no match 'none'" in result.stderr


def test_matches_left_out_for_one_reason_are_one_line(tmp_path: Path) -> None:
    more = [called(f"heap {number}", HEAP) for number in range(5)]
    result = MatchDatabase(tmp_path, HEAP, *more, STONES).export("--format", "sgf")
    assert result.stderr.count("left out: ") == 1
    assert "6 matches are left out: nim(chips=3) is not played on one grid (first " in result.stderr


def test_a_match_that_a_format_cannot_say_is_named_and_left_out(tmp_path: Path) -> None:
    result = MatchDatabase(tmp_path, HEAP, STONES).export("--format", "sgf", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "match heap is left out: nim(chips=3) is not played on one grid" in result.stderr
    assert "1 match written, 1 left out" in result.stderr
    assert (tmp_path / "out").read_text() == sgf.write(STONES)


def test_bad_lines_are_named_and_the_others_imported(tmp_path: Path) -> None:
    database = MatchDatabase(tmp_path)
    given = f"{{}}\n\n{jsonl.write(STONES)}{jsonl.write(RUNNING)}nonsense\n"
    result = database.import_("-", given=given)
    assert result.exit_code == 1
    assert "line 1: version: " in result.stderr
    assert "line 5: expected a JSON object" in result.stderr
    told = "1 match imported, 1 left out that had not ended, 2 bad lines left out"
    assert told in result.stderr
    assert [each.started.match for each in database.matches] == ["stones"]


def test_a_file_of_backgammon_is_imported(tmp_path: Path) -> None:
    stored = PlayedGame("backgammon").play_anything(1).stored
    database = MatchDatabase(tmp_path)
    for given in (backgammon.write_mat(stored), f"\n{backgammon.write_sgf(stored)}"):
        result = database.import_("-", given=given)
        assert result.stderr.splitlines()[-1:] == ["playout-server: 1 match imported"]
    result = database.import_("-", given=backgammon.write_mat(stored).replace("/", "!"))
    assert result.exit_code == 1
    assert "line 8: '" in result.stderr
    played = [[move.action for move in each.moves] for each in database.matches]
    assert played == [[move.action for move in stored.moves]] * 2


def test_another_kind_of_file_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "matches.pgn").write_text(pgn.write(HEAP) * 9)
    result = MatchDatabase(tmp_path).import_(str(tmp_path / "matches.pgn"))
    assert result.exit_code == 1
    assert "20 bad lines: expected a file written by export --format jsonl" in result.stderr
    assert len(result.stderr.splitlines()) == 22


def test_matches_before_too_many_bad_lines_are_imported(tmp_path: Path) -> None:
    database = MatchDatabase(tmp_path)
    result = database.import_(
        "-", given=jsonl.write(STONES) + "nonsense\n" * 20 + jsonl.write(HEAP)
    )
    assert result.exit_code == 1
    assert "1 match imported, 20 bad lines left out" in result.stderr
    assert "stopped after 20 bad lines" in result.stderr
    assert [each.started.match for each in database.matches] == ["stones"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "gif"], "'jsonl', 'sgf', 'mat', 'pgn', 'auto'"),
        (["--since", "yesterday"], "does not match the format"),
    ],
)
def test_bad_usage_is_explained(tmp_path: Path, arguments: list[str], told: str) -> None:
    result = MatchDatabase(tmp_path).export(*arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_an_export_to_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    result = MatchDatabase(tmp_path, HEAP).export("/nowhere/matches.jsonl")
    assert result.exit_code == 1
    assert "No such file" in result.stderr
