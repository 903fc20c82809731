"""Entrants on the workers of a Dask cluster.

The server and the runner stay on their machine. A task on a worker is a *core set*: it holds as
many cores as a match needs, and keeps one process of each entrant running there. The processes
connect to the server, which pairs those of one core set with each other. Dask decides which worker
has a core set, and moves it when the worker is lost.

    job            the order for a core set: a value that is sent to the worker
    core_set       the task, on the worker
    preflight      checks of workers before the first match, and the table of their faults
    dask_entrants  keeps all core sets submitted; the counterpart of `LocalEntrants`
    cluster        the cluster of one tournament, from its start to its end

The connection to Dask is in `playout.cluster`. Only the modules that run with a cluster import
Dask: it is optional.
"""
