"""Depth-first searches: those of the players minimax and alphabeta."""
