"""Which method handles which request.

A feature marks its methods with `handles`. What each request needs of its sender stands in the
request's declaration, in `server.model.messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from server.core.sessions import RequestContext
from server.model.messages import Request

Handler = Callable[[Any, RequestContext], None]
M = TypeVar("M", bound=Callable[..., None])

_MARK = "_handled_request"


def handles(kind: type[Request]) -> Callable[[M], M]:
    """Mark a method `(self, request, origin)` as the handler of a request. It may raise Refused."""

    def mark(method: M) -> M:
        setattr(method, _MARK, kind)
        return method

    return mark


def handlers_of(features: Iterable[object]) -> dict[type[Request], Handler]:
    """The marked methods of these features, by the request that each handles.

    Raises TypeError if a request has two handlers.
    """
    found: dict[type[Request], Handler] = {}
    for feature in features:
        for name, method in vars(type(feature)).items():
            kind = getattr(method, _MARK, None)
            if kind in found:
                raise TypeError(f"{kind.__name__} is handled twice, also by {name}")
            if kind is not None:
                found[kind] = getattr(feature, name)
    return found
