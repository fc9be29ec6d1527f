"""Data against a reference: what a double loop removes with the reference in front of the data."""

import json

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from families import is_alike, order_of, shingles, texts
from hypothesis import example, given, settings, strategies as st
from led_files import ONE, TWO, changed

import simdb

SOME = settings(max_examples=max(settings.default.max_examples // 2, 1))
FEW = settings(max_examples=max(settings.default.max_examples // 5, 1))
KEEPS = st.sampled_from(["first", "last", "longest", "shortest"])
PORTIONS = (
    "simdb.jobs.deduplication.within.PART_ROWS",
    "simdb.jobs.deduplication.rows.READ_ROWS",
    "simdb.jobs.deduplication.alike.COMMIT_DOCUMENTS",
    "simdb.jobs.deduplication.stars.WINDOW_FIRST",
    "simdb.jobs.deduplication.stars.WINDOW_PAIRS",
    "simdb.files.records.COLLECTED_RECORDS",
)


def leaders(data, reference, order):
    """Return what the first text is that each text of data goes for, by a double loop.

    ("reference", place), ("data", place), or None for a text that stays.  All of the reference
    stays.
    """
    found = {}
    for at, row in enumerate(order):
        before = [("reference", place) for place in range(len(reference))]
        before += [("data", other) for other in order[:at] if found[other] is None]
        texts_of = {"reference": reference, "data": data}
        found[row] = next(
            (each for each in before if is_alike(data[row], texts_of[each[0]][each[1]])), None
        )
    return [found[row] for row in range(len(data))]


def check(result, data, reference, wanted, of_reference=lambda place: place, of_data=None):
    """Check all that a result says, given the names of the positions of both."""
    of_data = of_data or (lambda place: place)
    gone = [row for row, leader in enumerate(wanted) if leader is not None]
    assert result.kept.tolist() == [leader is None for leader in wanted]
    assert result.removed_ids.tolist() == [of_data(row) for row in gone]
    assert result.is_reference.tolist() == [wanted[row][0] == "reference" for row in gone]
    pairs = zip(gone, result.is_reference, result.representatives, strict=True)
    names = {
        "reference": {of_reference(place): text for place, text in enumerate(reference)},
        "data": {of_data(row): data[row] for row, leader in enumerate(wanted) if leader is None},
    }
    for at, (row, is_reference, name) in enumerate(pairs):
        if is_reference:
            assert name == of_reference(wanted[row][1])
        other = names["reference" if is_reference else "data"][name]
        assert is_alike(data[row], other)
        left, right = shingles(data[row]), shingles(other)
        exact = len(left & right) / len(left | right)
        assert result.similarities[at] == pytest.approx(exact)
    led = [group.ids[0] for group in result.groups][
        : len(set(result.representatives[result.is_reference]))
    ]
    assert set(led) == set(result.representatives[result.is_reference])
    members = [id for group in result.groups for id in group.ids[1:]]
    assert sorted(members) == sorted(result.removed_ids.tolist())


def rows_of(given, name="d"):
    return [{"id": f"{name}{at}", "text": text} for at, text in enumerate(given)]


def write(path, given, name="d"):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(given, name)))
    return path


@given(data=texts(), reference=texts(), keep=KEEPS, size=st.integers(1, 9))
@example(data=[], reference=["one two three"], keep="first", size=1)
@example(data=["one two three"], reference=[], keep="first", size=1)
@SOME
def test_what_a_double_loop_with_the_reference_in_front_removes_is_removed(
    data, reference, keep, size
):
    wanted = leaders(data, reference, order_of(data, keep))

    results = [
        simdb.deduplicate(data, against=reference, keep=keep, recall=1.0, threads=threads)
        for threads in (1, 3)
    ]
    with pytest.MonkeyPatch.context() as patch:
        for name in PORTIONS:
            patch.setattr(name, size)
        patch.setattr("simdb.core.memory.COLUMN_BYTES", 0)
        results.append(simdb.deduplicate(data, against=reference, keep=keep, recall=1.0, threads=3))

    for result in results:
        check(result, data, reference, wanted)
        assert result.data == [data[row] for row in np.flatnonzero(result.kept)]
    assert len({str(result.removed) for result in results}) == 1


@pytest.fixture(scope="module")
def new_folder(tmp_path_factory):
    """Return a function that makes an empty folder."""
    return lambda: tmp_path_factory.mktemp("against")


@given(data=texts(), reference=texts(), keep=KEEPS, size=st.integers(1, 9))
@FEW
def test_data_and_reference_can_be_in_files(new_folder, data, reference, keep, size):
    wanted = leaders(data, reference, order_of(data, keep))
    folder = new_folder()
    write(folder / "data.jsonl", data)
    half = len(reference) // 2
    write(folder / "a.jsonl", reference[:half], "a")
    write(folder / "b.jsonl", reference[half:], "b")
    both = [folder / "a.jsonl", folder / "b.jsonl"]
    table = {"id": [f"r{at}" for at in range(len(reference))], "text": reference}
    pyarrow.parquet.write_table(
        pyarrow.table({"id": table["id"], "text": pyarrow.array(reference, "string")}),
        folder / "r.parquet",
    )

    def named(place):
        return f"a{place}" if place < half else f"b{place - half}"

    def found(data, against, **settings):
        return simdb.deduplicate(data, against=against, keep=keep, recall=1.0, **settings)

    own, numbered = (lambda row: f"d{row}"), (lambda place: f"r{place}")
    check(found(folder / "data.jsonl", both), data, reference, wanted, named, own)
    check(found(folder / "data.jsonl", rows_of(reference)), data, reference, wanted, of_data=own)
    check(found(data, folder / "r.parquet"), data, reference, wanted, numbered)
    with pytest.MonkeyPatch.context() as patch:
        for name in PORTIONS:
            patch.setattr(name, size)
        small = found(folder / "data.jsonl", f"{folder}/[ab].jsonl", threads=3)
    check(small, data, reference, wanted, named, own)


def pairs_of(given, sketch, **criterion):
    """Return the pairs of texts that match by a search of a database with them."""
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(given)), [text or "" for text in given])
        if criterion["verify"] != "estimate":
            criterion["texts"] = dict(enumerate(given))
        found = database.find_all(**criterion)
        return set(zip(found.left.tolist(), found.right.tolist(), strict=True))


ASKED = {
    "weights": (simdb.Simhash(weighting="tf"), {"verify": "exact", "recall": 1.0}),
    "numbers": (simdb.Simhash(), {"verify": "numbers", "recall": 1.0}),
    "estimate": (simdb.Simhash(), {"verify": "estimate", "recall": 1.0}),
    "minima": (simdb.Minhash(), {"verify": "estimate", "similarity": 0.7, "recall": 1.0}),
    "distance": (simdb.Simhash(), {"verify": "estimate", "distance": 4}),
}


@pytest.mark.parametrize("name", ASKED)
@given(data=texts(20), reference=texts(20), keep=KEEPS)
@FEW
def test_what_a_search_finds_is_removed_whatever_decides(name, data, reference, keep):
    sketch, criterion = ASKED[name]
    pairs = pairs_of([*reference, *data], sketch, **criterion)
    staying = list(range(len(reference)))
    for row in order_of(data, keep):
        at = len(reference) + row
        if not any((min(at, each), max(at, each)) in pairs for each in staying):
            staying.append(at)

    found = simdb.deduplicate(data, against=reference, keep=keep, sketch=sketch, **criterion)

    assert found.kept.tolist() == [len(reference) + row in staying for row in range(len(data))]
    of_reference = [
        any((place, len(reference) + row) in pairs for place in range(len(reference)))
        for row in found.removed_ids
    ]
    assert found.is_reference.tolist() == of_reference


def test_the_same_id_in_data_and_reference_is_no_conflict(tmp_path):
    rows = [{"id": "x", "text": ONE}, {"id": "y", "text": TWO}, {"id": "z", "text": TWO}]
    reference = [{"id": "x", "text": TWO + " again"}, {"id": "y", "text": changed(ONE, 1)}]

    found = simdb.deduplicate(rows, id="id", against=reference)

    assert found.data == []
    assert found.removed_ids.tolist() == ["x", "y", "z"]
    assert found.representatives.tolist() == ["y", "x", "x"]
    assert found.removed.to_pydict()["reference"] == [True] * 3
    write(tmp_path / "a.jsonl", [ONE, TWO])
    write(tmp_path / "b.jsonl", [TWO])
    same = simdb.deduplicate(tmp_path / "a.jsonl", against=tmp_path / "b.jsonl")
    assert (same.removed_ids.tolist(), same.representatives.tolist()) == (["d1"], ["d0"])


@pytest.mark.parametrize("is_file", [False, True])
def test_a_page_shows_the_texts_of_the_reference(tmp_path, is_file):
    pytest.importorskip("jinja2")
    data, reference = [ONE, TWO, changed(TWO, 1)], [changed(ONE, 1) + " lighthouse"]
    if is_file:
        data = write(tmp_path / "data.jsonl", data)
        reference = write(tmp_path / "old.jsonl", reference)

    simdb.deduplicate(data, against=reference).report(tmp_path / "page.html")

    page = (tmp_path / "page.html").read_text()
    assert page.count("lighthouse") == 1


@pytest.mark.parametrize("is_file", [False, True])
def test_a_higher_similarity_brings_rows_back(tmp_path, is_file):
    data, reference = [changed(ONE, 1), changed(ONE, 4), TWO, changed(TWO, 1)], [ONE]
    names = range(4)
    if is_file:
        data = write(tmp_path / "data.jsonl", data)
        reference = write(tmp_path / "old.jsonl", reference)
        names = [f"d{at}" for at in names]

    found = simdb.deduplicate(data, against=reference)
    stricter = found.at(0.95)

    assert found.kept.tolist() == [False, False, True, False]
    assert found.is_reference.tolist() == [True, True, False]
    assert stricter.removed_ids.tolist() == [names[0], names[3]]
    assert stricter.is_reference.tolist() == [True, False]
    assert [group.ids for group in stricter.groups] == [
        [found.representatives[0], names[0]], [names[2], names[3]],
    ]  # fmt: skip
    assert "2 for the reference" in repr(found)


def test_without_a_reference_nothing_says_so():
    found = simdb.deduplicate([ONE, ONE])

    assert found.is_reference is None
    assert found.removed.column_names == ["id", "kept", "similarity"]
    assert "reference" not in repr(found)


@pytest.mark.parametrize("is_path", [False, True])
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize(
    "sketch", [simdb.Simhash(), simdb.Minhash(), simdb.Simhash(weighting="tf")]
)
def test_a_database_is_a_reference_that_nothing_is_written_to(tmp_path, sketch, is_file, is_path):
    data = [changed(ONE, 1), TWO, changed(TWO, 1), "", None, changed(ONE, 1)]
    names = range(6)
    if is_file:
        names = [f"d{at}" for at in names]
        given = write(tmp_path / "data.jsonl", data)
    options = simdb.Options(sketch=sketch, keep_times="seen")
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(["one", "other"], [ONE, "some other words that nobody has"])
        before = dict(database.items()), database.times_many(["one"])

        found = simdb.deduplicate(
            given if is_file else data, against=tmp_path / "db" if is_path else database
        )

        assert (dict(database.items()), database.times_many(["one"])) == before
    assert found.kept.tolist() == [False, True, False, True, True, False]
    assert found.removed_ids.tolist() == [names[0], names[2], names[5]]
    assert found.representatives.tolist() == ["one", names[1], "one"]
    assert found.is_reference.tolist() == [True, False, True]
    assert [group.ids for group in found.groups] == [
        ["one", names[0], names[5]], [names[1], names[2]],
    ]  # fmt: skip
    assert found.at(0.99).removed_ids.tolist() == []


def test_an_empty_database_removes_nothing_but_copies_and_keeps_its_sketch():
    with simdb.open(None) as database:
        assert simdb.deduplicate([ONE, TWO, ONE], against=database).data == [ONE, TWO]
        with pytest.raises(simdb.OptionError, match="makes its sketches with"):
            simdb.deduplicate([ONE], against=database, sketch=simdb.Minhash())


def test_max_share_counts_rows_of_data_only():
    with pytest.raises(simdb.OptionError, match="max_share"):
        simdb.deduplicate([ONE, TWO], against=[ONE] * 50, max_share=0.4)
    assert simdb.deduplicate([ONE, TWO], against=[ONE] * 50, max_share=0.5).data == [TWO]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"db": "d"}, "stores nothing"),
        ({"policy": "connected"}, "works only without against="),
        ({"unit": "line"}, "against= is for whole documents"),
        ({"against": 5}, "against must be texts"),
        ({"against": [ONE, 5]}, "against: row 1 has 5"),
        ({"against": ONE}, "a text goes into a list: [text]"),
        ({"against": [{"body": ONE}]}, "give against= a list of texts"),
    ],
)
def test_what_does_not_go_with_a_reference_is_refused(tmp_path, monkeypatch, settings, words):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(simdb.Error) as raised:
        simdb.deduplicate([{"text": TWO}], **{"against": [ONE], **settings})

    assert words in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_file_of_the_reference_that_cannot_be_one_is_named(tmp_path):
    write(tmp_path / "a.jsonl", [ONE])
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    (tmp_path / "old.jsonl").write_text(json.dumps({"body": ONE}) + "\n")
    simdb.open(tmp_path / "db").close()

    with pytest.raises(simdb.InputError, match=r"against: .*old.*give against= a list of texts"):
        simdb.deduplicate([ONE], against=tmp_path / "old.jsonl")
    with pytest.raises(simdb.InputError, match=r"is a database of simdb.* against= take"):
        simdb.deduplicate([ONE], against=[tmp_path / "a.jsonl", tmp_path / "db"])
    for against in ("a.jsonl", "link.jsonl"):
        with pytest.raises(simdb.InputError, match=r"a\.jsonl is both in the data and in"):
            simdb.deduplicate(tmp_path / "a.jsonl", against=tmp_path / against)


@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Simhash(weighting="tf")])
def test_text_that_is_not_valid_is_named_with_its_place_in_the_reference(sketch):
    with pytest.raises(simdb.InputError, match="against"):
        simdb.deduplicate([ONE], against=[TWO, "half \ud800 of it"], sketch=sketch)
    found = simdb.deduplicate(
        [ONE], against=[TWO, "half \ud800 of it"], sketch=sketch, errors="replace"
    )
    assert found.data == [ONE]
