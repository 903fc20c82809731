"""Programs that some tests need beside Python: Node, PostgreSQL, Chromium, engines."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NoReturn

import pytest

#: Set by hosts of continuous integration, where the needs of all tests are installed.
IN_CI = os.environ.get("CI") == "true"


def skip_without(missing: str) -> NoReturn:
    """Skips the running test for something that is not installed; with CI=true, fails it."""
    if IN_CI:
        pytest.fail(f"with CI=true no test may be skipped: {missing}")
    pytest.skip(missing)


def need_packages(*names: str) -> None:
    """Skips the tests of the calling file unless these packages are installed.

    Unlike `pytest.importorskip` it imports none: jax takes seconds in each process of the tests.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        pytest.skip(f"it needs {', '.join(missing)}", allow_module_level=True)
