"""Matches as files to download, in the formats of `server.export`."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.web import http

from server.export import writer
from server.web.archive import Archive
from server.web.http import JSON, HttpError, HttpResponse, cacheable_response
from server.web.parameters import parse_id

#: The format and the media type by the suffix of the file name.
FORMATS = {
    "json": ("jsonl", JSON),
    "pgn": ("pgn", "application/vnd.chess-pgn; charset=utf-8"),
    "sgf": ("sgf", "application/x-go-sgf; charset=utf-8"),
}


def download(archive: Archive, name: str) -> Deferred[HttpResponse]:
    """The file of the name `MATCH.SUFFIX`. Fails with HttpError."""
    return Deferred.fromCoroutine(_download(archive, name))


async def _download(archive: Archive, name: str) -> HttpResponse:
    match, _, suffix = name.partition(".")
    if suffix not in FORMATS:
        names = ", ".join(f"{match}.{each}" for each in FORMATS)
        raise HttpError(http.NOT_FOUND, f"unknown format; the files of a match are {names}")
    stored = await archive.match(parse_id(match))
    if stored is None:
        raise HttpError(http.NOT_FOUND, f"there is no match {match!r}, or it is not stored yet")
    format_, media_type = FORMATS[suffix]
    try:
        text = await archive.run_in_thread(lambda: writer(format_)(stored))
    except ValueError as error:
        text = f"match {match} cannot be written as {suffix}: {error}"
        raise HttpError(http.NOT_FOUND, text) from error
    headers = {"Content-Disposition": f'attachment; filename="{match}.{suffix}"'}
    return cacheable_response(text.encode(), media_type, headers)
