"""The ladder of a competition on the workers of a Dask cluster.

ladder_workers  the cluster, in the process of the competitions
pair_task       the task on a worker: a bot for a pair of matches
pair_process    the process of the bot, which the task starts; imports no Dask
"""
