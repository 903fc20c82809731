"""Competitions: bots that people hand in as code, which play on a ladder in sandboxes."""
