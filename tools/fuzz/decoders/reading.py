"""Harnesses: call the parsers of bytes from users."""

import gzip
import io
import os
import tempfile
from dataclasses import replace
from functools import cache, partial
from itertools import count

import numpy as np
import pyarrow.ipc
import pyarrow.parquet

import simdb
from simdb.cli.options.option_groups import given_bits, given_ids, given_search
from simdb.compat.programs import read_numbers, write_arrays
from simdb.core import decoding
from simdb.core.decoding import known_encoding
from simdb.files.records import InputProblem, SourceOptions
from simdb.files.sources import read_sources, read_texts
from simdb.sketch.sketcher import Sketcher
from taking import Taking, harness

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "latin-1", "cp1252", "shift_jis", "gb18030", "utf-7")
ERRORS = ("strict", "replace")
JSON = b'{"id": 1, "text": "red green", "n": [1.5, null, {"a": true}]}\n'
ARRAY = b'[{"text": "a\\u00e9\\ud83d"}, {"id": "b", "text": "x"}, 7]'
TABLE = b'id,text\n1,"red ""and"" green"\n2,blue\n'
PAGE = """<!doctype html><meta charset=utf-8><title>One</title><p hidden>no<p>red <b>gr</b>een
<a href="there">link</a><script>x < 1</script><svg><text>drawn</text></svg><table><td>blue"""
TEXT = "Red green, the \u00e9t\u00e9 \u00df of \u9ed1\u767d \ud55c\uad6d 12.5 \U0001f600"


def texts(*given):
    """Return a maker of seeds: the given texts."""
    return lambda: [each.encode() if isinstance(each, str) else each for each in given]


def read_as(ending, by_lines, data):
    """Read a file in one of many ways, then take its content as documents.

    Lines that are read one by one, since their other fields are wanted, hold the same.
    """
    steering, content = data[:1] or b"\0", data[1:]
    errors, has_int_ids = ERRORS[steering[0] & 1], bool(steering[0] & 2)
    encoding = known_encoding(ENCODINGS[(steering[0] >> 2) % len(ENCODINGS)])
    reading = SourceOptions(encoding=encoding, errors=errors, has_int_ids=has_int_ids)
    path = os.path.join(folder().name, "given" + ending)
    with open(path, "wb") as file:
        file.write(content)
    read = partial(read_texts, by_lines=True) if by_lines else read_sources
    found = []
    for has_fields in (True, False):
        decoding._hints = count()  # of encodings, in messages: there are few in a run
        every = list(read([path], replace(reading, has_fields=has_fields)))
        batches = [each for each in every if not isinstance(each, InputProblem)]
        documents = [row for each in batches for row in zip(each.ids, each.texts, strict=True)]
        found.append((documents, [each for each in every if isinstance(each, InputProblem)]))
    assert ending not in BY_BLOCKS or found[0] == found[1], found
    for each in batches:
        sketcher(0).sketch(each.texts)


def in_columns(*, is_arrow=False):
    """Make a seed: a small file of Parquet, or a stream of Arrow."""
    rows = {"id": ["a", "b"], "text": ["red", None], "n": [1, 2]}
    made = io.BytesIO()
    if is_arrow:
        with pyarrow.ipc.new_stream(made, pyarrow.table(rows).schema) as writer:
            writer.write_table(pyarrow.table(rows))
    else:
        pyarrow.parquet.write_table(pyarrow.table(rows), made)
    return made.getvalue()


FILES = {
    "json_lines": (".jsonl", [JSON * 2]), "json_array": (".json", [ARRAY, JSON]),
    "comma_separated": (".csv", [TABLE]), "tab_separated": (".tsv", [TABLE.replace(b",", b"\t")]),
    "compressed": (".jsonl.gz", [gzip.compress(JSON, mtime=0)]),
    "parquet": (".parquet", [in_columns()]), "arrow": (".arrow", [in_columns(is_arrow=True)]),
    "unnamed": ("", [JSON * 2, ARRAY, TABLE, gzip.compress(JSON, mtime=0), in_columns()]),
    "document": (".txt", [TEXT.encode(), TEXT.encode("utf-16")]),
    "lines": (".txt", [TEXT.encode(), TEXT.encode("utf-16")]),
}  # fmt: skip
BY_BLOCKS = (".jsonl", ".jsonl.gz", ".csv", ".tsv")
for name, (ending, contents) in FILES.items():
    # The first byte says how a file is read.
    seeds = [bytes([how]) + each for each in contents for how in (0, 3)]
    harness(lambda seeds=seeds: seeds, name)(partial(read_as, ending, name == "lines"))


@cache
def folder():
    """Make the folder of the one file that is read; it exists as long as this process."""
    return tempfile.TemporaryDirectory(prefix="simdb-fuzz-")


@harness(texts("12M", "0xff", "utf-16-le", "-9" * 9))
def arguments(data):
    """Parse numbers, sizes and names of the command line."""
    text = data.decode("utf-8", "surrogateescape")
    for parse in (given_bits, given_search, known_encoding, lambda id: given_ids([id], True)):
        try:
            parse(text)
        except simdb.Error:
            continue


@harness(texts(b"1\n 18446744073709551615\n-3\n\n007\r\n"))
def numbers(data):
    """Read lines of decimal numbers as simhash's programs do, and compare with Python's `int`."""
    try:
        found = [int(number) for part in read_numbers(io.BytesIO(data)) for number in part]
    except simdb.InputError:
        return
    wanted = [int(line) % 2**64 for line in data.split(b"\n") if line.strip()]
    assert found == wanted
    array = np.array(found, np.uint64)
    write_arrays(array, np.ones(len(array), np.bool_), is_closed=True)


SKETCHES = (
    {},
    {"unit": "characters", "shingle": 4, "normalisation": "nfkc"},
    {"lowercase": False, "shingle": 1, "weighting": "log-tf", "dimensions": 64},
    {"stop_words": "english", "stemming": "english"},
    {"markup": "html", "html_title": True, "html_links": True},
    {"unit": "moz", "lowercase": False, "weighting": "tf", "dimensions": 64},
    {"by_character": "cjk"},
)


@cache
def sketcher(number):
    return Sketcher(simdb.Simhash(**SKETCHES[number]))


@harness(texts(TEXT, TEXT.encode("utf-16"), "a" * 300))
def text(data):
    """Sketch any bytes and their text as documents, with every kind of sketch except HTML."""
    for number in (0, 1, 2, 3, 5, 6):
        sketch(number, data)


@harness(texts(PAGE, "<div>" * 99, "<table><a>" * 30))
def page(data):
    """Sketch any bytes as an HTML page."""
    sketch(4, data)


def sketch(number, data):
    given = data.decode("utf-8", "surrogateescape"), data.decode("utf-16", "replace"), data
    for each in given:
        for errors in ERRORS:
            try:
                sketcher(number).sketch([each, "another"], errors=errors)
            except simdb.Error:
                continue


@harness(lambda: [b"\2" + bytes(range(24)) + TEXT.encode()])
def tokens(data):
    """Sketch documents given as lists of tokens and as features with weights."""
    taking = Taking(data)
    hashes = taking.array(np.uint64, taking.number(20))
    weights = taking.array(np.float32, len(hashes))
    parts = taking.rest().split(b" ")
    given = [
        part.decode("utf-8", "surrogateescape" if len(part) % 2 else "ignore") for part in parts
    ]
    for document in (given, parts, simdb.Features(hashes, weights), weights, hashes):
        try:
            sketcher(0).sketch([document])
        except simdb.Error:
            continue
