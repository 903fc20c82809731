"""What tasks report: on which worker they began, and how far they are."""

from __future__ import annotations

from distributed import Worker


def topic(run: str) -> str:
    """The topic of Dask for the tasks of a run."""
    return f"playout-train-{run}"


def report(worker: Worker, run: str, task: str, attempt: int, **fields: object) -> None:
    """Publish something about an attempt of a task, from the worker that does it."""
    worker.log_event(topic(run), {"task": task, "attempt": attempt, **fields})
