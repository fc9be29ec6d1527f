"""The names of datasketch, with results equal to recorded results of the real package.

record_datasketch.py says how the results were recorded.
"""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from over import over

import simdb
from simdb.compat.datasketch import MinHash, MinHashLSH, sha1_hash32, sha1_hash64

RECORDED = json.loads((Path(__file__).parent / "datasketch" / "values.json").read_text("ascii"))
SETS = [[word.encode() for word in words] for words in RECORDED["sets"]]


def minhashes(**options):
    return MinHash.bulk(SETS, **{"num_perm": 32, **options})


def filled(path, made, **options):
    index = MinHashLSH(threshold=0.5, num_perm=32, path=path, durability="none", **options)
    index.insert_many([f"d{number}" for number in range(len(made))], made)
    return index


def insert_in_session(index, made):
    with index.insertion_session() as session:
        for key, each in made.items():
            session.insert(key, each)


@pytest.fixture
def index(tmp_path):
    with filled(tmp_path / "index", minhashes()) as opened:
        yield opened
        assert list(opened.database.check()) == []


@over("recorded", RECORDED["hashes"])
def test_hash_values_counts_and_similarities_are_those_of_datasketch(recorded) -> None:
    names = ("scheme", "num_perm", "seed")
    options = {name: recorded[name] for name in names}
    single = MinHash(**options)

    made = MinHash.bulk(SETS, **options)
    for value in SETS[7]:
        single.update(value)

    assert [each.hashvalues.tolist() for each in made] == recorded["hashvalues"]
    assert single == made[7]
    width = np.uint32 if recorded["scheme"] == "affine32" else np.uint64
    assert made[0].hashvalues.dtype == width
    assert [each.count() for each in made[1:]] == recorded["counts"]
    assert [made[5].jaccard(each) for each in made] == recorded["jaccards"]


def test_a_large_set_is_the_union_of_its_parts() -> None:
    values = [b"%d" % number for number in range(1000)]

    whole = MinHash.bulk([values], num_perm=128)[0]
    parts = MinHash.bulk([values[:400], values[300:]], num_perm=128)
    united = MinHash.union(*parts)
    parts[0].merge(parts[1])

    assert united == whole == parts[0]


def test_a_hash_function_of_the_caller_is_used() -> None:
    ours = MinHash(hashfunc=lambda text: sha1_hash32(text.encode()))
    wide = MinHash(hashfunc=sha1_hash64)

    ours.update("w1")

    assert ours == MinHash.bulk([[b"w1"]])[0]
    with pytest.raises(simdb.InputError, match="32 bits"):
        wide.update(b"w1")


@over("other", [MinHash(64), MinHash(seed=2), MinHash(scheme="legacy")])
def test_minhashes_of_different_kinds_cannot_be_compared(other) -> None:
    for verb in (MinHash().jaccard, MinHash().merge):
        with pytest.raises(ValueError, match="same scheme, seed and num_perm"):
            verb(other)


@over(
    "options",
    [
        {"num_perm": 0},
        {"scheme": "sha"},
        {"hashvalues": [1, 2]},
        {"hashvalues": [1, 2**32], "scheme": "affine32"},
        {"hashvalues": [1, -2], "scheme": "legacy"},
        {"hashvalues": [1.5], "scheme": "legacy"},
        {"hashvalues": [1], "permutations": ([2], [3]), "scheme": "affine32"},
        {"hashvalues": [1], "permutations": ([1, 3], [3, 4]), "scheme": "affine32"},
    ],
)
def test_invalid_arguments_of_a_minhash_are_refused(options) -> None:
    with pytest.raises(ValueError, match=" "):
        MinHash(**options)


def test_hash_values_can_be_given_and_copies_are_independent() -> None:
    first = minhashes()[4]

    second = MinHash(hashvalues=first.digest(), permutations=first.permutations, scheme="affine32")
    copied = first.copy()
    copied.update(b"more")
    cleared = first.copy()
    cleared.clear()

    assert first == second == minhashes()[4] != copied
    assert cleared.is_empty()
    assert not first.is_empty()


def test_candidates_are_those_of_datasketch(index) -> None:
    made = minhashes()

    assert [sorted(index.query(each)) for each in made] == RECORDED["candidates"]
    assert [sorted(keys) for keys in index.query_many(made)] == RECORDED["candidates"]


def test_buckets_are_those_of_datasketch(index) -> None:
    counts = index.get_counts()

    assert sorted(bucket.hex() for bucket in counts[0]) == RECORDED["buckets"]
    assert [sum(each.values()) for each in counts] == [len(SETS)] * index.b
    assert [sum(each.values()) for each in index.get_subset_counts("d1", "x")] == [1] * index.b


def test_a_session_commits_its_buffer_after_an_exception(tmp_path) -> None:
    with MinHashLSH(num_perm=32, path=tmp_path / "index") as index:
        with pytest.raises(ValueError, match="but the index needs 32"):
            insert_in_session(index, {"a": minhashes()[1], "b": minhashes(num_perm=8)[1]})

        assert "a" in index


def test_buffered_queries_return_the_common_keys(index) -> None:
    made = minhashes()

    nothing = index.collect_query_buffer()
    for number in (8, 9):
        index.add_to_query_buffer(made[number])
    both = index.collect_query_buffer()

    assert nothing == index.collect_query_buffer() == []
    candidates = RECORDED["candidates"]
    assert sorted(both) == sorted(set(candidates[8]) & set(candidates[9]))


def test_a_minhash_of_another_kind_is_refused(index) -> None:
    wide = minhashes(scheme="affine64")
    for other in (5, None, np.arange(32)):
        with pytest.raises(simdb.InputError, match="has no hash values"):
            index.query(other)
    for other in (minhashes(scheme="legacy"), wide, minhashes(seed=2), minhashes(num_perm=64)):
        with pytest.raises(ValueError, match="but the index"):
            index.query(other[1])
        with pytest.raises(ValueError, match="but the index"):
            index.insert("x", other[1])


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 1.1},
        {"weights": (0.5, 0.6)},
        {"num_perm": 1},
        {"params": (1, 4)},
        {"params": (33, 4)},
        {"params": (65, 1)},
        {"scheme": "sha"},
        {"params": (64, 17), "num_perm": 1088},
    ],
)
def test_invalid_arguments_of_an_index_are_refused(tmp_path, options) -> None:
    with pytest.raises(simdb.OptionError):
        MinHashLSH(path=tmp_path / "index", **options)

    assert not (tmp_path / "index").exists()


def test_an_index_is_opened_as_it_was_made(index, tmp_path) -> None:
    path = tmp_path / "index"
    plain = tmp_path / "plain"
    simdb.open(plain).close()

    for options in ({"threshold": 0.9}, {"scheme": "legacy"}, {"seed": 2}, {"params": (2, 3)}):
        with pytest.raises(simdb.OptionError, match="leave out these arguments"):
            MinHashLSH(**{"num_perm": 32, **options}, path=path, durability="none")
    with pytest.raises(simdb.OptionError, match="num_perm=8"):
        MinHashLSH(num_perm=8, path=path, durability="none")
    with pytest.raises(simdb.OptionError, match="is not an index"):
        MinHashLSH(path=plain)


def test_texts_are_refused_by_the_database(index) -> None:
    for document in ("a text", ["tokens"], simdb.Features(np.arange(2, dtype=np.uint64))):
        with pytest.raises(simdb.InputError, match="takes only ready signatures"):
            index.database.insert("text", document)
    with pytest.raises(simdb.InputError, match="takes only ready signatures"):
        index.database.query("a text")


def test_a_pickle_names_the_directory_and_opens_it_again(tmp_path):
    signed = MinHash(32)
    signed.update(b"a")
    with MinHashLSH(0.5, 32, path=tmp_path / "lsh") as index:
        index.insert("a", signed)
        content = pickle.dumps(index)

    with pickle.loads(content) as again:
        assert (again.b, again.r, again.h) == (index.b, index.r, 32)
        assert again.query(signed) == ["a"]
    shutil.rmtree(tmp_path / "lsh")
    with pytest.raises(simdb.NotFoundError):
        pickle.loads(content)


@pytest.mark.parametrize("name", ["MinHashLSHForest", "LeanMinHash", "WeightedMinHashGenerator"])
def test_the_import_of_a_class_without_a_database_names_datasketch(name):
    with pytest.raises(ImportError, match=f"from datasketch import {name}"):
        exec(f"from simdb.compat.datasketch import {name}")
