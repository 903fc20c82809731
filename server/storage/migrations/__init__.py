"""Migrations: create and upgrade the tables; the storage process runs them when it starts."""
