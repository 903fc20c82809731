"""playout.server.tournament.competition_file: the file of a competition, and its faults."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from playout.server.tournament.competition_file import (
    CompetitionFileError,
    Final,
    LadderCluster,
    read,
)

GOOD = """\
game = "nim"
deadline = 2030-01-01T12:00:00+02:00
[[house]]
name = "House"
player = "random"
"""


def file_of(folder: Path, text: str, name: str = "cup.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_short_file(tmp_path: Path) -> None:
    found = read(file_of(tmp_path, GOOD))
    assert (found.name, found.title, found.clock) == ("cup", "cup", "10+1")
    assert found.deadline == datetime(2030, 1, 1, 10, tzinfo=UTC).timestamp()
    assert found.folder == tmp_path / "cup"
    assert found.final == Final()
    assert [each.partition("(")[0] for each in found.games] == ["nim"]
    contestant = found.contestant("Ada")
    assert contestant
    assert contestant.team == "Ada"


def test_a_roster_knows_names_that_look_alike(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("account,team,name\nAda,Reds,Ada L.\nBob,,\nCyd,REDS,\n")
    found = read(file_of(tmp_path, 'roster = "class.csv"\n' + GOOD))
    ada, bob = found.contestant("ADA"), found.contestant("Bob")
    assert ada
    assert bob
    assert (ada.team, ada.name, bob.team, bob.name) == ("Reds", "Ada L.", "Bob", "Bob")
    assert found.contestant("Eve") is None
    cyd = found.contestant("Cyd")
    assert cyd
    assert cyd.team == "Reds"


ROSTER = 'account,team,name\nAda,Reds,"L., Ada"\nBjörn,Reds,\n'


@pytest.mark.parametrize(
    "data",
    [
        ROSTER.encode("utf-8-sig"),
        ROSTER.encode("utf-16"),
        ROSTER.encode("latin-1"),
        ROSTER.replace("\n", "\r\n").encode(),
        ROSTER.replace("\n", "\r").encode("cp1252"),
        b'Account, TEAM ,Name\nAda , Reds, "L., Ada"\nBj\xc3\xb6rn,Reds\n',
        ROSTER.replace("L., Ada", "L: Ada").replace(",", ";").replace("L:", "L.,").encode(),
        ROSTER.replace("L., Ada", "L: Ada").replace(",", "\t").replace("L:", "L.,").encode(),
        b"\n,,\n" + ROSTER.replace("\nBj", "\n,,\n\n , ,\nBj").encode() + b",,\n\n",
        b"sep=;\r\nname;account;team\r\nL., Ada;Ada;Reds\r\n;Bj\xc3\xb6rn;Reds\r\n",
        b'account,team,name,,\nAda,Reds,"L., Ada",,\nBj\xf6rn,Reds,,,\n',
        ROSTER.replace("L., Ada", "L: Ada").replace(",", "|").replace("L:", "L.,").encode(),
        b'account;team;name\n="Ada";="Reds";"=""L., Ada"""\n="Bj\xf6rn";="Reds";\n',
        b';account;;team;name\r\n;Ada;;Reds;"L., Ada"\r\n;Bj\xf6rn;;Reds\r\n',
    ],
)
def test_a_roster_is_read_as_spreadsheets_write_it(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "class.csv").write_bytes(data)
    roster = read(file_of(tmp_path, 'roster = "class.csv"\n' + GOOD)).roster
    assert roster
    assert [(each.account, each.team, each.name) for each in roster.values()] == [
        ("Ada", "Reds", "L., Ada"),
        ("Björn", "Reds", "Björn"),
    ]


def test_nobody_hands_in_as_a_house_bot(tmp_path: Path) -> None:
    assert read(file_of(tmp_path, GOOD)).contestant("HOUSE") is None


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    found = read(file_of(tmp_path, GOOD + '[sandbox]\nreads = ["lib", "/opt"]\n'))
    assert found.sandbox.reads == (str(tmp_path / "lib"), "/opt")


def test_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    table = '[cluster]\ndask = "tcp://h:1"\nserver = "[::1]:4242"\nca = "ca.pem"\n'
    found = read(file_of(tmp_path, GOOD + table)).cluster
    assert found == LadderCluster("tcp://h:1", ("::1", 4242), True, tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('game = "nim"', "", "1: a competition needs 'game'"),
        ('"nim"', '"nimm"', "1: game: .*did you mean 'nim'"),
        ("2030-01-01T12:00:00+02:00", "2030-01-01", "2: deadline: must be a date and time with"),
        ("2030-01-01T12:00:00+02:00", '"soon"', "2: deadline: must be a date and time with"),
        ('game = "nim"', "games = []", "1: games: must be a list of one or more"),
        ('game = "nim"', 'games = ["nim", "nim"]', "1: games: nim.* is listed twice"),
        ("game =", 'games = ["nim"]\ngame =', "2: game: the games are in 'games'"),
        ("deadline =", "opens = 2031-01-01T00:00:00Z\ndeadline =", "3: deadline must be after"),
        ("deadline =", 'clock = "none"\ndeadline =', "2: clock: must limit the time"),
        ("deadline =", "submission_mb = 0\ndeadline =", "2: submission_mb: must be a whole number"),
        ("deadline =", 'protocols = ["json"]\ndeadline =', "2: protocols: .*json"),
        ("deadline =", 'build_hosts = ["http://a"]\ndeadline =', "2: build_hosts: must be a host"),
        ("deadline =", 'build_hosts = ["a:70000"]\ndeadline =', "2: build_hosts: must be a host"),
        ("deadline =", 'build_hosts = ["a=b"]\ndeadline =', "2: build_hosts: 'b' does not appear"),
        ("deadline =", 'pages = "javascript:x"\ndeadline =', "2: pages: must be an address"),
        (
            "[[house]]",
            'build_hosts = ["a"]\n[sandbox]\ncommand = "x"\n[[house]]',
            "needs bubblewrap",
        ),
        ("deadline =", 'roster = "none.csv"\ndeadline =', "2: roster: none.csv cannot be read"),
        ("deadline =", "colour = 1\ndeadline =", "2: .*unknown key of a competition 'colour'"),
        ('name = "House"', 'name = "a\\u0000b"', "4: name: "),
        ("[[house]]", "[final]\nrounds = 0\n[[house]]", "4: rounds: must be a whole number"),
        ("[[house]]", "[sandbox]\nmemory_mb = 1\n[[house]]", "4: memory_mb: must be"),
        ("[[house]]", "[[house]]\nname = 'HOUSE'\nplayer='uct'\n[[house]]", "looks like the name"),
        ("[[house]]", "[cluster]\ndask = 'local'\n[[house]]", "4: dask: must be the address"),
        ("[[house]]", "[cluster]\nserver = 'x'\n[[house]]", "4: server: must be HOST:PORT"),
        ("[[house]]", "[cluster]\nca = 'none.pem'\n[[house]]", "4: ca: there is no file none"),
        ("game =", "game ==", "1: Invalid value"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, before: str, after: str, fault: str) -> None:
    assert before in GOOD
    path = file_of(tmp_path, GOOD.replace(before, after, 1))
    with pytest.raises(CompetitionFileError, match=fault) as raised:
        read(path)
    assert all(line.startswith(f"{path}:") for line in str(raised.value).splitlines())


@pytest.mark.parametrize(
    ("name", "fault"),
    [("My Cup.toml", "must be at most 32 letters a-z"), ("cup", "have an extension, as cup.toml")],
)
def test_the_name_of_the_file_is_part_of_addresses_and_of_a_folder(
    tmp_path: Path, name: str, fault: str
) -> None:
    with pytest.raises(CompetitionFileError, match=fault):
        read(file_of(tmp_path, GOOD, name))


@pytest.mark.parametrize(
    ("roster", "fault"),
    [
        ("name\nAda\n", "cup.toml:1: roster: .* needs a first line with account"),
        ("account,team\nAda,HOUSE\n", "cup.toml:1: roster: 'HOUSE' looks like a name of the house"),
        ("account\nAda\nADA\n", r"class.csv:3: 'ADA' is listed before"),
        ("account\nA\u200bda\n", "class.csv:2: "),
        ("account,teem\nAda,Reds\n", "class.csv has an unknown column 'teem'; did you mean 'team'"),
        ("account,Group\nAda,Reds\n", "class.csv has an unknown column 'Group'"),
        ("account,team,Team\nAda,Reds,Blues\n", "class.csv has two columns 'team'"),
        (
            "account,team\nAda,Reds,Ada L\n",
            "line 2 has 3 cells for 2 columns: a text with ',' needs",
        ),
        ("account,team\n,Reds\n", "class.csv:2: the account is missing"),
        ("sep=;\n\naccount;team\n;Reds\n", "class.csv:4: the account is missing"),
        (
            'account,team\n"Ada,Reds\n',
            "class.csv cannot be read at line 2: unexpected end of data;",
        ),
        ('account,team\n"Ada" ,Reds\n', "cannot be read at line 2: ',' expected after '\"'"),
        ("account,,team\nAda,Reds\n", "line 2 has a cell in a column without a name"),
        ("", "class.csv is empty: it needs a first line with account"),
        ("\n,,\n", "class.csv is empty"),
        ("Ada,Reds\nBob,Reds\n", "first line with account, team, name, not 'Ada, Reds'"),
    ],
)
def test_a_faulty_roster(tmp_path: Path, roster: str, fault: str) -> None:
    (tmp_path / "class.csv").write_bytes(roster.encode())
    with pytest.raises(CompetitionFileError, match=fault):
        read(file_of(tmp_path, 'roster = "class.csv"\n' + GOOD))
