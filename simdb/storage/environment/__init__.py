"""Environment: the only interface to LMDB, with its transactions, its map and its users."""
