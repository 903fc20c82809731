"""The referee, without sockets: a request and the time come in, effects come out."""
