"""python-threatexchange: the public address of the index of PDQ hashes."""

from simdb.compat.threatexchange import PDQDatabaseIndex

__all__ = ["PDQDatabaseIndex"]
