"""A Dask cluster, as tournaments and trainings use it: the connection, and checks of workers.

    options       the option `--dask`; imports no Dask
    local         a cluster on this machine, and the cluster that an address names
    connection    the client of Dask
    worker_checks checks of workers that join, while others play
    on_worker     what runs on a worker: it offers its cores, and tasks ask if they are wanted
    faults        what may be wrong with every worker, and the table of faults

Only modules that run with a cluster import Dask: it is optional.
"""
