"""Scripts and styles of the pages: read and compressed once, when the server starts."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from pathlib import PurePath

from twisted.web import http

from server.web.http import HttpError, HttpRequest, HttpResponse

#: Only files of these kinds are served.
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


class Assets:
    """The files of `server/web/static`, by name: no path leads anywhere else."""

    def __init__(self) -> None:
        self._answers = {
            each.name: _answer(each.read_bytes(), kind)
            for each in files("server.web").joinpath("static").iterdir()
            if (kind := _KINDS.get(PurePath(each.name).suffix))
        }

    def __call__(self, asked: HttpRequest) -> HttpResponse:
        """A file. Raises Refused."""
        answer = self._answers.get("/".join(asked.path))
        if answer is None:
            raise HttpError(http.NOT_FOUND, "not found")
        return answer


def _answer(body: bytes, kind: str) -> HttpResponse:
    return HttpResponse(
        body,
        kind=kind,
        cache="no-cache",
        etag=hashlib.sha256(body).hexdigest()[:32],
        packed=gzip.compress(body, mtime=0),
    )
