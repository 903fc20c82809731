"""What a player is."""
