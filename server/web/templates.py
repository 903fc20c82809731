"""Renders HTML templates: all values are escaped, and an undefined one is an error."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from twisted.web import http

from playout.commands.text import utc
from playout.server.web.http import (
    JSON,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
)
from playout.server.web.texts import LANGUAGES, Language, about, clock_in_words, game_title

# Scripts and styles of the pages, which are read and compressed when the server starts.


#: The folder of the scripts and styles of the server's pages.
STATIC = files("playout.server.web").joinpath("static")
#: Media types by suffix; other files are not served.
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class _NamedResponses:
    """Serves responses by name; no path leads to another folder."""

    _responses: dict[str, HttpResponse]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The response that the path names. Raises HttpError if there is none."""
        response = self._responses.get("/".join(request.path))
        if response is None:
            raise HttpError(http.NOT_FOUND, "there is nothing at this address")
        return response


class Assets(_NamedResponses):
    """Serves scripts, styles and pictures by their names."""

    def __init__(self, files: Traversable, *more: Traversable) -> None:
        """`files` is a folder, `more` are further files."""
        self._responses = {
            file.name: _response(file.name, file.read_bytes(), media_type)
            for file in (*files.iterdir(), *more)
            if (media_type := _MEDIA_TYPES.get(PurePath(file.name).suffix))
        }


def _response(name: str, body: bytes, media_type: str) -> HttpResponse:
    # A browser lets a service worker serve no pages of other folders without this header.
    headers = {"Service-Worker-Allowed": "/"} if name == "worker.js" else {}
    packed = gzip.compress(body, mtime=0)
    return cacheable_response(body, media_type, gzipped=packed, headers=headers)


class ScriptTexts(_NamedResponses):
    """Serves the texts of scripts at `CODE-VERSION.json`, which a cache never asks for again."""

    def __init__(self) -> None:
        self._responses = {
            f"{language.code}-{language.version}.json": HttpResponse(
                language.script_texts,
                media_type=JSON,
                cache_control="public, max-age=31536000, immutable",
                gzipped=gzip.compress(language.script_texts, mtime=0),
            )
            for language in LANGUAGES.values()
            if language.is_translated
        }


# The scripts of a page, which a browser can fetch in parallel if it knows them.


_IMPORT = re.compile(r'^(?:import|export)\b[^"]*?"(?:\./|/static/)([^"]+)";', re.MULTILINE)


@lru_cache
def modules(script: str) -> tuple[str, ...]:
    """The name of a script of `server/web/static` and of all that it imports, sorted."""
    found = {script}
    unread = [script]
    while unread:
        text = STATIC.joinpath(unread.pop()).read_text(encoding="utf-8")
        new = set(_IMPORT.findall(text)) - found
        found |= new
        unread += new
    return tuple(sorted(found))


#: What a page depends on, beside its address.
VARIES = {"Vary": "Accept-Encoding, Accept-Language, Cookie"}


#: The package and the folder of the templates of the server's pages.
_TEMPLATES = "playout.server.web", "templates"


@lru_cache
def environment(language: Language, *more: tuple[str, str]) -> Environment:
    """The templates of the pages, with the texts and the forms of numbers of a language.

    `more` are packages and their folders with further templates.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(*each) for each in (_TEMPLATES, *more)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.policies["ext.i18n.trimmed"] = True
    # For `tojson`, which escapes text that could end a script; msgspec is fast and encodes structs.
    # Bytes are JSON already.
    environment.policies["json.dumps_function"] = lambda value, **_: (
        value if isinstance(value, bytes) else msgspec.json.encode(value)
    ).decode()
    texts = {name: getattr(language, name) for name in ("gettext", "ngettext", "pgettext")}
    untyped: Any = environment
    untyped.install_gettext_callables(**texts, newstyle=True, npgettext=language.npgettext)
    environment.globals |= {
        "site": "",
        "software": f"Playout {version('playout')}",
        "language": language,
        "languages": LANGUAGES.values(),
    }
    environment.filters |= {
        "about": partial(about, language=language),
        "clock": partial(clock_in_words, language=language),
        "day": language.day,
        "game_title": partial(game_title, language=language),
        "moment": language.moment,
        "code": _code,
        "number": language.number,
        "rules": language.rules,
        "sort_by_title": partial(_sort_by_title, language),
        "told": language.told,
        "utc": lambda at: f"{utc(at):%Y-%m-%dT%H:%M:%SZ}",
    }
    return environment


def _sort_by_title(language: Language, games: Iterable[Any], title: str = "title") -> list[Any]:
    """Games in the order of their names in a language; `title` is the path of the name."""

    def key(game: Any) -> str:
        for part in title.split("."):
            game = game[part] if isinstance(game, Mapping) else getattr(game, part)
        return language.told(game).casefold()

    return sorted(games, key=key)


def _code(text: str) -> Markup:
    """A text whose parts between backticks are code."""
    parts = re.split("`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts)
    )


def render(name: str, language: Language, **context: object) -> bytes:
    """The HTML of a template, in UTF-8. Raises jinja2.TemplateError."""
    return environment(language).get_template(name).render(context).encode()
