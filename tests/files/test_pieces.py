"""Pieces of files: lines are copied in large reads, whatever is left out between them."""

import os
import random

import numpy as np
import pytest

import simdb
from simdb.core.decoding import text_column
from simdb.files import pieces
from simdb.files.pieces import Lines, LineSpool, TextSpool, contents, merged, split_lines

LINES = [b"%d" % at * (at % 5) + b"\n" for at in range(100)]
STOPS = np.cumsum([*map(len, LINES)])


@pytest.fixture
def opened(tmp_path):
    """The lines in a file that lacks the last line feed; returns its descriptor."""
    (tmp_path / "a").write_bytes(b"".join(LINES)[:-1])
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def lines_at(descriptor, chosen):
    stops = STOPS[chosen]
    starts = stops - [len(LINES[at]) for at in chosen]
    return Lines("a", descriptor, *merged(starts, stops), len(chosen))


DRAWN = [random.Random(seed).sample(range(100), seed * 9) for seed in range(12)]
CHOICES = [sorted(chosen) for chosen in [*DRAWN, range(100), [99], [0, 99]]]


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 64, 1 << 20])
def test_chosen_lines_are_read_byte_for_byte(opened, monkeypatch, block_bytes):
    monkeypatch.setattr(pieces, "BLOCK_BYTES", block_bytes)

    for chosen in CHOICES:
        blocks = [*contents(lines_at(opened, chosen))]

        assert b"".join(blocks) == b"".join(LINES[at] for at in chosen)
        assert [*split_lines(blocks)] == [LINES[at] for at in chosen]
        assert all(0 < len(block) <= block_bytes for block in blocks)


@pytest.mark.parametrize("block_bytes", [3, 64, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_chosen_lines_are_copied_byte_for_byte(opened, tmp_path, monkeypatch, block_bytes, threads):
    monkeypatch.setattr(pieces, "COPIED_BYTES", block_bytes)
    target = tmp_path / "b"
    with target.open("w+b") as file:
        for chosen in CHOICES:
            file.truncate(0)
            file.seek(0)
            file.write(b"before")
            file.flush()

            end = pieces.copy(lines_at(opened, chosen), file.fileno(), len(b"before"), threads)

            wanted = b"before" + b"".join(LINES[at] for at in chosen)
            assert target.read_bytes() == wanted
            assert end == len(wanted)


@pytest.mark.parametrize("missing", [1, 2, 50])
def test_a_file_that_became_shorter_is_noticed(opened, tmp_path, missing):
    os.truncate(tmp_path / "a", os.path.getsize(tmp_path / "a") - missing)

    with pytest.raises(simdb.InputError, match="a was changed while it was read; run the command"):
        list(contents(lines_at(opened, list(range(100)))))
    with (
        (tmp_path / "b").open("w+b") as file,
        pytest.raises(simdb.InputError, match="a was changed while it was read; run the command"),
    ):
        pieces.copy(lines_at(opened, list(range(100))), file.fileno(), 0, 2)


def copied(spool, starts, sizes):
    return b"".join(block for lines in spool.spans(starts, sizes) for block in contents(lines))


def test_the_chosen_lines_are_copied_byte_for_byte_in_order():
    with LineSpool() as spool:
        starts, sizes = spool.add([b"one ", b"\xff\r"])
        spool.add([])
        more = spool.add([b"", b"four"])
        starts, sizes = np.r_[starts, more[0]], np.r_[sizes, more[1]]

        assert copied(spool, starts, sizes) == b"one \n\xff\r\n\nfour\n"
        assert copied(spool, starts[[0, 2, 3]], sizes[[0, 2, 3]]) == b"one \n\nfour\n"
        assert copied(spool, *spool.add([b"five"])) == b"five\n"


def test_the_file_waits_in_the_folder_and_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", os.path.join(tmp_path, "missing"))

    with LineSpool(str(tmp_path)) as spool:
        assert copied(spool, *spool.add([b"line"])) == b"line\n"

    assert os.listdir(tmp_path) == []


TEXTS = ["one", "", "na\u00efve", "\U0001f600 smile", "lone \ufffd", "x" * 3000, ""]


def read(spool, positions):
    return list(spool.texts(np.array(positions)))


def test_texts_come_back_in_any_order():
    with TextSpool() as spool:
        spool.add(TEXTS)

        assert read(spool, range(len(TEXTS))) == TEXTS
        assert read(spool, [5, 0, 2, 2]) == [TEXTS[5], "one", TEXTS[2], TEXTS[2]]
        assert read(spool, []) == []
        spool.add([])
        spool.add(["later"])
        assert read(spool, [len(TEXTS), 0]) == ["later", TEXTS[0]]


def test_columns_of_arrow_are_added_as_they_are():
    column = text_column(np.array(TEXTS[:4], object))
    with TextSpool() as spool:
        spool.add(TEXTS[:2] if column is None else column)
        spool.add(spool.texts(np.array([0, 1])))

        assert read(spool, [0, 1]) == TEXTS[:2]
        assert read(spool, [len(column or TEXTS[:2])]) == [TEXTS[0]]


def test_many_texts_are_more_than_the_buffer(monkeypatch):
    monkeypatch.setattr("simdb.files.pieces.WRITTEN_BYTES", 64)
    texts = [f"{at} " * (at % 40) for at in range(500)]
    with TextSpool() as spool:
        for start in range(0, 500, 33):
            spool.add(texts[start : start + 33])

        assert read(spool, range(500)) == texts
