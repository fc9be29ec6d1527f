"""Writing: what a write transaction has staged, and how it is committed."""
