"""Duplicates: the work of `simdb dedup`, within the input or against earlier runs."""
