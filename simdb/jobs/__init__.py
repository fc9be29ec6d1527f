"""Whole jobs over files, frames and arrays: deduplicating, decontaminating, and their pages."""
