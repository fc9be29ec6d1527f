"""Groups near-duplicates with DuckDB alone: word 3-shingles, joined, exact Jaccard similarity.

The join compares every pair of texts that share a shingle, so it serves for a small file only.
"""

import sys

from groups import SIMILARITY, print_groups
from sql import connected

TEXTS = """
CREATE TABLE texts AS
SELECT id, row_number() OVER () AS place,
    regexp_extract_all(lower(text), '[\\p{L}\\p{N}_]+') AS words
FROM read_json(?, format = 'newline_delimited', columns = {id: 'VARCHAR', text: 'VARCHAR'})
"""
SHINGLES = """
CREATE TABLE shingles AS
SELECT DISTINCT place, hash(words[n], words[n + 1], words[n + 2]) AS shingle
FROM (SELECT place, words, unnest(range(1, greatest(len(words) - 1, 2))) AS n FROM texts)
"""
PAIRS = """
WITH sizes AS (SELECT place, count(*) AS size FROM shingles GROUP BY place),
shared AS (
    SELECT a.place AS one, b.place AS two, count(*) AS joint
    FROM shingles a JOIN shingles b ON a.shingle = b.shingle AND a.place < b.place
    GROUP BY a.place, b.place
)
SELECT one - 1, two - 1 FROM shared
JOIN sizes c ON c.place = one JOIN sizes d ON d.place = two
WHERE joint >= ? * (c.size + d.size - joint)
"""


def main() -> None:
    connection = connected()
    connection.execute(TEXTS, [sys.argv[1]])
    connection.execute(SHINGLES)
    names = [
        name for (name,) in connection.execute("SELECT id FROM texts ORDER BY place").fetchall()
    ]
    print_groups(names, connection.execute(PAIRS, [SIMILARITY]).fetchall())


if __name__ == "__main__":
    main()
