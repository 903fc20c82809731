"""What every process of Playout needs: the reactor, endpoints, subprocesses, logs and metrics."""
