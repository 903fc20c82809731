"""Rolls of stored matches are verified: by `playout-server verify`, and by a program for Node."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from playout.server.export import jsonl
from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from support.commands import invoke
from support.documents import program
from support.requirements import skip_without
from support.stored_game import PlayedGame
from support.variants import CHANCE

every_chance_game = pytest.mark.parametrize("spec", [*CHANCE, "pig(diceoutcomes=9)"])


def played(spec: str, plies: int = 60) -> StoredMatch:
    """Return a match that has ended."""
    game = PlayedGame(spec).play_anything(1, plies=plies)
    return game.adjudicated(1) if game.match.to_move else game.stored


def with_key(stored: StoredMatch, key: str | None) -> StoredMatch:
    return structs.replace(stored, started=structs.replace(stored.started, dice_key=key))


def rolls_in(stored: StoredMatch) -> int:
    return sum(move.seat == 0 for move in stored.moves)


def store(folder: Path, *stored: StoredMatch) -> str:
    """Store matches; return the URL of the database."""
    url = f"sqlite:///{folder}/playout.db"
    with contextlib.closing(Database(url)) as database:
        database.migrate()
        for each in stored:
            database.save([each.started, *each.moves, *([each.ended] if each.ended else [])])
    return url


@every_chance_game
def test_all_rolls_of_a_stored_match_and_of_its_file_follow_from_the_key(
    spec: str, tmp_path: Path
) -> None:
    stored = played(spec)
    url = store(tmp_path, stored)
    file = tmp_path / "m1.json"
    file.write_text(jsonl.write(stored))
    for given in (["m1", "--database", url], [str(file)]):
        code, output = invoke("playout-server", "verify", *given)
        assert code == 0, output
        assert f"{rolls_in(stored)} rolls: all follow from the key." in output
        assert output.count("\nply ") == rolls_in(stored) > 5


@every_chance_game
def test_rolls_that_do_not_follow_from_the_key_are_found(spec: str, tmp_path: Path) -> None:
    stored = with_key(played(spec), "0f" * 32)
    code, output = invoke("playout-server", "verify", "m1", "--database", store(tmp_path, stored))
    assert code == 1
    assert f"of {rolls_in(stored)} rolls do not follow from the key" in output
    assert ", not " in output


def test_a_match_that_goes_on_is_verified_without_its_key(tmp_path: Path) -> None:
    stored = PlayedGame("pig").play_anything(1, plies=30).stored
    assert stored.started.dice_key
    code, output = invoke("playout-server", "verify", "m1", "--database", store(tmp_path, stored))
    assert (code, stored.started.dice_key in output) == (0, False)
    file = tmp_path / "m1.json"
    file.write_text(jsonl.write(stored))
    assert stored.started.dice_key not in file.read_text()
    code, output = invoke("playout-server", "verify", str(file))
    assert (code, "which is published when the match is over" in output) == (1, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "is missing"),
        (jsonl.write(played("nim")), "It has no rolls."),
        (jsonl.write(with_key(played("pig"), None)), "match m1 has no key"),
    ],
)
def test_what_cannot_be_verified_is_explained(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "m1.json"
    file.write_text(text)
    code, output = invoke("playout-server", "verify", str(file))
    assert (code, told in output) == (0 if "no rolls" in told else 1, True), output


def test_an_unknown_match_is_explained(tmp_path: Path) -> None:
    code, output = invoke("playout-server", "verify", "m2", "--database", store(tmp_path))
    assert (code, "'m2' is neither a stored match nor a file" in output) == (1, True)


def test_a_program_for_node_verifies_the_same_rolls(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        skip_without("it needs Node (apt install nodejs npm)")
    script = tmp_path / "verify.mjs"
    script.write_text(program("docs/protocol-games.md", "// Verifies the rolls", "js"))
    assert len([line for line in script.read_text().splitlines() if line]) <= 36

    def verified(line: dict[str, object]) -> tuple[int, str]:
        file = tmp_path / "match.json"
        file.write_text(json.dumps(line))
        words = ["node", str(script), str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    for spec in (*CHANCE, "pig(diceoutcomes=9)"):
        stored = played(spec)
        line = json.loads(jsonl.write(stored))
        assert verified(line) == (0, f"{rolls_in(stored)} rolls, 0 wrong\n")
        roll = next(move for move in reversed(line["moves"]) if move["seat"] == 0)
        roll["action"] = 2 if roll["action"] != 2 else 4
        assert verified(line) == (1, f"{rolls_in(stored)} rolls, 1 wrong\n")
        code, output = verified(line | {"key": "0f" * 32})
        assert (code, "not the key" in output) == (1, True)
