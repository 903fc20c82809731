"""Where this process has its code from, for processes that are to run the same."""

from __future__ import annotations

import os
from pathlib import Path

import server


def python_path() -> str:
    """Their PYTHONPATH: the folder from which this process imports, then what was given."""
    root = str(Path(server.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
