"""Only the LMDB whose pages simdb checks by itself opens a database."""

import lmdb
import pytest

import simdb


def test_another_lmdb_is_refused_by_name_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(lmdb, "version", lambda: (1, 0, 3))

    with pytest.raises(simdb.FormatError, match=r"LMDB 1\.0\.3, .* LMDB 0\.9: .*'lmdb>=3\.0,<4'"):
        simdb.open(tmp_path / "db")
