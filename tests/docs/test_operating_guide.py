"""The guide and the files to install say what the command knows."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import click
import pytest

from playout.server.server_command import main

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "server-options.md").read_text()

OPTIONS = {
    option.opts[0]: option
    for option in main.params
    if isinstance(option, click.Option)
    and not option.hidden
    and option.name not in ("config", "version")
}
ROWS = {
    name: cells
    for row in re.findall(r"^\| (`--.*) \|$", GUIDE, re.MULTILINE)
    for cells in [row.split(" | ")]
    for name in re.findall(r"`(--[\w-]+)`", cells[0])
}


def test_every_option_is_in_the_guide_and_no_other() -> None:
    assert set(ROWS) == set(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_guide_has_the_default(name: str) -> None:
    default = OPTIONS[name].default
    if isinstance(default, str | int | float) and not isinstance(default, bool):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        assert ROWS[name][1] == f"`{shown}`"


def test_the_image_and_the_unit_use_options_that_exist() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    unit = (ROOT / "deploy" / "playout.service").read_text()
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)
    (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    for word in [*json.loads(entry), *start.split()]:
        if word.startswith("--"):
            assert word in OPTIONS or word == "--config"


def test_the_sample_of_a_configuration_has_options_that_exist() -> None:
    text = (ROOT / "deploy" / "playout.toml").read_text()
    every = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    assert {f"--{key.replace('_', '-')}" for key in every} <= set(OPTIONS)
