"""The page: what a browser is sent, and the live link that it keeps."""
