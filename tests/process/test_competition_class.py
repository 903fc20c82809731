"""A class hands in at once: good bots in three languages, and each kind of bad one."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playout.competition.submissions import MatchUse, Submissions
from playout.server.tournament.competition_file import read
from support.competitions import KEPT, LATER, PLAYER, Cup, bot, require_sandbox
from support.requirements import skip_without
from support.waiting import wait_until

#: It uses half a second and 64 MiB at the beginning of each match.
IN_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void) {
    volatile char *used = malloc(1 << 26);
    while (clock() < CLOCKS_PER_SEC / 2) for (int i = 0; i < 1 << 26; i += 4096) used[i] = 1;
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        printf("%d\n", atoi(strstr(line, "\"legal_actions\": [") + 18));
        fflush(stdout);
    }
}
"""
IN_JAVASCRIPT = """
require("readline").createInterface({ input: process.stdin })
    .on("line", (line) => console.log(JSON.parse(line).legal_actions[0]));
"""
BUILT = {"command": "./bot", "build": "gcc -O2 -o bot bot.c"}
GOOD = {
    "Python": {"first.py": PLAYER},
    "C": bot(**BUILT) | {"bot.c": IN_C},
    "JavaScript": bot(command="node bot.js") | {"bot.js": IN_JAVASCRIPT},
}
#: The tests of the sandbox have a program that forks without end.
MANY = "import os, time\nfor _ in range(40):\n    if not os.fork(): break\ntime.sleep(60)\n"
#: For each bad bot, the stage that it fails and the reason.
BAD = {
    "no build": (bot(**BUILT) | {"bot.c": "int main(void) { retur"}, "build", "exit code 1"),
    "crash at the start": (bot("1 / 0"), "check", "division by zero"),
    "crash in a match": (bot(LATER.format("sys.exit(7)")), "matches", "code 7"),
    "hangs": (bot(LATER.format("import time; time.sleep(600)")), "matches", r"\(time\)"),
    "many processes": (bot(MANY), "check", "more than 20 processes|Resource"),
    "memory": (bot("x = 'x' * 2**30"), "check", "MemoryError"),
    "output": (bot(LATER.format("print('x' * 10**9)")), "matches", "resign|time"),
}


def use_of(cup: Cup, number: int, match: str) -> MatchUse | None:
    submissions = Submissions(read(cup.file))
    submission = submissions.get(number)
    assert submission
    return next((each for each in submissions.uses(submission) if each.match == match), None)


def test_a_class_hands_in_at_once(tmp_path: Path) -> None:
    require_sandbox()
    if not (shutil.which("gcc") and shutil.which("node")):
        skip_without("gcc and node (apt install gcc libc6-dev nodejs)")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    cup = Cup(tmp_path, clock="6+0.5", environment={"TMPDIR": str(temporary)})
    files = GOOD | {name: one for name, (one, _, _) in BAD.items()}
    for name in files:
        cup.account(name)
    with cup.running(), ThreadPoolExecutor(len(files)) as students:
        handed_in = {name: students.submit(cup.hand_in, name, files[name]) for name in files}
        numbers = {name: each.result() for name, each in handed_in.items()}
        done = {name: cup.ended(name, number) for name, number in numbers.items()}
        for name in GOOD:
            assert done[name]["state"] == "accepted", done[name]
        for name, (_, stage, reason) in BAD.items():
            told = done[name]
            assert (told["state"], told["stage"]) == ("refused", stage), told
            assert re.search(reason, told["reason"] + told["log"]), told

        for match in done["C"]["matches"]:
            use = wait_until(lambda match=match: use_of(cup, numbers["C"], match))  # type: ignore[misc]
            assert 0.5 <= use.cpu_s < 5
            assert 64 <= use.memory_mb < 200
            assert use.end == "the end of the match"
        shown = cup.ask("GET", f"submissions/{numbers['C']}", "C")[1]["uses"]
        assert shown[-1].keys() == {"match", "cpu_s", "memory_mb", "end"}
        (match,) = set(re.findall("Match ([0-9a-f]+)", done["crash in a match"]["log"]))
        use = wait_until(lambda: use_of(cup, numbers["crash in a match"], match))
        assert use.cpu_s < 0.5
        assert "has exited with code 7" in use.end

        def played() -> bool:
            rows = cup.ask("GET", "state")[1]["standings"]
            return {each["name"] for each in rows if each["matches"] > 1} >= GOOD.keys()

        wait_until(played, "matches of the good ones on the ladder")
        for name in GOOD:
            log = cup.ask("GET", f"submissions/{numbers[name]}", name)[1]["log"]
            assert log.endswith("== accepted\n"), log
    wait_until(lambda: not cup.processes(), "the end of all that was started")
    assert not list(temporary.iterdir())
    assert not list((cup.folder / "cup" / "incoming").iterdir())
    submissions = Submissions(read(cup.file))
    for each in submissions:
        code = {"code", "built"} if each.state == "accepted" else set()
        assert {path.name for path in submissions.place(each).iterdir()} <= KEPT | code
