"""Which class of a Python file plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.bots.python_bot import _class_of

BASES = """
from playout import PlayResult, Player

class Base(Player):
    def choose(self, position, limit, report=None):
        return PlayResult(position.legal_actions[0])

class Middle(Base):
    pass

class Mine(Middle):
    pass
"""


def test_classes_from_which_the_player_is_derived_are_no_players(tmp_path: Path) -> None:
    file = tmp_path / "derived_bot.py"
    file.write_text(BASES)
    assert _class_of(file).__name__ == "Mine"


def test_two_players_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "two_bots.py"
    file.write_text(BASES + "\nclass Other(Base):\n    pass\n")
    with pytest.raises(SystemExit, match="Mine, Other"):
        _class_of(file)


def test_a_base_class_may_be_in_a_file_beside_the_bot(tmp_path: Path) -> None:
    base = BASES.replace("class Mine(Middle):\n    pass\n", "")
    (tmp_path / "its_base.py").write_text(base)
    file = tmp_path / "parted_bot.py"
    for begin in ("from its_base import Middle\n", "from its_base import Base, Middle\n"):
        file.write_text(f"{begin}\nclass Mine(Middle):\n    pass\n")
        assert _class_of(file).__name__ == "Mine"
