"""Sharding: several databases in one directory, written by one job and asked as one database."""
