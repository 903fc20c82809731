"""The strength of players, computed from results of matches. Pure: no network, no SQL, no clock.

openings       random and given openings, of which each is played twice, with colours swapped
pairs          pairs of matches, and the counts of their results
evidence       Elo and normalized Elo of two players, with error bars
sprt           the sequential probability ratio test
spsa           tuning of parameters by pairs between two sets of values
bradley_terry  ratings of many players by one model, and the first mover's advantage
comparison     a new version against the one before, and the matches that still have to be played
leaderboard    ratings of all accounts at a game, and their history
plot           plots as SVG: curves, error bars, ratings over time
"""
