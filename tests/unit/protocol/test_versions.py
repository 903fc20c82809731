"""playout.protocol.versions: which files decide how a bot plays."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from playout.commands.subprocesses import own_environment

NOTHING = hashlib.sha256().hexdigest()


def test_the_installed_code_is_found_from_any_folder(tmp_path: Path) -> None:
    """The digest is that of the games and players, not of folders of these names."""
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "__init__.py").touch()
    code = "from playout.protocol import versions; print(versions.installed())"
    digests = {
        subprocess.run(
            [sys.executable, *options, "-c", code],
            cwd=folder,
            env=own_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder, options in ((tmp_path, []), (tmp_path, ["-P"]), (Path.cwd(), ["-P"]))
    }
    assert len(digests) == 1
    assert NOTHING not in digests.pop()
