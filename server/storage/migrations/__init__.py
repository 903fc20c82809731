"""How the tables came to be what they are; run by the server when it starts."""
