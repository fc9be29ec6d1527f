"""Search: finds the stored documents that match one document, a batch of them, or each other."""
