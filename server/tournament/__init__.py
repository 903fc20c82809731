"""Tournaments: what is played, and what the results mean. No I/O, no timers, no storage.

* A specification (`playout.protocol.tournament_spec`) comes from a file by `spec_parser`, with
  `validators` of single values, `toml_text`, `toml_table` and `toml_lines` for faults and their
  lines, and `opening_file`. `spec_validation` checks a whole specification, also that
  of a client.
* `pairs` defines what is played: pairs of matches from one opening with colours swapped. `formats`
  say which pairs there are, `openings` where they start. `state` is a running tournament: what was
  played, and which matches are due.
* `results` computes a `report` from the matches: the table of points (`standings`), which of two is
  stronger and how sure that is (`evidence`), when that is known well enough (`sprt`), and ratings
  of many (`ratings`). `leaderboard` rates the players of a game in all tournaments together.

docs/tournaments.md explains tournaments to users and, in its last section, this code.
"""
