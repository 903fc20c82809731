"""A Dask cluster, as tournaments, ladders and trainings use it: connection, checks of workers.

    cluster_options  the option `--dask`; imports no Dask
    local            a cluster on this machine, and the cluster that an address names
    connection       the client of Dask
    worker_checks    faults of workers as sentences, and checks of workers that join
    on_worker        runs on a worker: offers its cores, and asks whether a task is still wanted

Only modules that run with a cluster import Dask: it is optional.
"""
