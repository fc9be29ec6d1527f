"""Gzip files of several members: the same file for any number of threads and any writes."""

import gzip
import io
import random

import pytest

from simdb.outputs import compression
from simdb.outputs.compression import GzipWriter

CONTENT = bytes(random.Random(7).choices(b"abc\n", k=5000))


def compressed(content, monkeypatch, *, threads, step):
    monkeypatch.setenv("SIMDB_THREADS", str(threads))
    file = io.BytesIO()
    with GzipWriter(file) as stream:
        for at in range(0, len(content), step):
            assert stream.write(content[at : at + step]) == len(content[at : at + step])
    return file.getvalue()


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5000])
def test_any_threads_and_any_writes_make_the_same_file(monkeypatch, size):
    monkeypatch.setattr(compression, "MEMBER_BYTES", 100)

    files = {
        compressed(CONTENT[:size], monkeypatch, threads=threads, step=step)
        for threads in (1, 3)
        for step in (1, 150, 5000)
    }

    (file,) = files
    assert gzip.decompress(file) == CONTENT[:size]
    assert file.startswith(b"\x1f\x8b")


def test_content_is_written_before_the_end(monkeypatch):
    monkeypatch.setattr(compression, "MEMBER_BYTES", 100)
    monkeypatch.setenv("SIMDB_THREADS", "1")
    file = io.BytesIO()

    with GzipWriter(file) as stream:
        stream.write(CONTENT)

        assert gzip.decompress(file.getvalue()) == CONTENT
