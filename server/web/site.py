"""The site of the server: its health check, metrics, static files, and the handlers of pages."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import Request

from playout.protocol.endpoints import is_loopback
from playout.server.runtime.metrics import CONTENT_TYPE, Metrics
from playout.server.web.http import (
    ErrorRenderer,
    Handler,
    HandlerResource,
    HttpError,
    HttpRequest,
    HttpResponse,
    error_as_text,
)
from playout.server.web.http_server import LOCAL, MAX_CONNECTIONS, Access, LimitedSite
from playout.server.web.templates import STATIC, Assets, ScriptTexts

#: The paths that are served on the reserved connections.
_RESERVED_FOR = (b"/healthz", b"/metrics")


def make_site(
    metrics: Metrics,
    healthy: Callable[[], str | None],
    handlers: Mapping[str, Handler] | None = None,
    socket: Any = None,
    api: Any = None,
    render_error: ErrorRenderer = error_as_text,
    connections: int = MAX_CONNECTIONS,
    *,
    access: Access = LOCAL,
    warning: Callable[[], str | None] = lambda: None,
) -> LimitedSite:
    """The site with its health check, metrics, static files and `handlers`.

    `healthy` returns why the server is not healthy, None if it is; `warning` what an operator
    should know of a healthy one. `handlers`: those of pages, by the first segment of their path, ""
    for the first page. `socket` and `api` are the resources of the WebSocket and of the JSON API.
    `render_error` makes the response for errors of pages.

    Health and metrics are served when all `connections` are in use, too (`LimitedSite`).
    """

    def health(request: HttpRequest) -> HttpResponse:
        if fault := healthy():
            return HttpResponse(f"{fault}\n".encode(), http.SERVICE_UNAVAILABLE)
        known = warning()
        return HttpResponse(f"ok\nwarning: {known}\n".encode() if known else b"ok\n")

    def measure(request: HttpRequest) -> HttpResponse:
        return HttpResponse(metrics.text(), media_type=CONTENT_TYPE)

    all_handlers: dict[str, Handler] = {
        "healthz": exact_path(health),
        "metrics": exact_path(measure),
        "static": Assets(STATIC),
        "texts": ScriptTexts(),
        **(handlers or {}),
    }
    root: Any = _Root(all_handlers, render_error, access)
    for name, resource in ((b"socket", socket), (b"api", api)):
        if resource is not None:
            root.putChild(name, resource)
    return LimitedSite(root, access, connections=connections, reserved_for=_RESERVED_FOR)


def exact_path(handler: Handler) -> Handler:
    """A handler for one path; paths below it are not found."""

    def checked(request: HttpRequest) -> Any:
        return not_found(request) if request.path else handler(request)

    return checked


def not_found(request: HttpRequest) -> HttpResponse:
    """The handler of unknown paths. Raises HttpError with status 404."""
    raise HttpError(http.NOT_FOUND, "there is nothing at this address")


class _Root(Resource):
    def __init__(
        self, handlers: Mapping[str, Handler], render_error: ErrorRenderer, access: Access
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handlers = handlers
        self._render_error = render_error
        self._access = access

    def getChild(self, path: bytes, request: Request) -> Any:
        """The handler of the first segment of a path."""
        name = path.decode(errors="replace")
        handler = self._handlers.get(name, not_found)
        if name == "metrics" and not _may_measure(request, self._access):
            request.setHeader("WWW-Authenticate", 'Basic realm="metrics"')
            handler = _without_password
        return HandlerResource(handler, self._render_error)


def _may_measure(request: Request, access: Access) -> bool:
    """Whether the metrics are for this client: with the password, or on this machine."""
    untyped: Any = request
    if access.metrics_password is not None:
        return hmac.compare_digest(untyped.getPassword(), access.metrics_password.encode())
    forwarded = request.getHeader("X-Forwarded-For") is not None
    return not forwarded and is_loopback(getattr(untyped.getClientAddress(), "host", ""))


def _without_password(request: HttpRequest) -> HttpResponse:
    text = "the metrics are for programs on this machine, or for those with the password"
    raise HttpError(http.UNAUTHORIZED, f"{text} of --metrics-password-file")
