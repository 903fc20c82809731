"""The scripts that a page needs, so that a browser can fetch all of them at once."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

_IMPORT = re.compile(r'^(?:import|export)\b[^"]*?"(?:\./|/static/)([^"]+)";', re.MULTILINE)


@lru_cache
def modules(script: str) -> tuple[str, ...]:
    """The name of a script of `server/web/static` and of all that it imports, sorted."""
    folder = files("server.web").joinpath("static")
    found = {script}
    unread = [script]
    while unread:
        text = folder.joinpath(unread.pop()).read_text(encoding="utf-8")
        new = set(_IMPORT.findall(text)) - found
        found |= new
        unread += new
    return tuple(sorted(found))
