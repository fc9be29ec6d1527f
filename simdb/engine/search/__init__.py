"""Search: the stored documents that match, for one document, many, or all."""
