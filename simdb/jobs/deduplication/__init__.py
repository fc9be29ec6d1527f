"""Deduplication: removal of near-duplicates from data of any kind, in one call."""
