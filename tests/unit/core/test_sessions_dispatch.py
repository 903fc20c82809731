"""Handlers: each request has one, and none knows the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.protocol.messages import REQUESTS, Ping, Request
from playout.server.core import handlers
from playout.server.core.hub import Hub
from playout.server.core.sessions import RequestContext, handlers_of, handles

HANDLERS = sorted(Path(handlers.__file__).parent.glob("*.py"))


class _Answering:
    @handles(Ping)
    def answer(self, request: Request, origin: RequestContext) -> None: ...


class _AnsweringToo:
    @handles(Ping)
    def answer_too(self, request: Request, origin: RequestContext) -> None: ...


def test_every_request_has_a_handler_for_each_sender() -> None:
    assert set(Hub()._handlers) == {(sender, kind) for kind in REQUESTS for sender in kind.sent_by}


def test_two_handlers_of_a_request_are_an_error() -> None:
    assert set(handlers_of([_Answering()])) == {Ping}
    with pytest.raises(TypeError, match="Ping is handled twice"):
        handlers_of([_Answering(), _AnsweringToo()])


@pytest.mark.parametrize("file", HANDLERS, ids=lambda file: file.stem)
def test_a_handler_does_not_know_the_hub(file: Path) -> None:
    assert "Hub" not in file.read_text(encoding="utf-8")
