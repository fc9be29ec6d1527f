"""Pieces of files: chosen lines are copied in large reads, and texts come back in any order."""

import os
import random
from itertools import chain
from pathlib import Path

import led_files
import numpy as np
import pyarrow
import pytest
from over import over

import simdb
from simdb.core import kernel, memory
from simdb.core.decoding import text_column
from simdb.files import pieces, read_again
from simdb.files.origins import NOWHERE
from simdb.files.pieces import Lines, LineSpool, TextSpool, contents, merged, split_lines
from simdb.files.read_again import Names, TextsAgain
from simdb.files.records import Batch

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


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="only Linux counts calls")
def test_many_ranges_are_one_call_of_the_system(opened):
    def calls():
        with open("/proc/self/io", "rb") as file:
            return int(file.read().split(b"syscr: ")[1].split()[0])

    lines = lines_at(opened, [at for at in range(99) if at % 10])
    begun = calls()
    of_counting = calls() - begun
    list(contents(lines))

    assert calls() - begun - 2 * of_counting == 1


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


def test_many_texts_are_more_than_the_buffer(monkeypatch):
    monkeypatch.setattr("simdb.files.pieces.WRITTEN_BYTES", 64)
    texts = [f"{at} " * (at % 40) for at in range(500)]
    with TextSpool() as spool:
        for start in range(0, 500, 33):
            spool.add(texts[start : start + 33])

        assert read(spool, range(500)) == texts


class Numbered:
    """Stands for files in which a text is the number where it begins."""

    def need(self):
        """Need nothing."""

    def texts(self, starts, sizes):
        return text_column(pyarrow.array([f"{start}" for start in starts]))


@over("waits", [lambda at: False, lambda at: True, lambda at: at % 3, lambda at: at // 10 % 2])
def test_texts_come_back_by_position(waits):
    with TextsAgain(Numbered()) as texts:
        for first in range(0, 40, 10):
            every = np.arange(first, first + 10)
            starts = np.where([waits(at) for at in every], NOWHERE, every)
            names = [f"{at}" for at in every]
            texts.add(
                Batch(
                    ids=names,
                    texts=names,
                    sources=["s"] * 10,
                    positions=every,
                    sizes=every,
                    origins=starts,
                )
            )

        for wanted in (np.arange(0, 40, 7), np.arange(0), np.array([30, 2, 2, 19, 5])):
            assert [*map(str, texts.texts(wanted.astype("u4")))] == [f"{at}" for at in wanted]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_stays_of_files_of_every_kind_is_written_wherever_it_lies(tmp_path, monkeypatch, size):
    monkeypatch.setattr(read_again, "READ_DOCUMENTS", size)
    monkeypatch.chdir(tmp_path)
    names = ["a.jsonl", "b.jsonl.gz", "c.parquet", "d.csv", "e.jsonl"]
    for turn, name in enumerate(names):
        shared = [f"shared{(at + 4 * turn) % 20}" for at in range(20)]
        kinds = [f"{name}{at}" if at % 4 else shared[at] for at in range(20)]
        texts = [" ".join(f"{kind}x{word}" for word in range(40)) + f" {name}" for kind in kinds]
        led_files.write(name, led_files.records(texts, name))
    # The first line has no origin then.
    Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes())

    found = simdb.deduplicate([*map(Path, names)])
    found.write("kept.jsonl")
    found.write("kept/")

    wanted = {name: [f"{name}{at}" for at in range(20) if at % 4] for name in names}
    wanted["a.jsonl"] = [f"a.jsonl{at}" for at in range(20)]
    assert led_files.ids_in("kept.jsonl") == [*chain(*wanted.values())]
    assert {name: led_files.ids_in(f"kept/{name}") for name in names} == wanted


@over("held", [1 << 26, 200, 0])
def test_ids_come_back_and_each_document_has_one_of_its_own(monkeypatch, held):
    monkeypatch.setattr(memory, "COLUMN_BYTES", held)
    chance, every = random.Random(held), []
    drawn = ["a", b"b", 3, "long" * 30, *range(50, 80)]

    with Names() as names:
        for size in (1, 7, 20, 3):
            ids = [chance.choice(drawn) for _ in range(size)]
            places = np.arange(len(every) + 1, len(every) + size + 1)
            names.add(
                Batch(ids=ids, texts=ids, sources=["s"] * size, positions=places, sizes=places)
            )
            every += ids
        names.settle()
        wanted = np.array(chance.sample(range(len(every)), len(every)))
        own, read = names.of(wanted), names.of(wanted, as_read=True)
        none = names.of(wanted[:0])

    assert read == [every[at] for at in wanted.tolist()]
    assert len(set(own)) == len(every)
    first = [every.index(each) for each in every]
    for at, id in zip(wanted.tolist(), own, strict=True):
        assert (id == every[at]) == (first[at] == at)
    assert names.renamed == len(every) - len(set(every)) > 0
    assert none == []


def test_ids_of_one_hash_stay_as_they_are(monkeypatch):
    encode = kernel.encode_ids
    monkeypatch.setattr(
        kernel, "encode_ids", lambda ids, key: (*encode(ids)[:2], np.zeros(40, "u8"))
    )
    ids = [f"id {at}" for at in range(40)]

    with Names() as names:
        places = np.arange(1, 41)
        names.add(Batch(ids=ids, texts=ids, sources=["s"] * 40, positions=places, sizes=places))
        names.settle()

        assert names.of(places - 1) == ids
        assert names.renamed == 0
