"""Workers of a cluster that answer questions as a test wants; it needs Dask."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

from playout.cluster import on_worker
from playout.cluster.connection import DaskConnection


@dataclass(frozen=True)
class FakeWorker:
    """A worker's answers to each question, None if it is gone, and to the offer of its cores."""

    answer: object
    offered: object = None
    python: object = platform.python_version()
    playout: object = version("playout")


class FakeWorkers:
    """The connection to workers, by their addresses."""

    def __init__(self, workers: Mapping[str, FakeWorker]) -> None:
        self.offering: list[str] = []
        self._workers = workers

    @property
    def connection(self) -> DaskConnection:
        return cast(DaskConnection, self)

    def run(
        self, call: Callable[..., Any], *_: object, workers: Iterable[str] | None = None
    ) -> Mapping[str, object]:
        asked = list(self._workers if workers is None else workers)
        here = {name: self._workers[name] for name in asked}
        if call is on_worker.offer:
            self.offering = [name for name, each in here.items() if each.offered is None]
            return {name: each.offered for name, each in here.items()}
        if call is platform.python_version:
            return {name: each.python for name, each in here.items()}
        if call is version:
            return {name: each.playout for name, each in here.items()}
        return {name: each.answer for name, each in here.items() if each.answer}
