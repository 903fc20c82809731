"""How strong players are, computed from results of matches. Pure: no network, no SQL, no clock.

openings       random and given openings, of which each is played twice, with colours swapped
pairs          pairs of matches, and the counts of their results
evidence       Elo and normalized Elo of two players, with error bars
sprt           the sequential probability ratio test
bradley_terry  ratings of many players by one model, and the first mover's advantage
comparison     how many more matches show that a new version is stronger
leaderboard    ratings of all accounts at a game, and their history
plot           curves with error bars as SVG
"""
