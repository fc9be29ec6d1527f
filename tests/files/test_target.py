"""Targets: what an output replaces is never lost, and no output replaces what a call reads.

Compressed outputs are the same for any number of threads.
"""

import errno
import gzip
import io
import json
import os
import random
import stat
from pathlib import Path

import pytest
from over import over

import simdb
from simdb.core.errors import FullError
from simdb.files import outputs
from simdb.files.content import packed_file
from simdb.files.formats import ZSTD, output_format
from simdb.files.outputs import GzipWriter, side_files, written, zstd_writer

HELD = b"what it held\n"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, content, *, is_sparing=False):
    """Write an output; return the name under which the file that it replaces is kept."""
    with written(path, output_format(path, "-o")) as target:
        target.is_sparing = is_sparing
        target.stream.write(content)
        target.rows = content.count(b"\n")
    return target.saved


def test_a_new_file_has_the_permissions_of_the_file_that_it_replaces():
    """A private source that its own output replaced could be read by everybody."""
    Path("a.jsonl").write_bytes(HELD)
    os.chmod("a.jsonl", 0o600)

    write("a.jsonl", b"new\n")

    assert stat.S_IMODE(os.stat("a.jsonl").st_mode) == 0o600
    assert Path("a.jsonl").read_bytes() == b"new\n"


@over(
    ("number", "message"),
    [
        (errno.ENOSPC, "no room on the disk of a.jsonl"),
        (errno.EIO, "the disk of a.jsonl, or that of temporary files, fails"),
        (errno.EXDEV, "a.jsonl cannot be written: Invalid cross-device link"),
    ],
)
def test_an_error_of_the_disk_names_the_output_and_leaves_it(number, message):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    Path("a.jsonl").write_bytes(HELD)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(FullError, match=message):
            write("a.jsonl", b"new\n")

    assert Path("a.jsonl").read_bytes() == HELD


def test_what_is_kept_already_is_never_replaced():
    """The second run lost what the first one had kept, which was nowhere else."""
    Path("a.jsonl").write_bytes(HELD)

    saved = [write("a.jsonl", b"%d\n" % at, is_sparing=True) for at in range(3)]

    assert saved == ["a.jsonl.before", "a.jsonl.before.2", "a.jsonl.before.3"]
    assert [Path(name).read_bytes() for name in saved] == [HELD, b"0\n", b"1\n"]
    assert {os.path.realpath(name) for name in saved} < set(side_files(os.path.realpath("a.jsonl")))


def test_equal_content_is_kept_once():
    for content in (HELD, b"", HELD, b""):
        write("a.jsonl", content)

    assert sorted(os.listdir()) == ["a.jsonl", "a.jsonl.before"]
    assert Path("a.jsonl.before").read_bytes() == HELD


@pytest.mark.parametrize("has_links", [True, False])
def test_a_run_that_ends_while_it_replaces_a_file_leaves_its_content(has_links, monkeypatch):
    def ended(source, target):
        if source.endswith(".partial"):
            raise KeyboardInterrupt
        replace(source, target)

    def refused(source, target):
        raise OSError(1, "Operation not permitted")

    replace = os.replace
    monkeypatch.setattr(os, "replace", ended)
    if not has_links:
        monkeypatch.setattr(os, "link", refused)
    Path("a.jsonl").write_bytes(HELD)

    with pytest.raises(KeyboardInterrupt):
        write("a.jsonl", b"new\n", is_sparing=True)

    assert os.listdir() == ["a.jsonl"]
    assert Path("a.jsonl").read_bytes() == HELD


def test_what_replaces_its_source_is_on_the_disk_before(monkeypatch):
    order = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: order.append("synced"))
    monkeypatch.setattr(os, "replace", lambda source, target: order.append("replaced"))
    Path("a.jsonl").write_bytes(HELD)

    with written("a.jsonl", output_format("a.jsonl", "-o")) as target:
        target.rows, target.is_source = 1, True

    assert order == ["synced", "replaced"]


def test_the_name_of_what_a_link_led_to_is_told():
    os.mkdir("sub")
    Path("sub/a.jsonl").write_bytes(HELD)
    os.symlink("sub/a.jsonl", "link.jsonl")

    saved = write("link.jsonl", b"new\n", is_sparing=True)

    assert Path(saved).read_bytes() == HELD
    assert os.path.islink("link.jsonl")
    assert Path("sub/a.jsonl").read_bytes() == b"new\n"


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


def test_content_is_written_before_the_end(monkeypatch):
    monkeypatch.setattr(outputs, "MEMBER_BYTES", 100)
    monkeypatch.setenv("SIMDB_THREADS", "1")
    file = io.BytesIO()

    with GzipWriter(file) as stream:
        stream.write(LINES)

        assert gzip.decompress(file.getvalue()) == LINES


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


WORDS = " ".join(f"word{at}" for at in range(30))
ROWS = [{"id": 0, "text": WORDS}, {"id": 1, "text": "a few other words"}]
SOURCE = "".join(json.dumps(row) + "\n" for row in ROWS)
REFERENCE = "held/a.jsonl"


@pytest.fixture(params=["a.jsonl", None], ids=["file", "rows"])
def data(request, tmp_path, monkeypatch):
    """Data in a file or in memory, beside a reference of the same name in a folder."""
    monkeypatch.chdir(tmp_path)
    Path("held").mkdir()
    for place in ("a.jsonl", REFERENCE):
        Path(place).write_text(SOURCE)
    return request.param or ROWS


@pytest.mark.parametrize("against", [REFERENCE, "held/*.jsonl"])
@pytest.mark.parametrize("verb", [simdb.deduplicate, simdb.decontaminate])
def test_nothing_replaces_a_file_of_the_reference(data, verb, against):
    """`write` replaced the only copy of the reference without a word."""
    found = verb(data, against=against, id="id")
    writing = [found.write, found.report, getattr(found, "write_leaks", found.write)]

    for write in writing:
        with pytest.raises(simdb.OptionError, match=r"a\.jsonl is in against=, which stays"):
            write(REFERENCE)
    with pytest.raises(simdb.OptionError):
        found.write("held/")
    found.write("other.jsonl")

    assert Path(REFERENCE).read_text() == SOURCE


def test_a_page_replaces_no_source(data):
    if data is ROWS:
        pytest.skip("rows are in no file")
    found = simdb.deduplicate(data)

    with pytest.raises(simdb.OptionError, match=r"a\.jsonl is in data, which stays as it is"):
        found.report("a.jsonl")
    with pytest.raises(simdb.OptionError, match=r"a\.jsonl is a source, .* in_place=True"):
        found.write("./a.jsonl")
    found.write("a.jsonl", in_place=True)

    assert Path("a.jsonl").read_text() == SOURCE
