"""The database: opening it, transactions, search, clusters, care, and shards."""
