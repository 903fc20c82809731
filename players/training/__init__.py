"""Training of nets by self-play: samples, the trainer, the folder of a run, `playout-train`.

A run is a loop of rounds (`loop`). In each round, processes play against themselves with the newest
net (`jobs`, `self_play`), on this machine or on a cluster (`cluster_players`), and return shards of
samples (`samples`). The trainer (in `loop`) learns from the shards of the last rounds,
and the next net is written as an ONNX file. `settings` is the file that controls it. `run_folder`
reads and writes all files of a run: if processes are killed at any time, at most the shards that
were being played are lost. `evaluation_loop` has the rounds of a run that learns an evaluation.

Only `loop` imports jax and optax; the commands import it when they train.
"""


class TrainingError(Exception):
    """Something that stops a training; the message says what is wrong and what to do."""
