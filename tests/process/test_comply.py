"""`playout-bridge comply`: the bot of the document passes, each broken one fails as expected."""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from playout import games, players
from playout.bridges.comply import player_checks
from playout.bridges.comply.comply_command import BotReferee
from playout.bridges.comply.processes import BotCommand, PrivateServer
from playout.bridges.comply.situations import OWN_ERRORS, SITUATIONS, situations_of
from playout.bridges.comply.trial import ComplyTerms, Finding
from playout.games import Position
from playout.players.core.player import Limit, Player, PlayResult, Report, Resigned
from support import scale
from support.commands import finish, invoke, run, start
from support.copying_popen import CopyingPopen
from support.waiting import wait_until

DOCUMENT = Path(__file__).parents[2] / "docs" / "testing-a-bot.md"
(BOT,) = re.findall(r"```python\n(\"\"\"Plays one match.*?)```", DOCUMENT.read_text(), re.DOTALL)
#: Python as it is started by a test: as a copy of a process that has imported what it needs.
_RUN = (
    "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
)
#: Long enough for a machine that is busy.
PATIENT = ("--patience-s", "100")
NAMES = [each.name for each in SITUATIONS if not each.chance]
WITH_ROLLS = [each.name for each in SITUATIONS if each.chance]
CUTS = {"cut, move lost", "cut, update lost", "server restart"}

STARTED = 'self.match, self.seat = message["match"], message["seat"]\n'
UPDATE = 'case "update" if message["ply"] == self.ply:  # another one is repeated\n'
RETRIES = "[0.1, 0.2, 0.5, 1] + [2] * 30"


def test_the_command_compiles_nothing_but_its_game(tmp_path: Path) -> None:
    code = (
        "import sys; from playout.games.core import compilation_cache; "
        "compilation_cache.announce_compilation(sys.exit); "
        "import playout.bridges.comply.comply_command"
    )
    words = [sys.executable, "-P", "-c", code]
    done = subprocess.run(
        words,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def also(at: str, line: str) -> tuple[str, str]:
    """A fault that is one more line of the bot, after the line that ends with `at`."""
    return at, f"{at}                {line}\n"


#: Bots with one fault: what is replaced in the good one, and in which situations it then fails.
FAULTS: dict[str, tuple[tuple[str, str], set[str]]] = {
    "always takes seat 1": ((STARTED, STARTED.replace('message["seat"]', "1")), {"seat 2"}),
    "needs main time": (
        also(STARTED, 'assert message.get("time_control", {"main_s": 1})["main_s"]'),
        {"clock per move", "late move"},
    ),
    "knows no fractions": (
        also(STARTED, 'assert "." not in message["clock"]'),
        {"clock with increment"},
    ),
    "knows one period": (
        also(STARTED, 'assert message.get("time_control", {"periods": 0})["periods"] <= 1'),
        {"clock with periods"},
    ),
    "knows no delay": (also(STARTED, 'assert "d" not in message["clock"]'), {"clock with delay"}),
    "needs a clock": (also(STARTED, 'message["clocks"]'), {"no clock"}),
    "takes ping for an error": (also('case "ping":\n', "sys.exit(1)"), {"ping"}),
    "refuses what it does not know": (
        (
            'match message["type"]:',
            'assert "brand_new" not in message\n        match message["type"]:',
        ),
        {"unknown messages"},
    ),
    "takes a read for a frame": (
        (
            "self.stream.read(size)  # waits for all of it",
            "self.socket.recv(size)\n        assert len(data) in (0, size)",
        ),
        {"frames in parts"},
    ),
    "gives up when it is too fast": (('"rate_limited"', '"no such code"'), {"rate_limited"}),
    "gives up after an illegal move": (('"illegal_action"', '"no such code"'), {"illegal_action"}),
    "knows no repeated update": (
        (UPDATE, 'case "update":\n                assert message["ply"] == self.ply\n'),
        {"repeated move"},
    ),
    "gives up when it is late": (('("match_over", "wrong_ply")', '("wrong_ply",)'), {"late move"}),
    "knows no match without a winner": (
        also('case "ended":\n', 'assert message["winner"]'),
        {"match aborted"},
    ),
    "does not come back": ((RETRIES, "[0.1]"), CUTS),
    "gives up during a restart": ((RETRIES, "[0.1, 0.1]"), {"server restart"}),
    "misses nothing while it is away": (
        also(STARTED, 'assert len(message["moves"]) == self.ply'),
        {"cut, update lost"},
    ),
    "first plays something illegal": (
        (
            "            self.move()\n\n",
            "            self.legal = [99] if ply < 2 else self.legal\n"
            "            self.move()\n"
            '            self.legal = message["legal_actions"]\n\n',
        ),
        {OWN_ERRORS},
    ),
}


#: A short game with chance.
PIG = "pig(winscore=20)"
#: The same for it.
FAULTS_AT_ROLLS: dict[str, tuple[tuple[str, str], set[str]]] = {
    "knows no rolls": (also(UPDATE, 'assert not message.get("rolls")'), {"rolls"}),
    "misses no rolls while it is away": (
        also(STARTED, 'assert len(message["moves"]) == self.ply'),
        {"cut, rolls lost"},
    ),
}


def command_of(path: Path) -> str:
    return f'{sys.executable} -P -c "{_RUN}" {path} {{host}} {{port}} {{game}} {{name}}'


@pytest.fixture(scope="module")
def referee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BotReferee]:
    """A referee for all tests, which names each bot differently, on a private server.

    The server and the bots are copies of this process.
    """
    folder = tmp_path_factory.mktemp("server")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", CopyingPopen)
        server = PrivateServer(folder)
        asyncio.run(server.start())
        yield BotReferee(server, folder)
        server.close()


def findings(
    referee: BotReferee,
    command: str,
    names: set[str],
    patience_s: float = 100.0,
    game: str = "tic_tac_toe",
) -> list[Finding]:
    """Put a bot through the situations of these names."""
    terms = ComplyTerms(BotCommand.of(command), game, patience_s, False, 1)
    situations = [each for each in SITUATIONS if each.name in names]

    async def collect() -> list[Finding]:
        return [each async for each in referee.findings(terms, situations)]

    return asyncio.run(collect())


@pytest.mark.long
def test_a_bot_with_one_fault_fails_in_the_situations_of_this_fault_only(
    referee: BotReferee, tmp_path: Path
) -> None:
    for fault, ((good, bad), expected) in FAULTS.items():
        assert BOT.count(good) == 1, fault
        names = set(NAMES) if scale.slow else {"seat 1", *expected}
        path = tmp_path / "bot.py"
        path.write_text(BOT.replace(good, bad))
        found = findings(referee, command_of(path), names)
        assert {each.situation for each in found if each.problem} == expected, (fault, found)


def test_a_bot_that_knows_no_rolls_fails_where_it_gets_some(
    referee: BotReferee, tmp_path: Path
) -> None:
    path = tmp_path / "bot.py"
    for (good, bad), expected in (*FAULTS_AT_ROLLS.values(), (("Bot:", "Bot:"), set())):
        assert BOT.count(good) == 1
        path.write_text(BOT.replace(good, bad))
        found = findings(referee, command_of(path), expected or {*WITH_ROLLS}, game=PIG)
        assert {each.situation for each in found if each.problem} == expected, found


def test_every_situation_is_failed_by_some_fault() -> None:
    covered = set().union(*(expected for _, expected in FAULTS.values()))
    assert set(NAMES) - covered == {"seat 1"}
    assert set().union(*(fails for _, fails in FAULTS_AT_ROLLS.values())) == {*WITH_ROLLS}


def test_the_situations_with_rolls_are_for_games_with_chance() -> None:
    assert [each.name for each in situations_of(games.load("nim"), ())] == NAMES
    assert [each.name for each in situations_of(games.load("pig"), ())] == [*NAMES, *WITH_ROLLS]


def test_the_bot_of_the_document_passes_everything(tmp_path: Path) -> None:
    path = tmp_path / "bot.py"
    path.write_text(BOT)
    folder = tmp_path / "transcripts"
    process = start(
        "playout-bridge",
        "comply",
        "tic_tac_toe",
        command_of(path),
        "--transcripts",
        str(folder),
        *PATIENT,
    )
    code, output = finish(process)
    assert code == 0, output
    assert "19 passed, 0 failed" in output
    assert '"type": "started"' in (folder / "seat_2.txt").read_text()


def test_a_player_of_ours_passes_in_a_tournament(tmp_path: Path) -> None:
    player = "import playout.players.client.player_command as m; m.main()"
    process = start(
        *("playout-bridge", "comply", "nim", "--tournament"),
        f"{sys.executable} -P -c '{player}' any random",
        *PATIENT,
        *("--only", "illegal_action", "--only", "cut, move lost", "--only", "unknown messages"),
    )
    code, output = finish(process)
    assert code == 0, output


def test_a_failure_is_shown_with_its_transcript_and_the_output_of_the_bot() -> None:
    process = start(
        *("playout-bridge", "comply", "nim", "--only", "seat 1"),
        f"{sys.executable} -P -c 'import sys; sys.exit(7)'",
    )
    code, output = finish(process)
    assert code == 1
    assert "FAILED: before it asked for a match the program has ended with exit code 7" in output
    assert "1 passed, 1 failed" in output


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("s.sendall(b'GET / HTTP/1.1'); s.recv(1)", "the bytes b'GET ' are no length"),
        (
            "[s.sendall(b'\\0\\0\\0\\1?') for _ in iter(lambda: time.sleep(0.02), 1)]",
            "before it asked",
        ),
    ],
)
def test_garbage_and_talk_without_end_are_failures(
    referee: BotReferee, tmp_path: Path, program: str, told: str
) -> None:
    connect = (
        "import socket, sys, time; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
    )
    command = f'{sys.executable} -P -c "{connect}; {program}" {{port}}'
    patience_s = 100.0 if "GET" in program else 0.2
    finding, _ = findings(referee, command, {"seat 1"}, patience_s)
    assert finding.problem
    assert told in finding.problem


class FaultyPlayer(Player):
    """Chooses the first legal action, or one that does not exist if it has a fault."""

    def __init__(self, fault: str) -> None:
        super().__init__(games.load("connect_four"))
        self._fault = fault
        self._first = -1

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        plies = position.ply
        self._first = plies if self._first < 0 else self._first
        fails = {
            "as first": position.to_move == 1,
            "as second": position.to_move == 2,
            "later": plies > 5,
            "if it begins late": self._first > 1,
        }
        legal = position.legal_actions
        return PlayResult(99 if fails.get(self._fault) else legal[0])


@pytest.mark.parametrize(
    ("fault", "passed", "told"),
    [
        ("none", 3, ""),
        ("as first", 0, "seat 1 .*FAILED: its move 1, the action 99, is not legal"),
        ("later", 0, "seat 1 .*FAILED: its move 4, the action 99"),
        ("as second", 1, "seat 2 .*FAILED: its move 1, the action 99"),
        ("if it begins late", 2, "resumed .*FAILED: its move 1"),
    ],
)
def test_a_player_without_a_connection(
    fault: str, passed: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = games.load("connect_four")
    assert player_checks.passes(lambda: FaultyPlayer(fault), rules, "10+1") == (not told)
    output = capsys.readouterr().out
    assert (output.count("passed: "), output.count("FAILED: ")) == (passed, bool(told))
    assert re.search(told, output)


@pytest.mark.parametrize(("start_s", "late"), [(0.0, 3), (5.0, 4)])
def test_a_player_loses_on_time(
    start_s: float,
    late: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each look at the clock takes a second: it has none left after the third move on its clock."""
    slow = SimpleNamespace(monotonic=functools.partial(next, itertools.count()))
    monkeypatch.setattr(player_checks, "time", slow)
    monkeypatch.setattr(FaultyPlayer, "start_s", start_s)
    rules = games.load("connect_four")
    assert not player_checks.passes(lambda: FaultyPlayer("none"), rules, "2.5+0")
    assert f"its time was up at its move {late}, after 1.0 s" in capsys.readouterr().out


def test_a_program_that_is_still_starting_has_its_first_move_late(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class SlowStart(Player):
        start_s = 100.0

        def choose(
            self, position: Position, limit: Limit, report: Report | None = None
        ) -> PlayResult:
            threading.Event().wait(0.2)
            raise Resigned

    monkeypatch.setattr(player_checks, "_LIMIT_S", 0.05)
    rules = games.load("connect_four")
    assert player_checks.passes(lambda: SlowStart(rules), rules, "0.1/move")
    assert capsys.readouterr().out.count("passed: resigned after 0 moves") == 3


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return PlayResult(position.legal_actions[0])", ""),
        (
            "return 1 // 0",
            "seat 1 .*FAILED: it raised ZeroDivisionError: .*, in own_bot.py, line 4",
        ),
        ("return 3", "seat 1 .*FAILED: choose must return a PlayResult, not 3"),
        ("threading.Event().wait()", "seat 1 .*FAILED: choose, at its move 1, has not returned"),
    ],
)
def test_a_player_of_a_file_in_the_current_folder(
    body: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It fails in a row of its own, also if it never returns."""
    (tmp_path / "own_bot.py").write_text(
        "import threading; from playout import Player, PlayResult\n"
        f"class Own(Player):\n    def choose(self, position, limit, report=None):\n        {body}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("own_bot", None)
    clock = "20/move"
    if "wait" in body:  # it takes all the time that it has
        clock = "0.1/move"
        monkeypatch.setattr(player_checks, "_LIMIT_S", 0.05)
    rules = games.load("tic_tac_toe")
    passed = player_checks.passes(lambda: players.load("own_bot:Own", rules), rules, clock)
    assert passed == (not told)
    assert re.search(told, capsys.readouterr().out)


def test_a_player_of_a_game_with_chance_moves_only_at_its_turns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    turns = set()

    class TurnNoter(Player):
        def choose(
            self, position: Position, limit: Limit, report: Report | None = None
        ) -> PlayResult:
            turns.add(position.to_move)
            return PlayResult(position.legal_actions[0])

    rules = games.load("einstein_wurfelt_nicht")
    assert player_checks.passes(lambda: TurnNoter(rules), rules, "120d12")
    assert (turns, capsys.readouterr().out.count("passed: ")) == ({1, 2}, 3)


ENDS = """
import os, sys
from playout import Player
if sys.argv[2] == "nim":
    sys.exit("no key")
class ExitsAtStart(Player):
    def __init__(self, game):
        sys.exit(3)
    def choose(self, position, limit):
        ...
class EndsProcess(Player):
    def choose(self, position, limit):
        os._exit(0)
"""


def test_a_player_that_ends_the_process_fails(tmp_path: Path) -> None:
    """Also at its import, and in `__init__`."""
    (tmp_path / "ends.py").write_text(ENDS)
    for game, player, expected, told in (
        (
            "nim",
            "ends:EndsProcess",
            2,
            "cannot be loaded: it ends the program by sys.exit('no key')",
        ),
        ("tic_tac_toe", "ends:ExitsAtStart", 1, "it ends the program by sys.exit(3)"),
        ("tic_tac_toe", "ends:EndsProcess", 1, "FAILED: it ended the process, with exit code 0"),
    ):
        code, output = run("playout-bridge", "comply", game, player, "--player", cwd=tmp_path)
        assert (code, told in output) == (expected, True), output


def test_a_player_by_name() -> None:
    code, output = run("playout-bridge", "comply", "tic_tac_toe", "random", "--player")
    assert (code, output.count("passed: ")) == (0, 3)
    code, output = invoke("playout-bridge", "comply", "tic_tac_toe", "radnom", "--player")
    assert (code, "did you mean 'random'" in output) == (2, True)
    code, output = invoke("playout-bridge", "comply", "tic_tac_toe", "no_such:Bot", "--player")
    assert (code, "no_such" in output) == (2, True)
    options = ("--player", "--only", "seat 1")
    code, output = invoke("playout-bridge", "comply", "tic_tac_toe", "random", *options)
    assert (code, "--only has no use with --player" in output) == (2, True)


def test_ctrl_c_ends_the_bot_and_the_server(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = (
        "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'w')); time.sleep(999)"
    )
    bot = f'{sys.executable} -P -c "{program}" {pid}'
    process = start("playout-bridge", "comply", "nim", bot)
    number = int(wait_until(lambda: pid.exists() and pid.read_text(), "the bot to start"))
    process.send_signal(signal.SIGINT)
    code, output = finish(process)
    assert code == 130
    assert "Starting a private server ...\n" in output
    assert output.endswith("Interrupted.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nim", ""], "the command is empty"),
        (["nim", "'unclosed"], "is no command: No closing quotation"),
        (["nym", "bot"], "did you mean 'nim'"),
        (["nim", "bot", "--only", "seat 3"], "is not one of 'seat 1'"),
        (["nim", "bot", "--only", "rolls"], "'rolls' needs a game with chance"),
    ],
)
def test_bad_usage_is_explained(arguments: list[str], told: str) -> None:
    code, output = invoke("playout-bridge", "comply", *arguments)
    assert code == 2
    assert told in " ".join(output.split())


def test_the_document_has_the_table_of_situations() -> None:
    listed = invoke("playout-bridge", "comply", "--list")[1]
    for table in (SITUATIONS, player_checks.CHECKS):
        rows = [f"| `{each.name}` | {each.about} | {each.duty} |" for each in table]
        assert "\n".join(rows) in DOCUMENT.read_text()
        assert all(each.about in listed for each in table)
