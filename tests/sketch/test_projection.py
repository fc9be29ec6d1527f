"""Vectors as documents: the projection against plain arithmetic, and vectors through the verbs."""

import zlib
from fractions import Fraction

import numpy as np
import pytest
from over import over

import simdb
from simdb.sketch import vectors
from simdb.sketch.sketcher import Sketcher
from simdb.sketch.vectors import Projection, as_vectors, normal_quantiles

MASK = 2**64 - 1


class Csr:
    """A CSR matrix with only those attributes of scipy's that are read."""

    format = "csr"

    def __init__(self, dense, indices=np.int32):
        dense = np.atleast_2d(dense)
        rows, columns = np.nonzero(dense)
        self.shape = dense.shape
        self.indptr = np.searchsorted(rows, np.arange(len(dense) + 1)).astype(indices)
        self.indices = columns.astype(indices)
        self.data = dense[rows, columns]


def random_rows(count, length, seed=1):
    rows = np.random.default_rng(seed).standard_normal((count, length))
    return (rows * (rows > 0.3)).astype(np.float32)


def mixed(word):
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def entry(seed, coordinate, dimension):
    """Compute one number of the matrix, in units of 1/4096, from its definition."""
    golden = 0x9E3779B97F4A7C15
    stream = mixed(mixed(seed + golden) + golden * coordinate & MASK)
    word = mixed(stream + golden * (dimension // 4 + 1) & MASK)
    return int(normal_quantiles()[word >> 16 * (dimension % 4) & 0xFFFF])


def test_the_table_of_quantiles_never_changes():
    quantiles = normal_quantiles()

    assert zlib.crc32(quantiles.astype("<i2").tobytes()) == 1416400049
    assert np.array_equal(quantiles, -quantiles[::-1])


@pytest.mark.parametrize("dimensions", [128, 256])
def test_the_matrix_is_as_defined(dimensions):
    coordinates = [0, 1, 1023, 1024, 131071, 131072, 2**31 - 2]

    matrix = Projection(7, dimensions).matrix(np.array(coordinates))

    for row, coordinate in zip(matrix, coordinates, strict=True):
        assert row.tolist() == [entry(7, coordinate, j) for j in range(dimensions)]


@pytest.mark.parametrize("dimensions", [128, 256])
def test_weights_are_the_exact_product_rounded_once(dimensions):
    vector = np.array([0.5, -3.25, 0.0, 1024.125], np.float32)

    weights = Projection(3, dimensions).project(vector[None])[0]

    for dimension in range(dimensions):
        exact = sum(
            Fraction(float(value)) * entry(3, coordinate, dimension) / 4096
            for coordinate, value in enumerate(vector)
        )
        assert weights[dimension] == np.float32(float(exact))


@pytest.mark.parametrize("dimensions", [64, 128, 256])
@pytest.mark.parametrize("length", [1, 5, 1500])
def test_dense_and_sparse_give_the_same_weights(length, dimensions):
    rows = random_rows(40, length)
    rows[3] = 0
    chosen = simdb.Simhash(dimensions=dimensions)

    dense = simdb.fingerprints(rows, chosen)
    sparse = simdb.fingerprints(Csr(rows), chosen)

    assert dense.weights.shape == (40, dimensions)
    assert np.array_equal(dense.weights, sparse.weights)
    assert np.array_equal(dense.bits, sparse.bits)


def test_how_rows_are_cut_up_does_not_matter(monkeypatch):
    rows = random_rows(30, 300)
    whole = Projection(0, 128).project(rows)
    monkeypatch.setattr(vectors, "BLOCK", 7)
    monkeypatch.setattr(vectors, "CACHED_BLOCKS", 5)
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(vectors, "ENTRIES_AT_ONCE", 11)

    dense = Projection(0, 128).project(rows)
    sparse = Projection(0, 128).project(as_vectors(Csr(rows)))
    single = np.concatenate([Projection(0, 128).project(row[None]) for row in rows])

    assert np.array_equal(dense, whole)
    assert np.array_equal(sparse, whole)
    assert np.array_equal(single, whole)


def test_neither_scale_nor_layout_nor_precision_of_the_same_numbers_changes_bits():
    rows = np.round(random_rows(20, 50) * 64) / 64
    expected = simdb.fingerprints(rows).bits

    for other in (
        rows * 2.0**40,
        rows.astype(np.float16),
        rows.astype(np.float64),
        np.asfortranarray(rows),
        rows.astype(">f4"),
        np.repeat(rows, 2, axis=0)[::2],
        list(rows),
        [Csr(row) for row in rows],
        Csr(rows, np.int64),
    ):
        assert np.array_equal(simdb.fingerprints(other).bits, expected)


def test_one_vector_is_a_document_for_every_verb(database):
    rows = random_rows(6, 30)
    database.insert("dense", rows[0])
    database.insert("sparse", Csr(rows[1]))
    database.insert_many(["third", "empty"], [rows[2], np.zeros(30)])

    assert database.query(rows[1], distance=0)[0].id == "sparse"
    assert database.query(Csr(rows[0]), distance=0)[0].id == "dense"
    assert database.query(rows[2].astype(np.float64), distance=0)[0].id == "third"
    assert database.get("empty").fingerprint.is_empty
    assert simdb.fingerprint(rows[0]).bits == database.get("dense").fingerprint.bits


def test_scipy_matrices_are_taken(database):
    sparse = pytest.importorskip("scipy.sparse")
    rows = random_rows(20, 40)
    expected = simdb.fingerprints(rows)

    for matrix in (sparse.csr_matrix(rows), sparse.csr_array(rows)):
        assert np.array_equal(simdb.fingerprints(matrix).weights, expected.weights)
    database.insert_many(range(20), sparse.csr_matrix(rows))
    database.insert("row", sparse.csr_matrix(rows)[4])
    assert {match.id for match in database.query(rows[4], distance=0)} == {4, "row"}
    with pytest.raises(simdb.InputError, match=r"pass its \.tocsr"):
        database.insert_many(range(20, 40), sparse.coo_matrix(rows))


@over(
    ("documents", "message"),
    [
        ([np.ones(3), np.ones(4)], "document 1 is a vector of 4 coordinates, but document 0 has 3"),
        ([Csr(np.ones(3)), Csr(np.ones(4))], "document 1 is a vector of 4 coordinates"),
        (["text", np.ones(3), np.array([1, 2, np.nan])], "document 2 .* NaN or an infinity"),
        (np.array([[1.0, 2], [np.inf, 0]]), "document 1 .* NaN or an infinity"),
        (Csr(np.array([[1.0, 2], [np.nan, 0]])), "document 1 .* NaN or an infinity"),
        ([np.arange(3)], "document 0 is an array of int64 .*astype"),
        ([np.ones(3, np.uint64)], "document 0 is an array of uint64 .*astype"),
        ([np.ones(3, bool)], "document 0 is an array of bool .*astype"),
        ([np.array(0.5)], "document 0 is an array of float64 .* one dimension"),
        ([np.ones((2, 2))], "document 0 is an array of float64 .* one dimension"),
        ([Csr(np.ones((2, 2)))], "document 0 is a CSR matrix of 2 rows"),
        ([np.ones(3) + 1j], "document 0 is an array of complex128"),
        ([np.empty(0)], "document 0 is a vector of 0 coordinates"),
        (np.full((1, 3), 1e30), "document 0 is a vector whose largest magnitude is 1e.30; scale"),
        (np.full((1, 3), 1e-30), "document 0 is a vector whose largest magnitude is 1e-30; scale"),
    ],
)
def test_what_is_no_vector_is_named(documents, message):
    with pytest.raises(simdb.InputError, match=message):
        Sketcher(simdb.Simhash()).sketch(documents)


@pytest.mark.parametrize("documents", [np.ones((2, 2, 2)), np.ones(3), np.ones((3, 2), np.int64)])
def test_an_array_of_another_shape_or_type_is_no_list_of_documents(database, documents):
    with pytest.raises(simdb.InputError, match="vectors float"):
        database.insert_many(range(len(documents)), documents)

    assert len(database) == 0


def test_a_vector_of_another_length_than_the_option_says_is_refused(open_database):
    options = simdb.Options(sketch=simdb.Simhash(vector_length=8))
    database = open_database(options=options)
    database.insert("fits", np.ones(8))

    for document in (np.ones(7), Csr(np.ones(9))):
        with pytest.raises(simdb.InputError, match=r"document 0 .* vector_length is 8"):
            database.insert("other", document)


@over(
    ("name", "value", "message"),
    [
        ("indices", np.array([0, 5]), "5 columns has an index outside"),
        ("indices", np.array([0, -1]), "5 columns has an index outside"),
        ("indptr", np.array([0, 3, 2]), "is not an ascending division"),
        ("indptr", np.array([1, 1, 2]), "is not an ascending division"),
        ("indptr", np.array([0, 1, 3]), "is not an ascending division"),
        ("indptr", np.empty(0, int), "is not an ascending division"),
        ("data", np.array(["a", "b"]), "use real numbers"),
    ],
)
def test_a_csr_matrix_that_is_not_in_order_is_refused(name, value, message):
    matrix = Csr(np.eye(2, 5))
    setattr(matrix, name, value)

    with pytest.raises(simdb.InputError, match=message):
        simdb.fingerprints(matrix)
