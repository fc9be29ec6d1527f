"""Without pyarrow: JSON lines and CSV are read and written, and what needs it says so."""

import sys

import pytest

import simdb

WORDS = "one two three four five six seven eight nine ten"
ROWS = [("a", WORDS), ("b", f"{WORDS},"), ("c", 'of "another" kind\nin two lines'), ("d", "")]


@pytest.fixture(autouse=True)
def without_arrow(monkeypatch):
    loaded = [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]
    for name in {"pyarrow", *loaded}:
        monkeypatch.setitem(sys.modules, name, None)


def quoted(text):
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if set(text) & set(',"\n') else text


@pytest.fixture
def source(tmp_path, request):
    path = tmp_path / f"source{request.param}"
    if request.param == ".jsonl":
        rows = [f'{{"id": "{id}", "text": "{escaped(text)}"}}' for id, text in ROWS]
    else:
        rows = ["id,text", *(f"{id},{quoted(text)}" for id, text in ROWS)]
    path.write_text("\n".join(rows) + "\n")
    return path


def escaped(text):
    return text.replace('"', '\\"').replace("\n", "\\n")


def lines(text):
    return text.splitlines(keepends=True)


@pytest.mark.parametrize("source", [".jsonl", ".csv"], indirect=True)
def test_records_are_deduplicated(source, tmp_path):
    result = simdb.deduplicate(source)
    output = tmp_path / f"kept{source.suffix}"
    result.write(output)

    before, after = source.read_text(), output.read_text()
    assert len(result) == 3
    assert after == before.replace(next(row for row in lines(before) if f"{WORDS}," in row), "")
    with pytest.raises(simdb.OptionError, match="needs pyarrow: pip install pyarrow"):
        result.removed  # noqa: B018 - the property makes a table


def test_a_database_needs_none(tmp_path):
    options = simdb.Options(texts=True, features=True)
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many([id for id, _ in ROWS], [text for _, text in ROWS])
        assert [match.id for match in database.query(id="a")] == ["b"]
        assert len(database.find_all()) == 1
        assert [set(each) for each in database.find_clusters()] == [{"a", "b"}]
        assert [database.get(id).text for id, _ in ROWS] == [text for _, text in ROWS]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl.zst"])
def test_files_say_what_they_need(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"PAR1")

    with pytest.raises(simdb.OptionError, match="needs pyarrow: pip install pyarrow"):
        simdb.deduplicate(path)
