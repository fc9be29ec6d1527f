"""Targets: every harness by name, with the inputs from which it starts.

A harness takes any bytes, and returns or raises a `simdb.Error`; anything else is a bug.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

import columns
import decoding
import reading
import simdb
import whole
from sample import payloads, sample, values
from simdb.storage import layout


@dataclass(frozen=True)
class Target:
    """A harness `run`, and `seeds`, which makes valid inputs."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]

    def __call__(self, data):
        try:
            self.run(data)
        except simdb.Error:
            return


def kind(name):
    """Return a maker of seeds: the stored payloads of one kind."""
    return lambda: payloads(name)


def texts(*given):
    """Return a maker of seeds: the given texts."""
    return lambda: [each.encode() if isinstance(each, str) else each for each in given]


def read(*given):
    """Return a maker of seeds: contents of files, after the byte that says how to read them."""
    return lambda: [bytes([how]) + each for each in given for how in (0, 3)]


JSON = b'{"id": 1, "text": "red green", "n": [1.5, null, {"a": true}]}\n'
ARRAY = b'[{"text": "a\\u00e9\\ud83d"}, {"id": "b", "text": "x"}, 7]'
TABLE = b'id,text\n1,"red ""and"" green"\n2,blue\n'
PAGE = """<!doctype html><meta charset=utf-8><title>One</title><p hidden>no<p>red <b>gr</b>een
<a href="there">link</a><script>x < 1</script><svg><text>drawn</text></svg><table><td>blue"""
TEXT = "Red green, the \u00e9t\u00e9 \u00df of \u9ed1\u767d \ud55c\uad6d 12.5 \U0001f600"
NUMBERS = b"1\n 18446744073709551615\n-3\n\n007\r\n"

TARGETS = {
    target.name: target
    for target in (
        Target("value", decoding.value, lambda: [value for _, _, value in values()[:12]]),
        Target("array", decoding.array, lambda: [b"\2" + value for _, _, value in values()[:12]]),
        Target("manifest", decoding.manifest, kind(layout.MANIFEST_KIND)),
        Target("options", decoding.options, kind(layout.OPTIONS_KIND)),
        Target("resources", decoding.resources, kind(layout.RESOURCES_KIND)),
        Target("calibration", decoding.calibration, kind(layout.CALIBRATION_KIND)),
        Target("batch", decoding.batch, kind(layout.DELTA_KIND)),
        Target("metadata", decoding.metadata, kind(layout.METADATA_KIND)),
        Target(
            "tombstones",
            decoding.tombstones,
            lambda: [bytes(4) + each for each in payloads(layout.DELETED_KIND)],
        ),
        Target(
            "times",
            decoding.times,
            lambda: [bytes(4) + each for each in payloads(layout.TIMES_KIND)],
        ),
        Target("clusters", decoding.clusters, kind(layout.CLUSTERS_KIND)),
        Target("idf", decoding.idf, lambda: [sample()[1]]),
        Target(
            "database", whole.database, lambda: [bytes([1, at, 1, 2, 3, 9]) for at in range(40)]
        ),
        Target(
            "passages", whole.passages, lambda: [bytes([1, at, 1, 2, 3, 9]) for at in range(20)]
        ),
        Target("features", decoding.features, lambda: [struct.pack("<3I", 2, 3, 3) + b"abcdef"]),
        Target("grains", decoding.grains, lambda: [b"\3\0\0\0" * 2 + bytes(range(64))]),
        Target("tables", columns.tables, lambda: [bytes(range(256)) * 8, b"\1\7" * 900]),
        Target("vectors", columns.vectors, lambda: [bytes(range(256)) * 4]),
        Target("ids", columns.ids, lambda: [b"\3\2\2\2\0\1\0" + b"sai" + struct.pack("<q", 5)]),
        Target("merging", columns.merging, lambda: [bytes(range(256)) * 4]),
        Target("json_lines", reading.json_lines, read(JSON * 2)),
        Target("json_array", reading.json_array, read(ARRAY, JSON)),
        Target("comma_separated", reading.comma_separated, read(TABLE)),
        Target("tab_separated", reading.tab_separated, read(TABLE.replace(b",", b"\t"))),
        Target("compressed", reading.compressed, read(reading.zipped(JSON))),
        Target("parquet", reading.parquet, lambda: [b"\0" + reading.in_columns()]),
        Target("document", reading.document, read(TEXT.encode(), TEXT.encode("utf-16"))),
        Target("lines", reading.lines, read(TEXT.encode(), TEXT.encode("utf-16"))),
        Target("arguments", reading.arguments, texts("12M", "0xff", "utf-16-le", "-9" * 9)),
        Target("numbers", reading.numbers, texts(NUMBERS)),
        Target("text", reading.text, texts(TEXT, TEXT.encode("utf-16"), "a" * 300)),
        Target("page", reading.page, texts(PAGE, "<div>" * 99, "<table><a>" * 30)),
        Target("tokens", reading.tokens, lambda: [b"\2" + bytes(range(24)) + TEXT.encode()]),
    )
}
