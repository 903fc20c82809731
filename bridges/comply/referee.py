"""Puts a bot through situations, one after the other, on one private server."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from bridges.comply.private_server import PrivateServer
from bridges.comply.situations import OWN_ERRORS, Situation
from bridges.comply.trial import ComplyTerms, Finding, SituationTrial


class BotReferee:
    """Runs situations, each with a new process of the bot."""

    def __init__(self, server: PrivateServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._number = 0

    async def findings(
        self, terms: ComplyTerms, situations: Iterable[Situation]
    ) -> AsyncGenerator[Finding, None]:
        """Yield the result of each situation, and at last the bot's own errors in all of them."""
        own_errors: list[str] = []
        for situation in situations:
            self._number += 1
            trial = SituationTrial(terms, situation, self._server, self._number)
            finding = await trial.run(self._folder)
            if finding.problem is None:  # otherwise the problem explains them
                own_errors += [f"{situation.name}: {error}" for error in finding.own_errors]
            yield finding
        yield Finding(
            OWN_ERRORS,
            "send nothing that the server refuses",
            "the server refused what it sent" if own_errors else None,
            transcript=own_errors,
        )


@asynccontextmanager
async def bot_referee() -> AsyncIterator[BotReferee]:
    """A referee with a private server, which is stopped at the end of the block.

    Raises ClickException if the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="playout-comply-") as name:
        folder = Path(name)
        server = PrivateServer(folder)
        try:
            await server.start()
            yield BotReferee(server, folder)
        finally:
            server.close()
