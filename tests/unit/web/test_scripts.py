"""The scripts of the pages, tested by Node without a page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support.requirements import skip_without

FOLDER = Path(__file__).parents[2] / "node"
TIMEOUT_S = 60


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.test.mjs")))
def test_a_script_passes_its_tests(file: str) -> None:
    if shutil.which("node") is None:
        skip_without("it needs Node (apt install nodejs)")
    done = subprocess.run(
        ["node", file],
        cwd=FOLDER,
        capture_output=True,
        check=False,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 0" not in done.stdout
