"""Training of nets by self-play: samples, the trainer, the folder of a run, `playout-train`.

A run is a loop of rounds. In each round worker processes play against themselves with the newest
net (`selfplay`, `worker`, `workers`) and write shards of samples (`samples`); the trainer
(`trainer`, `model`, `replay`) learns from the shards of the last rounds, and the next net is
written as an ONNX file (`nets`). `run_folder` says where everything is, `loop` in which order it
happens, so that a process that is killed at any time loses at most the shards in flight. `settings`
is the file that controls it.

Only `model`, `trainer` and `loop` import jax and optax; the commands import them when they train.
"""
