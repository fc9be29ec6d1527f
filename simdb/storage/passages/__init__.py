"""Passages: the stored grains of documents, in sorted runs of their own."""
