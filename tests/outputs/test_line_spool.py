"""Lines that wait in a temporary file."""

import io
import os

from simdb.outputs.line_spool import LineSpool


def test_the_chosen_lines_are_copied_byte_for_byte_in_order():
    with LineSpool() as spool:
        spool.add([b"one ", b"\xff\r"])
        spool.add([])
        spool.add([b"", b"four"])
        target = io.BytesIO()

        spool.copy([True, False, True, True], target)
        spool.add([b"five"])
        spool.copy(iter([0, 1, 0, 0, 1]), target)

    assert target.getvalue() == b"one \n\nfour\n\xff\r\nfive\n"


def test_the_file_waits_in_the_folder_and_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", os.path.join(tmp_path, "missing"))

    with (
        open(tmp_path / "kept.partial", "wb") as survivors,
        LineSpool(str(tmp_path)) as spool,
    ):
        spool.add([b"line"])
        spool.copy([True], survivors)

    assert (tmp_path / "kept.partial").read_bytes() == b"line\n"
    assert os.listdir(tmp_path) == ["kept.partial"]
