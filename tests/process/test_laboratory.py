"""`playout-lab`: real repositories, from a commit to the verdict and its exit code."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from playout.laboratory.journal import Journal
from playout.server.storage import Database
from support import scale
from support.commands import finish, invoke, run, running_server, start
from support.raw_client import RawClient
from support.repositories import CENTRAL, LAB, LINES_TOML, RANDOM, BotRepository
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
#: Tests of seconds, each with servers and players.
slow = pytest.mark.skipif(not scale.slow, reason="it plays tests for seconds: --slow")
Lab = Callable[..., tuple[int, str]]


@pytest.fixture
def made(tmp_path: Path) -> BotRepository:
    made = BotRepository(tmp_path / "bot")
    made.commit({"bot.toml": LINES_TOML, "bot.py": RANDOM, "lab.toml": LAB})
    return made


@pytest.fixture
def lab(made: BotRepository, tmp_path: Path) -> Lab:
    """Runs `playout-lab` in the folder of the bot, with an own folder of laboratories."""

    def call(command: str, *words: str, folder: str = "", how: Lab = run) -> tuple[int, str]:
        homes = ("--laboratories", str(tmp_path / "laboratories"))
        conditions = made.top / folder / "lab.toml"
        file = ("--file", str(conditions)) if conditions.exists() and "--file" not in words else ()
        more = {"new": (), "list": homes, "losses": homes, "push": homes}
        given = more.get(command, (*homes, *file, "--http", "none"))
        return how("playout-lab", command, *words, "--folder", str(made.top / folder), *given)

    return call


def journal_of(folder: Path) -> Journal:
    (home,) = folder.glob("laboratories/*/journal.jsonl")
    return Journal(home.parent)


@pytest.mark.long
def test_a_change_of_the_working_tree_is_promoted_and_confirmed(
    made: BotRepository, lab: Lab, tmp_path: Path
) -> None:
    code, output = lab("test")
    assert code == 2
    assert "the working tree has the files of the last commit" in output
    made.write({"bot.py": CENTRAL})
    summary = tmp_path / "summary.md"
    code, output = lab("test", "--summary", str(summary))
    assert code == 0, output
    assert re.search(r"^working tree \w{7} is stronger than \w{7} \w{7} \(test 1, ", output, re.M)
    assert summary.read_text().startswith("**working tree")
    again, output = lab("test")
    assert (again, "has its verdict already" in output) == (0, True)
    code, output = lab("confirm", "--file", str(_confirming(tmp_path)))
    assert code == 0, output
    assert re.search(r"Elo in \d+ fresh pairs.*; test 1, which promoted it, said", output)
    test = next(iter(journal_of(tmp_path)))
    kinds = [(each.kind, each.state) for each in journal_of(tmp_path)]
    assert kinds == [("test", "stronger"), ("confirmation", "confirmed")]
    assert "confirms 1: " in lab("list")[1]
    code, output = lab("losses", "1", test.names[0], "--seconds", "1", "--json")
    assert code == 0, output
    found = json.loads(output.splitlines()[-1])
    assert found["summary"].endswith(" by rules")
    assert {each["opponent"] for each in found["matches"]} == {test.winner}


def _confirming(folder: Path) -> Path:
    path = folder / "confirm.toml"
    path.write_text(LAB + "confirm = 4\n")
    return path


@slow
def test_an_equal_one_is_not_promoted_and_a_small_budget_leaves_it_undecided(
    made: BotRepository, lab: Lab
) -> None:
    made.write({"bot.py": f"# the same\n{RANDOM}"})
    code, output = lab("test", "--pairs", "1")
    assert code == 125, output
    assert "a larger --pairs continues it" in output
    code, output = lab("test")
    assert code == 1, output
    assert "is not stronger than" in output
    assert "(test 1, " in output, "the same test was continued"


@slow
def test_folders_with_another_language_and_players_need_no_git(tmp_path: Path, lab: Lab) -> None:
    for name, more in (("old", ""), ("new", "# new\n")):
        folder = tmp_path / "plain" / name
        folder.mkdir(parents=True)
        (folder / "bot.toml").write_text(LINES_TOML)
        (folder / "bot.py").write_text(more + RANDOM)
    words = (str(tmp_path / "plain/old"), str(tmp_path / "plain/new"), "--plies", "2")
    code, output = lab("test", *words, "--pairs", "1")
    assert code == 125, output
    code, output = lab("push", "--name", "Ada")
    assert (code, "has no verdict yet" in output) == (2, True), output
    code, output = lab("test", "random", "uct(simulations=200)")
    assert code == 0, output
    assert "uct(simulations=200) " in output
    with running_server() as server, RawClient(server.host, server.port) as ada:
        environment = os.environ | {"PLAYOUT_TOKEN": ada.hello("Ada", guest=False)["token"]}
        where = ("--server", f"{server.host}:{server.port}", "--name", "Ada")
        code, output = lab("push", *where, how=partial(run, env=environment))
        assert code == 0, output
        assert "is reported" in output
        code, output = lab("push", *where, "--rated", how=partial(run, env=environment))
        assert code == 1, output
        assert "only administrators" in output


@slow
def test_a_race_promotes_the_best_candidate(made: BotRepository, lab: Lab) -> None:
    made.git("branch", "base")
    for name, content in (("same", f"# the same\n{RANDOM}"), ("central", CENTRAL)):
        made.git("checkout", "--quiet", "-b", name, "base")
        made.commit({"bot.py": content})
    code, output = lab("test", "base", "same", "central")
    assert code == 0, output
    assert re.search(r"^central \w{7} is stronger than base \w{7}", output, re.M)


def test_a_bot_that_fails_the_check_is_undecided_with_a_reason(
    made: BotRepository, lab: Lab
) -> None:
    made.write({"bot.py": "print('no move', flush=True)\n"})
    code, output = lab("test")
    assert code == 125, output
    found = re.search(r"cannot be built: .*the program.*; the log is in (\S+)", output)
    assert found, output
    assert Path(found[1]).read_text().splitlines()[-1].startswith("== refused: ")


def test_a_killed_test_goes_on_where_it_was(made: BotRepository, lab: Lab, tmp_path: Path) -> None:
    made.write({"bot.py": f"# the same\n{RANDOM}"})
    words = ("playout-lab", "test", "--folder", str(made.top), "--http", "none", "--elo1", "20",
             "--laboratories", str(tmp_path / "laboratories"), "--pairs", "2000",
             "--file", str(made.top / "lab.toml"))  # fmt: skip

    def database() -> Path | None:
        return next(tmp_path.glob("laboratories/*/tests/000001/matches.db"), None)

    def ended() -> int:
        if not (path := database()):
            return 0
        try:
            with closing(Database(f"sqlite:///{path}", only_read=True)) as stored:
                (found,) = stored.tournaments()
                whole = stored.tournament(found.created.tournament)
        except (OperationalError, ValueError):  # it is being made
            return 0
        assert whole
        return sum(each.ended is not None for each in whole.matches)

    process = start(*words)
    wait_until(lambda: ended() >= 4 or process.poll() is not None)
    assert process.poll() is None, finish(process)
    process.send_signal(signal.SIGKILL)
    finish(process)
    before = ended()
    assert before < 4000
    code, output = lab("test", "--pairs", str(before // 2 + 6), "--elo1", "20")
    assert code in (1, 125), output
    assert "(test 1, " in output
    (test,) = journal_of(tmp_path)
    assert test.pairs >= before // 2
    path = database()
    assert path
    with closing(Database(f"sqlite:///{path}", only_read=True)) as stored:
        (found,) = stored.tournaments()
        whole = stored.tournament(found.created.tournament)
        assert whole
        slots = [each.started.fixture for each in whole.matches if each.ended and each.ended.winner]
        assert len(slots) == len(set(slots)) >= 2 * test.pairs


def test_wrong_options_of_a_player_are_found_before_anything_is_built(
    made: BotRepository, lab: Lab, tmp_path: Path
) -> None:
    code, output = lab("test", "HEAD", "uct(simulatoins=3)", how=invoke)
    assert (code, "did you mean 'simulations'?" in output) == (2, True), output
    assert not list(tmp_path.glob("laboratories/*/builds"))
    assert not list(tmp_path.glob("laboratories/*/journal.jsonl"))


def test_a_new_laboratory_is_written_from_options(made: BotRepository, lab: Lab) -> None:
    (made.top / "lab.toml").unlink()
    code, output = lab("new", "--game", "hex(size=5)", how=invoke)
    assert code == 0, output
    assert 'games = ["hex(size=5)"]' in (made.top / "lab.toml").read_text()
    for name in ("bot.toml", "bot.py", "lab.toml"):
        (made.top / name).unlink()
    code, output = lab("new", "--game", "nim", "--protocol", "lines", "--command", "./bot",
                       "--build", "gcc -o bot bot.c", how=invoke)  # fmt: skip
    assert code == 0, output
    assert (made.top / "bot.toml").read_text().splitlines()[-1] == 'build = "gcc -o bot bot.c"'
    code, output = lab("new", "--game", "nim", how=invoke)
    assert code == 2
    assert "exists" in output
    (made.top / "bot.toml").unlink()
    code, output = lab("new", "--game", "nim", "--protocol", "lines", "--command", "./bot",
                       how=invoke)  # fmt: skip
    assert (code, "lab.toml exists: edit it" in output) == (2, True)
    assert not (made.top / "bot.toml").exists()
    output = lab("new", "--game", "nim", "--protocol", "python", how=invoke)[1]
    assert "The file of its class [bot.py]" in output


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('games = ["shogi"]\n', "1: games: unknown game 'shogi'"),
        ("clock = 3\n", "needs games"),
        (f"{LAB}elo2 = 3\n", "7: unknown key of a laboratory 'elo2'; did you mean 'elo1'"),
    ],
)
def test_faults_of_the_file_have_their_lines(
    made: BotRepository, lab: Lab, text: str, fault: str
) -> None:
    made.write({"lab.toml": text, "bot.py": CENTRAL})
    code, output = lab("test", how=invoke)
    assert code == 2
    assert fault in output
