"""The survivors of CSV files: rows are copied as they are wherever the columns allow it."""

from pathlib import Path

import pytest

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather and the blue sky"
SEA = "waves roll in from the open sea and break on the old harbour wall at dawn"
HEADER = b'"id",text,n\r\n'
ROWS = [
    b'1,"' + FOX.encode() + b'","a\nb"\r\n',
    b'"2",' + FOX.encode() + b",x\r\n",
    b'3,"' + SKY.encode() + b'\n""q""",\n',
    b"4," + SEA.encode() + b',"last"',
]  # fmt: skip


@pytest.mark.parametrize(("options", "mark"), [((), b"\xef\xbb\xbf"), (("--db", "seen"), b"")])
def test_rows_that_stay_are_copied_byte_for_byte(simdb_run, tmp_path, options, mark):
    (tmp_path / "a.csv").write_bytes(mark + HEADER + b"\r\n".join([ROWS[0], *ROWS[1:]]))

    simdb_run("dedup", "a.csv", "-o", "k.csv", *options)

    assert Path("k.csv").read_bytes() == HEADER + ROWS[0] + ROWS[2] + ROWS[3] + b"\n"
