"""The same texts in every encoding that a door can take have the same survivors by every door.

Pages that declared their charset were decoded by it a second time in Parquet and in folders, and a
page in an old encoding that says so was skipped in a folder.
"""

import csv
import json
import os

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from over import over

import simdb
from simdb.cli.app import app

pytest.importorskip("selectolax")

SENTENCES = [
    "Ein sch\u00f6ner Tag f\u00fcr \u00dcbungen und \u00c4pfel, sagt J\u00fcrgen zu K\u00e4the",
    "Das M\u00e4dchen h\u00f6rte die Gr\u00fc\u00dfe und l\u00f6schte das Licht im Zimmer",
    "plain words only, without a letter that is not in the smallest of all character sets",
]  # fmt: skip


def page(charset, text):
    return f"<html><head><meta charset={charset}></head><body><p>{text}</p></body></html>"


# What a page declares, and how its bytes are encoded.
FORMS = {
    "utf-8": ("utf-8", "utf-8"),
    "legacy": ("iso-8859-1", "cp1252"),
    "marked": ("utf-8", "utf-16"),
    "marked utf-8": ("koi8-r", "utf-8-sig"),
    "stored again": ("windows-1252", "utf-8"),
}
PAGES = {
    f"{number}-{name}.html": (page(charset, text), encoding)
    for number, text in enumerate(SENTENCES)
    for name, (charset, encoding) in FORMS.items()
}
KEPT = {f"{number}-{next(iter(FORMS))}.html" for number in range(len(SENTENCES))}
SKETCH = simdb.Simhash(markup="html")
CONTENTS = {id: text.encode(encoding) for id, (text, encoding) in PAGES.items()}
TEXTS = {id: text for id, (text, _) in PAGES.items()}


def as_rows():
    return [{"id": id, "text": text} for id, text in TEXTS.items()]


def as_table(values):
    return pyarrow.table({"id": list(values), "text": list(values.values())})


def write(name):
    """Write the pages as the ending of a name says; `bytes` of Parquet and folders are encoded."""
    if name == "pages":
        os.mkdir(name)
        for id, content in CONTENTS.items():
            with open(os.path.join(name, id), "wb") as file:
                file.write(content)
    elif name.endswith(".parquet"):
        values = CONTENTS if name.startswith("bytes") else TEXTS
        pyarrow.parquet.write_table(as_table(values), name)
    elif name.endswith(".arrow"):
        pyarrow.feather.write_feather(as_table(CONTENTS), name)
    elif name.endswith("sv"):
        with open(name, "w", newline="", encoding="utf-8") as file:
            delimiter = "\t" if name.endswith(".tsv") else ","
            writer = csv.DictWriter(file, ["id", "text"], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(as_rows())
    else:
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in as_rows())


SOURCES = [
    "pages", "a.jsonl", "a.csv", "a.tsv", "texts.parquet", "bytes.parquet", "bytes.arrow",
]  # fmt: skip


def kept_by_command(*words):
    """Return the names of the pages that `dedup` keeps."""
    call = ["dedup", *words, "--markup", "html", "-o", "kept.jsonl"]
    ran = CliRunner().invoke(app, call)
    assert ran.exit_code == 0, ran.output
    with open("kept.jsonl", encoding="utf-8") as file:
        return {os.path.basename(json.loads(line)["id"]) for line in file}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_has_the_same_survivors_in_every_encoding(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    write(source)
    one_of_each = {"0", "1", "2"}

    found = simdb.deduplicate(source, sketch=SKETCH, id=None if source == "pages" else "id")
    kept = [kept_by_command(source), kept_by_command(source, "--db", "db")]

    assert found.kept.sum() == len(one_of_each)
    assert [{id.partition("-")[0] for id in each} for each in kept] == [one_of_each] * 2
    assert [len(each) for each in kept] == [len(one_of_each)] * 2
    longest = kept_by_command(source, "--keep", "longest")
    assert longest == {f"{number}-stored again.html" for number in one_of_each}


@pytest.mark.parametrize("source", SOURCES)
def test_every_reference_removes_pages_in_every_encoding(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    write(source)
    rows = [{"id": "other", "text": "a page that no other one is like"}, *as_rows()]
    with open("new.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

    found = simdb.deduplicate(rows, against=source, sketch=SKETCH, id="id")

    assert [each["id"] for each in found.data] == ["other"]
    assert kept_by_command("new.jsonl", "--against", source) == {"other"}


@over(
    "data",
    [
        list(CONTENTS.values()), pyarrow.array(list(CONTENTS.values())),
        [{"text": content} for content in CONTENTS.values()],
    ],
)  # fmt: skip
def test_every_kind_of_data_has_the_same_survivors_in_every_encoding(data):
    found = simdb.deduplicate(data, sketch=SKETCH, verify="estimate")

    ids = [id for id, kept in zip(PAGES, found.kept.tolist(), strict=True) if kept]
    assert set(ids) == KEPT


def test_the_storing_and_asking_verbs_decode_alike():
    contents, ids = list(CONTENTS.values()), list(PAGES)
    with simdb.open(None, options=simdb.Options(sketch=SKETCH)) as db:
        db.insert_many(ids, pyarrow.array(contents))
        db.insert("one", contents[1])
        wanted = [int(id[0]) for id in ids]
        for documents in (contents, iter(contents), pyarrow.array(contents)):
            found = db.query_many(documents)
            best = [int(match.id[0]) for match in (found[at][0] for at in range(len(ids)))]
            assert best == wanted
        assert db.add_if_new("two", contents[3]).similarity == 1.0
        assert all(db.query(each)[0].similarity == 1.0 for each in contents)
        exact = db.find_all(texts=CONTENTS, verify="exact")
        assert {pair.similarity for pair in exact if "one" not in (pair.left, pair.right)} == {1.0}


def test_the_given_encoding_decodes_what_declares_nothing():
    letters = [text.encode("latin-1") for text in SENTENCES[:2]]

    found = simdb.deduplicate([*SENTENCES[:2], *letters], encoding="latin-1")
    with simdb.open(None) as db:
        db.insert_many([0, 1], letters, encoding="latin-1")
        asked = db.query_many(SENTENCES[:2])

    assert found.kept.tolist() == [True, True, False, False]
    assert [list(asked.ids[asked.offsets[at] : asked.offsets[at + 1]]) for at in (0, 1)] == [
        [0],
        [1],
    ]
    with pytest.raises(simdb.InputError, match="row 2 of data is not valid UTF-8"):
        simdb.deduplicate([*SENTENCES[:2], *letters])
    with pytest.raises(simdb.OptionError, match="no text encoding is called 'rot13'"):
        simdb.deduplicate(SENTENCES, encoding="rot13")


def test_items_to_look_for_are_decoded_like_documents():
    item = SENTENCES[0].encode("latin-1")

    found = simdb.decontaminate(
        [SENTENCES[0], SENTENCES[1]], against=[item], encoding="latin-1", ngram=8
    )

    assert found.kept.tolist() == [False, True]
