"""Tournaments: their specifications, schedules and results. No I/O, no timers, no storage.

* `spec_parser` reads a specification (`playout.protocol.tournament_spec`) from a file, and
  `opening_file` its openings. `spec_validation` checks a whole specification, also that of a
  client.
* `formats` define the schedules: which pairs of matches are played. `ledger` has the matches and
  scores of a tournament; `state` adds the matches that are due.
* `results` computes a `report` from a ledger: the table of points and, with
  `playout.ratings`, the strength of the entrants.

docs/tournaments.md explains tournaments to users, docs/architecture.md the way through this code.
"""
