"""Zstandard streams: one frame, whatever the number of threads."""

import io
import random

import pytest

from simdb.outputs.compression import ZstdReader, ZstdWriter

# Several threads begin only with the second part of a frame, and a part has 8 MiB.
CONTENT = random.Random(7).randbytes(1 << 20) * 17


def test_any_number_of_threads_makes_the_same_single_frame(monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    files = []
    for threads in ("1", "3"):
        monkeypatch.setenv("SIMDB_THREADS", threads)
        file = io.BytesIO()
        with ZstdWriter(file) as stream:
            for at in range(0, len(CONTENT), 1 << 20):
                stream.write(CONTENT[at : at + (1 << 20)])
        files.append(file.getvalue())

    frame = zstandard.ZstdDecompressor().decompressobj()
    assert frame.decompress(files[0]) == CONTENT
    assert (frame.eof, frame.unused_data) == (True, b"")
    assert files[1] == files[0]
    assert ZstdReader(io.BytesIO(files[0])).read(99) == CONTENT[:99]
