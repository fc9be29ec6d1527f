"""Dumps: takes dumps apart, changes them and joins them again with valid checksums."""

import io
import json
import struct
from base64 import b64decode, b64encode

import pyarrow
import xxhash
from pyarrow import ipc

FRAME = struct.Struct("<4sIQQ")


def dumped(database):
    """Return the bytes of a dump."""
    stream = io.BytesIO()
    database.dump(stream)
    return stream.getvalue()


def parts_of(content):
    """Return the parts of a dump: kind and payload, which is a map, bytes or a batch of rows."""
    reader = ipc.open_stream(content)
    parts = [("head", json.loads(reader.schema.metadata[b"head"]))]
    while True:
        try:
            batch, said = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return parts
        said = dict(said or {})
        is_rows = b"kind" not in said
        payload = batch if is_rows else b64decode(said[b"payload"])
        parts.append(("documents" if is_rows else said[b"kind"].decode(), payload))


def rewritten(content, change):
    """Return a dump with the parts that `change` returns for the parts of `content`."""
    parts = change(parts_of(content))
    schema = ipc.open_stream(content).schema
    for _, payload in parts:
        if isinstance(payload, dict):
            said = {**schema.metadata, b"head": json.dumps(payload)}
        elif not isinstance(payload, bytes):
            schema = payload.schema
    stream = io.BytesIO()
    with ipc.new_stream(stream, schema.with_metadata(said)) as writer:
        for kind, payload in parts:
            if isinstance(payload, pyarrow.RecordBatch):
                writer.write_batch(payload)
            elif isinstance(payload, bytes):
                empty = pyarrow.RecordBatch.from_pylist([], schema)
                kept = {"kind": kind, "payload": b64encode(payload)}
                writer.write_batch(empty, custom_metadata=kept)
    return summed(stream.getvalue())


def summed(stream):
    """Return a stream of Arrow, followed by its checksum."""
    return stream + xxhash.xxh3_64(stream).digest()


def frames_of(content):
    """Return kind and payload of each frame of a dump of version 1."""
    at, frames = 16, []
    while at < len(content):
        kind, _, size, _ = FRAME.unpack_from(content, at)
        at += FRAME.size + size
        frames.append((kind, bytes(content[at - size : at])))
    return frames


def framed(frames):
    """Return the dump of version 1 with these frames."""
    content = struct.pack("<8sII", b"simdbdmp", 1, 0)
    for number, (kind, payload) in enumerate(frames):
        seed = xxhash.xxh3_64_intdigest(FRAME.pack(kind, number, len(payload), 0)[:16])
        checksum = xxhash.xxh3_64_intdigest(payload, seed)
        content += FRAME.pack(kind, number, len(payload), checksum) + payload
    return content
