"""Competitions: bots that people hand in as code, which play on a ladder in sandboxes.

submissions          what was handed in, in folders, and what an operator changes of it
archive, bot_file    unpacks a submission, and reads how its bot is started
stages               brings a submission from the queue to its end
contestants          the bots on the server, and the matches against house bots
python_bot           plays a Python class over lines, within the sandbox
site, page           HTTP: handing in, the state, the page
standings, final     the ladder's table, the final, grades
host                 the process that the server starts
ladder_cluster       the ladder on the workers of a Dask cluster
pair_process         a bot on such a worker; imports no Dask
competition_command, submit_command
"""
