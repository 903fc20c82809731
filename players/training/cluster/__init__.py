"""Self-play and evaluation on the workers of a Dask cluster.

The learner, the folder of the run and everything in it stay on their machine. A task of Dask plays
one shard or one pair; it is a function of its arguments alone, so that it does not matter where it
runs, and how often. Dask chooses the worker, and starts the task elsewhere when the worker is lost.

    dask_selfplay    plays the shards of a round, on a worker in a process for each core
    dask_evaluation  plays the pairs of matches of an evaluation
    cluster_tasks    hands out tasks, and again those that were lost
    requirements     the packages that a worker needs, and the table of the missing ones

Only `playout-train` with `--dask` imports them, and Dask: it is optional.
"""
