"""`playout-lab` in ten kinds of repositories, and `git bisect run` with it."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from playout.sandbox import machine
from support import scale
from support.commands import BIN, run
from support.repositories import CENTRAL, LINES_TOML, RANDOM, BotRepository
from support.requirements import skip_without

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
#: Quick conditions, with the sandbox of the machine if there is one.
LAB = """\
games = ["{game}"]
clock = "20/move"
elo1 = 300
pairs = 200
openings = {{ plies = 1 }}
"""
#: Wins, blocks, or takes the best free cell.
CENTRAL_CLASS = '''\
"""Plays tic-tac-toe."""
import random

from playout.players import Player, PlayResult

LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]


class Central(Player):
    def choose(self, position, limit, report=None):
        moves, legal = list(position.moves), list(position.legal_actions)
        for mine in (moves[len(moves) % 2 :: 2], moves[1 - len(moves) % 2 :: 2]):
            ends = [c for c in legal if any(c in each and each <= {*mine, c} for each in LINES)]
            if ends:
                break
        return PlayResult(min(ends or legal, key=[4, 0, 2, 6, 8, 1, 3, 5, 7].index))
'''
RANDOM_CLASS = '''\
"""Plays at random."""
import random

from playout.players import Player, PlayResult


class AtRandom(Player):
    def choose(self, position, limit, report=None):
        return PlayResult(random.choice(list(position.legal_actions)))
'''
#: In Nim, the player who leaves a multiple of four chips wins.
NODE = """\
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { moves, legal_actions: legal } = JSON.parse(line);
    const left = moves.reduce((chips, each) => chips - each - 1, 15);
    const good = legal.filter((each) => (left - each - 1) % 4 === 0);
    const from = GOOD && good.length ? good : legal;
    console.log(from[Math.floor(Math.random() * from.length)]);
});
"""
C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int numbers(const char *text, const char *name, int *found) {
    int count = 0;
    char *at = strchr(strstr(text, name), '[');
    while (*at != ']')
        if (*++at >= '0' && *at <= '9') found[count++] = strtol(at, &at, 10), at--;
    return count;
}

int main(void) {
    static char line[1 << 16];
    int moves[64], legal[64];
    srand(time(NULL));
    while (fgets(line, sizeof line, stdin)) {
        int left = 15, played = numbers(line, "\"moves\"", moves);
        int count = numbers(line, "\"legal_actions\"", legal);
        for (int i = 0; i < played; i++) left -= moves[i] + 1;
        int chosen = legal[rand() % count];
        for (int i = 0; GOOD && i < count; i++)
            if ((left - legal[i] - 1) % 4 == 0) chosen = legal[i];
        printf("%d\n", chosen);
        fflush(stdout);
    }
}
"""
#: Plays tic-tac-toe by GTP.
GTP = """\
import random, sys
LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]
sides = {"b": set(), "w": set()}
for line in sys.stdin:
    number = line.split()[0] if line[0].isdigit() else ""
    command, *words = line[len(number):].split()
    answer = ""
    if command in ("boardsize", "clear_board"):
        sides = {"b": set(), "w": set()}
    elif command == "play":
        sides[words[0][0].lower()].add("ABC".index(words[1][0]) + 3 * (int(words[1][1]) - 1))
    elif command == "genmove":
        me = words[0][0].lower()
        own, other = sides[me], sides["b" if me == "w" else "w"]
        free = [each for each in range(9) if each not in own | other]
        good = []
        for side in (own, other):
            good = good or [c for c in free if any(c in l and l <= side | {c} for l in LINES)]
        cell = random.choice(good if GOOD and good else free)
        own.add(cell)
        answer = "ABC"[cell % 3] + str(cell // 3 + 1)
    elif command == "list_commands":
        answer = "\\n".join("boardsize clear_board play genmove list_commands quit".split())
    elif command == "protocol_version":
        answer = "2"
    print(f"={number} {answer}\\n", flush=True)
    if command == "quit":
        break
"""
#: Plays Breakthrough by UCI: it captures if it can, and advances its foremost pawn.
UCI = """\
import random, sys
START = {f + r for f in "abcdefgh" for r in "12"}, {f + r for f in "abcdefgh" for r in "78"}
made = []
for line in sys.stdin:
    command, *words = line.split() or [""]
    if command == "uci":
        print("id name Pawns\\noption name UCI_Variant type combo var breakthrough\\nuciok")
    elif command == "isready":
        print("readyok")
    elif command == "position":
        made = words[words.index("moves") + 1 :] if "moves" in words else []
    elif command == "go":
        sides, step = [set(each) for each in START], (1, -1)
        for number, move in enumerate(made):
            sides[number % 2].remove(move[:2])
            sides[number % 2].add(move[2:4])
            sides[1 - number % 2].discard(move[2:4])
        me = len(made) % 2
        found = []
        for cell in sides[me]:
            for side in (-1, 0, 1):
                to = chr(ord(cell[0]) + side) + str(int(cell[1]) + step[me])
                if to[0] in "abcdefgh" and to[1:] in "12345678" and to not in sides[me]:
                    taken = to in sides[1 - me]
                    if side or not taken:
                        found.append((taken, int(to[1]) * step[me], random.random(), cell + to))
        print("bestmove", max(found)[3] if GOOD else random.choice(found)[3])
    elif command == "quit":
        break
    sys.stdout.flush()
"""


def toml(protocol: str, command: str, build: str = "") -> str:
    more = f"build = {json.dumps(build)}\n" if build else ""
    return f'protocol = "{protocol}"\ncommand = "{command}"\n{more}'


@dataclass(frozen=True)
class Kind:
    """A kind of repository: its first commit, the changes after it, and how a test of it ends."""

    first: dict[str, str]
    change: dict[str, str]
    told: str
    code: int = 0
    game: str = "tic_tac_toe"
    folder: str = "."


def submodule(made: BotRepository) -> None:
    BotRepository(made.top.parent / "engine").commit({"x": "1"})
    made.git("submodule", "--quiet", "add", str(made.top.parent / "engine"), "engine")


def versions(name: str, text: str, yes: str, no: str, bot_toml: str) -> list[dict[str, str]]:
    """Return the files of a bot that plays badly, and its change to one that plays well."""
    bad = {name: text.replace("GOOD", no), "bot.toml": bot_toml}
    return [bad, {name: text.replace("GOOD", yes)}]


BETTER = r"^working tree \w{7} is stronger than \w{7} \w{7} \(test 1, "
BOT = {"bot.toml": LINES_TOML, "bot.py": RANDOM, ".gitignore": "*.log\n"}
FOLDERS = {"bots/a/bot.py": RANDOM, "bots/a/bot.toml": LINES_TOML, "other/x": "1"}
GCC = "gcc -O2 -o bot bot.c"
FETCH = "python3 -c 'import urllib.request as r; r.urlopen(\"https://pypi.org\")'"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
KINDS = {
    "Python class": Kind({"bot.py": RANDOM_CLASS}, {"bot.py": CENTRAL_CLASS}, BETTER),
    "Node": Kind(
        *versions("bot.js", NODE, "true", "false", toml("lines", "node bot.js")), BETTER, game="nim"
    ),
    "C": Kind(*versions("bot.c", C, "1", "0", toml("lines", "./bot", GCC)), BETTER, game="nim"),
    "GTP": Kind(*versions("bot.py", GTP, "True", "False", toml("gtp", "python3 bot.py")), BETTER),
    "UCI": Kind(
        *versions("bot.py", UCI, "True", "False", toml("uci", "python3 bot.py")),
        BETTER,
        game="breakthrough",
    ),
    "a folder": Kind(FOLDERS, {"bots/a/bot.py": CENTRAL, "other/x": "2"}, BETTER, folder="bots/a"),
    "another folder": Kind(
        FOLDERS, {"other/x": "2"}, "the working tree has the files of the last", 2, folder="bots/a"
    ),
    "a new file": Kind(
        BOT, {"bot.py": "import more\n", "more.py": CENTRAL, "x.log": "ignored"}, BETTER
    ),
    "a build that fails": Kind(
        BOT,
        {"bot.toml": toml("lines", "./bot", GCC)},
        r"cannot be built: the build command .* code 1: .* error: bot\.c: .*; the log is in",
        125,
    ),
    "a build that needs the network": Kind(
        BOT,
        {"bot.toml": LINES_TOML + f"build = {json.dumps(FETCH)}\n"},
        "build has no network",
        125,
    ),
    "a submodule": Kind(BOT, {}, "engine is a submodule, whose files git does not keep", 125),
    "a pointer of LFS": Kind(BOT, {"net.bin": LFS}, "net.bin is a pointer of Git LFS, not", 125),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_repository_ends_as_documented(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    if not (kind.code or scale.slow):
        pytest.skip("it plays a test for seconds: --slow")
    for each, program in (("Node", "node"), ("C", "gcc"), ("a build that fails", "gcc")):
        if name == each and shutil.which(program) is None:
            skip_without(program)
    if "network" in name and "bubblewrap" in machine.missing():
        skip_without("a sandbox")
    made = BotRepository(tmp_path / "bot")
    made.commit(kind.first | {f"{kind.folder}/lab.toml": LAB.format(game=kind.game)})
    made.write(kind.change)
    if name == "a submodule":
        submodule(made)
    homes = str(tmp_path / "laboratories")
    words = ("--folder", str(made.top / kind.folder), "--laboratories", homes, "--http", "none")
    code, output = run("playout-lab", "test", *words)
    assert code == kind.code, output
    assert re.search(kind.told, output, re.MULTILINE), output


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not scale.slow, reason="it plays five tests: --slow")
def test_git_bisect_finds_the_commit_that_made_the_bot_weaker(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "bot")
    commits = [
        made.commit({"bot.toml": LINES_TOML, "bot.py": f"# {number}\n{program}"})
        for number, program in enumerate([CENTRAL] * 21 + [RANDOM] * 11)
    ]
    (tmp_path / "lab.toml").write_text(LAB.format(game="tic_tac_toe"))
    made.git("bisect", "start", commits[-1], commits[0])
    program = str(BIN / "playout-lab")
    options = ("--file", "../lab.toml", "--laboratories", "../laboratories", "--http", "none")
    output = made.git("bisect", "run", program, "test", commits[-1], "HEAD", *options)
    assert f"{commits[21]} is the first bad commit" in output
    assert len(re.findall("stronger than", output)) <= 6
