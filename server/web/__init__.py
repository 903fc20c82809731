"""The HTTP site: pages, the JSON API, static files, and the WebSocket of the pages."""
