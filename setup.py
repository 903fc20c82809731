"""Refuses old versions of Python in a line; everything else is in setup.cfg.

Older versions of pip would first look for versions of all requirements, and list those of numba.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    version = sys.version.split(maxsplit=1)[0]
    sys.exit(
        f"Playout needs Python 3.11 or newer, and this is {version}; create the environment with "
        "another one, as in: python3.11 -m venv .venv"
    )

from setuptools import setup

setup()
