"""JSON records: reads a file of JSON lines, or of one JSON array, as batches of records."""

import codecs
import io
from dataclasses import replace

from simdb.sources.batch import Found, batched
from simdb.sources.content import MARK, opened, settled_encoding
from simdb.sources.json_array import PARSED_CHARACTERS, read_array
from simdb.sources.json_lines import read_lines
from simdb.sources.records import Reading


def read_json(path: str, name: str, reading: Reading) -> Found:
    """Yield the records of a file that holds JSON lines or one JSON array."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        if _begins_array(stream, reading.encoding):
            yield from batched(read_array(stream, name, reading))
        else:
            yield from read_lines(stream, name, reading)


def read_json_lines(path: str, name: str, reading: Reading) -> Found:
    """Yield the records of a file of JSON lines."""
    with opened(path) as stream:
        reading = replace(reading, encoding=settled_encoding(stream, reading.encoding))
        yield from read_lines(stream, name, reading)


def _begins_array(stream: io.BufferedReader, encoding: str) -> bool:
    """Return whether the first character of a stream is a bracket; consume nothing."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    start = decoder.decode(stream.peek(PARSED_CHARACTERS)).removeprefix(MARK)
    return start.lstrip(" \t\r\n").startswith("[")
