"""The strength of players, computed from results of matches. Pure: no network, no SQL, no clock.

pairs              pairs of matches from one opening with colours swapped, and their scores
book               random and given openings of a game, and `opening_generator`
evidence           Elo and normalized Elo of two players, with error bars
sequential_tests   the sequential probability ratio test, and evidence by betting
spsa               tuning of parameters by pairs between two sets of values
bradley_terry      ratings of many players by one model, the first mover's advantage, and a new
                   version of a player against the one before
leaderboard        ratings of all accounts at a game, and their history; Elo ratings of puzzles
plot               plots as SVG: curves, error bars, ratings over time
"""
