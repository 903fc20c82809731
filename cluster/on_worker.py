"""Functions that run on a worker: it offers its cores to tasks; tasks ask whether to go on."""

from __future__ import annotations

from distributed import Status, Worker

#: The resource of workers that the entrants of tournaments ask for.
ENTRANT_CORES = "playout-cores"
#: The resource of workers that trainings ask for.
TRAINING_CORES = "playout-training-cores"
_RUNNING = (Status.running, Status.paused)
#: The states of a task that is wanted; 'long-running' has a thread beyond those of the worker.
_WANTED = ("executing", "long-running")


async def offer(resource: str, dask_worker: Worker) -> None:
    """Have this worker offer its threads as a resource, unless it does; called on the worker."""
    if resource not in dask_worker.state.total_resources:
        await dask_worker.set_resources(**{resource: dask_worker.state.nthreads})


def is_wanted(worker: Worker, key: str) -> bool:
    """Return whether the worker is connected to the scheduler, which wants the task."""
    task = worker.state.tasks.get(key)
    return worker.status in _RUNNING and task is not None and task.state in _WANTED
