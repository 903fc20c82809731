"""Learned evaluations of positions: tables of weights for groups of cells, and their files."""
