"""playout-competition final: where it is played."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from playout.competition import competition_command
from playout.competition.bot_file import BotFile
from playout.competition.submissions import Submissions
from playout.server.tournament.competition_file import read
from support.competitions import PAST, Cup, handed_in

CLUSTER = 'cluster = { dask = "tcp://10.0.0.1:8786", server = "10.0.0.2:4242" }'


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ((), ["--dask", "tcp://10.0.0.1:8786", "--host", "10.0.0.2"]),
        (("--here",), []),
        (
            ("--", "--host", "10.0.0.3"),
            ["--dask", "tcp://10.0.0.1:8786", "--host", "10.0.0.2", "--host", "10.0.0.3"],
        ),
    ],
)
def test_the_workers_of_the_ladder_play_the_final(
    options: tuple[str, ...], place: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = Cup(tmp_path, deadline=PAST, more=CLUSTER)
    submissions = Submissions(read(cup.file))
    submissions.lock()
    made = handed_in(submissions, "Ada")
    bot = BotFile("lines", "python3 bot.py")
    submissions.put(structs.replace(made, state="accepted", digest="a" * 40, bot=bot))
    started: list[list[str]] = []
    monkeypatch.setattr(competition_command, "_run", started.append)
    CliRunner().invoke(competition_command.main, ["final", str(cup.file), *options])
    (words,) = started
    found = [(a, b) for a, b in itertools.pairwise(words) if a in ("--dask", "--host")]
    assert [each for pair in found for each in pair] == place
