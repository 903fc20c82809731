"""A class hands in at once: good bots in three languages, and kinds of bad ones."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from playout.competition.submissions import Submissions
from playout.players.engines.process import MatchUse
from playout.server.tournament.competition_file import read
from support import scale
from support.competitions import KEPT, Cup, require_sandbox
from support.requirements import skip_without
from support.waiting import wait_until
from testbed.handed_in import bad, good

#: The bad bots of a class of ten; others are in the tests of competitions and of the sandbox.
TEN = ("no build", "crash at the start", "crash in a match", "hangs", "forks", "memory", "output")


def use_of(cup: Cup, number: int, match: str) -> MatchUse | None:
    submissions = Submissions(read(cup.file))
    submission = submissions.get(number)
    assert submission
    return next((each for each in submissions.uses(submission) if each.match == match), None)


@pytest.mark.long
def test_a_class_hands_in_at_once(tmp_path: Path) -> None:
    require_sandbox()
    if not (shutil.which("gcc") and shutil.which("node")):
        skip_without("gcc and node (apt install gcc libc6-dev nodejs)")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    cup = Cup(
        tmp_path,
        more="cores = 0",  # a short clock, and programs that start at the same time
        game="connect_four",
        clock="10+2",
        environment={"TMPDIR": str(temporary)},
    )
    works, fails = good(), {name: one for name, one in bad() if scale.slow or name in TEN}
    files = works | fails
    for name in files:
        cup.account(name)
    with cup.running(), ThreadPoolExecutor(len(files)) as students:

        def put(name: str) -> int:
            one = files[name]
            status, told = cup.ask("PUT", f"submissions/{one.name}", name, one.content)
            assert status == 201, told
            return int(told["id"])

        numbers = dict(zip(files, students.map(put, files), strict=True))
        done = {name: cup.ended(name, number) for name, number in numbers.items()}
        for name in works:
            told = done[name]
            assert told["state"] == "accepted", f"{name}: {told['reason']}\n{told['log']}"
        for name, one in fails.items():
            told = done[name]
            assert (told["state"], told["stage"]) == ("refused", one.stage), told
            assert re.search(one.reason, told["reason"] + told["log"]), told

        for match in done["C"]["matches"]:
            use = wait_until(lambda match=match: use_of(cup, numbers["C"], match))  # type: ignore[misc]
            assert 0.1 <= use.cpu_s < 5
            assert 64 <= use.memory_mb < 200
            assert use.end == "the end of the match"
        shown = cup.ask("GET", f"submissions/{numbers['C']}", "C")[1]["uses"]
        assert shown[-1].keys() == {"match", "seat", "cpu_s", "memory_mb", "end"}
        (match,) = set(re.findall("Match ([0-9a-f]+)", done["crash in a match"]["log"]))
        use = wait_until(lambda: use_of(cup, numbers["crash in a match"], match))
        assert use.cpu_s < 0.5
        assert "has exited with code 7" in use.end

        def played() -> bool:
            rows = cup.ask("GET", "state")[1]["standings"]
            return {each["name"] for each in rows if each["matches"] > 1} >= works.keys()

        wait_until(played, "matches of the good ones on the ladder")
        for name in works:
            log = cup.ask("GET", f"submissions/{numbers[name]}", name)[1]["log"]
            assert log.endswith("== accepted\n"), log
    wait_until(lambda: not cup.processes(), "the end of all that was started")
    assert not list(temporary.iterdir())
    assert not list((cup.folder / "cup" / "incoming").iterdir())
    submissions = Submissions(read(cup.file))
    for each in submissions:
        code = {"code", "built"} if each.state == "accepted" else set()
        assert {path.name for path in submissions.place(each).iterdir()} <= KEPT | code
