"""Leaks and passages are those of an oracle, however data are cut into portions."""

import random

import alignment_oracle
import leaking
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from leak_oracle import Oracle
from leaking import documents, edited_documents, text_of
from over import over

import simdb
from simdb.core import kernel

# With these nothing is common, and a few words are enough.
ANY_RUN = {"common": 1.0, "coverage": 1e-9}
PORTIONS = (
    "simdb.jobs.deduplication.rows.READ_ROWS",
    "simdb.jobs.decontamination.decontaminate.JUDGED_DOCUMENTS",
)


def pairs(found):
    return {(leak.id, leak.item) for leak in found.found}


COVERAGES = st.sampled_from([0.05, 0.3, 0.5, 1.0])


@given(
    data=edited_documents(),
    items=edited_documents(most=4),
    n=st.integers(2, 5),
    coverage=COVERAGES,
    common=st.sampled_from([1e-9, 0.4, 1.0]),
    least_common=st.sampled_from([0, 1, 10]),
    numbers=st.sampled_from(["same", "any"]),
)
@settings(max_examples=20 * settings.default.max_examples)
def test_leaks_are_those_of_the_oracle(data, items, n, coverage, common, least_common, numbers):
    assume(items)
    rule = {"coverage": coverage, "common": common, "numbers": numbers}
    wanted = Oracle(data, items, n=n, least_common=least_common, **rule).leaks()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simdb.jobs.decontamination.items.COMMON_LEAST", least_common)
        found = simdb.decontaminate(
            list(map(text_of, data)), against=list(map(text_of, items)), ngram=n, threads=1, **rule
        )

    assert {(leak.id, leak.item): leak.coverage for leak in found.found} == pytest.approx(wanted)
    assert found.kept.tolist() == [
        not any(at == document for document, _ in pairs(found)) for at in range(len(data))
    ]


ROUNDS = 60


@pytest.mark.parametrize("seed", range(4))
def test_leaks_of_changed_copies_are_those_of_the_oracle(seed, monkeypatch):
    """Long items, families of them, boilerplate of documents, and copies with words changed."""
    chance, found_count = random.Random(seed), 0
    for _ in range(ROUNDS):
        data, items = leaking.changed_copies(chance)
        least_common = chance.choice([0, 1, 2, 10])
        numbers, coverage = chance.choice(["same", "same", "any"]), chance.choice([0.3, 0.5, 0.9])
        rule = {"coverage": coverage, "common": chance.choice([1e-9, 0.3, 1.0]), "numbers": numbers}
        n = chance.choice([3, 4, 5, 5, 5, 8])
        wanted = Oracle(data, items, n=n, least_common=least_common, **rule).leaks()
        monkeypatch.setattr("simdb.jobs.decontamination.items.COMMON_LEAST", least_common)

        found = simdb.decontaminate(
            list(map(text_of, data)), against=list(map(text_of, items)), ngram=n, threads=1, **rule
        )

        coverages = {(leak.id, leak.item): leak.coverage for leak in found.found}
        assert coverages == pytest.approx(wanted)
        assert all(list(leak.spans) == sorted(leak.spans) for leak in found.found)
        found_count += len(wanted)
    assert found_count > 2 * ROUNDS


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


@pytest.mark.parametrize("count", [10, 200, 5000])
def test_what_repeats_itself_is_found_at_a_cost_that_grows_as_the_text(count):
    # 100,000 zeros beside an item with 200 took 30 s and 3.6 GB.
    zeros = [text_of(["0"] * 20 * count), "four zeros are no run 0 0 0 0"]
    item = ["zero", "is", "not", "one"] + ["0"] * count

    found = simdb.decontaminate(zeros, against=[text_of(["0"] * count), text_of(item)])
    cut = simdb.decontaminate([text_of(item)], against=[text_of(item)], action="cut")

    assert [(leak.id, leak.item, leak.coverage) for leak in found.found] == [(0, 0, 1.0)]
    assert cut.data == []


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

    found = kernel.align(of(*documents), of(*items), np.array(pairs, np.int64), bounds, every)

    for number, (x, y) in enumerate(pairs):
        wanted = alignment_oracle.passages(documents[x], items[y], runs[number])
        own = found[found["pair"] == number]
        assert [tuple(each)[1:] for each in own.tolist()] == [each[:4] for each in wanted]


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
    weights = np.ones(3, np.int64)
    with pytest.raises(ValueError, match=r"run|pair"):
        kernel.judge_leaks(
            texts, texts, np.array(pairs, np.int64), np.array(bounds), np.array(runs, np.int64),
            weights, np.ones(len(pairs), np.int64),
        )  # fmt: skip
