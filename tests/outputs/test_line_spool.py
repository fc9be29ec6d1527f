"""Lines that wait in a temporary file."""

import os

import numpy as np

from simdb.outputs.pieces import contents
from simdb.outputs.spool import LineSpool


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
