"""Storage: the files, values and runs in which a database lies on disk."""
