"""docs/engines.md: its files can be read, and its table of keys is complete."""

from __future__ import annotations

import re
from pathlib import Path

from playout.players.engines import config
from playout.players.engines.uci_games import VARIANTS
from support.documents import ROOT

DOCUMENT = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")


def test_the_files_with_engines_can_be_read(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "first-engine.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(\[\w+\].*?)```", guide + DOCUMENT, re.DOTALL)
    assert len(examples) == 5
    for text in examples:
        (tmp_path / "engines.toml").write_text(text)
        assert config.read(tmp_path / "engines.toml")


def test_all_keys_of_an_engine_are_listed() -> None:
    _, _, section = DOCUMENT.partition("\n## The file\n")
    listed = re.findall(r"^\| `(\w+)` \|", section.partition("\n### ")[0], re.MULTILINE)
    assert set(listed) == set(config.EngineConfig.__dataclass_fields__) - {"name", "candidates"}


def test_all_games_of_uci_are_listed_with_their_variant() -> None:
    section = DOCUMENT.partition("\n## UCI\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| (`.*`) \| `(\w+)` \|", section, re.MULTILINE)
    games = [(game, variant) for cell, variant in listed for game in re.findall(r"`(.*?)`", cell)]
    assert games == [(each.game, each.name) for each in VARIANTS]
