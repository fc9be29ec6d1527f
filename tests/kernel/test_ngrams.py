"""n-grams: the hashes of runs of words, and which of them are in a table."""

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import kernel
from simdb.sketch.winnowing import WordOrder

ORDER = WordOrder(simdb.Simhash())
# The kernel hashes so many n-grams at a time, and makes room for a hit in each of so many words.
HASHED, WORDS_EACH_HIT = 1024, 64


def of_numbers(*documents):
    """Return documents of words, each given by its numbers, as offsets and words."""
    offsets = np.cumsum([0, *map(len, documents)])
    return offsets, np.array([word for each in documents for word in each], np.uint64)


def hashes_of(words, n):
    """Return the hash of each n-gram, made alone."""
    runs = [words[at : at + n] for at in range(len(words) - n + 1)]
    return [int(kernel.ngrams(*of_numbers(run), n)[1][0]) for run in runs]


@over("n", [1, 2, 3, 13, 32])
def test_a_run_has_the_same_hash_wherever_it_is(n):
    words = [int(word) for word in np.random.default_rng(1).integers(0, 2**64, 60, np.uint64)]
    documents = of_numbers(words, words[:n], words[: n - 1], [], words[5:])

    offsets, hashes = kernel.ngrams(*documents, n)

    expected = hashes_of(words, n)
    assert hashes.tolist() == [*expected, expected[0], *expected[5:]]
    assert np.diff(offsets).tolist() == [61 - n, 1, 0, 0, 56 - n]


@pytest.mark.parametrize("n", [2, 3, 13])
def test_the_hash_of_a_run_is_that_of_a_shingle(n):
    text = " ".join(f"w{at}" for at in range(20))
    _, features, _ = kernel.count_texts(
        [text], unit="words", shingle=n, lowercase=True, seed=0, replace=False, start=0,
    )  # fmt: skip

    _, hashes = kernel.ngrams(*ORDER.words([text], errors="strict"), n)

    assert sorted(hashes.tolist()) == sorted(features.tolist())


@over("entries", [0, 1, 2, 3, 5, 100, 5000])
def test_hits_are_the_runs_in_the_table(entries):
    generator = np.random.default_rng(entries)
    size = HASHED + 40
    documents = of_numbers(*(generator.integers(0, 40, size).tolist() for _ in range(3)), [], [7])
    wanted = np.unique(np.concatenate([kernel.ngrams(*documents, n)[1] for n in (1, 2)]))
    table = np.sort(generator.permutation(wanted)[:entries])

    hits = kernel.Ngrams(table).find(*documents, [2, 1])

    places = {int(hash): at for at, hash in enumerate(table)}
    expected = []
    for document, (start, stop) in enumerate(zip(documents[0], documents[0][1:], strict=False)):
        for n in (2, 1):
            runs = kernel.ngrams(*of_numbers(documents[1][start:stop].tolist()), n)[1].tolist()
            found = [(document, at, places[run]) for at, run in enumerate(runs) if run in places]
            expected += found
    assert hits.tolist() == expected


def test_more_hits_than_there_is_room_for_are_all_found():
    documents = of_numbers([3] * 100 * WORDS_EACH_HIT)
    _, hashes = kernel.ngrams(*documents, 1)

    hits = kernel.Ngrams(np.unique(hashes)).find(*documents, [1])

    assert hits["position"].tolist() == list(range(100 * WORDS_EACH_HIT))


@pytest.mark.parametrize("n", [0, 33])
def test_runs_of_other_lengths_are_refused(n):
    with pytest.raises(ValueError, match="n is"):
        kernel.ngrams(*of_numbers([1, 2]), n)
    with pytest.raises(ValueError, match="n is"):
        kernel.Ngrams(np.array([1], np.uint64)).find(*of_numbers([1, 2]), [n])
