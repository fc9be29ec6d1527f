"""Every shared run of n words is found, and passages are those of an oracle."""

import alignment_oracle
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from leaking import documents, shared, text_of
from over import over

import simdb
from simdb.core import kernel

# With these nothing is common, and one shared run is enough.
ANY_RUN = {"common": 1.0, "coverage": 1e-9, "min_hits": 1}
PORTIONS = (
    "simdb.jobs.deduplication.rows.READ_ROWS",
    "simdb.jobs.decontamination.decontaminate.JUDGED_DOCUMENTS",
)


def pairs(found):
    return {(leak.id, leak.item) for leak in found.found}


@given(data=documents(), items=documents(), n=st.integers(2, 8), threads=st.sampled_from([1, 3]))
def test_every_shared_run_is_found(data, items, n, threads):
    if not items:
        return

    found = simdb.decontaminate(
        list(map(text_of, data)), against=list(map(text_of, items)), ngram=n, threads=threads,
        **ANY_RUN,
    )  # fmt: skip

    assert pairs(found) == shared(data, items, n)
    assert found.kept.tolist() == [
        not any(at == document for document, _ in pairs(found)) for at in range(len(data))
    ]


@given(data=documents(), items=documents(), size=st.integers(1, 3))
def test_the_size_of_portions_changes_nothing(data, items, size):
    if not items:
        return
    given_texts, tests = list(map(text_of, data)), list(map(text_of, items))
    settings = {"ngram": 3, "common": 0.2, "coverage": 0.3}
    whole = simdb.decontaminate(given_texts, against=tests, **settings)

    with pytest.MonkeyPatch.context() as patch:
        for name in PORTIONS:
            patch.setattr(name, size)
        cut = simdb.decontaminate(given_texts, against=tests, **settings)

    assert cut.found == whole.found
    assert cut.kept.tolist() == whole.kept.tolist()


@given(data=documents(most=8), items=documents(most=3), n=st.integers(2, 5))
def test_passages_are_equal_words_of_both_texts(data, items, n):
    if not items:
        return
    tests = list(map(text_of, items))

    found = simdb.decontaminate(list(map(text_of, data)), against=tests, ngram=n, **ANY_RUN)

    for leak in found.found:
        document, item = text_of(data[leak.id]), tests[leak.item]
        assert leak.item_text == item
        assert leak.text == document[slice(*leak.span)]
        for span in leak.spans:
            left, right = document[span.start : span.stop], item[span.item_start : span.item_stop]
            assert left.split()[0] == right.split()[0]
            assert left.split()[-1] == right.split()[-1]
        run = leak.rarest.split()
        assert f" {' '.join(run)} " in f" {item} "
        assert f" {' '.join(run)} " in f" {document} "
        others = [f" {text_of(each)} " for each in data]
        assert leak.count == sum(f" {' '.join(run)} " in other for other in others)


@given(
    rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 30)), min_size=1),
    n=st.integers(2, 7),
)
def test_passages_cover_every_shared_run_of_texts_that_repeat_a_word(rows, n):
    words = [word for word, count in rows for _ in range(count)]
    item = words[: len(words) // 2 + 5]

    found = simdb.decontaminate([text_of(words)], against=[text_of(item)], ngram=n, **ANY_RUN)

    inside = {at for leak in found.found for span in leak.spans for at in range(span[0], span[1])}
    length = min(n, len(item))
    runs = {tuple(item[at : at + length]) for at in range(len(item) - length + 1)}
    for at in range(len(words) - length + 1):
        if len(item) >= 5 and tuple(words[at : at + length]) in runs:
            assert inside.issuperset(range(2 * at, 2 * (at + length) - 1))


def test_a_row_of_zeros_has_few_passages_of_an_item_with_zeros():
    # 100,000 zeros beside an item with 200 took 30 s and 3.6 GB.
    zeros = ["0 " * 2000, "seven zeros are no run 0 0 0 0 0 0 0"]

    found = simdb.decontaminate(zeros, against=["0 " * 200])
    cut = simdb.decontaminate(zeros, against=["0 " * 200], action="cut")

    (leak,) = found.found
    assert (leak.id, leak.coverage, leak.hits, leak.span) == (0, 1.0, 188, (0, 3999))
    assert len(leak.spans) < 2 * 2000 / 7
    assert cut.data == zeros[1:]


def of(*sides):
    """Return offsets and words."""
    return np.cumsum([0, *map(len, sides)]), np.array(
        [w for each in sides for w in each], np.uint64
    )


SMALL = st.lists(st.integers(0, 3), max_size=25)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3), st.integers(1, 4))
@settings(max_examples=30 * settings.default.max_examples)
def test_passages_are_those_of_the_oracle(texts, length):
    documents, items = zip(*texts, strict=True)
    pairs = [(x, y) for x in range(len(documents)) for y in range(len(items))]
    runs = [
        alignment_oracle.joined(alignment_oracle.seeds(documents[x], items[y], length))
        for x, y in pairs
    ]
    bounds = np.cumsum([0, *map(len, runs)])
    every = np.array([run for each in runs for run in each], np.int64).reshape(-1, 3)

    found, offsets, equal = kernel.align(
        of(*documents), of(*items), np.array(pairs, np.int64), bounds, every
    )

    for number, (x, y) in enumerate(pairs):
        wanted = alignment_oracle.passages(documents[x], items[y], runs[number])
        own = found[found["pair"] == number]
        assert [tuple(each)[1:] for each in own.tolist()] == [each[:4] for each in wanted]
        marks = np.flatnonzero(equal[offsets[number] : offsets[number + 1]]).tolist()
        assert set(marks) == set().union(*(each.equal for each in wanted))


@over(
    ("pairs", "bounds", "runs"),
    [
        ([[0, 1]], [0, 1], [[0, 0, 2]]), ([[1, 0]], [0, 1], [[0, 0, 2]]),
        ([[0, 0]], [0, 1], [[2, 0, 2]]), ([[0, 0]], [0, 1], [[0, 2, 2]]),
        ([[0, 0]], [0, 1], [[-1, 0, 2]]), ([[0, 0]], [0, 1], [[0, 0, 0]]),
        ([[0, 0]], [0, 2], [[0, 0, 2]]), ([[0, 0]], [1, 1], [[0, 0, 2]]),
        ([[0, 0]], [0], [[0, 0, 2]]), ([[0, 0, 0]], [0, 1], [[0, 0, 2]]),
    ],
)  # fmt: skip
def test_runs_that_are_not_there_are_refused(pairs, bounds, runs):
    texts = of([1, 2, 3])
    with pytest.raises(ValueError, match=r"run|pair"):
        kernel.align(
            texts, texts, np.array(pairs, np.int64), np.array(bounds), np.array(runs, np.int64)
        )
