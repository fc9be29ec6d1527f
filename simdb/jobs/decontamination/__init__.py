"""Decontamination: the search for items of a small collection, such as a test set, in data."""
