"""Fields as people have them: paths, joined ones, the first that exists; and those that do not."""

from pathlib import Path

from led_files import read, write
from over import over

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather and the blue sky"
SEA = "waves roll in from the open sea and break on the old harbour wall at dawn"
# Two texts that are equal, in each of the fields that the tests ask for.
NESTED = [
    {"key": {"url": "u1"}, "doc": {"title": "first", "body": FOX}},
    {"key": {"url": "u2"}, "doc": {"title": "other", "body": SKY}},
    {"key": {"url": "u3"}, "doc": {"title": "first", "body": FOX}},
]
FLAT = [
    {"no": 1, "title": "first", "body": FOX, "n": 3},
    {"no": 2, "title": "other", "body": FOX, "n": 3},
    {"no": 3, "title": "first", "body": FOX, "n": 3},
    {"no": 4, "title": "first", "body": SKY, "n": 3},
]


@over("source", ["a.jsonl", "a.json", "a.parquet", "a.arrow"])
@over("options", [(), ("--keep", "max:doc.title")])
def test_a_path_leads_into_objects(simdb_run, source, options):
    write(source, NESTED)
    asked = ("--text-field", "doc.body", "--id-field", "key.url")

    ran = simdb_run("dedup", source, *asked, "-o", "k.jsonl", *options)

    assert ran.code == 0
    assert read("k.jsonl") == NESTED[:2]
    assert [row["representative"] for row in ran.rows] == ["u1"]


@over("source", ["a.jsonl", "a.csv", "a.parquet"])
def test_fields_with_commas_are_joined_by_an_empty_line(simdb_run, source):
    write(source, FLAT)

    ran = simdb_run(
        "dedup", source, "--text-field", "title,body", "--id-field", "no", "--similarity", "0.99"
    )  # fmt: skip
    joined = simdb_run("fingerprint", source, "--text-field", "title,n", "--id-field", "no,n")
    text = simdb_run("fingerprint", "-", given="first\n\n3")

    assert [(row["representative"], len(row["duplicates"])) for row in ran.rows] == [("1", 1)]
    assert joined.rows[0]["id"] == "1\n\n3"
    assert joined.rows[0]["fingerprint"] == text.rows[0]["fingerprint"]


@over(
    ("source", "asked"),
    [
        ("a.jsonl", ("--id-field", "doc.nr")), ("a.json", ("--text-field", "bdy")),
        ("a.csv", ("--id-field", "nr")), ("a.parquet", ("--text-field", "body,titel")),
    ],
)  # fmt: skip
def test_a_field_that_no_record_of_a_source_has_is_wrong_use(simdb_run, source, asked):
    write(source, FLAT)
    has_all = {"no": 9, "nr": 9, "doc": {"nr": 1}, "bdy": SEA, "titel": "t", "body": SEA}
    write("other.jsonl", [has_all])
    text = () if asked[0] == "--text-field" else ("--text-field", "body")
    Path("k.jsonl").write_text("earlier")

    ran = simdb_run("dedup", "other.jsonl", source, *text, *asked, "-o", "k.jsonl")
    stored = simdb_run("insert", "d.simdb", "other.jsonl", source, *text, *asked)

    missing = asked[1].rpartition(",")[2]
    for each in (ran, stored):
        assert each.code == 2
        assert f"'{missing}'" in each.notes
        assert "(found: 'no', 'title', 'body', 'n')" in each.notes
    assert Path("k.jsonl").read_text() == "earlier"
    assert simdb_run("stats", "d.simdb").rows[0]["document_count"] == 0


def test_records_without_the_usual_id_are_named_by_their_place(simdb_run):
    write("a.jsonl", [{"text": FOX}, {"text": FOX}])

    ran = simdb_run("dedup", "a.jsonl")
    asked = simdb_run("dedup", "a.jsonl", "--id-field", "id")

    assert ran.rows[0]["representative"] == "a.jsonl:1"
    assert asked.code == 2


def test_metadata_are_what_is_neither_id_nor_text(simdb_run):
    write("a.jsonl", [{"key": {"url": "u", "at": 1}, "doc": {"body": FOX, "n": 2}, "x": 3}])

    simdb_run(
        "insert", "d.simdb", "a.jsonl", "--metadata", "--text-field", "doc.body",
        "--id-field", "key.url",
    )  # fmt: skip

    [row] = simdb_run("get", "d.simdb", "u").rows
    assert row["metadata"] == {"key": {"at": 1}, "doc": {"n": 2}, "x": 3}


def test_every_source_of_items_has_the_fields(simdb_run):
    """Items without the field made a false "clean"."""
    write("a.jsonl", [{"question": SKY}])
    write("b.jsonl", [{"problem": FOX}])
    write("train.jsonl", [{"id": 1, "text": FOX}])

    ran = simdb_run("decontaminate", "train.jsonl", "--against", "a.jsonl", "b.jsonl",
                    "--fields", "question")  # fmt: skip
    either = simdb_run("decontaminate", "train.jsonl", "--against", "a.jsonl", "b.jsonl",
                       "--fields", "question|problem")  # fmt: skip

    assert ran.code == 2
    assert "b.jsonl" in ran.notes
    assert len(either.rows) == 1


def test_a_field_of_keep_need_not_be_in_every_source(simdb_run):
    write("a.jsonl", [{"id": 1, "text": FOX}, {"id": 2, "text": FOX, "n": 5}])
    write("b.jsonl", [{"id": 3, "text": SKY}])

    found = simdb_run("dedup", "a.jsonl", "b.jsonl", "--keep", "max:n")

    assert found.rows[0]["representative"] == "2"
