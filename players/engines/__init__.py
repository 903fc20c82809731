"""Engines of other programs, as processes that speak the protocols of the field."""
