"""Entrants on the workers of a Dask cluster.

The server and the runner stay on their machine. On the workers, a task is a *core set*: it holds as
many cores as a match needs, and keeps one process of each entrant running there. The processes
connect to the server, which lets those of one core set play against each other. Dask decides on
which worker a core set is, and moves it when the worker is lost.

    job           what a core set is to do: a value that travels to the worker
    core_set      the task, on the worker
    worker_check  whether a worker can run entrants: on the worker
    preflight     the table of what is wrong with which worker, before the first match
    dask_entrants keeps all core sets submitted; the counterpart of `local_entrants`
    options       the cluster that the option and the settings of the file choose

The connection to Dask is in `playout.server.cluster`. Only the modules that run with a cluster
import Dask: it is optional.
"""
