"""Harnesses: call the decoders of stored values.

A checksum finds accidental damage, but anybody can write a value on purpose with a correct
checksum.  So most harnesses add the checksum to the fuzzer's bytes before they decode them.
"""

import io
import os
import struct
import tempfile
from functools import partial

import numpy as np
import xxhash

import simdb
from sample import dumps, payloads, sample, values
from simdb.core.stored_options import decode_options, decode_resources
from simdb.plan.calibration import decode_calibration
from simdb.storage import by_ordinal, codec, idf_file, layout
from simdb.storage.delta import decode_batch
from simdb.storage.manifest import decode_manifest
from simdb.storage.membership import Membership
from simdb.storage.metadata import decode_block, read_many, read_times, unpacked
from simdb.storage.tombstones import read_tombstones
from simdb.storage.transfer import read_dump
from taking import Taking, harness

KEY = layout.number_key(0)


def with_checksum(kind, key, payload):
    """Return the stored form of any payload, with its correct checksum."""
    return codec.encode_array(kind, key, np.frombuffer(payload, np.uint8)).tobytes()


def an_object(kind, key, payload):
    """Decode a payload that should be a msgpack object."""
    return codec.decode_object(kind, key, with_checksum(kind, key, payload))


def kind_of(name, before=b""):
    """Return a maker of seeds: the stored payloads of one kind, with some bytes before each."""
    return lambda: [before + each for each in payloads(name)]


@harness(lambda: [value for _, _, value in values()[:12]])
def value(data):
    """Verify the header of a value."""
    codec.verify_value(KEY, data)


@harness(lambda: [b"\2" + value for _, _, value in values()[:12]])
def array(data):
    """Decode a column, of any item size."""
    taking = Taking(data)
    dtype = ("u1", "<u4", "<u8")[taking.number(3)]
    codec.decode_array(b"keys", KEY, taking.rest(), dtype, verify=taking.flag())


@harness(lambda: [b"\3\0\0i\0" + bytes(22), b"\2\0\0u\1" + bytes(22) + b"ab"])
def packed_ids(data):
    """Decode ids that are ints."""
    taking = Taking(data)
    count = taking.number(1 << 20)
    stored = codec.encode_bytes(codec.INTEGERS_KIND, KEY, count, taking.rest())
    len(codec.decode_ids(b"iden", KEY, stored).forms)


def decoder(name, kind, key, decode, stored=with_checksum):
    """Enter a harness that decodes the stored form of any payload."""
    harness(kind_of(kind), name)(lambda data: decode(stored(kind, key, data)))


decoder("manifest", layout.MANIFEST_KIND, layout.MANIFEST_KEY, decode_manifest)
decoder("options", layout.OPTIONS_KIND, layout.OPTIONS_KEY, decode_options, an_object)
decoder("resources", layout.RESOURCES_KIND, layout.RESOURCES_KEY, decode_resources, an_object)
decoder("calibration", layout.CALIBRATION_KIND, layout.CALIBRATION_KEY, decode_calibration,
        an_object)  # fmt: skip
decoder("batch", layout.DELTA_KIND, KEY, partial(decode_batch, KEY))


def by_ordinal_of(column, data):
    """Decode a block of a column by ordinal, and renumber its documents."""
    first, block = column.decode(KEY, with_checksum(column.kind, KEY, data))
    ordinals = np.arange(first, first + len(block), dtype=np.uint32)
    list(column.renumbered([(ordinals, block)], ordinals[::2]))
    return block


@harness(lambda: [struct.pack("<3I", 2, 3, 3) + b"abcdef"])
def features(data):
    """Decode a block of packed features, and renumber its documents."""
    by_ordinal_of(by_ordinal.FEATURES, data)


@harness(kind_of(layout.TEXTS_KIND))
def texts(data):
    """Decode a block of compressed texts, renumber its documents, and read the texts."""
    list(by_ordinal.text_column(by_ordinal_of(by_ordinal.TEXTS, data), "a block"))


@harness(lambda: [b"\2" + struct.pack("<3I", 2, 3, 3) + b"s\xc3\xa9sab"])
def packed_texts(data):
    """Decode the content of a block of compressed texts."""
    column = by_ordinal.unpack(np.frombuffer(data[1:], np.uint8), "a block")
    list(by_ordinal.text_column(column, "a block"))


@harness(dumps)
def dump(data):
    """Read every part of a dump; its checksum is compared last."""
    for _ in read_dump(io.BytesIO(data), "the dump"):
        pass


class OneValue:
    """A source that sees a single value."""

    def __init__(self, key, value):
        self._pair = (key, value)

    def every(self, name, start=b""):
        return iter([self._pair] if self._pair[0] >= start else [])

    def before(self, name, key):
        return self._pair


@harness(kind_of(layout.METADATA_KIND))
def metadata(data):
    """Decode a block of metadata, and the objects in it."""
    stored = with_checksum(layout.METADATA_KIND, KEY, data)
    for ordinal, _ in decode_block(KEY, stored):
        unpacked(read_many(OneValue(KEY, stored), [ordinal]), ordinal)


@harness(kind_of(layout.DELETED_KIND, bytes(4)))
def tombstones(data):
    read_tombstones(one_chunk(layout.DELETED_KIND, data), 1000)


@harness(kind_of(layout.TIMES_KIND, bytes(4)))
def times(data):
    read_times(one_chunk(layout.TIMES_KIND, data), 1000)


def one_chunk(kind, data):
    """Return the key and the value of one chunk; the first bytes are its key."""
    taking = Taking(data)
    key = taking.bytes(4).ljust(4, b"\0")
    return [(key, with_checksum(kind, key, taking.rest()))]


class OneCluster:
    """A source that has the same value for every key."""

    def __init__(self, payload):
        self._payload = payload

    def find(self, name, key):
        return with_checksum(layout.CLUSTERS_KIND, key, self._payload)

    def every(self, name):
        key = layout.number_key(0)
        yield key, self.find(name, key)


@harness(kind_of(layout.CLUSTERS_KIND))
def clusters(data):
    """Decode a chunk of kept clusters and follow its rings."""
    width = 2 * layout.MEMBER_ORDINALS * 4
    kept = Membership(OneCluster(data if len(data) % 4 else data.ljust(width, b"\0")))
    kept.whole(layout.MEMBER_ORDINALS)
    kept.members(3, layout.MEMBER_ORDINALS)
    kept.ring(3, most=50)


@harness(lambda: [sample()[1]])
def idf(data):
    """Read a file of an IDF table with corrected checksums."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "table.idf")
        with open(path, "wb") as file:
            file.write(idf_with_checksums(data))
        table, _ = idf_file.read_idf(path, is_verified=len(data) % 2 == 1)
        list(idf_file.problems_of(path, None))
        simdb.fingerprint("some words", simdb.Simhash(weighting="tf-idf", idf=table))


def idf_with_checksums(data):
    """Return the bytes of a file with correct checksums, if it is long enough for them."""
    header = idf_file.HEADER
    if len(data) < header.size:
        return data
    fields = list(header.unpack_from(data))
    settings_stop = -(-(header.size + fields[7]) // 64) * 64
    fields[8] = xxhash.xxh3_64_intdigest(data[settings_stop:])
    plain = header.pack(*fields)[:-8]
    head = xxhash.xxh3_64_intdigest(plain + data[header.size : settings_stop])
    return plain + head.to_bytes(8, "little") + data[header.size :]
