"""The client's side of a connection to a server, for players and for the organizer."""
