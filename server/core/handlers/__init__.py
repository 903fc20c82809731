"""Handlers of requests, one file for each subject."""
