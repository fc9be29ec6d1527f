"""Environment: the only door to LMDB, with its transactions, its map and its users."""
