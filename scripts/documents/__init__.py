"""Builds the site of the documents: hooks of MkDocs, and files of its theme."""
