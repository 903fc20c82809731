"""Matches as files, in the formats of `server.export`."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.web import http

from server.export import writer
from server.web.archive import Archive
from server.web.http import JSON, HttpError, HttpResponse, revalidated
from server.web.parameters import id_of

#: By the end of the file's name: the format, and the media type.
FORMATS = {
    "json": ("jsonl", JSON),
    "pgn": ("pgn", "application/vnd.chess-pgn; charset=utf-8"),
    "sgf": ("sgf", "application/x-go-sgf; charset=utf-8"),
}


def download(archive: Archive, name: str) -> Deferred[HttpResponse]:
    """The file of that name, `MATCH.FORMAT`. Fails with Refused."""
    return Deferred.fromCoroutine(_download(archive, name))


async def _download(archive: Archive, name: str) -> HttpResponse:
    match, _, suffix = name.partition(".")
    if suffix not in FORMATS:
        there = ", ".join(f"{match}.{each}" for each in FORMATS)
        raise HttpError(http.NOT_FOUND, f"a match can be had as {there}")
    kept = await archive.match(id_of(match))
    if kept is None:
        raise HttpError(http.NOT_FOUND, f"there is no match {match!r}, or it is not stored yet")
    format_, kind = FORMATS[suffix]
    try:
        text = await archive.aside(lambda: writer(format_)(kept))
    except ValueError as error:
        text = f"match {match} cannot be written as {suffix}: {error}"
        raise HttpError(http.NOT_FOUND, text) from error
    headers = {"Content-Disposition": f'attachment; filename="{match}.{suffix}"'}
    return revalidated(text.encode(), kind, headers)
