"""A job releases what it has cached, and leaves what its docstring says."""

import pytest

import simdb
from simdb import spark as ss

BODY = "a page about {0} and {1} and many other things that are said about {0}"


@pytest.fixture(scope="module")
def documents(spark):
    rows = [(at, BODY.format(at // 4, at // 2)) for at in range(24)]
    return spark.createDataFrame(rows, "id int, text string").repartition(2)


@pytest.fixture
def cached(spark):
    """Return a function that counts what Spark has cached since the test began."""

    def names():
        return set(spark.sparkContext._jsc.getPersistentRDDs().keySet())

    before = names()
    return lambda: len(names() - before)


def exact_pairs(documents, **asked):
    exact = {"texts": documents, "similarity": 0.5}
    return ss.pairs(ss.fingerprints(documents), **exact, **asked)


def star_clusters(documents, **asked):
    return ss.clusters(ss.fingerprints(documents), distance=9, policy="star", **asked)


def survivors(documents, **asked):
    return ss.drop_duplicates(documents, distance=9, policy="star", **asked)


@pytest.mark.few(1)
@pytest.mark.parametrize("job", [exact_pairs, star_clusters, survivors])
def test_only_the_result_remains_cached_until_it_is_freed(documents, cached, job):
    result = job(documents, partitions=2)

    assert result.count() > 0
    assert cached() == 1
    getattr(result, "removed", result).unpersist()
    assert cached() == 0
    # What was freed is computed again.
    assert result.count() > 0
    assert cached() == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("job", [exact_pairs, star_clusters, survivors])
def test_nothing_remains_cached_beside_a_checkpoint(documents, cached, tmp_path, job):
    result = job(documents, partitions=2, checkpoint=str(tmp_path / "work"))

    assert cached() == 0
    assert result.count() > 0
    assert cached() == 0


def test_nothing_remains_cached_after_an_error(documents, cached):
    with pytest.raises(simdb.OptionError, match="max_share"):
        ss.drop_duplicates(documents, distance=9, max_share=0, partitions=2)
    with pytest.raises(simdb.OptionError, match="checkpoint="):
        star_clusters(documents, partitions=2, driver_links=1)
    with pytest.raises(Exception, match="texts= lacks the texts"):
        ss.pairs(
            ss.fingerprints(documents), similarity=0.5, texts=documents.limit(2), partitions=2,
        )  # fmt: skip

    assert cached() == 0
