"""Sorted runs inside LMDB values; knows nothing of what it stores."""
