"""Hands files in to a site of the server over HTTP, with the token of an account."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import click

from playout.commands.connect_options import AccountChoice, ServerAddress
from playout.commands.options import combined
from playout.commands.text import beginning, printable
from playout.protocol.endpoints import is_loopback

F = TypeVar("F", bound=Callable[..., Any])

#: Seconds in which the site must answer, between two questions, and for which it may be away.
_ANSWER_S, _ASK_S, _PATIENCE_S = 60.0, 0.3, 300.0
#: Maximum number of bytes of an answer, and of shown characters of an error and of an address.
_MOST_BYTES, _LONGEST_REASON, _SHOWN = 2**24, 1000, 200
#: The statuses of a proxy whose server does not answer, or of a server that is busy.
_LATER = (502, 503, 504)


class SiteUnreachable(click.ClickException):
    """The site cannot be reached: the same request may succeed later."""


def of_site(command: F) -> F:
    """Decorate a function that uses the fields of a site's answers: missing ones are explained."""

    @functools.wraps(command)
    def explained(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            fault = beginning(f"{type(error).__name__}: {error}", _LONGEST_REASON)
            text = f"the site has not answered as this version of Playout does ({fault})"
            raise click.ClickException(f"{text}: check --site") from error

    return explained  # type: ignore[return-value]


def site_option(port: int, what: str, variable: str, option: str = "--site") -> Callable[[F], F]:
    """Return a decorator that adds an option: an address, by default this `port` on loopback."""
    return click.option(
        option,
        default=f"http://127.0.0.1:{port}",
        envvar=variable,
        show_default=True,
        show_envvar=True,
        metavar="URL",
        help=f"Address of the {what} of the server.",
    )


def sending_options(port: int, what: str, variable: str) -> Callable[[F], F]:
    """Return a decorator that adds `--site` and `--insecure`, for a command that sends a token."""
    text = "Send the token over plain HTTP to another machine."
    insecure = click.option("--insecure", is_flag=True, help=text)
    return combined(site_option(port, what, variable), insecure)


class SiteClient:
    """Sends requests to a site as one account. Its methods raise ClickException."""

    def __init__(self, site: str, name: str, token: str) -> None:
        """`site` is an address below which all paths are."""
        self.site = site.rstrip("/")
        credentials = base64.b64encode(f"{name}:{token}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}"}

    @classmethod
    def of(
        cls, site: str, account: AccountChoice, server: ServerAddress, *, insecure: bool
    ) -> Self:
        """Return the client of an account on a server. Raises UsageError, ClickException."""
        if account.name is None or account.guest:
            raise click.UsageError("handing in needs an account: --name NAME")
        _require_secret(site, insecure)
        saved = account.saved(server)
        token = saved.token() if saved else None
        if token is None:
            raise click.ClickException(
                f"no token of {account.name} on {server} is stored here: give it by PLAYOUT_TOKEN "
                "or --token-file FILE"
            )
        return cls(site, account.name, token)

    def json(self, path: str, content: bytes | None = None) -> dict[str, Any]:
        """Send a GET request or, with a content, a PUT request; return the answer.

        Raises SiteUnreachable.
        """
        text = self.text(path, content)
        try:
            found: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise click.ClickException(
                f"{self.site} is no such site of Playout: {error}"
            ) from error
        return found

    def states(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield the state at a path again and again, after pauses, until it has ended.

        The site may be unreachable for minutes, as while its server is started again: then it
        raises SiteUnreachable.
        """
        reached_at = time.monotonic()
        while True:
            try:
                found = self.json(path)
            except SiteUnreachable:
                if time.monotonic() > reached_at + _PATIENCE_S:
                    raise
            else:
                reached_at = time.monotonic()
                yield found
                if found["ended_at"] is not None:
                    return
            time.sleep(_ASK_S)

    def text(self, path: str, content: bytes | None = None) -> str:
        """Return the text of an answer. Raises SiteUnreachable."""
        url, method = f"{self.site}/{path}", "GET" if content is None else "PUT"
        shown = beginning(url, _SHOWN)
        try:
            request = urllib.request.Request(url, content, self._headers, method=method)
            with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
                content = bytes(answer.read(_MOST_BYTES + 1))
        except urllib.error.HTTPError as error:
            kind = SiteUnreachable if error.code in _LATER else click.ClickException
            raise kind(_reason(error)) from error
        except (OSError, http.client.HTTPException, ValueError) as error:  # of a redirect's address
            reason = getattr(error, "reason", error)
            raise SiteUnreachable(f"{shown} cannot be reached: {reason}") from error
        if len(content) > _MOST_BYTES:
            raise click.ClickException(f"{shown} has answered more than {_MOST_BYTES >> 20} MiB")
        return content.decode(errors="replace")


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the error in the body of an answer, if it is text or a map with `error`."""
    kind = error.headers.get_content_type()
    try:
        text = error.read(_MOST_BYTES).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):  # the body is cut off
        text = ""
    if kind == "application/json":
        with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
            text = str(json.loads(text)["error"])
    shown = str(error) if kind == "text/html" else text or str(error)
    return printable(shown)[:_LONGEST_REASON]


def _require_secret(site: str, insecure: bool) -> None:
    """Check that nobody can read the token on its way to a site. Raises UsageError."""
    parts = urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.UsageError(f"--site: write an address such as https://play.example, not {site}")
    if parts.scheme == "http" and not (insecure or is_loopback(parts.hostname)):
        raise click.UsageError(
            f"--site: over plain HTTP, others could read the token on its way to {parts.hostname}; "
            "use https, or allow it by --insecure"
        )
