"""Puzzles: positions with a proven solution, found in matches by a process of its own."""
