"""Renders HTML templates: all values are escaped, and an undefined one is an error."""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import PurePath

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from twisted.web import http

from playout import games
from playout.commands.text import counted, utc
from playout.protocol.messages import TimeControl
from playout.protocol.time_control import decimal, parse_time_controls
from playout.server.web.http import HttpError, HttpRequest, HttpResponse, cacheable_response

# Scripts and styles of the pages, which are read and compressed when the server starts.


#: Media types by suffix; other files are not served.
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class Assets:
    """Serves the files of `server/web/static` by name; no path leads to another folder."""

    def __init__(self) -> None:
        self._responses = {
            file.name: _response(file.name, file.read_bytes(), media_type)
            for file in files("playout.server.web").joinpath("static").iterdir()
            if (media_type := _MEDIA_TYPES.get(PurePath(file.name).suffix))
        }

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The file that the path names. Raises HttpError if there is none."""
        response = self._responses.get("/".join(request.path))
        if response is None:
            raise HttpError(http.NOT_FOUND, "not found")
        return response


def _response(name: str, body: bytes, media_type: str) -> HttpResponse:
    # A browser lets a service worker serve no pages of other folders without this header.
    headers = {"Service-Worker-Allowed": "/"} if name == "worker.js" else {}
    packed = gzip.compress(body, mtime=0)
    return cacheable_response(body, media_type, gzipped=packed, headers=headers)


# The scripts of a page, which a browser can fetch in parallel if it knows them.


_IMPORT = re.compile(r'^(?:import|export)\b[^"]*?"(?:\./|/static/)([^"]+)";', re.MULTILINE)


@lru_cache
def modules(script: str) -> tuple[str, ...]:
    """The name of a script of `server/web/static` and of all that it imports, sorted."""
    folder = files("playout.server.web").joinpath("static")
    found = {script}
    unread = [script]
    while unread:
        text = folder.joinpath(unread.pop()).read_text(encoding="utf-8")
        new = set(_IMPORT.findall(text)) - found
        found |= new
        unread += new
    return tuple(sorted(found))


_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


def _duration(seconds: float) -> str:
    """A duration in round numbers, such as "about 3 hours"."""
    for unit, name in _UNITS:
        if seconds >= unit:
            return f"about {counted(round(seconds / unit), name)}"
    return "less than a minute"


def clock_in_words(text: str) -> str:
    """A clock as people say it: "5 minutes + 3 seconds", or "no clock"."""
    both = parse_time_controls(text)
    if both is None:
        return "no clock"
    first, second = map(_time_in_words, both)
    return first if first == second else f"{first} | {second}"


def _time_in_words(time: TimeControl) -> str:
    main, period = _seconds(time.main_s), _seconds(time.period_s)
    if not time.periods:
        return f"{main} + {_seconds(time.increment_s)}" if time.increment_s else main
    periods = (
        f"{period} a move"
        if time.periods == 1
        else f"{time.periods} \N{MULTIPLICATION SIGN} {period}"
    )
    return f"{main}, then {periods}" if time.main_s else periods


def _seconds(seconds: float) -> str:
    """A duration in the largest unit of which it is a multiple."""
    for unit, name in _UNITS:
        if seconds >= unit and seconds % unit == 0:
            return counted(int(seconds // unit), name)
    return f"{decimal(seconds)} second{'' if seconds == 1 else 's'}"


_ENVIRONMENT = Environment(
    loader=PackageLoader("playout.server.web", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.globals["software"] = f"Playout {version('playout')}"
#: For `tojson`, which escapes text that could end a script; msgspec is fast and encodes structs.
#: Bytes are JSON already.
_ENVIRONMENT.policies["json.dumps_function"] = lambda value, **_: (
    value if isinstance(value, bytes) else msgspec.json.encode(value)
).decode()
_ENVIRONMENT.filters["utc"] = lambda at, form="%Y-%m-%d %H:%M": f"{utc(at):{form}}"
_ENVIRONMENT.filters["about"] = _duration
_ENVIRONMENT.filters["count"] = counted
_ENVIRONMENT.filters["game_title"] = games.title
_ENVIRONMENT.filters["clock"] = clock_in_words


def render(name: str, **context: object) -> bytes:
    """The HTML of a template, in UTF-8. Raises jinja2.TemplateError."""
    return _ENVIRONMENT.get_template(name).render(context).encode()
