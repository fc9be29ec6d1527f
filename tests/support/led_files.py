"""Led files: writes old and new records, of which some match, in every format."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow
import pyarrow.feather
import pyarrow.parquet

WORDS = [f"w{at}" for at in range(60)]
ONE, TWO, THREE = (" ".join(words) for words in (WORDS, WORDS[::-1], WORDS[::2] + WORDS[1::2]))


def changed(text, count):
    return " ".join([f"new{at}" for at in range(count)] + text.split()[count:])


NEW = [changed(ONE, 1), TWO, changed(TWO, 1), THREE, ONE]
# New records that match ONE are removed; of the records like TWO, the first is kept.
KEPT = ["n1", "n3"]


def records(texts, name):
    return [{"id": f"{name}{at}", "text": text} for at, text in enumerate(texts)]


def write(name, rows, end="\n"):
    """Write records in the format of the name; `end` follows the last line of JSON."""
    name, lines = str(name), ("\n".join(map(json.dumps, rows)) + end).encode()
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), name, row_group_size=3)
        return
    if name.endswith(".arrow"):
        pyarrow.feather.write_feather(pyarrow.Table.from_pylist(rows), name)
        return
    if name.endswith(".json"):
        lines = json.dumps(rows).encode()
    elif name.endswith(".csv"):
        table = io.StringIO(newline="")
        writer = csv.DictWriter(table, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        lines = table.getvalue().encode()
    Path(name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)


def read(name):
    """Return the records in a file, in the format of its name."""
    name = str(name)
    if name.endswith(".parquet"):
        return pyarrow.parquet.read_table(name).to_pylist()
    content = Path(name).read_bytes()
    lines = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
    if ".csv" in name or ".tsv" in name:
        delimiter = "\t" if ".tsv" in name else ","
        return list(csv.DictReader(io.StringIO(lines, newline=""), delimiter=delimiter))
    return [json.loads(line) for line in lines.splitlines()]


def ids_in(name):
    return [each["id"] for each in read(name)]
