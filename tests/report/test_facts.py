"""Options, sizes and thresholds are said in words."""

from over import over

import simdb
from simdb.core.previews import size
from simdb.database.search.question import Question
from simdb.jobs.report.facts import (
    Section,
    options_in_words,
    sections_in_words,
    threshold_in_words,
)


@over(
    ("count", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (201_650_176, "202 MB"),
     (2_014_904_320, "2.0 GB"), (3e15, "3,000 TB")],
)  # fmt: skip
def test_a_size_has_a_unit_that_suits_it(count, shown):
    assert size(count) == shown


@over(
    ("sketch", "said"),
    [
        (simdb.Simhash(markup="html"), "The visible text of an HTML page is taken"),
        (simdb.Simhash(normalisation="nfkc"), "normalised (NFKC)"),
        (simdb.Simhash(normalisation="lenient"), "normalised (NFKC, look-alikes are equal)"),
        (simdb.Simhash(marks="drop", unit="characters"), "accents and points are dropped"),
        (simdb.Simhash(unit="characters", shingle=5), "texts are cut into characters"),
        (simdb.Simhash(shingle=1), "each of them is a feature"),
        (simdb.Simhash(tokeniser="a.b:c"), "cut by the tokeniser a.b:c"),
        (simdb.Simhash(stop_words=("der", "die")), "stop words are removed (own list)"),
        (simdb.Simhash(stemming="german"), "words are stemmed (german)"),
        (simdb.Simhash(store_volatility=False), "Documents match with up to 3 differing bits"),
        (simdb.Simhash.moz(), "as simhash-cpp does"),
        (simdb.Minhash(weighting="bag"), "counts as often as it occurs"),
        (simdb.Minhash(permutations=64), "a MinHash signature of 64 minima"),
    ],
)
def test_each_option_is_said(sketch, said):
    text = " ".join(options_in_words(simdb.Options(sketch=sketch)))

    assert said.lower() in text.lower()


@over(
    ("threshold", "measure", "words"),
    [
        (Question(0.889, None, 0.95), "cosine", "estimated cosine similarity is at least 0.889"),
        (Question(0.8, None, 0.95), "jaccard", "estimated Jaccard similarity is at least 0.8"),
        (Question(None, 1, 0.95), "jaccard", "their fingerprints differ in at most 1 bit"),
        (Question(0.9, 3, 0.95), "cosine", "0.9 and their fingerprints differ in at most 3 bits"),
    ],
)
def test_a_threshold_is_said(threshold, measure, words):
    assert threshold_in_words(threshold, measure).endswith(words)


def test_sections_of_the_same_purpose_are_added_up():
    sizes = {"table/00": 5, "table/01": 7, "polytope/00": 4, "meta": 1, "manifest": 2, "deleted": 0}

    sections = sections_in_words(sizes, is_minhash=False)

    assert sections == (
        Section("Permutation tables", 12),
        Section("Cross-polytope tables", 4),
        Section("Everything else", 3),
    )
