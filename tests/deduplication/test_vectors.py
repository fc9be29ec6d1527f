"""Vectors stay as a double loop over their exact cosines says, in the order of preference."""

import json

import numpy as np
import pyarrow
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.jobs.deduplication import by_cosine


def made(count, length, seed, copies=0.4):
    """Return vectors of which a share are noisy copies of others, some of them scaled."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((count, length))
    for at in range(count - int(count * copies), count):
        noise = chance.standard_normal(length) * chance.uniform(0.05, 0.5)
        vectors[at] = (vectors[chance.integers(0, at)] + noise) * chance.uniform(0.1, 9)
    return vectors[chance.permutation(count)].astype(np.float32)


def stays(vectors, least, order):
    """Return which vectors stay, and what stands for each of the others, by their exact cosines."""
    wide = vectors.astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1)[:, None]
    return stays_by(order, lambda row, each: np.float32(wide[row] @ wide[each]) >= least)


def stays_by(order, is_near):
    """Return the places that stay, and the first that stands for each of the others."""
    kept, leaders = [], {}
    for row in order:
        leader = next((each for each in kept if is_near(row, each)), None)
        if leader is None:
            kept.append(row)
        else:
            leaders[row] = leader
    return sorted(kept), leaders


def by_planes(monkeypatch):
    """Let planes find the candidates, however few vectors there are."""
    monkeypatch.setattr(by_cosine, "PRODUCT_COST", 1e9)


@pytest.mark.parametrize("way", ["products", "planes"])
@pytest.mark.parametrize("least", [0.7, 0.95])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_what_stays_is_what_a_double_loop_over_exact_cosines_says(monkeypatch, way, least, keep):
    vectors = made(500, 24, seed=3)
    if way == "planes":
        by_planes(monkeypatch)
    order = range(500) if keep == "first" else range(499, -1, -1)

    found = simdb.deduplicate(vectors, similarity=least, keep=keep)

    kept, leaders = stays(vectors, np.float32(least), order)
    assert np.flatnonzero(found.kept).tolist() == kept
    assert dict(zip(found.removed_ids, found.representatives, strict=True)) == leaders
    assert found.data.tolist() == vectors[kept].tolist()
    assert found.similarities.min() >= np.float32(least)


@given(
    seed=st.integers(0, 1 << 20),
    count=st.integers(1, 40),
    length=st.integers(1, 5),
    least=st.sampled_from([0.3, 0.8, 0.999]),
)
def test_blocks_of_any_size_decide_the_same(seed, count, length, least):
    vectors = made(count, length, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_cosine, "PRODUCT_ROWS", 1 + seed % 7)
        patch.setattr(by_cosine, "PRODUCT_LEADERS", 1 + seed % 3)
        patch.setattr(by_cosine, "COMPARED_PAIRS", 1 + seed % 5)
        found = simdb.deduplicate(vectors, similarity=least)

    kept, leaders = stays(vectors, np.float32(least), range(count))
    assert np.flatnonzero(found.kept).tolist() == kept
    assert dict(zip(found.removed_ids, found.representatives, strict=True)) == leaders


def test_keys_are_the_same_in_blocks_of_any_size(monkeypatch):
    by_planes(monkeypatch)
    vectors = made(300, 8, seed=5)
    whole = simdb.deduplicate(vectors, similarity=0.9)

    monkeypatch.setattr(by_cosine, "BLOCK_ROWS", 7)

    assert simdb.deduplicate(vectors, similarity=0.9).kept.tolist() == whole.kept.tolist()


@over("least", [0.5, 0.8, 0.95, 1.0])
def test_bands_find_the_share_of_pairs_that_was_asked(least):
    units = np.zeros((1 << 20, 1), np.float32)  # so many that products would cost more
    units[:, 0] = 1

    bands = by_cosine.bands_for(units, least, 0.99)

    if bands is not None:
        agreeing = 1 - np.arccos(least) / np.pi
        assert 1 - (1 - agreeing**bands.planes) ** bands.number >= 0.99
    assert by_cosine.bands_for(units, least, 1.0) is None
    assert least < 0.9 or bands is not None


def test_bands_are_no_more_than_can_be_sorted(monkeypatch):
    units = np.zeros((1 << 20, 1), np.float32)
    units[:, 0] = 1
    monkeypatch.setattr(by_cosine, "BANDS_MOST", 1)

    assert by_cosine.bands_for(units, 0.9, 0.9999) is None


@pytest.mark.parametrize("kind", [list, tuple])
def test_vectors_in_a_list_stay_the_same_objects(kind):
    rows = kind(made(9, 5, seed=4, copies=0)[[0, 1, 0, 2]])

    found = simdb.deduplicate(rows)

    assert type(found.data) is kind
    assert [id(row) for row in found.data] == [id(rows[at]) for at in (0, 1, 3)]
    floats = kind([[0.5, 0.25], [1.0, 0.5], [0.5, -0.25]])
    assert simdb.deduplicate(floats).data == kind([floats[0], floats[2]])
    assert simdb.deduplicate(np.empty((0, 8), np.float32)).data.shape == (0, 8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_of_every_width_give_the_same(dtype):
    vectors = made(200, 16, seed=6).astype(np.float16)

    found = simdb.deduplicate(vectors.astype(dtype))

    assert found.data.dtype == dtype
    assert found.kept.tolist() == simdb.deduplicate(vectors).kept.tolist()


def test_the_largest_and_the_smallest_numbers_have_directions():
    vectors = made(20, 4, seed=7, copies=0).astype(np.float64)

    found = simdb.deduplicate(
        np.concatenate([vectors, vectors * 1e300, vectors * 1e-300]), similarity=0.9999
    )

    assert found.removed_ids.tolist() == list(range(20, 60))


def test_ids_a_function_and_a_stricter_similarity():
    vectors = made(60, 8, seed=8)
    names = [f"v{row}" for row in range(60)]

    found = simdb.deduplicate(vectors, id=names, keep=lambda vector: vector[0], similarity=0.9)

    order = sorted(range(60), key=lambda row: -vectors[row, 0])
    kept, leaders = stays(vectors, np.float32(0.9), order)
    assert np.flatnonzero(found.kept).tolist() == kept
    assert set(found.removed_ids) == {names[row] for row in leaders}
    assert found.at(0.97).similarities.min() >= 0.97
    assert "cosine similarity of at least 0.9, " in repr(found)


def test_sketches_estimate_and_take_distances_and_chains():
    vectors = np.repeat(made(10, 32, seed=9, copies=0), 2, axis=0)

    for asked in ({}, {"distance": 3}, {"policy": "connected"}, {"similarity": 0.9}):
        found = simdb.deduplicate(vectors, verify="estimate", **asked)
        assert found.removed_ids.tolist() == list(range(1, 20, 2))


def test_survivors_are_written_as_records(tmp_path):
    vectors = np.array([[0.5, 0.25], [1.0, 0.5], [0.5, -0.25]], np.float32)

    simdb.deduplicate(vectors).write(tmp_path / "kept.jsonl")

    lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"vector": [0.5, 0.25]}, {"vector": [0.5, -0.25]}
    ]  # fmt: skip


ROWS = np.eye(4, dtype=np.float32)
LISTS = pyarrow.array([[0.5, 1.0], [1.0, 0.5]])


def changed(row, column, value):
    vectors = ROWS.copy()
    vectors[row, column] = value
    return vectors


@over(
    ("data", "message"),
    [
        (changed(2, 1, np.nan), r"row 2 of data has nan at coordinate 1 \(1 such row\); leave"),
        (changed(1, 3, -np.inf), r"row 1 of data has -inf at .* 3 .*numpy.isfinite\(data\)"),
        (changed(3, 3, 0), r"row 3 of data is all zeros.*data\[data.any\(axis=1\)\]"),
        (ROWS[0], r"of float32 with the shape \(4,\); vectors are an array float\[n, d\]"),
        (ROWS[None], r"of float32 with the shape \(1, 4, 4\)"),
        (ROWS.astype(int), r"whole numbers need .astype\(numpy.float32\)"),
        (ROWS[:, :0], "vectors without coordinates"),
        ([ROWS[0], ROWS[1][:2]], "row 1 of data has 2 coordinates, but row 0 has 4"),
        ([ROWS[0], "a text"], "row 1 of data is 'a text'; vectors are"),
        ([ROWS[0], ROWS], r"row 1 of data is float32 of the shape \(4, 4\)"),
        ([[0.5], ["a"]], r"row 1 of data is \['a'\]; vectors are"),
        (LISTS, r"the texts; vectors are an array float\[n, d\]"),
    ],
)
def test_what_is_no_vector_is_named_with_the_remedy(data, message):
    with pytest.raises(simdb.InputError, match=message):
        simdb.deduplicate(data)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"verify": "numbers"}, "compares texts"),
        ({"policy": "connected"}, "policy='connected' needs verify='estimate'"),
        ({"distance": 3}, "distance= needs verify='estimate'"),
        ({"sketch": simdb.Simhash()}, "sketch= needs verify='estimate'"),
        ({"similarity": 1.5}, "similarity must be"),
        ({"recall": 0}, "recall must be"),
        ({"keep": "longest"}, "vectors have one length"),
        ({"keep": "max:date"}, "no field 'date', because data are vectors"),
        ({"db": "place"}, "Database.add_many_if_new stores vectors"),
        ({"max_share": 0.1}, "larger share"),
    ],
)
def test_what_cannot_be_asked_of_vectors_is_refused(tmp_path, monkeypatch, asked, message):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(simdb.OptionError, match=message):
        simdb.deduplicate(np.concatenate([ROWS, ROWS]), **asked)

    assert list(tmp_path.iterdir()) == []


def test_vectors_have_no_parts_and_no_page_and_no_lists_of_them_are_stored(database, tmp_path):
    for refuse in (
        lambda: simdb.deduplicate(ROWS, unit="line"),
        lambda: simdb.decontaminate(ROWS, against=["one two three four five six"]),
    ):
        with pytest.raises(simdb.InputError, match="data are vectors, but this needs texts"):
            refuse()
    with pytest.raises(simdb.OptionError, match=r"shows texts, and these rows are vectors"):
        simdb.deduplicate(np.concatenate([ROWS, ROWS])).report(tmp_path / "page.html")
    with pytest.raises(simdb.InputError, match="token 0, not str or bytes; numbers are a vec"):
        database.insert_many([1, 2], LISTS)


def ready(count, seed):
    """Return ready fingerprints of which a share are near copies of others."""
    chance = np.random.default_rng(seed)
    bits = chance.integers(0, 2**64, count, dtype=np.uint64)
    for at in range(count // 2, count):
        flips = np.uint64(sum(1 << int(bit) for bit in chance.integers(0, 64, 3)))
        bits[at] = bits[chance.integers(0, at)] ^ flips
    return bits[chance.permutation(count)]


@pytest.mark.parametrize("form", [np.asarray, simdb.Fingerprints])
@pytest.mark.parametrize(("most", "keep"), [(3, "first"), (4, "last")])
def test_ready_fingerprints_stay_as_a_double_loop_over_distances_says(form, most, keep):
    bits = ready(400, seed=5)
    order = range(400) if keep == "first" else range(399, -1, -1)

    found = simdb.deduplicate(form(bits), distance=most, keep=keep, recall=1.0)

    kept, leaders = stays_by(
        order, lambda row, each: (int(bits[row]) ^ int(bits[each])).bit_count() <= most
    )
    assert 100 < len(kept) < 300
    assert np.flatnonzero(found.kept).tolist() == kept
    assert dict(zip(found.removed_ids, found.representatives, strict=True)) == leaders
    assert type(found.data) is type(form(bits))
    assert getattr(found.data, "bits", found.data).tolist() == bits[kept].tolist()


def test_ready_fingerprints_with_weights_are_compared_by_similarity_and_written(tmp_path):
    texts = [" ".join(f"t{kind}w{word}" for word in range(40)) for kind in (0, 1, 0)]
    path = tmp_path / "kept.jsonl"

    found = simdb.deduplicate(simdb.fingerprints(texts), similarity=0.9, id=["a", "b", "c"])
    found.write(path)

    assert found.removed.to_pylist() == [{"id": "c", "kept": "a", "similarity": 1.0}]
    bits = [simdb.fingerprint(text).bits for text in texts[:2]]
    assert [json.loads(line)["fingerprint"] for line in path.open()] == bits


@over(
    ("data", "settings", "message"),
    [
        (np.arange(3, dtype=np.uint64), {}, "give distance=, such as distance=3"),
        (np.arange(3, dtype=np.uint64), {"similarity": 0.9, "distance": 3}, "no similarity="),
        (np.arange(3, dtype=np.uint64), {"verify": "numbers", "distance": 3}, "compares texts"),
        (np.arange(3), {"distance": 3}, "array of int64; ready fingerprints are uint64"),
        ([1, 2, 3], {"distance": 3}, "row 0 has 1 .*ready fingerprints are an array uint64"),
    ],
)
def test_ready_fingerprints_that_cannot_be_compared_say_what_is_missing(data, settings, message):
    with pytest.raises(simdb.Error, match=message):
        simdb.deduplicate(data, **settings)
