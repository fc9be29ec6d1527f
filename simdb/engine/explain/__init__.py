"""Explanations: why two documents match, or do not."""
