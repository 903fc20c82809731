"""Comparisons of players in pairs of matches, without a server.

`pairs` plays them and computes the score, for evaluations of trainings, too. `workers` uses all
cores, and `compare_command` is `playout-tournament compare`.
"""
