"""Files of new and of old documents, of which some match, in every format of records."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet

WORDS = [f"w{at}" for at in range(60)]
ONE, TWO, THREE = (" ".join(words) for words in (WORDS, WORDS[::-1], WORDS[::2] + WORDS[1::2]))


def changed(text, count):
    return " ".join([f"new{at}" for at in range(count)] + text.split()[count:])


NEW = [changed(ONE, 1), TWO, changed(TWO, 1), THREE, ONE]
# What matches ONE goes; of those like TWO the first stays.
KEPT = ["n1", "n3"]


def records(texts, name):
    return [{"id": f"{name}{at}", "text": text} for at, text in enumerate(texts)]


def write(name, rows):
    """Write records in the format that the name says."""
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), name)
        return name
    if name.endswith(".csv"):
        table = io.StringIO(newline="")
        writer = csv.DictWriter(table, ["id", "text"])
        writer.writeheader()
        writer.writerows(rows)
        lines = table.getvalue().encode()
    Path(name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    return name
