"""The accessor of DataFrames gives what `simdb.deduplicate` gives."""

import subprocess
import sys
from importlib import import_module

import pytest

import simdb

BOOK = "a page of a book about birds and their nests in the high trees beside the wide river"
COLUMNS = {
    "body": [f"{BOOK} a", "another text", f"{BOOK} b and c", None, f"{BOOK} d", None],
    "name": ["a", "b", "c", "d", "e", "f"],
}


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    import_module("simdb.integrations.pandas")
    return pandas.DataFrame(COLUMNS, index=[f"row {name}" for name in COLUMNS["name"]])


def polars_frame():
    polars = pytest.importorskip("polars")
    import_module("simdb.integrations.polars")
    return polars.DataFrame(COLUMNS)


FRAMES = pytest.mark.parametrize("make", [pandas_frame, polars_frame])


@FRAMES
def test_the_survivors_are_a_frame_of_the_same_kind(make):
    frame = make()

    found = frame.simdb.drop_duplicates("body", similarity=0.7, keep="longest", on_null="drop")

    assert type(found) is type(frame)
    assert list(found["name"]) == ["b", "c"]
    assert list(frame["name"]) == COLUMNS["name"]


@FRAMES
def test_the_arguments_are_passed_on(make):
    frame = make()

    assert list(frame.simdb.drop_duplicates("body")["name"]) == list("abdf")
    assert list(frame.simdb.drop_duplicates("body", similarity=0.85)["name"]) == list("abcdf")
    stars = frame.simdb.drop_duplicates("body", keep="last", policy="star", threads=1)
    assert list(stars["name"]) == list("bdef")
    with pytest.raises(simdb.OptionError, match="policy"):
        frame.simdb.drop_duplicates("body", policy="chain")
    with pytest.raises(simdb.OptionError, match="threads"):
        frame.simdb.drop_duplicates("body", threads=0)


@FRAMES
def test_deduplicate_passes_on_every_argument(make, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        "simdb.integrations.frames.deduplicate",
        lambda data, **settings: seen.update(settings, data=data),
    )
    frame = make()
    names = [
        "id", "keep", "similarity", "distance", "recall", "verify", "policy", "db", "sketch",
        "options", "on_null", "errors", "threads", "progress",
    ]  # fmt: skip
    given = {name: object() for name in names}

    frame.simdb.deduplicate("body", **given)

    assert seen == {"data": seen["data"], "text": "body", **given}
    assert seen["data"] is frame or seen["data"].equals(frame)


@FRAMES
def test_a_database_keeps_what_is_new(make, tmp_path):
    frame = make()
    result = frame.simdb.deduplicate("body", id="name", similarity=0.7, db=tmp_path / "seen.simdb")

    again = frame.simdb.deduplicate("body", id="name", similarity=0.7, db=tmp_path / "seen.simdb")

    assert repr(result).startswith("<simdb.Deduplicated: 4 of 6 rows kept, 2 removed in 1 group")
    assert list(again.data["name"]) == ["d", "f"]


def test_the_index_of_pandas_stays():
    found = pandas_frame().simdb.drop_duplicates("body", on_null="drop", similarity=0.7)

    assert found.index.tolist() == ["row a", "row b"]


def test_simdb_alone_loads_no_frames():
    code = "import simdb, sys; simdb.deduplicate(['a']); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
