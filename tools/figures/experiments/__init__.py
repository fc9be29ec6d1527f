"""Experiments: holds one module for each figure or table of a source."""
