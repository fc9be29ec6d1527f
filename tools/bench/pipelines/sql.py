"""SQL: a connection of DuckDB that uses the cores that this process may use."""

import os

import duckdb


def connected() -> duckdb.DuckDBPyConnection:
    """Open a database in memory."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
    connection.execute("SET memory_limit = '2GB'")
    return connection
