"""SQL: the public address of the functions of a database inside SQLite and DuckDB."""

from simdb.compat.sql import register

__all__ = ["register"]
