"""Training of nets by self-play: samples, the trainer, the folder of a run, `playout-train`.

A run is a loop of rounds (`loop`). In each round worker processes (`selfplay_process`) play against
themselves with the newest net (`self_play`) and write shards of samples (`samples`); the trainer
(`trainer`, `replay`) learns from the shards of the last rounds, and the next net is written as an
ONNX file. `settings` is the file that controls it. `run_folder` reads and writes all files of a
run: a process that is killed at any time loses at most the shards in flight.

Only `trainer` and `loop` import jax and optax; the commands import them when they train.
"""


class TrainingError(Exception):
    """Something that stops a training; the message says what is wrong and what to do."""
