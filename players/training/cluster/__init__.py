"""Self-play and evaluation on the workers of a Dask cluster.

The learner, the folder of the run and everything in it stay on their machine. A task of Dask plays
one shard or one pair; it is a function of its arguments alone, so that it does not matter where it
runs, and how often. Dask decides on which worker that is, and starts it elsewhere when the worker
is lost.

    shard_task       plays a shard: on the worker, in a process of its own for each core pair_task
    plays a pair of matches of an evaluation, on the worker progress         what tasks report
    requirements     what a worker needs, and the table of what is missing cluster_tasks    hands
    out tasks, and again those that were lost dask_workers     hands out the shards of a round; the
    counterpart of `playout.players.training.selfplay_workers` dask_evaluation  hands out the pairs
    of an evaluation

Only `playout-train` with `--dask` imports them, and Dask: it is optional.
"""
