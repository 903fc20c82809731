"""Positions as planes of zeros and ones, the input of a net; docs/nets.md describes each plane."""

from __future__ import annotations

#: Planes of an encoded position.
PLANES = 6

#: The name and the version of this encoding, as they are in the metadata of a net.
NAME, VERSION = "cells", 1
