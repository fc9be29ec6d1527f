"""The environment: the door to LMDB, its transactions, its map, and who has it."""
