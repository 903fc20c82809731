"""The kernels of chess, and its notations."""
