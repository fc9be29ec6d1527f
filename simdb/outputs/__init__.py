"""Outputs: files that are there whole or not at all, in every format, and files that wait."""
