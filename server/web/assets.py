"""Scripts and styles of the pages, read and compressed once, when the server starts."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from pathlib import PurePath

from twisted.web import http

from server.web.http import HttpError, HttpRequest, HttpResponse

#: Media types by suffix; other files are not served.
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


class Assets:
    """Serves the files of `server/web/static` by name; no path leads to another folder."""

    def __init__(self) -> None:
        self._responses = {
            file.name: _response(file.read_bytes(), media_type)
            for file in files("server.web").joinpath("static").iterdir()
            if (media_type := _MEDIA_TYPES.get(PurePath(file.name).suffix))
        }

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """The file that the path names. Raises HttpError if there is none."""
        response = self._responses.get("/".join(request.path))
        if response is None:
            raise HttpError(http.NOT_FOUND, "not found")
        return response


def _response(body: bytes, media_type: str) -> HttpResponse:
    return HttpResponse(
        body,
        media_type=media_type,
        cache_control="no-cache",
        etag=hashlib.sha256(body).hexdigest()[:32],
        gzipped=gzip.compress(body, mtime=0),
    )
