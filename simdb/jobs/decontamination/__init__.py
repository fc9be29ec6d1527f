"""Decontamination: what of a small collection, such as a test set, stands in a large one."""
