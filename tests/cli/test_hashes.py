"""Hashes: the commands with --bits, and with databases of hashes, against a double loop."""

import base64
import csv
import json
from pathlib import Path
from random import Random

import pytest
from over import over

import simdb
from simdb.cli import explain, inspection
from simdb.cli.output import render

BITS = 256
COUNT = 60
NEAR = 31  # the usual distance of 256 bits
# Most of the hashes are a copy of an earlier one with at most so many bits flipped.
FLIPPED_MOST = 40


def hashes_of(bits, count=COUNT, seed=1):
    """Return hashes as whole numbers, many of which are near an earlier one."""
    random = Random(seed)
    made = []
    for number in range(count):
        if number % 3 == 0:
            made.append(random.getrandbits(bits))
            continue
        flipped = random.sample(range(bits), random.randint(0, FLIPPED_MOST * bits // BITS))
        made.append(random.choice(made) ^ sum(1 << each for each in flipped))
    return made


HASHES = hashes_of(BITS)
BYTES = [each.to_bytes(BITS // 8, "big") for each in HASHES]
IDS = [f"photo {number}" for number in range(COUNT)]


def near_pairs(hashes, distance):
    """Return the oracle: all pairs within a distance, each with its distance."""
    found = {}
    for left, one in enumerate(hashes):
        for right, other in enumerate(hashes[:left]):
            if (one ^ other).bit_count() <= distance:
                found[f"photo {right}", f"photo {left}"] = (one ^ other).bit_count()
    return found


def kept_first(hashes, distance, others=()):
    """Return the ids that stay if each hash goes that is near one of the others or that stays."""
    kept, staying = [], list(others)
    for number, one in enumerate(hashes):
        if all((one ^ each).bit_count() > distance for each in staying):
            kept.append(f"photo {number}")
            staying.append(one)
    return kept


def pairs_in(ran):
    assert (ran.code, ran.error) == (0, None), ran.notes
    return {(row["left"], row["right"]): row["distance"] for row in ran.rows}


def ids_in_lines(name):
    return [json.loads(line)["id"] for line in Path(name).read_text().splitlines()]


def write_records(name, hashes, ids=IDS, field="pdq"):
    rows = [{"id": id, field: each} for id, each in zip(ids, hashes, strict=True)]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(name, kind):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        arrow.table({"id": IDS, "pdq": arrow.array(BYTES, kind(arrow))}), name
    )


def write_cells(name, delimiter):
    with open(name, "w", newline="") as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(["id", "pdq"])
        rows.writerows(zip(IDS, [each.hex() for each in BYTES], strict=True))


# How the hashes are written into a file, and the options that read it.
FORMS = {
    "hex.jsonl": (lambda name: write_records(name, [each.hex() for each in BYTES]), ()),
    "capitals.jsonl": (
        lambda name: write_records(name, [f"0x{each.hex().upper()}" for each in BYTES]), (),
    ),
    "base64.jsonl": (
        lambda name: write_records(name, [base64.b64encode(each).decode() for each in BYTES]),
        ("--base64",),
    ),
    "url.jsonl": (
        lambda name: write_records(
            name, [base64.urlsafe_b64encode(each).decode().rstrip("=") for each in BYTES]
        ),
        ("--base64",),
    ),
    "cells.csv": (lambda name: write_cells(name, ","), ()),
    "cells.tsv": (lambda name: write_cells(name, "\t"), ()),
    "fixed.parquet": (lambda name: write_parquet(name, lambda arrow: arrow.binary(BITS // 8)), ()),
    "bytes.parquet": (lambda name: write_parquet(name, lambda arrow: arrow.binary()), ()),
    "bytes.arrow": (lambda name: write_arrow(name), ()),
}  # fmt: skip


def write_arrow(name):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"id": IDS, "pdq": arrow.array(BYTES, arrow.binary(BITS // 8))})
    with arrow.OSFile(name, "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


@pytest.fixture
def records(simdb_run):
    write_records("in.jsonl", [each.hex() for each in BYTES])


@pytest.fixture
def stored(simdb_run, records):
    """A database `db` of all hashes, made without a word about their bits but at its creation."""
    assert simdb_run("create", "db", "--bits", BITS).code == 0
    ran = simdb_run("insert", "db", "in.jsonl", "--text-field", "pdq")
    assert ran.rows == [{"inserted": COUNT, "skipped": 0, "stored": COUNT}]
    return simdb_run


def test_a_new_database_of_hashes_finds_all_within_31_of_256_bits(simdb_run):
    ran = simdb_run("create", "db", "--bits", BITS)

    with simdb.open("db", "r") as database:
        options = database.options
    assert ran.code == 0
    assert options.sketch == simdb.Bits(BITS)
    assert (options.distance, options.recall) == (NEAR, 1.0)


@over("name", FORMS)
def test_each_form_of_a_field_stores_the_same_hashes(name, simdb_run):
    write, options = FORMS[name]
    write(name)

    db = f"{name}.db"
    ran = simdb_run("insert", db, name, "--bits", BITS, "--text-field", "pdq", *options)

    assert (ran.code, ran.error) == (0, None), ran.notes
    with simdb.open(db, "r") as database:
        assert [bytes(database[id].fingerprint) for id in IDS] == BYTES
        assert list(database.check(deep=True)) == []


def test_each_line_of_a_file_without_records_is_a_hash(simdb_run):
    Path("hashes.txt").write_text("".join(f"{each.hex()}\n" for each in BYTES))

    assert simdb_run("insert", "db", "hashes.txt", "--bits", BITS).code == 0
    piped = simdb_run("insert", "other", "-", "--bits", BITS, given=Path("hashes.txt").read_text())

    assert (piped.code, piped.error) == (0, None), piped.notes
    for db, source in (("db", "hashes.txt"), ("other", "-")):
        with simdb.open(db, "r") as database:
            found = [bytes(database[f"{source}:{line}"].fingerprint) for line in (1, 2, COUNT)]
        assert found == [BYTES[0], BYTES[1], BYTES[-1]]


@over("bits", (32, 64, 128, 512))
def test_pairs_of_other_widths_equal_a_double_loop(bits, simdb_run):
    hashes, distance = hashes_of(bits, seed=bits), NEAR * bits // BITS
    write_records("in.jsonl", [f"{each:0{bits // 4}x}" for each in hashes])

    db = f"db{bits}"
    simdb_run("insert", db, "in.jsonl", "--bits", bits, "--text-field", "pdq")

    assert pairs_in(simdb_run("pairs", db)) == near_pairs(hashes, distance)
    assert pairs_in(simdb_run("pairs", db, "--distance", 2)) == near_pairs(hashes, 2)


def test_pairs_and_clusters_equal_a_double_loop(stored):
    expected = near_pairs(HASHES, NEAR)

    grouped = stored("clusters", "db").rows

    assert pairs_in(stored("pairs", "db", "--bits", BITS)) == expected
    linked = {id for pair in expected for id in pair}
    assert {id for row in grouped for id in row["ids"]} == linked
    groups = [set(row["ids"]) for row in grouped]
    assert all(any({left, right} <= group for group in groups) for left, right in expected)


def test_queries_and_look_ups_equal_a_loop(stored):
    queries = [HASHES[0] ^ 0b1011, HASHES[7], Random(9).getrandbits(BITS)]
    write_records("new.jsonl", [f"{each:064x}" for each in queries], ids=["a", "b", "c"])
    expected = [
        sorted(
            ((each ^ one).bit_count(), at)
            for at, each in enumerate(HASHES)
            if (each ^ one).bit_count() <= NEAR
        )
        for one in queries
    ]

    looked_up = stored("lookup", "db", "new.jsonl", "--text-field", "pdq", "--all").rows

    for one, id, found in zip(queries, "abc", expected, strict=True):
        wanted = [(f"photo {at}", distance) for distance, at in found]
        (text,) = [f"{one:064x}"]
        coded = base64.b64encode(one.to_bytes(BITS // 8, "big")).decode()
        for ran in (stored("query", "db", text), stored("query", "db", "--base64", coded)):
            assert [(row["id"], row["distance"]) for row in ran.rows] == wanted
            assert [row["similarity"] for row in ran.rows] == [None] * len(wanted)
        rows = [row for row in looked_up if row["id"] == id]
        assert [(row["match"], row["distance"]) for row in rows] == wanted


def test_the_nearest_are_found_at_any_distance(stored):
    query = Random(9).getrandbits(BITS)
    write_records("new.jsonl", [f"{query:064x}"], ids=["a"])
    expected = sorted(((query ^ each).bit_count(), at) for at, each in enumerate(HASHES))[:5]
    wanted = [(f"photo {at}", distance) for distance, at in expected]

    queried = stored("query", "db", f"{query:064x}", "--nearest", 5).rows
    looked_up = stored("lookup", "db", "new.jsonl", "--text-field", "pdq", "--nearest", 5).rows

    assert [(row["id"], row["distance"]) for row in queried] == wanted
    assert [(row["match"], row["distance"]) for row in looked_up] == wanted


def test_an_insert_can_show_what_each_hash_matches(stored):
    write_records("new.jsonl", [BYTES[0].hex()], ids=["again"])

    ran = stored("insert", "db", "new.jsonl", "--text-field", "pdq", "--match", "first")
    by_hand = stored("insert", "db", "--id", "one", "--text", BYTES[3].hex())

    assert [(row["id"], row["match"], row["distance"]) for row in ran.rows] == [
        ("again", "photo 0", 0)
    ]
    assert by_hand.rows[0]["stored"] == COUNT + 2


def test_the_differing_bits_of_two_hashes_are_explained(stored):
    differing = HASHES[0] ^ HASHES[1]
    Path("left").write_text(f"{BYTES[0].hex()}\n")
    Path("right").write_text(f"{BYTES[1].hex()}\n")
    asked = (
        ("db", "photo 0", "photo 1"),
        ("db", "photo 0", "--document", "right"),
        ("left", "right", "--bits", BITS),
    )

    for arguments in asked:
        ran = stored("explain", *arguments)
        assert (ran.code, ran.error) == (0, None), ran.notes
        (row,) = ran.rows
        assert row["distance"] == differing.bit_count()
        assert row["xor"] == f"{differing:064x}"
        assert sum(1 << bit for bit in row["bits"]) == differing
        assert row["is_match"] == (differing.bit_count() <= NEAR)


def test_people_see_the_differing_bits(stored, monkeypatch):
    monkeypatch.setattr(render, "is_table", lambda: not render.wants_json())
    monkeypatch.setattr(explain, "WIDTH", 60)
    write_records("two.jsonl", ["00" * 32, "00" * 31 + "05"], ids=["zero", "five"])
    stored("insert", "db", "two.jsonl", "--text-field", "pdq")

    shown = stored("explain", "db", "zero", "five").output

    assert f"xor        {5:064x}\n" in shown
    assert "differing  0, 2\n" in shown
    assert "none" in stored("explain", "db", "zero", "zero").output.splitlines()[-1]


def test_a_flag_in_front_of_names_still_shows_bits_of_texts(simdb_run):
    Path("a.txt").write_text("one two three four five six")
    Path("b.txt").write_text("one two three four five seven")

    first, last = (
        simdb_run("explain", *arguments).rows
        for arguments in (("--bits", "a.txt", "b.txt"), ("a.txt", "b.txt", "--bits"))
    )

    assert first == last
    assert first[0]["bits"][0]["left_weight"] is not None


def test_stats_and_get_say_what_is_stored(stored, monkeypatch):
    monkeypatch.setattr(inspection, "is_table", lambda: not render.wants_json())
    monkeypatch.setenv("COLUMNS", "200")

    lines = stored("stats", "db").output.splitlines()

    assert [line.partition("  ")[2].strip() for line in lines if line.startswith("sketch")] == [
        "hashes of 256 bits"
    ]
    assert any("31 bits or fewer match; a search finds 100% of" in line for line in lines)
    assert not any(line.startswith("similarity") for line in lines)
    assert stored("get", "db", "photo 0").rows[0]["fingerprint"] == f"0x{BYTES[0].hex()}"
    stored("insert", "small", "--bits", 64, "--id", "a", "--text", "f8" * 8)
    assert "without weights" not in stored("stats", "small").output


def test_a_plan_needs_no_database(stored):
    (small,) = stored("plan", "db").rows
    (large,) = stored("plan", "--bits", BITS, "--documents", 1_000_000).rows

    assert (small["method"], large["method"]) == ("exhaustive", "bphs")
    assert (small["recall"], large["recall"]) == (1.0, 1.0)
    assert (small["distance"], large["distance"]) == (NEAR, NEAR)
    assert small["sketching"] == "documents are hashes already"


def test_a_page_says_that_documents_are_hashes(stored):
    pytest.importorskip("jinja2")

    ran = stored("report", "db", "-o", "page.html")

    page = Path("page.html").read_text(encoding="utf-8")
    assert (ran.code, ran.error) == (0, None), ran.notes
    assert "Documents are hashes of 256 bits." in page
    assert "documents match with up to 31 differing bits, and a search finds 100%" in page


KEPT = kept_first(HASHES, NEAR)
DEDUP = ("dedup", "--bits", BITS, "--text-field", "pdq")


def test_dedup_keeps_the_first_of_what_is_near(simdb_run, records):
    ran = simdb_run(*DEDUP, "--id-field", "id", "in.jsonl", "-o", "kept.jsonl")

    assert (ran.code, ran.error) == (0, None), ran.notes
    assert ids_in_lines("kept.jsonl") == KEPT
    assert f"{COUNT} documents" in ran.notes
    for row in ran.rows:
        one = HASHES[IDS.index(row["representative"])]
        for each in row["duplicates"]:
            other = HASHES[IDS.index(each["id"])]
            assert each["distance"] == (one ^ other).bit_count() <= NEAR
            assert each["similarity"] is None


@over("distance", (0, 3, 120))
def test_dedup_takes_another_distance(distance, simdb_run, records):
    ran = simdb_run(*DEDUP, "in.jsonl", "--distance", distance, "-o", "kept.jsonl")

    assert (ran.code, ran.error) == (0, None), ran.notes
    kept = kept_first(HASHES, distance)
    assert ids_in_lines("kept.jsonl") == kept
    Path("kept.jsonl").unlink()


@over("name", FORMS)
def test_dedup_reads_each_form_and_writes_the_rows_as_they_were(name, simdb_run):
    write, options = FORMS[name]
    write(name)
    kept = f"kept of {name}"

    ran = simdb_run(*DEDUP, name, *options, "-o", kept)

    assert (ran.code, ran.error) == (0, None), ran.notes
    simdb_run("insert", f"{name}.db", kept, "--bits", BITS, "--text-field", "pdq", *options)
    with simdb.open(f"{name}.db", "r") as database:
        assert {id: bytes(database[id].fingerprint) for id in IDS if id in database} == {
            id: BYTES[IDS.index(id)] for id in KEPT
        }


def test_dedup_with_a_database_keeps_what_is_new(simdb_run):
    half = COUNT // 2
    old, new = (range(half), range(half, COUNT))
    for name, rows in (("old.jsonl", old), ("new.jsonl", new)):
        coded = [base64.b64encode(BYTES[at]).decode() for at in rows]
        write_records(name, coded, ids=[IDS[at] for at in rows])

    first = simdb_run(*DEDUP, "--base64", "old.jsonl", "--db", "db", "-o", "kept old.jsonl")
    again = simdb_run(*DEDUP, "--base64", "old.jsonl", "--db", "db", "-o", "again.jsonl")
    later = simdb_run(
        "dedup", "--base64", "--text-field", "pdq", "new.jsonl", "--db", "db", "-o", "kept.jsonl"
    )

    assert [first.code, again.code, later.code] == [0, 0, 0], later.notes
    assert ids_in_lines("kept old.jsonl") == ids_in_lines("again.jsonl")
    assert ids_in_lines("kept old.jsonl") + ids_in_lines("kept.jsonl") == KEPT
    for row in later.rows:
        left, right = (HASHES[IDS.index(row[name])] for name in ("id", "match"))
        assert row["distance"] == (left ^ right).bit_count() <= NEAR
    with simdb.open("db", "r") as database:
        assert [bytes(database[id].fingerprint) for id in KEPT] == [
            BYTES[IDS.index(id)] for id in KEPT
        ]


def test_dedup_against_files_or_a_database_leaves_out_what_they_have(simdb_run, records):
    some = [HASHES[at] ^ 1 for at in (0, 4, 9)]
    values = [*(f"{each:064x}" for each in some), "00", None]
    write_records("other.jsonl", values, ids=["x", "y", "z", "bad", "null"])
    expected = kept_first(HASHES, NEAR, some)
    simdb_run("insert", "db", "other.jsonl", "--bits", BITS, "--text-field", "pdq")

    of_files = simdb_run(*DEDUP, "in.jsonl", "--against", "other.jsonl", "-o", "a.jsonl")
    of_database = simdb_run(
        "dedup", "--text-field", "pdq", "in.jsonl", "--against", "db", "-o", "b.jsonl"
    )

    assert (of_files.code, of_database.code) == (1, 0), of_files.notes
    assert "other.jsonl:4: hexadecimal text of 2 digits" in of_files.notes
    assert "other.jsonl:5: the field 'pdq' holds null" in of_files.notes
    assert ids_in_lines("a.jsonl") == ids_in_lines("b.jsonl") == expected


BAD = {
    "short": ("0" * 63, "63 digits"),
    "word": ("x" * 64, "'x'"),
    "number": (7, "a number"),
    "null": (None, "null"),
}


@over("command", ("insert", "lookup", "dedup"))
def test_what_is_no_hash_is_named_and_counted_and_the_rest_is_done(command, stored):
    rows = [{"id": id, "pdq": value} for id, (value, _) in BAD.items()]
    rows.insert(2, {"id": "good", "pdq": BYTES[0].hex()})
    Path("bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    asked = (command, "db", "bad.jsonl", "--text-field", "pdq")
    if command == "dedup":
        asked = ("dedup", "bad.jsonl", "--against", "db", "--text-field", "pdq")
    ran, raised = stored(*asked), stored(*asked, "--on-error", "raise")

    places = {id: at for at, id in enumerate(("short", "word", "good", "number", "null"), 1)}
    assert ran.code == 1, ran.notes
    for id, (_, reason) in BAD.items():
        (line,) = [
            line for line in ran.notes.splitlines() if line.startswith(f"bad.jsonl:{places[id]}: ")
        ]
        assert reason in line
    if command == "insert":
        assert ran.rows == [{"inserted": 1, "skipped": len(BAD), "stored": COUNT + 1}]
    elif command == "lookup":
        assert [row["match"] for row in ran.rows] == ["photo 0"]
    else:
        assert [row["representative"] for row in ran.rows] == ["photo 0"]
    assert raised.code == 2
    assert "bad.jsonl:" in raised.notes
    assert raised.output == ""


FAULTY = {  # hashes that differ, of one fault
    "letters": ((), [chr(ord("g") + at % 20) * (at + 1) for at in range(60)]),
    "digits": ((), ["ab" * (at + 1) for at in range(60) if at != 31]),
    "base64": (("--base64",), [chr(ord("!") + at % 4) * (at + 1) for at in range(60)]),
}


@over("command", ("insert", "lookup", "dedup"))
@over("fault", FAULTY)
def test_hashes_of_one_fault_are_counted_after_the_first_20(command, fault, stored):
    options, hashes = FAULTY[fault]
    good = BYTES[0] if not options else base64.b64encode(BYTES[0])
    good = good.hex() if not options else good.decode()
    write_records("bad.jsonl", [good, *hashes], ids=[f"n{at}" for at in range(len(hashes) + 1)])
    asked = {
        "insert": ("insert", f"new {command} {fault}", "bad.jsonl", "--bits", BITS),
        "lookup": ("lookup", "db", "bad.jsonl"),
        "dedup": ("dedup", "bad.jsonl", "--bits", BITS),
    }

    ran = stored(*asked[command], "--text-field", "pdq", *options)

    assert ran.code == 1
    told = [line for line in ran.notes.splitlines() if line.startswith("bad.jsonl:")]
    assert [line.split(": ")[0] for line in told[:20]] == [f"bad.jsonl:{at}" for at in range(2, 22)]
    assert told[20:] == [f"bad.jsonl: {len(hashes) - 20} more like bad.jsonl:2"]


ALL_BAD = {
    "dedup": ("dedup", "bad.jsonl", "--bits", BITS, "-o", "out.jsonl"),
    "a new database": ("dedup", "bad.jsonl", "--bits", BITS, "--db", "new", "-o", "out.jsonl"),
    "a database": ("dedup", "bad.jsonl", "--db", "db", "-o", "out.jsonl"),
    "against": ("dedup", "in.jsonl", "--bits", BITS, "--against", "bad.jsonl", "-o", "out.jsonl"),
    "against a database": ("dedup", "bad.jsonl", "--against", "db", "-o", "out.jsonl"),
    "a new insert": ("insert", "new", "bad.jsonl", "--bits", BITS),
    "insert": ("insert", "db", "bad.jsonl"),
    "lookup": ("lookup", "db", "bad.jsonl", "--new", "out.jsonl"),
}


@over("name", ALL_BAD)
def test_nothing_is_written_if_no_text_is_a_hash(name, stored):
    write_records("bad.jsonl", ["zz", "00"], ids=["a", "b"])

    ran = stored(*ALL_BAD[name], "--text-field", "pdq")
    raised = stored(*ALL_BAD[name], "--text-field", "pdq", "--on-error", "raise")

    assert (ran.code, ran.output) == (2, "")
    assert "bad.jsonl:1: not hexadecimal text; 'z' is not a hexadecimal digit" in ran.notes
    assert "bad.jsonl:2: hexadecimal text of 2 digits" in ran.notes
    assert "all 2 files or records had to be skipped" in ran.notes
    assert (raised.code, raised.output) == (2, "")
    assert "bad.jsonl:1: not hexadecimal text; 'z'" in raised.notes
    assert not Path("new").exists()
    assert not Path("out.jsonl").exists()
    with simdb.open("db") as database:
        assert len(database) == COUNT


@over("command", (DEDUP, ("dedup", "--db", "new", "--bits", BITS, "--text-field", "pdq")))
def test_batches_without_a_hash_are_passed_over(command, simdb_run, monkeypatch):
    monkeypatch.setattr("simdb.cli.options.intake.BATCH_DOCUMENTS", 4)
    values = [each.hex() for each in BYTES[:10]]
    write_records("in.jsonl", ["zz"] * 9 + values[:5] + ["zz"] * 30 + values[5:] + ["zz"] * 9,
                  ids=range(58))  # fmt: skip

    ran = simdb_run(*command, "in.jsonl", "-o", "out.jsonl")

    places = [*range(9, 14), *range(44, 49)]
    kept = [int(id.split()[1]) for id in kept_first(HASHES[:10], NEAR)]
    assert ran.code == 1, ran.notes
    assert "48 files or records skipped" in ran.notes
    assert ids_in_lines("out.jsonl") == [places[at] for at in kept]


def test_options_are_named_where_base64_and_digits_are_mixed_up(simdb_run):
    write_records("digits.jsonl", [BYTES[0].hex()], ids=["a"])
    write_records("base64.jsonl", [base64.b64encode(BYTES[0]).decode()], ids=["a"])

    digits = simdb_run(*DEDUP, "digits.jsonl", "--base64")
    other = simdb_run(*DEDUP, "base64.jsonl")

    assert "; this was read as base64, and is none; leave out --base64\n" in digits.notes
    assert "if it is base64, give --base64\n" in other.notes
    assert "b64decode" not in digits.notes + other.notes


def test_what_is_no_base64_is_named(simdb_run):
    good = base64.b64encode(BYTES[0]).decode()
    write_records("bad.jsonl", [good, "no base64!", BYTES[1].hex()], ids=["a", "b", "c"])

    ran = simdb_run("insert", "db", "bad.jsonl", "--bits", BITS, "--base64", "--text-field", "pdq")

    assert ran.code == 1
    assert ran.rows == [{"inserted": 1, "skipped": 2, "stored": 1}]
    assert (
        "bad.jsonl:2: invalid base64 (Only base64 data is allowed); correct 'no base64!'"
        in ran.notes
    )
    assert "bad.jsonl:3: hexadecimal text of 96 digits" in ran.notes


WRONG = {
    "unit": (("create", "new", "--bits", BITS, "--unit", "characters"), "--unit says how texts"),
    "preset": (("create", "new", "--bits", BITS, "--preset", "moz"), "--preset says how texts"),
    "weight": (
        ("dedup", "in.jsonl", "--bits", BITS, "--html-weight", "title=3"),
        "--html-weight says how texts",
    ),
    "minhash": (("plan", "--documents", 9, "--bits", BITS, "--minhash"), "--minhash says"),
    "explain": (("explain", "in.jsonl", "in.jsonl", "--bits", BITS, "--marks", "drop"), "--marks"),
    "weights": (("create", "new", "--bits", BITS, "--no-volatility"), "leave them or --bits out"),
    "similarity": (("create", "new", "--bits", BITS, "--similarity", 0.8), "use --distance"),
    "query": (("query", "db", "00" * 32, "--similarity", 0.8), "use --distance"),
    "features": (("create", "new", "--bits", BITS, "--features"), "needs texts"),
    "bits": (("create", "new", "--bits", 100), "a multiple of 32, got 100"),
    "other bits": (("insert", "db", "in.jsonl", "--bits", 128), "created with --bits 256, not 128"),
    "lookup": (("lookup", "db", "in.jsonl", "--bits", 64), "created with --bits 256, not 64"),
    "pairs": (("pairs", "db", "--bits", 64), "created with --bits 256, not 64"),
    "other sketch": (("explain", "db", "photo 0", "photo 1", "--shingle", 2), "db has hashes"),
    "texts": (("insert", "words", "in.jsonl", "--bits", BITS), "words has texts, so --bits does"),
    "base64": (("insert", "words", "in.jsonl", "--base64"), "give --bits N, too"),
    "null": (("insert", "db", "in.jsonl", "--on-null", "keep"), "use drop or error"),
    "stored texts": (("clusters", "db", "--texts", "in.jsonl"), "hashes have none"),
    "verify": ((*DEDUP, "in.jsonl", "--verify", "exact"), "--verify works only with texts"),
    "least": ((*DEDUP, "in.jsonl", "--similarity", 0.9), "--similarity works only with texts"),
    "longest": ((*DEDUP, "in.jsonl", "--keep", "longest"), "--keep longest works only with"),
    "parts": (("dedup", "in.jsonl", "--db", "db", "--unit", "line"), "--unit drops parts of texts"),
    "kept nulls": ((*DEDUP, "in.jsonl", "--on-null", "keep"), "use drop or error"),
    "idf": (("idf", "in.jsonl", "--text-field", "pdq", "--db", "db"), "db has hashes; an IDF"),
    "fingerprint": (("fingerprint", "--db", "db", "--text", "00"), "only with fingerprints of"),
    "distance": (("query", "db", "00" * 32, "--distance", 257), "0 to 256"),
}  # fmt: skip


@over("name", WRONG)
def test_options_that_do_not_fit_are_refused_by_name(name, stored):
    simdb.open("words", "c").close()
    arguments, message = WRONG[name]

    ran = stored(*arguments)

    assert ran.code == 2, ran.notes
    assert message in ran.notes
    assert not Path("new").exists()
