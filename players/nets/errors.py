"""The error of everything that reads, writes or runs nets."""

from __future__ import annotations

import importlib
from types import ModuleType


class NetError(Exception):
    """Raised for a net that cannot be used; the message is one sentence for people.

    It names the file, what is wrong, and what was expected.
    """


def require(package: str, extra: str) -> ModuleType:
    """Import and return an optional package.

    Raises NetError with the command that installs it, as an extra of Playout.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        text = f"nets need the package {package} ({error}): pip install 'playout[{extra}]'"
        raise NetError(text.replace("'", '"')) from error
