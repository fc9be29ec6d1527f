"""SQL functions on real connections of sqlite3, apsw and DuckDB, beside the verbs of Python."""

import json
import random
import sqlite3
import subprocess
import sys
import threading
import warnings
from functools import partial

import numpy as np
import pytest

import simdb
from simdb.integrations.sql import register

apsw = pytest.importorskip("apsw", reason="needs pip install apsw")
duckdb = pytest.importorskip("duckdb", reason="needs pip install duckdb")
pytest.importorskip("pyarrow", reason="needs pip install pyarrow")

SCALARS = ("simdb_distance", "simdb_similarity", "simdb_near")
CONNECTIONS = {
    "sqlite3": partial(sqlite3.connect, ":memory:"),
    "apsw": partial(apsw.Connection, ":memory:"),
    "duckdb": duckdb.connect,
}
ERRORS = (simdb.Error, sqlite3.Error, apsw.Error, duckdb.Error, TypeError)
WORDS = [
    "harbour",
    "wind",
    "Straße",
    "naïve",
    "日本",
    "🐦",
    "nest",
    "bread",
    "oven",
    "rain",
    "e\u0301",
]
SKETCHES = {
    "fingerprints": simdb.Simhash(),
    "weights": simdb.Simhash(weighting="tf"),
    "characters": simdb.Simhash(unit="characters", shingle=3),
    "signatures": simdb.Minhash(),
}
TINY = {"delta_documents": 4, "growth": 2}


@pytest.fixture(params=CONNECTIONS)
def connection(request):
    """A connection to an empty database of SQL, of each kind."""
    with_closing = CONNECTIONS[request.param]()
    yield with_closing
    with_closing.close()


@pytest.fixture(params=["apsw", "duckdb"])
def tables(request):
    """A connection of a kind that can have the table `near`."""
    with_closing = CONNECTIONS[request.param]()
    yield with_closing
    with_closing.close()


def drawn(seed, count=40):
    """Return texts of 0 to 20 words, many of them near-copies of earlier ones, and nulls."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        words = draw.choice([*texts, None]) if draw.random() < 0.5 and texts else None
        words = (words or " ".join(draw.choices(WORDS, k=draw.randrange(21)))).split()
        if words and draw.random() < 0.7:
            words[draw.randrange(len(words))] = draw.choice(WORDS)
        texts.append(" ".join(words))
    return [None if draw.random() < 0.1 else text for text in texts]


def stored(database, texts, ids=None):
    """Insert the texts that are not null under their places, or `ids`, and return the database."""
    known = [at for at, text in enumerate(texts) if text is not None]
    database.insert_many(
        [at if ids is None else ids[at] for at in known], [texts[at] for at in known]
    )
    return database


def ask(connection, statement, values=()):
    """Return the rows of a statement."""
    return [tuple(row) for row in connection.execute(statement, values).fetchall()]


def table(connection, *columns, kinds="text"):
    """Make the table `mine`: a row number, and columns a, b, c, ..., of values as given."""
    kinds = [kinds] * len(columns) if isinstance(kinds, str) else kinds
    names = "abc"[: len(columns)]
    fields = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    ask(connection, f"create table mine(n integer, {fields})")
    places = ", ".join("?" * (1 + len(columns)))
    connection.executemany(
        f"insert into mine values ({places})",
        list(zip(range(len(columns[0])), *columns, strict=True)),
    )


def in_order(rows):
    """Return rows by their values, with nulls as text."""
    return sorted(rows, key=lambda row: [str(each) for each in row])


def is_duckdb(connection):
    return isinstance(connection, duckdb.DuckDBPyConnection)


def refusal(connection, statement):
    """Return the words in which a statement is refused."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(ERRORS) as caught:
            ask(connection, statement)
    return f"{caught.value} {' '.join(str(each.message) for each in told)}"


def drawn_pairs(seed, count=300):
    """Return two columns of texts, mostly a text and a longer or shorter one, and nulls."""
    left = drawn(seed, count)
    right = [
        text and f"{text.partition(' ')[at % 3]} {WORDS[at % 8]}" for at, text in enumerate(left)
    ]
    return left, right[:-20] + drawn(seed + 1, 20)


def pairwise(measure, left, right):
    """Return what a function of Python returns for each pair, and None for one with a null."""
    return [None if None in both else measure(*both) for both in zip(left, right, strict=True)]


def bits_between(left, right, sketch):
    """Return in how many bits the fingerprints of two texts differ."""
    first, second = (simdb.fingerprint(text, sketch).bits for text in (left, right))
    return (first ^ second).bit_count()


@pytest.mark.parametrize("sketch", SKETCHES.values(), ids=SKETCHES)
def test_similarities_are_those_of_python(open_database, connection, sketch):
    left, right = drawn_pairs(1)
    table(connection, left, right)
    register(connection, open_database(options=simdb.Options(sketch=sketch)))

    found = ask(connection, "select simdb_similarity(a, b) from mine order by n")

    expected = pairwise(partial(simdb.similarity, sketch=sketch), left, right)
    assert None in expected
    assert len({*expected}) > 20
    # DuckDB's FLOAT has the same value and fewer digits than the number that Python shows.
    assert np.array(found, np.float32)[:, 0].tolist() == pytest.approx(
        np.array(expected, np.float32).tolist(), abs=0, nan_ok=True
    )
    assert [value for (value,) in found] == expected or is_duckdb(connection)


@pytest.mark.parametrize("sketch", [*SKETCHES.values()][:3], ids=[*SKETCHES][:3])
def test_distances_are_those_of_the_fingerprints_of_texts(open_database, connection, sketch):
    left, right = drawn_pairs(3)
    table(connection, left, right)
    register(connection, open_database(options=simdb.Options(sketch=sketch)))

    found = ask(connection, "select simdb_distance(a, b) from mine order by n")

    expected = pairwise(partial(bits_between, sketch=sketch), left, right)
    assert None in expected
    assert len({*expected}) > 10
    assert found == [(each,) for each in expected]


@pytest.mark.parametrize("sketch", SKETCHES.values(), ids=SKETCHES)
def test_the_table_of_matches_has_what_query_finds(open_database, tables, sketch):
    texts = drawn(2)
    database = stored(open_database(options=simdb.Options(sketch=sketch, **TINY)), texts)
    table(tables, texts)
    register(tables, database)

    for least in (None, 0.3, 0.7):
        found = ask(tables, f"select n, m.* from mine, near(a, {least or 'null'}) as m")

        expected = [
            (at, *match[:])
            for at, text in enumerate(texts)
            if text is not None
            for match in database.query(text, similarity=least)
        ]
        assert len(expected) > 20
        assert in_order(found) == in_order(expected)


def test_matches_are_also_one_value_of_each_row(open_database, connection):
    texts = drawn(3)
    database = stored(open_database(), texts)
    table(connection, texts)
    register(connection, database)

    found = dict(ask(connection, "select n, simdb_near(a, 0.5, null) from mine"))

    for at, text in enumerate(texts):
        matches = found[at] if is_duckdb(connection) else json.loads(found[at] or "null")
        expected = None if text is None else [
            dict(zip(("id", "distance", "similarity"), match[:], strict=True))
            for match in database.query(text, similarity=0.5)
        ]  # fmt: skip
        assert matches == expected


def test_a_connection_of_sqlite3_reads_matches_as_rows_of_json(open_database):
    connection, texts = sqlite3.connect(":memory:"), drawn(4)
    database = stored(open_database(), texts)
    table(connection, texts)
    names = register(connection, database)

    found = ask(
        connection,
        "select n, m.value ->> 'id', m.value ->> 'distance', m.value ->> 'similarity'"
        " from mine, json_each(simdb_near(a, 0.6)) as m",
    )

    assert names == SCALARS
    assert in_order(found) == in_order(
        (at, *match[:])
        for at, text in enumerate(texts)
        for match in ([] if text is None else database.query(text, similarity=0.6))
    )
    with pytest.raises(sqlite3.OperationalError, match="no such table: near"):
        ask(connection, "select * from near('a text', 0.8)")


@pytest.mark.parametrize("ids", [
    ["one", "zwei", "三"], [1, -(2**63), 2**63 - 1], [b"\x00one", b"", b"\xff"],
], ids=["text", "whole", "bytes"])  # fmt: skip
def test_ids_of_each_type_join_with_a_table_of_their_own(open_database, tables, ids):
    ids = [each or b"\x01" for each in ids]
    texts = ["wind and rain in the harbour", "bread from the oven", "a nest of birds in spring"]
    database = stored(open_database(), texts, ids)
    kind = {str: "text", int: "bigint", bytes: "blob"}[type(ids[0])]
    table(tables, ids, texts, kinds=(kind, "text"))
    register(tables, database)

    found = ask(
        tables,
        "select mine.a, other.a, m.similarity from mine, near(mine.b, 0.9) as m"
        " join mine as other on other.a = m.id order by mine.n",
    )

    assert found == [(each, each, 1.0) for each in ids]


def test_ids_of_several_types_come_as_text_where_a_column_has_one_type(open_database, tables):
    text = "wind and rain in the harbour"
    ids = ["name", 2**63 - 1, b"\xfe", 2**63]
    database = stored(open_database(), [text] * 4, ids)
    register(tables, database, ids="text")

    found = ask(tables, f"select id from near('{text}')")

    large = "9223372036854775808"
    assert sorted(found) == [("9223372036854775807",), (large,), ("fe",), ("name",)]
    register(tables, database)
    if is_duckdb(tables):
        assert "use ids='text'" in refusal(tables, f"select id from near('{text}')")
    else:
        rows = ask(tables, f"select id from near('{text}')")
        assert in_order(rows) == in_order([("name",), (2**63 - 1,), (b"\xfe",), (large,)])
        [[listed]] = ask(tables, f"select simdb_near('{text}')")
        assert [each["id"] for each in json.loads(listed)] == ["name", 2**63 - 1, "fe", large]


def test_an_id_of_another_type_than_the_first_is_refused_by_a_column_of_one_type(open_database):
    connection, database = duckdb.connect(), stored(open_database(), ["wind and rain"], [5])
    register(connection, database)

    database.insert("5", "bread from the oven")

    assert ask(connection, "select id from near('wind and rain')") == [(5,)]
    words = refusal(connection, "select id from near('bread from the oven')")
    assert "the id '5' is not a BIGINT; use ids='text'" in words


def test_whole_numbers_are_fingerprints_and_negative_ones_their_highest_half(
    open_database, connection
):
    draw = random.Random(5)
    bits = [draw.getrandbits(64) for _ in range(60)] + [0, 2**64 - 1, 2**63]
    near = [each ^ sum(1 << at for at in draw.sample(range(64), 3)) for each in bits]
    database = open_database(options=simdb.Options(distance=5, **TINY))
    database.insert_many(range(len(bits)), bits)
    signed = [[each - (each >> 63 << 64) for each in side] for side in (bits, near)]
    table(connection, *signed, kinds="bigint")
    register(connection, database)

    found = ask(connection, "select simdb_distance(a, b) from mine order by n")
    lists = ask(connection, "select simdb_near(b, null, 4) from mine order by n")
    nearer = ask(connection, "select simdb_near(b, null, 1) from mine order by n")

    assert found == [(3,)] * len(bits)
    matches = [each if is_duckdb(connection) else json.loads(each) for (each,) in lists]
    expected = [[match[:] for match in database.query(each, distance=4)] for each in near]
    assert [[tuple(each.values()) for each in row] for row in matches] == expected
    assert all(at in [each["id"] for each in row] for at, row in enumerate(matches))
    assert {*map(str, (each for (each,) in nearer))} == {"[]"}


def test_unsigned_columns_of_duckdb_are_fingerprints_as_they_are(open_database):
    connection = duckdb.connect()
    register(connection, open_database())

    found = ask(connection, "select simdb_distance(18446744073709551615::ubigint, -2)")

    assert found == [(1,)]


@pytest.mark.parametrize("bits", [32, 64, 256, 512])
def test_hashes_are_hexadecimal_text_or_blobs(open_database, connection, bits):
    draw = random.Random(6)
    drawn_hashes = [draw.randbytes(bits // 8) for _ in range(40)]
    hashes = [bytes(bits // 8), *drawn_hashes, b"\xff" * (bits // 8)]
    other = hashes[::-1]
    database = open_database(options=simdb.Options(sketch=simdb.Bits(bits)))
    database.insert_many(range(len(hashes)), hashes)
    table(connection, hashes, other, [each.hex() for each in other], kinds=("blob", "blob", "text"))
    register(connection, database)

    found = ask(
        connection,
        "select simdb_distance(a, b), simdb_distance(a, c), simdb_distance(c, b) from mine"
        " order by n",
    )
    near = ask(
        connection, "select simdb_near(c, null, 3), simdb_near(b, null, 3) from mine order by n"
    )

    expected = [simdb.distance(*both, bits=bits) for both in zip(hashes, other, strict=True)]
    assert bits in expected
    assert found == [(each, each, 0) for each in expected]
    last = len(hashes) - 1
    for at, row in enumerate(near):
        for matches in row:
            listed = matches if is_duckdb(connection) else json.loads(matches)
            assert listed == [{"id": last - at, "distance": 0, "similarity": None}]


def test_a_blob_is_a_text_in_utf8(open_database, connection):
    register(connection, open_database())
    text = "Straße 日本 and more words"

    [found] = ask(
        connection, "select simdb_distance(?, ?), simdb_similarity(?, ?)", [text, text.encode()] * 2
    )

    assert found == (0, 1.0)


@pytest.mark.parametrize(("sketch", "call", "words"), [
    (simdb.Simhash(), "simdb_distance(1.5, 'a')", "document 0 is"),
    (simdb.Simhash(), "simdb_distance('a', 'b', 'c')", "simdb_distance"),
    (simdb.Simhash(), "simdb_similarity(1, 2)", "simdb_similarity compares texts"),
    (simdb.Simhash(), "simdb_similarity('a', 2)", "simdb_similarity compares texts"),
    (simdb.Simhash.moz(), "simdb_similarity('a', 'b')", "unit='moz' has no exact similarity"),
    (simdb.Simhash(), "simdb_near('a', 80, null)", "similarity must be above 0 and at most 1"),
    (simdb.Simhash(), "simdb_near('a', null, 900)", "distance must be"),
    (simdb.Simhash(), "simdb_near('a', 'b', 'c', 'd')", "simdb_near|positional arguments"),
    (simdb.Minhash(), "simdb_distance('a', 'b')", "use simdb_similarity"),
    (simdb.Minhash(), "simdb_near(3, 0.8, null)", "takes texts|takes str"),
    (simdb.Bits(256), "simdb_similarity('a', 'b')", "hashes have only a simdb_distance"),
    (simdb.Bits(256), "simdb_distance('abc', 'b')", "a hash of 256 bits has 64"),
], ids=str)  # fmt: skip
def test_wrong_arguments_are_errors_of_sql_with_our_words(
    open_database, connection, sketch, call, words
):
    register(connection, open_database(options=simdb.Options(sketch=sketch)))

    said = refusal(connection, f"select {call}")

    assert any(each in said for each in words.split("|")), said
    assert ask(connection, "select 1") == [(1,)]


def test_thresholds_that_differ_from_row_to_row_are_refused_where_columns_are_taken(open_database):
    texts = drawn(7)
    database = stored(open_database(), texts)
    thresholds = [0.5 + at / 100 for at in range(len(texts))]
    found = {}
    for name in ("apsw", "duckdb"):
        connection = CONNECTIONS[name]()
        table(connection, texts, thresholds, kinds=("text", "double"))
        register(connection, database)
        statement = "select n, m.* from mine, near(a, b) as m"
        found[name] = (refusal if name == "duckdb" else ask)(connection, statement)

    assert "simdb_near takes the same thresholds in all rows" in found["duckdb"]
    assert in_order(found["apsw"]) == in_order(
        (at, *match[:])
        for at, text in enumerate(texts)
        for match in ([] if text is None else database.query(text, similarity=thresholds[at]))
    )


@pytest.mark.parametrize("statement", [
    "select n, m.id from mine, near(mine.a, 0.5) as m",
    "select n, m.id from mine join near(mine.a, 0.5) as m on m.id >= 0",
    "select n, m.id from near(mine.a, 0.5) as m, mine",
    "select n, m.id from mine, near as m where m.document = mine.a and m.similarity_min = 0.5",
    "select n, m.id from mine, near(mine.a) as m where similarity_min = 0.5",
    "select n, m.id from mine left join near(mine.a, 0.5) as m where m.id is not null",
    "select n, m.id from mine, near as m"
    " where m.document in (select a from mine as x where x.n = mine.n) and m.similarity_min = 0.5",
    "select n, m.id from mine, near(mine.a, 0.5, null) as m order by m.rowid",
    "select 0, id from near((select a from mine where n = 0), 0.5)"
    " union select n, m.id from mine, near(mine.a, 0.5) as m where n > 0",
])  # fmt: skip
def test_the_table_of_sqlite_waits_for_its_arguments_however_they_are_given(
    open_database, statement
):
    connection, texts = apsw.Connection(":memory:"), drawn(8)
    database = stored(open_database(), texts)
    table(connection, texts)
    register(connection, database)

    found = ask(connection, statement)

    assert sorted(found) == sorted(
        (at, match.id)
        for at, text in enumerate(texts)
        for match in ([] if text is None else database.query(text, similarity=0.5))
    )


@pytest.mark.parametrize("statement", [
    "select * from near",
    "select * from near()",
    "select * from near('a') where document = 'b' and similarity_min > 0.5",
    "select * from near where similarity_min = 0.5",
    "select * from near('a', 0.5, 3, 4)",
])  # fmt: skip
def test_the_table_of_sqlite_is_refused_without_a_document(open_database, statement):
    connection = apsw.Connection(":memory:")
    register(connection, open_database())

    with pytest.raises(apsw.SQLError):
        ask(connection, statement)


def test_the_table_of_sqlite_shows_its_arguments(open_database):
    connection = apsw.Connection(":memory:")
    register(connection, stored(open_database(), ["wind and rain"]))

    found = ask(
        connection,
        "select *, document, similarity_min, distance_max from near('wind and rain', 0.5)",
    )

    assert found == [(0, 0, 1.0, "wind and rain", 0.5, None)]


def test_the_rows_of_a_table_of_sqlite_have_numbers(open_database):
    connection = apsw.Connection(":memory:")
    register(connection, stored(open_database(), ["wind and rain"] * 3))

    assert ask(connection, "select rowid, id from near('wind and rain')") == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]


def test_a_document_given_twice_has_to_be_the_same(open_database):
    connection = apsw.Connection(":memory:")
    register(connection, stored(open_database(), ["wind and rain"]))
    statement = "select id from near('wind and rain') where document = ?"

    assert ask(connection, statement, ["wind and rain"]) == [(0,)]
    assert ask(connection, statement, ["bread"]) == []


def test_each_call_reads_the_last_commit(open_database, connection):
    database = open_database()
    register(connection, database)
    statement = "select simdb_near('wind and rain', 0.9, null)"
    before = ask(connection, statement)

    database.insert("page", "wind and rain")

    assert before == ([([],)] if is_duckdb(connection) else [("[]",)])
    assert "page" in str(ask(connection, statement))
    database.delete("page")
    assert ask(connection, statement) == before


def test_a_prepared_statement_of_duckdb_reads_the_last_commit_each_time(open_database):
    """DuckDB computes what depends on constants alone only once, when it prepares the statement."""
    connection, database = duckdb.connect(), open_database()
    register(connection, database)
    ask(connection, "prepare asked as select count(*) from near('wind and rain', 0.9)")
    before = ask(connection, "execute asked")

    database.insert("page", "wind and rain")

    assert before == [(0,)]
    assert ask(connection, "execute asked") == [(1,)]


def test_to_register_again_replaces_the_functions(open_database, tables, tmp_path):
    first = stored(open_database(), ["wind and rain"], ["first"])
    second = stored(open_database(tmp_path / "other"), ["wind and rain"], [2])
    statement = "select id from near('wind and rain')"

    assert register(tables, first) == (*SCALARS, "near")
    assert ask(tables, statement) == [("first",)]
    assert register(tables, second) == (*SCALARS, "near")
    assert ask(tables, statement) == [(2,)]


def test_no_transaction_stays_open(open_database, connection):
    database = stored(open_database(), drawn(9), ids=[*map(str, range(40))])
    register(connection, database)
    table(connection, drawn(9))
    ask(connection, "select simdb_distance(a, 'b'), simdb_near(a, 0.5, null) from mine")

    assert len(database.stats().readers) <= 1  # that of stats() itself
    database.close()
    if is_duckdb(connection):
        connection.begin().commit()
    elif isinstance(connection, sqlite3.Connection):
        connection.commit()
        ask(connection, "begin")
    else:
        assert not connection.in_transaction


@pytest.mark.parametrize(
    "call", ["simdb_distance('a', 'b')", "simdb_similarity('a', 'b')", "simdb_near('a', 0.8, null)"]
)
def test_a_database_closed_meanwhile_is_an_error_that_says_so(open_database, connection, call):
    database = stored(open_database(), ["wind and rain"])
    register(connection, database)
    ask(connection, f"select {call}")

    database.close()

    assert "is closed; use it before it is closed, or open it again" in refusal(
        connection, f"select {call}"
    )
    with pytest.raises(simdb.ClosedError):
        register(connection, database)


def test_several_threads_of_duckdb_call_at_the_same_time(open_database):
    texts = [text for text in drawn(10, 120) if text]
    database = stored(open_database(), texts)
    connection = duckdb.connect(config={"threads": 4})
    register(connection, database)
    # More rows than one thread takes at a time.
    ask(connection, "create table mine as select range as n, 'word ' || range % 977 as b"
        " from range(100000)")  # fmt: skip
    ask(connection, "alter table mine add column a text")
    ask(connection, "update mine set a = b || ' and more of the same words'")
    stop = threading.Event()

    def write():
        at = 0
        while not stop.is_set():
            at += 1
            database.insert(f"other {at}", f"another text {at} of the writer")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        [found] = ask(
            connection, "select sum(simdb_distance(a, b)), sum(simdb_similarity(a, b)) from mine"
        )
        [near] = ask(connection, "select count(*) from (select unnest(simdb_near(b, 0.9, null))"
                     " from mine where n < 5000)")  # fmt: skip
    finally:
        stop.set()
        writer.join()

    plain = [f"word {at}" for at in range(977)]
    more = [f"{each} and more of the same words" for each in plain]
    bits = [simdb.fingerprints(each).bits for each in (plain, more)]
    counts = np.bincount(np.arange(100000) % 977)
    assert found[0] == int(np.bitwise_count(bits[0] ^ bits[1]) @ counts)
    similarities = [simdb.similarity(*each) for each in zip(plain, more, strict=True)]
    assert found[1] == pytest.approx(float(np.array(similarities) @ counts), rel=1e-5)
    assert near == (0,)


def test_a_database_closed_during_a_statement_of_duckdb_ends_it_with_an_error(open_database):
    database = stored(open_database(), drawn(11))
    connection = duckdb.connect(config={"threads": 4})
    register(connection, database)
    ask(connection, "create table mine as select 'word ' || range as a from range(2000000)")
    closer = threading.Timer(0.2, database.close)
    closer.start()

    said = refusal(connection, "select max(simdb_distance(a, 'a word')) from mine a, range(20)")
    closer.join()

    assert "is closed" in said


def test_a_snapshot_answers_as_it_was(open_database, tables):
    database = stored(open_database(), ["wind and rain"], ["old"])
    with database.read() as snapshot:
        register(tables, snapshot)
        database.insert("new", "wind and rain")

        assert ask(tables, "select id from near('wind and rain')") == [("old",)]


def test_shards_answer_like_one_database(tmp_path, tables):
    texts = [text or "" for text in drawn(12)]
    simdb.write_sharded(tmp_path / "shards", [(range(len(texts)), texts)], 2)
    table(tables, texts)
    with simdb.open_sharded(tmp_path / "shards") as database:
        register(tables, database)

        found = ask(tables, "select n, m.* from mine, near(a, 0.6) as m")

        assert in_order(found) == in_order(
            (at, *match[:])
            for at, text in enumerate(texts)
            for match in database.query(text, similarity=0.6)
        )
        assert ask(tables, "select simdb_distance('a b c', 'a b c')") == [(0,)]


def test_other_connections_and_databases_are_refused(open_database):
    database = open_database()

    with pytest.raises(simdb.OptionError, match=r"must be of sqlite3, apsw or duckdb, got .a\."):
        register("a.db", database)
    with pytest.raises(simdb.OptionError, match=r"must be an open simdb\.Database, got .a\."):
        register(sqlite3.connect(":memory:"), "a.simdb")
    with pytest.raises(simdb.OptionError, match="ids must be one of 'auto', 'text', got 'hex'"):
        register(sqlite3.connect(":memory:"), database, ids="hex")


def test_functions_are_not_made_within_a_transaction_of_duckdb(open_database):
    connection, database = duckdb.connect(), open_database()
    connection.begin()

    with pytest.raises(duckdb.TransactionException):
        register(connection, database)

    connection.rollback()
    assert register(connection, database)[-1] == "near"


def test_duckdb_without_pyarrow_is_refused_before_a_function_is_made(open_database, monkeypatch):
    connection, database = duckdb.connect(), open_database()
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(simdb.OptionError, match="needs pyarrow: pip install pyarrow"):
        register(connection, database)

    with pytest.raises(duckdb.CatalogException):
        ask(connection, "select simdb_distance('a', 'b')")


def test_a_cursor_of_duckdb_has_all_functions_but_the_table(open_database):
    connection, database = duckdb.connect(), stored(open_database(), ["wind and rain"], ["page"])
    register(connection, database)
    cursor = connection.cursor()
    statement = "select m.id from (select unnest(simdb_near('wind and rain', 0.9, null)) as m)"

    with pytest.raises(duckdb.Error):
        register(cursor, database)

    assert ask(cursor, statement) == ask(connection, statement) == [("page",)]
    assert ask(connection, "select id from near('wind and rain')") == [("page",)]


def test_the_door_loads_no_package_that_it_is_not_given():
    program = (
        "import sys, sqlite3, simdb; from simdb.integrations.sql import register;"
        "register(sqlite3.connect(':memory:'), simdb.open(None));"
        "print({'apsw', 'duckdb', 'pyarrow'} & {*sys.modules})"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"
