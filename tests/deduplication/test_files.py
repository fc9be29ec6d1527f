"""Files and folders give what a list of their records gives, and what stays can be written."""

import datetime
import decimal
import json
import os
import random
import subprocess
import sys
import warnings
from functools import partial
from itertools import compress
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from led_files import write
from over import over

import simdb
from simdb.jobs.deduplication import within


def records(count=60, seed=5):
    chance = random.Random(seed)
    made = [[f"w{chance.randrange(90)}" for _ in range(30)] for _ in range(count)]
    found = []
    for at, words in enumerate(made):
        if at % 3 == 2:
            words = [*made[at - 1][:29], f"x{at}"]
        found.append({"id": f"d{at}", "text": " ".join(words), "score": at % 7})
    return found


RECORDS = records()


@pytest.fixture
def expected():
    found = simdb.deduplicate(RECORDS, id="id", keep="max:score")
    assert 0 < len(found.removed_ids) < len(RECORDS)
    return found


@over(
    ("name", "give"),
    [
        ("a.jsonl", str), ("b.jsonl.gz", Path), ("c.csv", lambda path: [path]),
        ("d.parquet", lambda path: f"{path.parent}/d.*"),
    ],
)  # fmt: skip
def test_a_file_gives_what_its_records_give(tmp_path, monkeypatch, expected, name, give):
    monkeypatch.setattr(within, "PART_ROWS", 7)
    write(tmp_path / name, RECORDS)
    data = give(tmp_path / name)

    found = simdb.deduplicate(data, keep="max:score")

    assert found.kept.tolist() == expected.kept.tolist()
    assert found.removed_ids.tolist() == expected.removed_ids.tolist()
    assert found.representatives.tolist() == expected.representatives.tolist()
    assert [list(each) for each in found.groups] == [list(each) for each in expected.groups]
    kept = [dict(row) for row in found.data.to_pylist()]
    assert [row["id"] for row in kept] == [row["id"] for row in expected.data]
    assert [row["text"] for row in kept] == [row["text"] for row in expected.data]


def test_files_in_folders_are_documents(tmp_path):
    for at, row in enumerate(RECORDS):
        (tmp_path / f"{at:02}.txt").write_text(row["text"])

    found = simdb.deduplicate(tmp_path)

    assert found.kept.tolist() == simdb.deduplicate(RECORDS).kept.tolist()
    found.write(f"{tmp_path}.jsonl")
    lines = Path(f"{tmp_path}.jsonl").read_text().splitlines()
    stays = [row["text"] for row, is_kept in zip(RECORDS, found.kept, strict=True) if is_kept]
    assert [json.loads(line)["text"] for line in lines] == stays
    with pytest.raises(simdb.OptionError, match="are written as records"):
        found.write(f"{tmp_path}.txt")


@over("end", ["jsonl", "jsonl.gz", "csv", "parquet"])
@over("is_file", [False, True])
def test_what_stays_is_written_in_every_format(tmp_path, expected, end, is_file):
    write(tmp_path / "a.jsonl", RECORDS)
    data = tmp_path / "a.jsonl" if is_file else RECORDS
    found = simdb.deduplicate(data, id="id", keep="max:score")

    found.write(tmp_path / f"k.{end}")

    again = simdb.deduplicate(tmp_path / f"k.{end}")
    assert again.kept.all()
    assert again.data.column("id").to_pylist() == [row["id"] for row in expected.data]


@pytest.mark.parametrize("end", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_files_beside_a_database_are_read_again_where_they_are(tmp_path, end):
    simdb.deduplicate(RECORDS[::-1]).write(tmp_path / f"a.{end}")
    data, rule = tmp_path / f"a.{end}", "longest"
    plain = simdb.deduplicate(data, keep=rule)

    found = [simdb.deduplicate(data, keep=rule, db=tmp_path / "d") for _ in range(2)]

    for each in found:
        assert each.kept.tolist() == plain.kept.tolist()
        assert each.data.equals(plain.data)
        assert each.removed_ids.tolist() == plain.removed_ids.tolist()
        assert each.representatives.tolist() == plain.representatives.tolist()
    with pytest.raises(simdb.OptionError, match="for files give a rule"):
        simdb.deduplicate(data, keep=len, db=tmp_path / "d")
    if end == "jsonl":
        data.write_text("changed")
        with pytest.raises(simdb.InputError, match="changed"):
            found[0].write(tmp_path / "k.jsonl")


@pytest.mark.parametrize("end", ["jsonl", "json"])
def test_one_id_and_text_can_come_three_times_beside_a_database(tmp_path, end):
    """The text was asked for twice in one call, which ended with a ValueError of the kernel."""
    records = [{"id": "a", "text": "one text of a few words"}, {"id": "b", "text": "another one"}]
    records = [records[0], records[1], *[records[0]] * 2, records[1]]
    lines = [json.dumps(each) for each in records]
    content = "\n".join(lines) if end == "jsonl" else f"[{', '.join(lines)}]"
    (tmp_path / f"a.{end}").write_text(content)

    found = simdb.deduplicate(tmp_path / f"a.{end}", id="id", db=tmp_path / "db")

    assert found.kept.tolist() == [True, True, False, False, False]
    assert found.representatives.tolist() == ["a", "a", "b"]


def test_a_bad_line_is_named_in_words_of_python(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "one two three"}\nno JSON\n')
    (tmp_path / "b.jsonl").write_text('{"body": "one two three"}\n{"body": 5}\n')

    with pytest.raises(simdb.InputError, match=r"a\.jsonl:2: invalid JSON"):
        simdb.deduplicate(tmp_path / "a.jsonl")
    with pytest.raises(
        simdb.InputError, match=r"b\.jsonl:2: the field 'body' .* use text= to name"
    ):
        simdb.deduplicate(tmp_path / "b.jsonl", text="body")
    with pytest.raises(
        simdb.InputError, match=r"there is no file or folder .*a text goes into a l"
    ):
        simdb.deduplicate("some text")
    with pytest.raises(simdb.OptionError, match="for files give a rule"):
        simdb.deduplicate(tmp_path / "a.jsonl", keep=len)
    with pytest.raises(simdb.OptionError, match="for files, id= must be the name of a field"):
        simdb.deduplicate(tmp_path / "a.jsonl", unit="line", id=["a"])


@pytest.fixture
def begun(monkeypatch):
    """The threads that simdb has started, with blocks so small that there is work for several."""
    monkeypatch.setattr("simdb.core.memory.BLOCK_BYTES", 1000)
    monkeypatch.setattr("simdb.files.pieces.COPIED_BYTES", 1000)
    monkeypatch.setattr("simdb.files.outputs.MEMBER_BYTES", 1000)
    monkeypatch.setattr("simdb.core.threads._processors", lambda: 5)
    found = []

    class Counted(Thread):
        def start(self):
            found.append(self)
            super().start()

    monkeypatch.setattr("simdb.core.threads.Thread", Counted)
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_files_are_read_by_as_many_threads_as_asked_for(tmp_path, begun, threads):
    write(tmp_path / "a.jsonl", RECORDS)

    found = simdb.deduplicate(tmp_path / "a.jsonl", threads=threads)

    assert bool(begun) == (threads > 1)
    assert found.kept.tolist() == simdb.deduplicate(RECORDS).kept.tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dicts", "file"])
def test_dates_and_missing_values_of_every_kind_of_data_are_written_alike(tmp_path, kind):
    """Dates in a frame ended in a TypeError; in CSV they had quotes, and pandas' NaT was text."""
    if kind in ("pandas", "polars"):
        pytest.importorskip(kind)
    table = pyarrow.table({
        "text": ["one two three", None, "four five six"],
        "day": [datetime.date(2026, 11, 27), None, datetime.date(2026, 1, 2)],
        "time": pyarrow.array([1, None, 3], pyarrow.timestamp("us")),
        "price": [decimal.Decimal("1.10"), None, decimal.Decimal("2.00")],
        "days": [[datetime.date(2026, 1, 2)], None, []],
    })  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    data = {
        "pandas": lambda: table.to_pandas(),
        "polars": lambda: pytest.importorskip("polars").from_arrow(table),
        "arrow": lambda: table, "dicts": table.to_pylist,
        "file": lambda: tmp_path / "data.parquet",
    }[kind]()  # fmt: skip
    result = simdb.deduplicate(data)

    for end in ("jsonl", "csv", "parquet"):
        result.write(tmp_path / f"kept.{end}")

    first, null, _ = map(json.loads, (tmp_path / "kept.jsonl").read_text().splitlines())
    assert first == {
        "text": "one two three", "day": "2026-11-27", "time": "1970-01-01 00:00:00.000001",
        "price": "1.10", "days": ["2026-01-02"],
    }  # fmt: skip
    assert set(null.values()) == {None}
    lines = (tmp_path / "kept.csv").read_text().splitlines()
    assert lines[1].startswith("one two three,2026-11-27,1970-01-01 00:00:00.000001,1.10,")
    assert lines[2] == ",,,,"
    kept = pyarrow.parquet.read_table(tmp_path / "kept.parquet")
    assert kept.column("day").to_pylist() == table.column("day").to_pylist()
    assert kept.column("time").null_count == 1


def test_numbers_of_numpy_and_halves_of_characters_are_written(tmp_path):
    row = {
        "text": "a\ud800", "n": np.int64(3), "v": np.array([1, 2]),
        "nested": {"f": np.float32(0.5)},
        "when": np.datetime64("2026-11-27T01", "ns"), "nan": float("nan"),
    }  # fmt: skip

    simdb.deduplicate([row], errors="replace").write(tmp_path / "k.jsonl")
    simdb.deduplicate([row], errors="replace").write(tmp_path / "k.csv")

    found = json.loads((tmp_path / "k.jsonl").read_text())
    assert (found["n"], found["v"], found["nested"]) == (3, [1, 2], {"f": 0.5})
    assert found["when"].startswith("2026-11-27T01")
    assert found["nan"] is None
    assert '3,"[1, 2]","{""f"": 0.5}",2026-11-27T01' in (tmp_path / "k.csv").read_text()


@pytest.mark.skipif(
    int(pyarrow.__version__.partition(".")[0]) < 22, reason="it writes no views to Parquet"
)
@pytest.mark.parametrize("names", [["id", "text", "tags"], ["id", "text", "more", "more"]])
def test_a_parquet_file_gives_all_its_columns(tmp_path, names):
    # polars gives pyarrow views of texts; they, and two columns of one name, ended with an error
    # of pyarrow.
    view = pyarrow.string_view()
    columns = [pyarrow.array([row[name] for row in RECORDS], view) for name in ("id", "text")]
    more = pyarrow.array([["a tag that is no short one"]] * len(RECORDS), pyarrow.list_(view))
    table = pyarrow.Table.from_arrays([*columns, more, more][: len(names)], names)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")

    found = simdb.deduplicate(tmp_path / "a.parquet")

    assert found.kept.tolist() == simdb.deduplicate(RECORDS).kept.tolist()
    assert found.data.schema == table.schema
    for column, given in zip(found.data.columns, table.columns, strict=True):
        assert column.to_pylist() == list(compress(given.to_pylist(), found.kept))


@pytest.mark.parametrize("verb", [simdb.deduplicate, partial(simdb.decontaminate, against=["a b"])])
def test_a_folder_with_files_of_records_is_warned_of(tmp_path, monkeypatch, verb):
    # Each file was compared as one text, and only the command said so.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").mkdir()
    write(tmp_path / "f" / "a.jsonl", RECORDS)
    (tmp_path / "f" / "notes.txt").write_text("some notes about them")

    with pytest.warns(RuntimeWarning, match=r"end in .jsonl, unless .*: 'f/\*.jsonl'"):
        assert len(verb("f")) == 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verb("f/*.jsonl")


WITHOUT_PANDAS = """
import json, sys
class NoPandas:
    def find_spec(self, name, *others):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'")
sys.meta_path.insert(0, NoPandas())
import pyarrow, pyarrow.parquet, simdb
hour = 3_600_000_000_000
table = pyarrow.table({
    "text": ["one two three", "one two three", "four five six"],
    "date": pyarrow.array([1, 2, None], pyarrow.timestamp("ns")),
    "hour": pyarrow.array([hour, hour + 1, None], pyarrow.time64("ns")),
    "age": pyarrow.array([3, 4, None], pyarrow.duration("ns")),
})
pyarrow.parquet.write_table(table, "a.parquet")
for data in (table, "a.parquet"):
    simdb.deduplicate(data, keep="max:date").write("kept.jsonl")
    print(open("kept.jsonl").readline(), end="")
assert simdb.deduplicate(table, keep="max:age").kept.tolist() == [False, True, True]
assert simdb.deduplicate("a.parquet", id="date").data.num_rows == 2
"""


def test_times_of_nanoseconds_are_written_without_pandas(tmp_path):
    # pyarrow makes objects of pandas of them, and raised ValueError without it.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    command = [sys.executable, "-c", WITHOUT_PANDAS]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (
        list(map(json.loads, done.stdout.splitlines()))
        == [
            {
                "text": "one two three",
                "date": "1970-01-01 00:00:00.000000002",
                "hour": "01:00:00.000000001",
                "age": 4,
            }
        ]
        * 2
    )


def test_a_page_shows_the_texts_of_files_as_a_reader_sees_them(tmp_path):
    """Only a page of rows in memory did, and the page of the command line."""
    pytest.importorskip("selectolax")
    pytest.importorskip("jinja2")
    texts = [f"<p>the <b>quick</b> brown fox jumps over {name}</p>" for name in ("dogs", "dogs!")]
    lines = "".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts))
    (tmp_path / "a.jsonl").write_text(lines)

    found = simdb.deduplicate(tmp_path / "a.jsonl", sketch=simdb.Simhash(markup="html"))
    found.report(tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text()
    assert len(found.removed_ids) == 1
    assert "quick" in page
    assert "&lt;b&gt;" not in page
