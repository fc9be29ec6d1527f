"""Compressed files: gzip in several members, the same for any number of threads; Zstandard."""

import gzip
import io
import random

import pytest

from simdb.files import outputs
from simdb.files.content import packed_file
from simdb.files.formats import ZSTD
from simdb.files.outputs import GzipWriter, zstd_writer

LINES = bytes(random.Random(7).choices(b"abc\n", k=5000))


def compressed(content, monkeypatch, *, threads, step):
    monkeypatch.setenv("SIMDB_THREADS", str(threads))
    file = io.BytesIO()
    with GzipWriter(file) as stream:
        for at in range(0, len(content), step):
            assert stream.write(content[at : at + step]) == len(content[at : at + step])
    return file.getvalue()


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_any_threads_and_any_writes_make_the_same_file(monkeypatch, size):
    monkeypatch.setattr(outputs, "MEMBER_BYTES", 100)

    files = {
        compressed(LINES[:size], monkeypatch, threads=threads, step=step)
        for threads in (1, 3)
        for step in (1, 150, 5000)
    }

    (file,) = files
    assert gzip.decompress(file) == LINES[:size]
    assert file.startswith(b"\x1f\x8b")


# Several threads begin only with the second part of a frame, and a part has 8 MiB.
CONTENT = random.Random(7).randbytes(1 << 20) * 17


def test_any_number_of_threads_makes_the_same_single_frame():
    zstandard = pytest.importorskip("zstandard")
    files = []
    for threads in (1, 3):
        file = io.BytesIO()
        with zstd_writer(file, threads) as stream:
            for at in range(0, len(CONTENT), 1 << 20):
                stream.write(CONTENT[at : at + (1 << 20)])
        files.append(file.getvalue())

    frame = zstandard.ZstdDecompressor().decompressobj()
    assert frame.decompress(files[0]) == CONTENT
    assert (frame.eof, frame.unused_data) == (True, b"")
    assert files[1] == files[0]
    assert packed_file(io.BytesIO(files[0]), ZSTD).read(99) == CONTENT[:99]
