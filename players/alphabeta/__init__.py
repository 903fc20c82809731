"""Alpha-beta search with a transposition table, for the player minimax."""
