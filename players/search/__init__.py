"""Monte Carlo tree search: `tree` is what grows, `loop` grows it, `rules` is what it plays by."""
