"""Columns: texts and vectors as arrays, of Arrow and of numpy."""
