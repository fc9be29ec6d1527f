"""Search by cross-polytope tables: finds what their thresholds reach, and nothing else."""

import numpy as np
import pytest
from weighted import bits_of, fingerprints

import simdb
from simdb.core import kernel
from simdb.core.vector_form import unpack
from simdb.database.search import many
from simdb.plan.polytopes import KEY_SIGNS, sign_limits, table_share, universal

TABLES = 3
DIMENSIONS = 128


def weights_of(count, *, seed=1, groups=4, noise=0.4):
    """Return float32[count, 128]: documents in groups of similar ones, shuffled."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((-(-count // groups), DIMENSIONS))
    weights = np.repeat(centres, groups, axis=0)[:count]
    weights = weights + noise * generator.uniform(0, 1.3, (count, 1)) * generator.standard_normal(
        weights.shape
    )
    return generator.permutation(weights).astype(np.float32)


@pytest.fixture
def made(open_database):
    """Return a function that makes a database of documents 0 .. n in runs and a delta."""

    def make(weights, *, delta_documents=16, growth=2, **options):
        options = {"polytopes": TABLES, "delta_documents": delta_documents, **options}
        database = open_database(options=simdb.Options(growth=growth, **options))
        for start in range(0, len(weights), 50):
            part = weights[start : start + 50]
            database.insert_many(range(start, start + len(part)), fingerprints(part))
        return database

    return make


def similarities_of(weights):
    """Return the similarity of every two documents by their packed vectors: float32[n, n]."""
    _, vectors = kernel.quantise(weights)
    every = kernel.Vectors(vectors.shape[1], [(0, vectors)])
    numbers = np.arange(len(weights), dtype=np.uint32)
    count = len(weights)
    offsets = np.arange(count + 1, dtype=np.int64) * count
    return every.similarity(vectors, offsets, np.tile(numbers, count)).reshape(count, count)


def rows_of(matches):
    """Return {(query, ordinal)} of matches."""
    queries = np.repeat(np.arange(len(matches)), np.diff(matches.offsets))
    return set(zip(queries.tolist(), matches.ordinals.tolist(), strict=True))


def test_a_query_finds_the_matches_that_its_threshold_reaches(made):
    recall = 0.5
    weights = weights_of(350)
    database = made(weights, delta_documents=60)  # 50 documents stay in the delta
    similar = similarities_of(weights) >= np.float32(0.88)
    _, vectors = kernel.quantise(weights)
    limits = sign_limits(0.88, recall, KEY_SIGNS)
    threshold = universal(0.88, table_share(recall), width=7, tables=TABLES)
    bits = bits_of(weights).tolist()
    tag = (1 << 42) - 1

    found = rows_of(database.query_many(fingerprints(weights), search="polytope", recall=recall))

    expected = set()
    for query, stored in zip(*np.nonzero(similar), strict=True):
        sizes = np.abs(unpack(vectors[query])[:64].astype(int))
        is_firm = (sizes > 1) | (np.count_nonzero(sizes > 1) > 64 * 7 / 8)
        limit, delta_limit, share = limits[not is_firm.all()]
        firm = sum(1 << at for at in np.flatnonzero(is_firm).tolist())
        differing = (bits[query] ^ bits[stored]) & firm
        pair = vectors[query : query + 1], vectors[stored : stored + 1]
        if stored >= 300:
            is_found = differing.bit_count() <= delta_limit
        else:
            is_found = kernel.polytope_costs(*pair, 7, TABLES)[0] <= np.float32(threshold)
            is_found &= (differing & tag).bit_count() <= limit
            sizes[~is_firm | (np.arange(64) >= 42)] = 0
            lost = sizes @ (differing >> np.arange(64, dtype=np.uint64).astype(object) & 1)
            is_usual = np.count_nonzero(np.abs(unpack(vectors[query])) > 1) >= 128 * 5 / 8
            share = share if is_usual else 1.0
            is_found &= lost <= int(share * sizes.sum())
        if is_found:
            expected.add((int(query), int(stored)))
    assert found == expected
    assert len(expected) > 300


def test_a_distance_besides_the_similarity_must_hold_too(made):
    weights = weights_of(200)
    database = made(weights)
    asked = {"search": "polytope", "similarity": 0.88}

    every = database.query_many(fingerprints(weights), **asked)
    near = database.query_many(fingerprints(weights), **asked, distance=4)

    assert list(near) == [[match for match in row if match.distance <= 4] for row in every]
    assert 200 <= len(near.ordinals) < len(every.ordinals)


def test_the_least_limit_of_memory_cuts_a_large_directory_into_pages(made, monkeypatch):
    """Each of four million headers was searched by itself, which nobody would see the end of."""
    monkeypatch.setattr("simdb.storage.table.POLYTOPE_ENTRIES", (1, 2, 10**9))
    cut, counts = many.chunks_of, []

    def counted(*arguments):
        found = cut(*arguments)
        counts.append(len(found))
        return found[:1000]

    monkeypatch.setattr(many, "chunks_of", counted)
    weights = weights_of(30)
    database = made(weights)
    database.compact()
    whole = database.query_many(fingerprints(weights), search="polytope")
    parts = database.query_many(
        fingerprints(weights), search=simdb.Search(method="polytope", memory_limit=1)
    )

    pages = (1 << 18) // many.LEAST_HEADERS
    assert pages <= counts[-1] <= pages + 100
    assert rows_of(parts) == rows_of(whole)


def test_the_least_limit_of_memory_cuts_no_run_and_no_batch_into_single_entries(
    open_database, monkeypatch
):
    """500 queries of 20,000 documents took minutes: each query searched each entry by itself."""
    bits = np.random.default_rng(1).integers(0, 2**64, 3000, np.uint64)
    searched, opened = [], many.opened
    database = open_database(options=simdb.Options(delta_documents=100))
    database.insert_many(range(3000), bits)
    monkeypatch.setattr(
        many, "opened", lambda *given: searched.append(given[0].run) or opened(*given)
    )

    found = database.query_many(bits[:130], distance=0, search=simdb.Search(memory_limit=1))

    assert [row[0].id for row in found] == list(range(130))
    # Three slices of the queries, and of each run a window for some 512 entries.
    assert len(searched) <= 3 * (3000 // 256 + 8)


@pytest.mark.parametrize("delta_documents", [16, 1000])
def test_pairs_have_their_similarities_in_runs_and_among_recent_documents(made, delta_documents):
    """A small database, which has no run yet, once gave pairs with NaN."""
    database = made(weights_of(100), delta_documents=delta_documents)
    exhaustive = database.find_all(search="exhaustive", similarity=0.8)
    expected = {(pair.left, pair.right): pair.similarity for pair in exhaustive}

    found = list(database.find_all(search="polytope", similarity=0.8))

    assert len(found) > 100
    assert all(pair.similarity == expected[pair.left, pair.right] for pair in found)


def test_recent_documents_with_weights_are_found_among_ones_without(made):
    weights = weights_of(70, groups=1)
    database = made(weights[:50], delta_documents=40)
    database.insert_many(range(100, 110), bits_of(weights[60:]))
    database.insert_many(range(50, 60), fingerprints(weights[50:60]))

    found = database.query_many(fingerprints(weights[50:]), search="polytope", similarity=0.99)

    assert [[match.id for match in row] for row in found] == [[at] for at in range(50, 60)] + [
        []
    ] * 10


def test_an_explanation_names_the_table_that_finds_a_match(made):
    weights = weights_of(200)
    database = made(weights)
    tables, vertices = set(), set()

    for query in range(0, 100, 3):
        for match in database.query(id=query, search="polytope"):
            told = database.explain(query, match.id, search="polytope")

            assert told.is_found
            if told.probe is not None:
                tables.add(told.probe.table)
                vertices.add(told.probe.vertices)
                assert f"in table {told.probe.table} " in told.reason

    assert tables <= set(range(TABLES))
    assert len(tables) > 1
    assert vertices == {0, 1}


def test_what_the_tables_cannot_answer_is_refused_with_the_remedy(made, tmp_path):
    weights = weights_of(50)
    database = made(weights)

    for asked, words in [
        ({"distance": 3}, "needs similarity="), ({"recall": 1.0}, "cannot reach recall 1"),
    ]:  # fmt: skip
        with pytest.raises(simdb.OptionError, match=words):
            database.query(fingerprints(weights)[0], search="polytope", **asked)
    with simdb.open(tmp_path / "none", options=simdb.Options(polytopes=0)) as database:
        database.insert("a", "some text that is stored")
        with pytest.raises(simdb.OptionError, match=r"no cross-polytope tables|has none"):
            database.query("some text", search="polytope")
