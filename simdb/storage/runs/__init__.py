"""Runs: the immutable sorted tables and columns, read in the map, and how they are merged."""
