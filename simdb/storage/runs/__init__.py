"""Runs: the sorted, immutable parts of the database and how they are written and merged."""
