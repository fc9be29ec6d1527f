"""Transfer: documents in the portable form of a dump."""
