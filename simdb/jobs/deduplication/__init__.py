"""Deduplication: the survivors of data of any kind, in one call."""
