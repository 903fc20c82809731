"""Competitions: real bots are handed in to a real server, and run in sandboxes."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import resource
import select
import shlex
import socket
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from playout import games
from playout.bots.bot_file import BotFile
from playout.competition.submissions import Submissions
from playout.games.core import compilation_cache
from playout.sandbox import machine
from playout.server.tournament.competition_file import read
from support.commands import finish, run, start
from support.competitions import KEPT, PAST, Cup, require_sandbox
from support.file_server import files_served
from support.raw_client import RawClient
from support.requirements import skip_without
from support.waiting import wait_until
from testbed.handed_in import FIRST, LATER, PLAYER, bot

pytestmark = pytest.mark.usefixtures("_sandbox")
#: Passes the check, and waits before its second move in a match for the file `go` in its folder.
WAITING = bot(
    LATER.format(
        "import os, time; [time.sleep(0.02) for _ in iter(lambda: os.path.exists('go'), True)]"
    )
)
_SECRETS = "import glob, os\nfor each in {}:\n    assert not os.path.exists(each), each\n"


@pytest.fixture(scope="module")
def _sandbox() -> None:
    require_sandbox()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a package index, which has the package `tiny`."""
    folder = tmp_path_factory.mktemp("index")
    name = "tiny-1.0-py3-none-any.whl"
    (folder / "tiny").mkdir()
    (folder / "tiny" / "index.html").write_text(f'<a href="{name}">{name}</a>')
    with zipfile.ZipFile(folder / "tiny" / name, "w") as wheel:
        files = {
            "tiny.py": "NUMBER = 7\n",
            "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
            "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n",
        }
        for path, text in {**files, "tiny-1.0.dist-info/RECORD": ""}.items():
            wheel.writestr(path, text)
    with files_served(folder) as port:
        yield port


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory, _sandbox: None, index: int) -> Iterator[Cup]:
    more = f'submissions_per_day = 1000\nbuild_hosts = ["127.0.0.1:{index}"]'
    cup = Cup(tmp_path_factory.mktemp("competition"), more=more)
    for name in ("Ada", "Bob"):
        cup.account(name)
    cup.account("Tea", administrator=True)
    with cup.running():
        yield cup


def submit(cup: Cup, path: Path, name: str = "Ada") -> tuple[int, str]:
    return run(
        *("playout-submit", str(path), "--competition", "cup", "--name", name),
        *("--site", f"http://127.0.0.1:{cup.port}"),
        env=os.environ | {"PLAYOUT_TOKEN": cup.tokens[name]},
    )


def test_a_bot_is_accepted_and_plays_on_the_ladder(cup: Cup, tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(PLAYER)
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in bot().items():
        (folder / name).write_text(text)
    versions = []
    for path in (tmp_path / "first.py", folder):
        code, output = submit(cup, path)
        assert code == 0, output
        for stage in ("unpack", "build", "check", "matches", "accepted"):
            assert f"== {stage}" in output
        versions.append(output.split("Accepted as version ")[1][:12])

    def rows() -> bool:
        standings = cup.ask("GET", "state")[1]["standings"]
        found = {(each["name"], each["version"]): each for each in standings}
        mine = [found.get(("Ada", version)) for version in versions]
        return bool(mine[1] and mine[1]["matches"] > 1 and ("House", "random") in found)

    wait_until(rows, "both versions on the ladder")
    code, output = run("playout-competition", "status", str(cup.file))
    assert code == 0
    assert versions[1] in output


def test_a_class_has_the_compiled_rules_of_the_server(tmp_path: Path) -> None:
    """It has a cache of its own, which is empty at first."""
    game = games.load("othello")
    legal = game.legal_actions(game.initial_state())
    (tmp_path / "first.py").write_text(PLAYER)
    command = BotFile("python", "first.py").entrant("Ada", "1", tmp_path).command
    done = subprocess.run(
        shlex.split(command or ""),
        input=json.dumps({"game": "othello", "moves": [], "seconds": 1.0}),
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{legal[0]}\n", done.stderr
    theirs, own = compilation_cache.folder_of("playout.games.othello"), tmp_path / ".cache"
    (copied,) = own.rglob(theirs.name)
    assert {each.name for each in copied.iterdir()} <= {each.name for each in theirs.iterdir()}


def test_a_command_builds_the_bot(cup: Cup) -> None:
    files = bot("", build="cp source.txt bot.py && chmod u+x bot.py") | {"source.txt": FIRST}
    done = cup.ended("Ada", cup.hand_in("Ada", files))
    assert done["state"] == "accepted", done
    assert len(done["matches"]) == 2
    folder = cup.folder / "cup" / "submissions" / f"{done['id']:06}"
    assert {each.name for each in folder.iterdir()} | {"matches.jsonl"} == {*KEPT, "built"}


def test_a_build_installs_a_package_from_the_index(cup: Cup, index: int) -> None:
    """Its bot finds the package, and has no network, which other tests expect, too."""
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], check=False).returncode:
        skip_without("pip of the system")
    pip = f"python3 -m pip install --no-cache-dir --index-url http://127.0.0.1:{index} --target ."
    program = (
        f"import os, tiny\nassert tiny.NUMBER == 7 and 'http_proxy' not in os.environ\n{FIRST}"
    )
    done = cup.ended("Ada", cup.hand_in("Ada", bot(program, build=f"{pip} tiny")))
    assert done["state"] == "accepted", done


def test_a_bot_has_a_core_and_sees_nothing_of_the_server_and_of_others(cup: Cup) -> None:
    """It would crash, and be refused, if it saw one of these, or had more cores in its matches."""
    other = cup.hand_in("Bob", bot())
    places = ["/etc/passwd", str(cup.folder / "playout.db"), str(cup.file), os.path.expanduser("~")]
    places += [str(cup.folder / "cup" / "submissions" / f"{other:06}" / each)
               for each in ("upload", "submission.json", "log.txt", "code/bot.py")]  # fmt: skip
    assert all(os.path.exists(each) for each in places[:4])
    program = _SECRETS.format(places) + LATER.format("assert len(os.sched_getaffinity(0)) == 1")
    done = cup.ended("Ada", cup.hand_in("Ada", bot(program)))
    assert done["state"] == "accepted", done


@pytest.mark.parametrize(
    ("files", "stage", "reason"),
    [
        ({"x.txt": ""}, "unpack", "exactly one Python file"),
        ({"bot.toml": 'protocol = "lines"'}, "unpack", "needs 'command'"),
        ({"../../evil.py": PLAYER}, "unpack", "leads out of the folder"),
        (bot(build="echo no such header >&2; exit 3"), "build", "exit code 3"),
        (bot(build="ln -s /etc/passwd bot.txt"), "build", "is a link or a device"),
        (bot("raise SystemExit(5)"), "check", "the program has exited with code 5$"),
        (bot(command="no-such-program"), "check", "no program"),
        (bot("print('hello')"), "check", "'hello': not legal"),
        (bot("import socket; socket.socket()"), "check", "Operation not permitted"),
        (bot("open('/tmp/x', 'wb').write(bytes(2**27))"), "check", "space|large"),
        ({"a.py": PLAYER + PLAYER.replace("First", "Other")}, "check", "exactly one class"),
        ({"a.py": "print(3)"}, "check", "exactly one class of"),
        ({"a.py": "import this_is_missing"}, "check", "No module named 'this_is_missing'$"),
        (bot(FIRST.replace("[0]", "[1 if told['player'] == 1 else 99]")), "check", "^seat 2: "),
        (bot(LATER.format("told['legal_actions'] = [-1]")), "matches", "crash"),
    ],
)  # fmt: skip
def test_a_faulty_bot_is_refused_with_its_reason(
    cup: Cup, files: dict[str, str], stage: str, reason: str
) -> None:
    done = cup.ended("Bob", cup.hand_in("Bob", files))
    assert (done["state"], done["stage"]) == ("refused", stage), done
    assert re.search(reason, done["reason"]), done
    assert ('a.py", line 1' in done["log"]) == ("No module" in reason)
    assert str(cup.folder) not in done["reason"]
    folder = cup.folder / "cup" / "submissions" / f"{done['id']:06}"
    wait_until(lambda: not [each for each in cup.processes() if str(folder) in words(each)])
    assert {each.name for each in folder.iterdir()} <= KEPT


def words(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def test_only_the_author_reads_a_submission(cup: Cup) -> None:
    number = cup.hand_in("Ada", bot())
    assert cup.ask("GET", f"submissions/{number}", "Ada")[0] == 200
    assert cup.ask("GET", f"submissions/{number}", "Bob") == (
        404,
        "you have no such submission\n",
    )
    assert number not in [each["id"] for each in cup.ask("GET", "submissions", "Bob")[1]]
    for name in ("", "Eve"):
        for method, path in (("GET", f"submissions/{number}"), ("PUT", "submissions/bot.py")):
            status, text = cup.ask(method, path, name, b"x" if method == "PUT" else None)
            assert status == 401, text


def test_administrators_test_bots_which_play_nowhere(cup: Cup, tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(PLAYER)
    code, output = submit(cup, tmp_path / "first.py", "Tea")
    assert code == 0, output
    assert "it was tested, and plays nowhere" in output
    assert "Staff test" not in Submissions(read(cup.file)).accepted()
    assert cup.ask("GET", "teams/Staff%20test", "Ada")[0] == 403
    assert len(cup.ask("GET", "teams/Staff%20test", "Tea")[1]["submissions"]) == 1


def matches_of(name: str, standings: list[dict[str, Any]]) -> int:
    """Return the matches of a name in some standings."""
    return sum(int(each["matches"]) for each in standings if each["name"] == name)


def test_only_members_and_staff_see_the_submissions_of_a_team(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("account,team\nAda,Reds\nBob,Reds\nCyd,\n")
    both = ["nim", "tic_tac_toe"]
    cup = Cup(tmp_path, more='roster = "class.csv"').with_games(*both)
    for name in ("Ada", "Bob", "Cyd"):
        cup.account(name)
    cup.account("Tea", administrator=True)
    only_nim = FIRST.replace("[0]", "[0 if told['game'].startswith('nim') else 1 / 0]")
    with cup.running():
        bad, good = (cup.hand_in("Ada", bot(*program)) for program in ((only_nim,), ()))
        done = cup.ended("Bob", good)
        assert len(done["matches"]) == 4
        assert [done["log"].count(f"{game}, clock 20+5") for game in both] == [1, 1]
        reason = cup.ask("GET", f"submissions/{bad}", "Ada")[1]["reason"]
        assert re.match("tic_tac_toe, seat 1: .*division by zero", reason), reason

        def rated() -> bool:
            state = cup.ask("GET", "state")[1]
            found = [matches_of("Reds", each) for each in state["of_games"].values()]
            return len(found) == 2 and all(found) and matches_of("Reds", state["standings"]) >= 3

        wait_until(rated, "rated matches of both games")
        for name, accounts in (("", None), ("Cyd", None), ("Bob", ["Ada", "Bob"]),
                               ("Tea", ["Ada", "Bob"])):  # fmt: skip
            status, told = cup.ask("GET", "teams/Reds", name)
            assert (status, told["accounts"]) == (200, accounts)
            assert [each["version"] for each in told["versions"]] == [done["version"]]
            assert "Reds" in told["matches"][0]["players"]
            assert list(told["plots"]) == both
            if accounts:
                assert [each["id"] for each in told["submissions"]] == [bad, good]
            else:
                assert "zero" not in str(told)
                assert cup.ask("GET", f"submissions/{bad}", name)[0] == (404 if name else 401)
        assert cup.ask("GET", "teams/Cyd")[1]["matches"] == []
        for name in ("House", "Nobody", "Ada"):
            assert cup.ask("GET", f"teams/{name}", "Tea")[0] == 404
    cup.file.write_text(cup.file.read_text().replace("pause_s", "visible = false\npause_s"))
    with cup.running():
        for name, status in (("", 403), ("Cyd", 403), ("Bob", 200), ("Tea", 200)):
            assert cup.ask("GET", "teams/Reds", name)[0] == status
        assert cup.ask("GET", "teams/Nobody")[0] == 403


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("submissions/bot.exe", b"x", 415),
        ("submissions/bot.py", b"", 400),
        ("submissions/bot.py", b"x" * (16 * 2**20 + 1), 413),
        ("submissions/../bot.py", b"x", 404),
        ("nothing", b"x", 404),
    ],
)
def test_refused_uploads(cup: Cup, path: str, body: bytes, status: int) -> None:
    before = len(cup.ask("GET", "submissions", "Ada")[1])
    found, text = cup.ask("PUT", path, "Ada", body)
    assert found == status
    assert len(text.splitlines()) == 1
    assert len(cup.ask("GET", "submissions", "Ada")[1]) == before
    assert not list((cup.folder / "cup" / "incoming").iterdir())


def test_a_body_without_a_length_is_refused(cup: Cup) -> None:
    asked = http.client.HTTPConnection("127.0.0.1", cup.port, 60)
    with contextlib.closing(asked):
        asked.putrequest("PUT", "/cup/submissions/bot.py")
        asked.putheader("Transfer-Encoding", "chunked")
        asked.endheaders()
        assert asked.getresponse().status == 411


def uploading(cup: Cup, name: str) -> socket.socket:
    """Send the beginning of an upload."""
    given = base64.b64encode(f"{name}:{cup.tokens[name]}".encode()).decode()
    connection = socket.create_connection(("127.0.0.1", cup.port))
    head = f"PUT /cup/submissions/bot.py HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {given}"
    connection.sendall(f"{head}\r\nContent-Length: 1000\r\n\r\nabc".encode())
    return connection


def test_half_requests_of_an_address_keep_nobody_else_out(cup: Cup) -> None:
    """Addresses of loopback stand for those of two peers."""
    with contextlib.ExitStack() as stack:
        for _ in range(410):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", cup.port)))
            with contextlib.suppress(ConnectionError):  # it may be refused already
                line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert [status_of(cup, "127.0.0.1") for _ in range(30)] == [200] * 30


def test_a_request_for_another_host_is_refused(cup: Cup) -> None:
    assert status_of(cup, "evil.example") == 421


def status_of(cup: Cup, host: str) -> int:
    """The status of the first page, asked for from 127.0.0.2."""
    asked = http.client.HTTPConnection("127.0.0.1", cup.port, 60, source_address=("127.0.0.2", 0))
    with contextlib.closing(asked):
        asked.request("GET", "/", headers={"Host": host})
        return asked.getresponse().status


def test_an_upload_that_breaks_off_leaves_nothing(cup: Cup) -> None:
    incoming = cup.folder / "cup" / "incoming"
    before = len(cup.ask("GET", "submissions", "Ada")[1])
    with uploading(cup, "Ada"):
        wait_until(lambda: list(incoming.iterdir()))
    wait_until(lambda: not list(incoming.iterdir()))
    assert len(cup.ask("GET", "submissions", "Ada")[1]) == before


def test_a_full_disk_refuses_an_upload_and_nothing_after_it(cup: Cup) -> None:
    """No file of the process may have more bytes than the disk would have left."""
    incoming = cup.folder / "cup" / "incoming"
    numbers = [each["id"] for each in cup.ask("GET", "submissions", "Ada")[1]]
    wait_until(lambda: cup.ask("GET", "state")[1]["queued"] == 0, "an empty queue")
    before = resource.prlimit(cup.host(), resource.RLIMIT_FSIZE)
    resource.prlimit(cup.host(), resource.RLIMIT_FSIZE, (2**18, before[1]))
    for size in (10**6, 10**6, 10**6, 2**18 + 10):
        status, text = cup.ask("PUT", "submissions/bot.py", "Ada", b"x" * size)
        assert (status, text) == (500, "the server failed to answer this request\n")
    resource.prlimit(cup.host(), resource.RLIMIT_FSIZE, before)
    number = cup.hand_in("Ada", bot())
    assert [each["id"] for each in cup.ask("GET", "submissions", "Ada")[1]] == [*numbers, number]
    assert not list(incoming.iterdir())


def test_the_body_of_an_account_that_may_hand_in_nothing_is_discarded(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("account\nAda\n")
    cup = Cup(tmp_path, more='roster = "class.csv"')
    for name in ("Ada", "Eve"):
        cup.account(name)
    incoming = cup.folder / "cup" / "incoming"
    with cup.running(), contextlib.ExitStack() as sockets:
        for name in ("Ada", "Eve"):
            sockets.enter_context(uploading(cup, name))
        wait_until(lambda: list(incoming.iterdir()), "the upload of Ada")
        status, text = cup.ask("PUT", "submissions/bot.py", "Eve", b"x")
        assert (status, text) == (403, "Eve is not on the roster of this competition\n")
        assert len(list(incoming.iterdir())) == 1


def test_a_disk_without_room_for_logs_and_states_stops_nothing(cup: Cup) -> None:
    """No file of the process may be larger than the log is at that time."""
    wait_until(lambda: cup.ask("GET", "state")[1]["queued"] == 0, "an empty queue")
    host = cup.host()
    number = cup.hand_in("Ada", WAITING)
    log = cup.folder / "cup" / "submissions" / f"{number:06}" / "log.txt"
    before = resource.prlimit(host, resource.RLIMIT_FSIZE)
    wait_until(lambda: log.exists() and "== matches" in log.read_text(), "the last stage")
    resource.prlimit(host, resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
    (log.with_name("code") / "go").touch()
    state = log.with_name("submission.json").read_text()
    waiting = log.with_name("submission.new")
    wait_until(lambda: waiting.exists() and waiting.stat().st_size == log.stat().st_size)
    told = cup.ask("GET", f"submissions/{number}", "Ada")[1]
    assert told["log"].count(" won (") == 2
    assert " won (" not in log.read_text()
    assert (told["state"], log.with_name("submission.json").read_text()) == ("running", state)
    resource.prlimit(host, resource.RLIMIT_FSIZE, before)
    done = cup.ended("Ada", number)
    assert (done["state"], cup.host()) == ("accepted", host)
    assert done["log"].count("== accepted") == 1
    wait_until(lambda: log.read_text() == done["log"], "the log in its file")


def test_competitions_on_several_disks_with_names_of_their_own(tmp_path: Path) -> None:
    """The second one is in memory; the first one has a house bot with somebody's name."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        other = Cup(Path(memory), name="other", game="tic_tac_toe", more='roster = "class.csv"')
        other.file.write_text(other.file.read_text().replace('"House"', '"Yardstick"'))
        (Path(memory) / "class.csv").write_text("account,team\nAda,Reds\nBob,Reds\nCyd,\n")
        cup = Cup(tmp_path, also=other.file, changed={"playout.bots.uploads.SILENT_S": 2})
        cup.account("Ada")
        cup.account("House")
        with cup.running() as server, contextlib.ExitStack() as sockets:
            slow = socket.create_connection(("127.0.0.1", cup.port))
            sockets.enter_context(slow)
            other.port, other.tokens = cup.port, cup.tokens
            assert other.ask("PUT", "submissions/bot.py", "Ada", b"x")[0] == 201
            status, text = cup.ask("PUT", "submissions/bot.py", "Ada", b"x")
            assert status == 503
            assert "the house bot 'House' is an account" in text
            for name in ("yardstick", "Reds", "Bob", "Cyd"):
                with RawClient("127.0.0.1", cup.server_port) as stranger:
                    told = stranger.hello(name)
                    assert told["code"] == "name_taken", told

            def is_ended() -> bool:
                with contextlib.suppress(OSError):
                    slow.sendall(b"x")
                return bool(select.select([slow], [], [], 0)[0])

            wait_until(is_ended, "the end of a head that does not end")
            _, log = server.stop()
        assert "submissions are refused: the name of the house bot" in log


def test_the_operator_tries_a_submission_again_and_bans_a_team(cup: Cup) -> None:
    """The output of the program that unpacks the second submission cannot be written."""
    first = cup.hand_in("Bob", bot())
    wait_until(lambda: cup.ask("GET", f"submissions/{first}", "Bob")[1]["state"] != "queued")
    number = cup.hand_in("Ada", bot())
    blocked = cup.folder / "cup" / "submissions" / f"{number:06}" / "unpacked.json"
    blocked.mkdir()
    done = cup.ended("Ada", number)
    assert (done["state"], done["stage"]) == ("failed", "unpack"), done
    assert str(cup.folder) not in done["reason"]
    blocked.rmdir()
    for name, status in (("", 401), ("Ada", 403)):
        assert cup.ask("PUT", f"staff/retry/{number}", name)[0] == status
        assert cup.ask("GET", "staff", name)[0] == status
    assert cup.ended("Ada", number)["state"] == "failed"
    assert run("playout-competition", "retry", str(cup.file))[0] == 0
    wait_until(lambda: cup.ask("GET", f"submissions/{number}", "Ada")[1]["state"] == "accepted")

    def matches(name: str) -> int:
        return matches_of(name, cup.ask("GET", "state")[1]["standings"])

    def wait_for_matches(name: str, count: int) -> int:
        """Wait for more matches of an account; return those that Ada has by then."""
        more = matches(name) + count
        wait_until(lambda: matches(name) >= more, f"{count} matches of {name}")
        return matches("Ada")

    wait_for_matches("Ada", 1)
    assert cup.ask("PUT", "staff/ban/Nobody", "Tea")[0] == 400
    status, told = cup.ask("PUT", "staff/ban/Ada", "Tea")
    assert (status, told["banned"]) == (200, ["Ada"])
    assert wait_for_matches("House", 6) == wait_for_matches("House", 2)
    assert cup.ask("PUT", "submissions/bot.py", "Ada", PLAYER)[0] == 403
    assert run("playout-competition", "ban", str(cup.file), "Ada", "--no")[0] == 0
    wait_for_matches("Ada", 1)
    assert cup.ask("GET", f"submissions/{number}", "Tea")[1]["team"] == "Ada"


def test_a_match_that_the_operator_ends_is_no_fault_of_the_bot(cup: Cup) -> None:
    number = cup.hand_in("Ada", WAITING)
    assert cup.server
    with RawClient(cup.server.host, cup.server.port) as tea:
        tea.hello("Tea", token=cup.tokens["Tea"], role="spectator")

        def match() -> str | None:
            log = cup.ask("GET", f"submissions/{number}", "Ada")[1]["log"]
            found = re.search(r"Match (\w+): nim", log)
            return found and found[1]

        told = tea.ask("abort", match=wait_until(match, "a match of the last stage"))
        assert told["type"] != "error", told
    (cup.folder / "cup" / "submissions" / f"{number:06}" / "code" / "go").touch()
    done = cup.ended("Ada", number)
    assert "ended by an administrator" in done["log"]
    assert done["state"] == "accepted", done["log"] + done["reason"]


def test_others_cannot_enter_the_ladder(cup: Cup) -> None:
    code, output = run(
        *("playout-player", "any", "random", "--ladder", "nim", "--name", "Ada"),
        *("--port", str(cup.server_port), "--matches", "1"),
        env=os.environ | {"PLAYOUT_TOKEN": cup.tokens["Ada"]},
    )
    assert code == 1
    assert "the ladder of nim" in output
    assert "is for a competition" in output


def test_a_person_does_not_play_the_matches_of_a_submission(cup: Cup) -> None:
    """Ada seeks the match of her own submission, which would hold up the queue."""
    with RawClient("127.0.0.1", cup.server_port) as ada:
        ada.hello("Ada", guest=False, token=cup.tokens["Ada"])
        ada.ask("seek", game="nim", opponent="House", clock="20+5")
        done = cup.ended("Ada", cup.hand_in("Ada", bot()))
        assert done["state"] == "accepted", done
        assert ada.is_alive()
        assert "started" not in [each["type"] for each in ada.heard]


def test_after_the_deadline_nothing_is_accepted(tmp_path: Path) -> None:
    cup = Cup(tmp_path, deadline=PAST)
    cup.account("Ada")
    cup.account("Tea", administrator=True)
    with cup.running():
        status, text = cup.ask("PUT", "submissions/bot.py", "Ada", PLAYER)
        assert status == 403
        assert "the deadline of The cup was on 2020-01-01 at 00:00 UTC" in text
        done = cup.ended("Tea", cup.hand_in("Tea", {"x.txt": ""}))
        assert done["state"] == "refused"


def test_before_it_opens_only_contestants_and_staff_see_it(tmp_path: Path) -> None:
    cup = Cup(tmp_path, more='opens = 2099-01-01T00:00:00Z\nroster = "class.csv"')
    (tmp_path / "class.csv").write_text("account\nAda\n")
    for name in ("Ada", "Bob"):
        cup.account(name)
    cup.account("Tea", administrator=True)
    with cup.running():
        for name in ("", "Bob"):
            told = "it opens on 2099-01-01 at 00:00 UTC: its contestants can log in\n"
            assert cup.ask("GET", "state", name) == (403, told)
            assert cup.ask("GET", "teams/Ada", name)[0] == 403
        with closing(http.client.HTTPConnection("127.0.0.1", cup.port)) as connection:
            connection.request("GET", "/")
            assert b"The cup" not in connection.getresponse().read()
        for name in ("Ada", "Tea"):
            assert cup.ask("GET", "state", name)[1]["title"] == "The cup"
        status, text = cup.ask("PUT", "submissions/bot.py", "Ada", PLAYER)
        assert (status, text) == (403, "The cup opens on 2099-01-01 at 00:00 UTC\n")
        assert cup.hand_in("Tea", bot()) == 1


def test_the_final_waits_for_uploads_that_began_before_the_deadline(tmp_path: Path) -> None:
    cup = Cup(tmp_path, deadline=datetime.now(UTC).isoformat())
    code, output = run("playout-competition", "final", str(cup.file))
    assert code == 2
    assert "for 5 minutes after the deadline" in output
    code, output = run("playout-competition", "close", str(cup.file))
    assert "no submission was accepted" in output
    code, output = run("playout-competition", "final", str(cup.file))
    assert "no submission was accepted" in output


def test_without_a_sandbox_the_server_says_so_and_refuses(tmp_path: Path) -> None:
    """Its file gives up nothing, and this machine has no systemd."""
    cup = Cup(tmp_path)
    cup.account("Ada")
    cup.file.write_text(cup.file.read_text().replace('without = ["cgroup"]', ""))
    if "cgroup" not in machine.missing():
        skip_without("a machine without systemd")
    with cup.running() as server:
        status, text = cup.ask("PUT", "submissions/bot.py", "Ada", PLAYER)
        assert status == 503
        assert "cannot be enforced on this machine" in text
        assert cup.ask("GET", "state")[1]["refusal"]
        _, log = server.stop()
    assert "submissions are refused: cgroup" in log


def test_a_faulty_file_ends_the_server(tmp_path: Path) -> None:
    cup = Cup(tmp_path, deadline="2100")
    process = start("playout-server", "--port", "0", "--competition", str(cup.file),
                    "--database", cup.database)  # fmt: skip
    code, output = finish(process)
    assert code == 2
    assert f"{cup.file}:4: deadline: must be a date and time" in output
