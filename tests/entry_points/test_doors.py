"""One collection comes through every door, and the same documents stay.

The collection has several scripts, HTML pages that declare an encoding, rightly or wrongly, one
record without a text, and two columns of one name.  Each run draws its collection and options from
a seed, which a failure shows; SIMDB_DOORS_SEED repeats that run.
"""

import csv
import io
import json
import os
import random
import shutil
import threading

import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("selectolax")

SEED = int(os.environ.get("SIMDB_DOORS_SEED", random.SystemRandom().randrange(2**32)))
# Words of each script, and a legacy encoding that has all of them.
SCRIPTS = {
    "windows-1252": "schön übung straße café naïve garçon mañana œuvre château fête",
    "koi8-r": "почта город слово дерево время голос дорога облако книга песня",
    "shift_jis": "東京 大阪 学校 時間 電車 音楽 料理 天気 新聞 写真",
    "iso-8859-7": "θάλασσα ήλιος βιβλίο δέντρο δρόμος φωνή ώρα πόλη γράμμα σύννεφο",
}
COLUMNS = ("id", "note", "text", "note")
NAMES = ("id", "note", "text", "other")  # of an object, which has each name once


def page(words, declared):
    if declared is None:
        return " ".join(words)
    head = f'<html><head><meta charset="{declared}"></head>'
    return f"{head}<body><p>{' '.join(words)}</p></body></html>"


def collection(drawn):
    """Return (text, encoding) by id: families of copies with changed words; one text is None."""
    found = []
    for family in range(12):
        legacy, words = drawn.choice(list(SCRIPTS.items()))
        numbered = [f"{word}{drawn.randrange(40)}" for word in drawn.choices(words.split(), k=60)]
        for copy in range(drawn.randrange(1, 5)):
            changed = list(numbered)
            for place in drawn.sample(range(60), drawn.choice([0, 0, 1, 2, 5, 20])):
                changed[place] = f"new{family}x{copy}x{place}"
            declared, encoding = drawn.choice(
                [(None, "utf-8"), ("utf-8", "utf-8"), (legacy, legacy), (legacy, "utf-8"),
                 ("utf-8", "utf-16"), (legacy, "utf-8-sig")]
            )  # fmt: skip
            found.append((page(changed, declared), encoding))
    drawn.shuffle(found)
    return {f"d{at:03}": each for at, each in enumerate([*found, (None, "utf-8")])}


def drawn_options(drawn):
    """Return options of `deduplicate`, and the same of the command line."""
    shingle, similarity = drawn.choice([1, 2, 3, 4]), drawn.choice([0.6, 0.7, 0.8, 0.9])
    keep = drawn.choice(["first", "last", "longest", "shortest"])
    sketch = simdb.Simhash(markup="html", shingle=shingle)
    asked = {"sketch": sketch, "similarity": similarity, "keep": keep, "recall": 1.0}
    words = ["--markup", "html", "--shingle", shingle, "--similarity", similarity, "--keep", keep]
    return asked, [*map(str, words), "--recall", "1.0"]


def cells_of(pages):
    """Return the cells of each record under COLUMNS."""
    return [(id, f"first {id}", text, f"second, {id}") for id, (text, _) in pages.items()]


def records_of(pages):
    return [dict(zip(NAMES, cells, strict=True)) for cells in cells_of(pages)]


def json_lines(pages):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records_of(pages)).encode()


def delimited(pages, delimiter):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([COLUMNS, *cells_of(pages)])
    return text.getvalue().encode()


def table(pages, *, is_binary=False):
    """Return an Arrow table under COLUMNS; a binary one has the bytes as they were sent."""
    columns = list(zip(*cells_of(pages), strict=True))
    if is_binary:
        columns[2] = contents(pages)
    return pyarrow.Table.from_arrays([pyarrow.array(each) for each in columns], names=COLUMNS)


def arrow_file(pages):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table(pages).schema) as file:
        file.write_table(table(pages))
    return sink.getvalue().to_pybytes()


def parquet_file(pages, *, is_binary=False):
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table(pages, is_binary=is_binary), sink)
    return sink.getvalue().to_pybytes()


def contents(pages):
    return [None if text is None else text.encode(encoding) for text, encoding in pages.values()]


FILES = {
    "a.jsonl": json_lines,
    "a.csv": lambda pages: delimited(pages, ","),
    "a.tsv": lambda pages: delimited(pages, "\t"),
    "a.parquet": parquet_file,
    "b.parquet": lambda pages: parquet_file(pages, is_binary=True),
    "a.arrow": arrow_file,
}
DATA = {
    "list": lambda pages: [text for text, _ in pages.values()],
    "bytes": contents,
    "dict": lambda pages: {id: text for id, (text, _) in pages.items()},
    "dicts": records_of,
    "pandas": lambda pages: pandas.DataFrame(records_of(pages)),
    "polars": lambda pages: polars.DataFrame(records_of(pages)),
    "arrow": table,
    "binary arrow": lambda pages: table(pages, is_binary=True),
}


def write_folder(folder, pages):
    """Write each text as a file in its own encoding; a file is never without a text."""
    folder.mkdir()
    for id, content in zip(pages, contents(pages), strict=True):
        if content is not None:
            (folder / f"{id}.html").write_bytes(content)


def ran(*words):
    done = CliRunner().invoke(app, [str(each) for each in words], catch_exceptions=False)
    assert done.exit_code == 0, (SEED, words, done.stderr)


def kept_by_command(folder, source, *words):
    """Return the ids that `dedup` keeps of a source."""
    output = folder / "kept.jsonl"
    ran("dedup", source, *words, "-o", output, "--quiet")
    rows = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    return {os.path.basename(row["id"]).removesuffix(".html") for row in rows}


def kept_of_pipe(folder, content, *words):
    """Return the ids that `dedup` keeps of what a pipe without a name holds."""
    path = folder / "pipe"
    os.mkfifo(path)
    sender = threading.Thread(target=path.write_bytes, args=(content,))
    sender.start()
    try:
        return kept_by_command(folder, path, *words)
    finally:
        sender.join()
        path.unlink()


def kept_of_data(data, pages, **asked):
    found = simdb.deduplicate(data, **asked)
    return {id for id, stays in zip(pages, found.kept.tolist(), strict=True) if stays}


def test_every_door_keeps_the_same_documents(tmp_path):
    drawn = random.Random(SEED)
    pages = collection(drawn)
    asked, words = drawn_options(drawn)
    texts = DATA["list"](pages)
    wanted = kept_of_data(texts, pages, **asked)
    for name, make in FILES.items():
        (tmp_path / name).write_bytes(make(pages))
    write_folder(tmp_path / "folder", pages)

    found = {
        name: kept_of_data(make(pages), pages, **asked)
        for name, make in DATA.items()
    }  # fmt: skip
    for name, make in FILES.items():
        path = tmp_path / name
        found[name] = kept_by_command(tmp_path, path, *words)
        found[f"path {name}"] = kept_of_data(path, pages, **asked)
        found[f"pipe of {name}"] = kept_of_pipe(tmp_path, make(pages), *words)
        found[f"{name} --db"] = kept_by_command(tmp_path, path, *words, "--db", tmp_path / "db")
        shutil.rmtree(tmp_path / "db")
    found["folder"] = kept_by_command(tmp_path, tmp_path / "folder", *words)
    null = list(pages)[-1]
    found["folder"].add(null)

    assert {name: sorted(wanted ^ kept) for name, kept in found.items() if kept != wanted} == {}, (
        SEED,
        words,
    )


def test_every_door_of_a_reference_removes_the_same_documents(tmp_path):
    drawn = random.Random(SEED)
    pages = list(collection(drawn).items())
    asked, words = drawn_options(drawn)
    half = len(pages) // 2
    reference, rest = dict(pages[:half]), dict(pages[half:])
    (tmp_path / "rest.jsonl").write_bytes(json_lines(rest))
    write_folder(tmp_path / "folder", reference)
    others = {name: make(reference) for name, make in DATA.items()}
    for name, make in FILES.items():
        (tmp_path / name).write_bytes(make(reference))
        others[name] = tmp_path / name
    others["folder"] = tmp_path / "folder"
    texts = DATA["list"](rest)
    wanted = kept_of_data(texts, rest, against=others["list"], **asked)

    found = {
        name: kept_of_data(texts, rest, against=other, **asked) for name, other in others.items()
    }
    for name in (*FILES, "folder"):
        found[f"--against {name}"] = kept_by_command(
            tmp_path, tmp_path / "rest.jsonl", *words, "--against", tmp_path / name
        )

    assert {name: sorted(wanted ^ kept) for name, kept in found.items() if kept != wanted} == {}, (
        SEED,
        words,
    )
