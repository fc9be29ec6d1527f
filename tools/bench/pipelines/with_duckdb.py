"""Groups texts that are equal, with DuckDB: its own reader and one GROUP BY of hashes of texts.

This finds no near-duplicates: it is the part of the job that plain SQL does for a large file.
"""

import sys

import duckdb
from groups import print_groups
from sql import connected

EQUAL = """
SELECT list(id ORDER BY place) FROM (
    SELECT id, md5_number(text) AS hash, row_number() OVER () AS place
    FROM read_json(?, format = 'newline_delimited', columns = {id: 'VARCHAR', text: 'VARCHAR'})
) GROUP BY hash HAVING count(*) > 1
"""


def main() -> None:
    connection: duckdb.DuckDBPyConnection = connected()
    names: list[str] = []
    pairs: list[tuple[int, int]] = []
    for (group,) in connection.execute(EQUAL, [sys.argv[1]]).fetchall():
        pairs += [(len(names), len(names) + at) for at in range(1, len(group))]
        names += group
    print_groups(names, pairs)


if __name__ == "__main__":
    main()
