"""The interface of a player, and what all players and searches share."""
