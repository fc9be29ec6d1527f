"""Writing: the staged changes of a write transaction, and their commit."""
