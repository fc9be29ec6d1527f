"""Rows that are hashes: what stays is what a double loop over their differing bits keeps."""

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from over import over

import simdb

PORTIONS = (
    "simdb.jobs.deduplication.within.PART_ROWS",
    "simdb.jobs.deduplication.alike.COMMIT_DOCUMENTS",
    "simdb.jobs.deduplication.alike.COMPARED_DOCUMENTS",
    "simdb.jobs.deduplication.claims.CLAIMED_ROWS",
    "simdb.jobs.deduplication.claims.STORED_DOCUMENTS",
)


@pytest.fixture(autouse=True)
def small_portions(monkeypatch):
    """Let every portion be of 13 rows."""
    for name in PORTIONS:
        monkeypatch.setattr(name, 13)


def drawn(bits, count, seed=0):
    """Return hashes uint8[n, bits / 8], half of them near an earlier one."""
    chance = np.random.default_rng([seed, bits])
    flags = chance.integers(0, 2, (count, bits), np.uint8)
    for at in range(count // 2, count):
        flags[at] = flags[chance.integers(0, at)]
        flags[at, chance.permutation(bits)[: chance.integers(0, bits // 5)]] ^= 1
    return np.packbits(flags[chance.permutation(count)], axis=1)


def number(row):
    return int.from_bytes(bytes(row), "big")


def apart(left, right):
    return (number(left) ^ number(right)).bit_count()


def stays(rows, most, order=None, reference=()):
    """Return the rows that stay, and what each other row goes for with their distance.

    A row goes for the first of the reference, as -1 - place, or of the rows before that stay.
    """
    kept, gone = [], {}
    for row in range(len(rows)) if order is None else order:
        before = [(-1 - at, each) for at, each in enumerate(reference)]
        before += [(other, rows[other]) for other in kept]
        near = [(at, apart(rows[row], each)) for at, each in before]
        found = next((pair for pair in near if pair[1] <= most), None)
        if found is None:
            kept.append(row)
        else:
            gone[row] = found
    return sorted(kept), gone


def told(found):
    """Return what each removed row goes for, with the distance, by the ids."""
    columns = found.removed.to_pydict()
    assert list(columns) == ["id", "kept", "distance", *list(columns)[3:]]
    pairs = zip(columns["kept"], columns["distance"], strict=True)
    return dict(zip(columns["id"], pairs, strict=True))


def as_words(rows):
    return rows.view(">u8").astype(np.uint64).reshape(len(rows), -1)


def as_binary_column(rows):
    return pyarrow.array([bytes(row) for row in rows], pyarrow.binary(rows.shape[1]))


FORMS = {
    "packed": np.asarray,
    "flags": lambda rows: np.unpackbits(rows, axis=1).astype(bool).reshape(len(rows), 8, -1),
    "words": as_words,
    "fingerprints": simdb.Fingerprints,
    "bytes": lambda rows: [bytes(row) for row in rows],
    "text": lambda rows: tuple(bytes(row).hex() for row in rows),
    "numbers": lambda rows: list(map(number, rows)),
    "arrays": lambda rows: list(np.unpackbits(rows, axis=1).astype(bool)),
    "column": as_binary_column,
    "text column": lambda rows: pyarrow.array([bytes(row).hex() for row in rows]),
}


@over("form", FORMS)
@over("bits", [64, 128])
def test_every_form_of_hashes_keeps_what_a_double_loop_keeps(form, bits):
    rows = drawn(bits, 60)
    data = FORMS[form](rows)

    found = simdb.deduplicate(data, sketch=simdb.Bits(bits), distance=bits // 8)

    kept, gone = stays(rows, bits // 8)
    assert 20 < len(kept) < 50
    assert np.flatnonzero(found.kept).tolist() == kept
    assert told(found) == gone
    assert found.distances.tolist() == [far for _, far in (gone[row] for row in sorted(gone))]
    assert np.isnan(found.similarities).all()
    assert type(found.data) is type(data)
    again = simdb.deduplicate(found.data, sketch=simdb.Bits(bits), distance=bits // 8)
    assert again.kept.all()


@over("bits", [32, 96, 256, 512])
@over("keep", ["first", "last"])
def test_arrays_need_no_sketch_and_have_the_usual_distance(bits, keep):
    rows = drawn(bits, 80, seed=1)
    usual = simdb.Bits(bits).usual_distance

    found = simdb.deduplicate(rows, keep=keep)

    order = range(80) if keep == "first" else range(79, -1, -1)
    kept, gone = stays(rows, usual, order)
    assert np.flatnonzero(found.kept).tolist() == kept
    assert told(found) == gone
    assert found.data.tolist() == rows[kept].tolist()


def test_connected_groups_are_the_connected_components():
    rows, most = drawn(128, 90, seed=2), 20
    label = list(range(90))
    for right in range(90):
        for left in range(right):
            if apart(rows[left], rows[right]) <= most and label[left] != label[right]:
                low, high = sorted((label[left], label[right]))
                label = [low if each == high else each for each in label]

    found = simdb.deduplicate(rows, distance=most, policy="connected")

    groups = {}
    for row, each in enumerate(label):
        groups.setdefault(each, []).append(row)
    wanted = sorted(group for group in groups.values() if len(group) > 1)
    assert sorted(sorted(group) for group in found.groups) == wanted
    assert np.flatnonzero(found.kept).tolist() == sorted(min(each) for each in groups.values())


def test_skewed_bits_are_dealt_by_a_sample_and_nothing_is_lost():
    chance = np.random.default_rng(3)
    flags = chance.random((120, 256)) < np.where(np.arange(256) % 2, 0.02, 0.5)
    flags[60:] = flags[:60] ^ (chance.random((60, 256)) < 0.05)
    rows = np.packbits(flags, axis=1)

    found = simdb.deduplicate(flags)

    kept, gone = stays(rows, 31)
    assert np.flatnonzero(found.kept).tolist() == kept
    assert told(found) == gone


@over("kind", ["array", "texts", "database", "path", "file"])
def test_what_a_reference_has_goes_for_it(tmp_path, kind):
    rows, reference = drawn(256, 60, seed=4), drawn(256, 60, seed=4)[::-2].copy()
    reference[:, 0] ^= 1
    hexadecimal = [bytes(row).hex() for row in reference]
    if kind in ("database", "path"):
        db = simdb.open(tmp_path / kind, options=simdb.Options(sketch=simdb.Bits(256)))
        db.insert_many([f"r{at}" for at in range(30)], reference)
        against = db if kind == "database" else (db.close(), tmp_path / kind)[1]
    elif kind == "file":
        against = tmp_path / "reference.jsonl"
        lines = [json.dumps({"id": f"r{at}", "text": each}) for at, each in enumerate(hexadecimal)]
        against.write_text("\n".join([*lines, '{"id": "none", "text": null}']))
    else:
        against = reference if kind == "array" else [*hexadecimal, None]

    found = simdb.deduplicate(rows, against=against, distance=31)

    kept, gone = stays(rows, 31, reference=reference)
    assert np.flatnonzero(found.kept).tolist() == kept
    assert found.removed_ids.tolist() == sorted(gone)
    for row, is_reference, other, far in zip(
        found.removed_ids, found.is_reference, found.representatives, found.distances, strict=True
    ):
        place = int(str(other).lstrip("r"))
        assert apart(rows[row], (reference if is_reference else rows)[place]) == far <= 31
        assert is_reference == (gone[row][0] < 0)


@over("bits", [64, 256])
def test_a_database_keeps_what_is_new_again_and_again(tmp_path, bits):
    rows, most = drawn(bits, 90, seed=5), bits // 10
    ids, path = [f"h{at}" for at in range(90)], tmp_path / str(bits)
    given = {"sketch": simdb.Bits(bits), "distance": most}
    stored = []
    for start in range(0, 90, 30):
        some = range(start, start + 30)
        table = pyarrow.table({"id": ids[start:][:30], "pdq": as_binary_column(rows[some])})
        if start != 30:
            found = simdb.deduplicate(table, text="pdq", id="id", db=path, **given)
        else:
            with simdb.open(path) as db:
                found = simdb.deduplicate(table, text="pdq", id="id", db=db, distance=most)
        for row, is_kept in zip(some, found.kept.tolist(), strict=True):
            near = [apart(rows[row], rows[other]) <= most for other in stored]
            assert is_kept == (not any(near))
            stored += [row] if is_kept else []
        for id, (other, far) in told(found).items():
            assert apart(rows[int(id[1:])], rows[int(other[1:])]) == far <= most
    with simdb.open(path, "r") as db:
        assert list(db) == [ids[row] for row in stored]
        assert db.options.sketch == simdb.Bits(bits)
        assert not list(db.check(deep=True))
    again = simdb.deduplicate(table, text="pdq", id="id", db=path, **given)
    assert again.kept.tolist() == found.kept.tolist()
    assert told(again) == told(found)


def test_rows_without_an_id_are_stored_once_and_copies_go(tmp_path):
    rows = drawn(256, 40, seed=6)
    twice = np.concatenate([rows, rows[:5]])

    first = simdb.deduplicate(twice, db=tmp_path / "db")
    again = simdb.deduplicate(twice, db=tmp_path / "db")

    assert np.flatnonzero(first.kept).tolist() == stays(twice, 31)[0]
    assert again.kept.tolist() == first.kept.tolist()


def written(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for at, row in enumerate(rows):
            value = None if row is None else row if isinstance(row, str) else bytes(row).hex()
            file.write(json.dumps({"id": f"f{at}", "pdq": value}) + "\n")


def test_files_of_records_are_read_by_a_field_of_hexadecimal_text(tmp_path):
    rows = drawn(256, 60, seed=7)
    written(tmp_path / "in.jsonl", [*rows[:30], None, *rows[30:]])

    found = simdb.deduplicate(
        tmp_path / "in.jsonl", text="pdq", sketch=simdb.Bits(256), keep="last"
    )
    found.write(tmp_path / "out.jsonl")

    names = [f"f{at}" for at in (*range(30), *range(31, 61))]
    kept, gone = stays(rows, 31, range(59, -1, -1))
    wanted = {names[row]: (names[other], far) for row, (other, far) in gone.items()}
    assert told(found) == wanted
    assert found.null_count == 1
    lines = list(map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines()))
    assert [line["id"] for line in lines] == sorted(
        ["f30", *(names[row] for row in kept)], key=lambda name: int(name[1:])
    )
    found.report(tmp_path / "page.html")
    assert bytes(rows[kept[-1]]).hex() in (tmp_path / "page.html").read_text() or not gone


@over("form", ["binary", "lines"])
def test_bytes_in_parquet_and_lines_of_text_are_hashes(tmp_path, form):
    rows = drawn(128, 40, seed=11)
    path = tmp_path / f"{form}.parquet"
    if form == "binary":
        pyarrow.parquet.write_table(pyarrow.table({"pdq": as_binary_column(rows)}), path)
    else:
        path = tmp_path / "hashes"
        path.write_text("".join(f"{bytes(row).hex()}\n" for row in rows))

    found = simdb.deduplicate(path, text="pdq", sketch=simdb.Bits(128), distance=16)

    assert np.flatnonzero(found.kept).tolist() == stays(rows, 16)[0]
    assert len(found.data) == len(found)


@over("is_file", [False, True])
def test_what_is_no_hash_is_named_or_left_out(tmp_path, is_file):
    rows = drawn(256, 30, seed=8)
    values = [bytes(row).hex() for row in rows]
    values[7], values[19] = "no hash", values[19][:-2]
    data, how = [{"pdq": value} for value in values], {"text": "pdq", "sketch": simdb.Bits(256)}
    if is_file:
        written(tmp_path / "in.jsonl", values)
        data = tmp_path / "in.jsonl"

    with pytest.raises(simdb.InputError, match=r"in\.jsonl:8: " if is_file else "document 7 is"):
        simdb.deduplicate(data, **how)
    found = simdb.deduplicate(data, on_error="skip", **how)

    assert found.skipped.column("row").to_pylist() == [7, 19]
    assert "not hexadecimal text" in found.skipped.column("reason")[0].as_py()
    read = [row for row in range(30) if row not in (7, 19)]
    kept, gone = stays(rows[read], 31)
    assert len(found) == len(kept)
    assert len(found.removed_ids) == len(gone)


@over("form", ("alone", "first", "reference", "database"))
def test_files_without_a_hash_are_passed_over(tmp_path, form):
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    bad.write_text('{"id": "a", "pdq": "zz"}\n{"id": "b", "pdq": "00"}\n')
    rows = drawn(256, 20)
    written(good, rows)
    how = {"sketch": simdb.Bits(256), "text": "pdq", "id": "id", "on_error": "skip"}
    data = [good] if form == "reference" else [bad] if form == "alone" else [bad, good]
    how |= {"db": tmp_path / "db"} if form == "database" else {}
    how |= {"against": [bad]} if form == "reference" else {}

    if form == "reference":
        with pytest.warns(RuntimeWarning, match="2 documents of against left out"):
            found = simdb.deduplicate(data, **how)
    else:
        found = simdb.deduplicate(data, **how)

    kept = [] if form == "alone" else stays(rows, 31)[0]
    assert len(found.kept) == (0 if form == "alone" else 20)
    assert np.flatnonzero(found.kept).tolist() == kept
    skipped = [] if form == "reference" else [0, 1]
    assert found.skipped.column("row").to_pylist() == skipped


BARE = {
    "bytes": lambda rows: list(map(bytes, rows)),
    "digits": lambda rows: [bytes(row).hex() for row in rows],
    "flags": lambda rows: list(np.unpackbits(rows, axis=1).view(np.bool_)),
    "a column": lambda rows: pyarrow.array(map(bytes, rows), pyarrow.binary(32)),
    "a column of digits": lambda rows: pyarrow.array(bytes(row).hex() for row in rows),
    "a table": lambda rows: pyarrow.table({"text": pyarrow.array(map(bytes, rows))}),
    "rows": lambda rows: [{"text": bytes(row)} for row in rows],
}


@over("form", BARE)
def test_the_sketch_is_named_if_hashes_are_taken_for_texts(form):
    data = BARE[form](drawn(256, 9) | np.uint8(0x80))

    with pytest.raises(simdb.Error, match=r"; (for hashes|if it is a hash).*simdb.Bits\(256\)"):
        simdb.deduplicate(data, distance=31)


def test_no_sketch_is_named_for_texts():
    for data in (["some", "words"], [b"\xff" * 31], [], [1], [np.ones(5, np.bool_)], 5):
        with pytest.raises(simdb.Error) as failed:
            simdb.deduplicate(data, distance=31)

        assert "Bits" not in str(failed.value)


def test_nulls_stay_or_go_and_ids_and_functions_are_of_use():
    rows = drawn(256, 30, seed=9)
    values = [None if at == 4 else bytes(row) for at, row in enumerate(rows)]
    how = {"sketch": simdb.Bits(256), "id": [f"n{at}" for at in range(30)]}

    dropped = simdb.deduplicate(values, on_null="drop", **how)

    assert simdb.deduplicate(values, **how).null_count == 1
    assert not dropped.kept[4]
    with pytest.raises(simdb.InputError, match="row 4 has no text"):
        simdb.deduplicate(values, on_null="error", **how)
    by_id = simdb.deduplicate(dict(zip(how["id"], values, strict=True)), sketch=simdb.Bits(256))
    assert by_id.representatives.tolist() == dropped.representatives.tolist()
    preferred = simdb.deduplicate(rows, keep=lambda row: int(row, 16))
    order = sorted(range(30), key=lambda row: -number(rows[row]))
    assert np.flatnonzero(preferred.kept).tolist() == stays(rows, 31, order)[0]


@over(
    ("settings", "message"),
    [
        ({"similarity": 0.9}, "hashes have no similarity; give distance="),
        ({"verify": "numbers"}, "texts, but these are hashes"),
        ({"unit": "line"}, r"sketch=simdb.Bits\(\) is for whole documents"),
        ({"keep": "longest"}, "hashes have one length"),
        ({"distance": 257}, "distance"),
        ({"sketch": simdb.Bits(128)}, "256 bits|128 bits|uint8"),
        ({"sketch": simdb.Simhash()}, "uint8|fingerprints"),
    ],
)
def test_what_only_texts_can_be_asked_is_refused(settings, message):
    with pytest.raises(simdb.Error, match=message):
        simdb.deduplicate(drawn(256, 9), **settings)


def test_a_stricter_look_at_distances_is_refused_and_rows_are_shown():
    found = simdb.deduplicate(drawn(256, 40, seed=10))

    with pytest.raises(simdb.OptionError, match="these rows matched by distance"):
        found.at(0.9)
    assert "removed" in found._repr_html_()
