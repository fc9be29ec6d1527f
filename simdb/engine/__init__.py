"""Transactions, snapshots, look-up, sweep, clusters and compaction."""
