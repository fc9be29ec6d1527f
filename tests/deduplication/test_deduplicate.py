"""Survivors, groups and duplicates of one call, against a double loop over sets of shingles."""

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from families import drawn_families
from over import over

import simdb
from simdb.core.stored_options import Resources
from simdb.sketch.exact_similarity import ExactSimilarity


def families(count, seed):
    """Return texts in families of four, whose members differ in some words, mixed."""
    texts = list(drawn_families(count, seed).values())
    random.Random(seed).shuffle(texts)
    return texts


TEXTS = [*families(40, 3), "", "one word", "one word", ""]
COUNT = len(TEXTS)
# The cosine of features that weigh is measured in a temporary database.
WEIGHING = simdb.Simhash(weighting="tf")


def exact(data, **settings):
    """Deduplicate so that no match is missed by the search."""
    return simdb.deduplicate(data, recall=1.0, **settings)


@pytest.mark.parametrize("weighting", ["bag", "tf", "tf-idf"])
def test_features_that_weigh_decide_like_a_double_loop(weighting):
    chance = random.Random(8)
    # Members of a family differ in how often a passage is in them.
    texts = [" ".join([text] * (1 + at % 3 // 2)) for at, text in enumerate(families(20, 8))]
    texts += [" ".join([*text.split()[:20], *text.split()[:20]]) for text in texts[:40]]
    # These share most of their weight, but one word of nine.
    texts += [" ".join(["often"] * 60 + [f"{at}x{n}" for n in range(8)]) for at in range(20)]
    chance.shuffle(texts)
    sketch = simdb.Minhash(shingle=1, weighting=weighting)
    if weighting == "tf-idf":
        sketch = replace(sketch, idf=simdb.fit_idf(texts[::3], sketch))
    one, other = np.triu_indices(len(texts), 1)
    similarities = ExactSimilarity(sketch, Resources(), ()).of_pairs(texts, one, other)

    found = exact(texts, sketch=sketch, similarity=0.7)

    leader = list(range(len(texts)))
    is_match = similarities >= np.float32(0.7)
    for row, later in zip(one[is_match], other[is_match], strict=True):
        if leader[row] == row and leader[later] == later:
            leader[later] = row
    removed = [row for row in range(len(texts)) if leader[row] != row]
    assert found.removed_ids.tolist() == removed
    assert found.representatives.tolist() == [leader[row] for row in removed]
    assert 20 < len(removed) < len(texts)


@over("sketch", [simdb.Minhash(), simdb.Simhash(dimensions=256)])
def test_any_sketch_finds_the_same_survivors(sketch):
    found = exact(TEXTS, sketch=sketch)

    assert found.kept.tolist() == exact(TEXTS).kept.tolist()


@pytest.mark.parametrize("recall", [None, 1.0])
def test_texts_of_one_shingle_are_found_beside_texts_of_two(recall):
    # The minima of two features in the family "stratified" depend on each other: of 3,000 pairs
    # with the similarity 1/2, some 11 were lost.
    texts = [f"a{at} b{at} c{at}" + end for at in range(3000) for end in ("", f" d{at}")]

    result = simdb.deduplicate(texts, similarity=0.5, recall=recall)

    # At most one pair in 10,000 is lost: 4 or more once in 4,000 times.
    assert result.kept[::2].all()
    assert np.count_nonzero(result.kept[1::2]) < 4


def test_ids_name_the_rows():
    rows = [{"id": f"row {row}", "text": TEXTS[0]} for row in range(3)]

    found = simdb.deduplicate(rows, id="id", keep="last")

    assert [cluster.ids for cluster in found.groups] == [["row 2", "row 1", "row 0"]]
    assert found.removed_ids.tolist() == ["row 0", "row 1"]
    assert found.representatives.tolist() == ["row 2", "row 2"]
    listed = simdb.deduplicate([row["text"] for row in rows], id=[7, 8, 9])
    assert [cluster.ids for cluster in listed.groups] == [[7, 8, 9]]


@over("null", [None, float("nan"), np.float32("nan")])
def test_nulls_are_kept_dropped_or_refused(null):
    data = [TEXTS[0], null, TEXTS[0], null, TEXTS[1]]

    kept = simdb.deduplicate(data)
    dropped = simdb.deduplicate(data, on_null="drop")

    assert kept.kept.tolist() == [True, True, False, True, True]
    assert kept.data[1] is null
    assert dropped.kept.tolist() == [True, False, False, False, True]
    assert dropped.data == [TEXTS[0], TEXTS[1]]
    assert kept.null_count == dropped.null_count == 2
    assert kept.removed_ids.tolist() == dropped.removed_ids.tolist() == [2]
    with pytest.raises(simdb.InputError, match=r"row 1 has no text \(2 of 5 rows"):
        simdb.deduplicate(data, on_null="error")


@pytest.mark.parametrize(
    ("constant", "settings"),
    [("within.PART_ROWS", {}), ("within.PART_ROWS", {"sketch": WEIGHING})],
)
def test_progress_goes_on_from_one_portion_to_the_next(monkeypatch, constant, settings):
    monkeypatch.setattr(f"simdb.jobs.deduplication.{constant}", 50)
    monkeypatch.setattr("simdb.jobs.deduplication.alike.COMMIT_DOCUMENTS", 70)
    seen = []

    found = simdb.deduplicate(TEXTS, progress=seen.append, **settings)

    assert seen == [50, 100, 150, COUNT]
    assert found.kept.tolist() == simdb.deduplicate(TEXTS, **settings).kept.tolist()


def test_removed_rows_have_the_same_similarities_however_few_are_compared_at_a_time(monkeypatch):
    pytest.importorskip("pyarrow")
    settings = {"verify": "estimate", "sketch": WEIGHING}
    expected = simdb.deduplicate(TEXTS, **settings).removed.to_pylist()
    monkeypatch.setattr("simdb.jobs.deduplication.alike.COMPARED_DOCUMENTS", 3)

    found = simdb.deduplicate(TEXTS, **settings).removed.to_pylist()

    assert found == expected
    assert len(found) > 3


@over("data", [[], (), iter([]), [None, None], ["", ""]])
def test_data_without_texts_is_kept(data):
    found = simdb.deduplicate(data)

    assert found.kept.all()
    assert len(found.groups) == len(found.removed_ids) == len(found.removed) == 0


def test_removed_rows_are_a_table():
    pytest.importorskip("pyarrow")
    found = simdb.deduplicate([TEXTS[0], TEXTS[1], TEXTS[0]])

    row = {"id": 2, "kept": 0, "similarity": 1.0}
    assert found.removed.to_pylist() == [row]
    mixed = simdb.deduplicate([TEXTS[0], TEXTS[1], TEXTS[0]], id=["a", "b", 3])
    assert mixed.removed.to_pylist() == [{**row, "id": "3", "kept": "a"}]


def test_the_repr_has_two_lines_with_counts():
    found = simdb.deduplicate([TEXTS[0], TEXTS[1], TEXTS[0], None], on_null="drop")

    assert repr(found) == (
        "<simdb.Deduplicated: 2 of 4 rows kept, 1 removed in 1 group\n"
        " 1 without text dropped; Jaccard similarity of at least 0.8, 1 pair compared"
        " exactly>"
    )


@pytest.mark.parametrize("has_database", [False, True])
def test_if_more_than_a_share_would_be_removed_nothing_is(tmp_path, has_database):
    data = ["one two three four", "five six seven eight"] * 2
    db = str(tmp_path / "d") if has_database else None

    with pytest.raises(simdb.OptionError, match=r"2 of 4 documents are .* 50.0% .* max_share=0.49"):
        simdb.deduplicate(data, db=db, max_share=0.49)

    assert len(simdb.deduplicate(data, db=db, max_share=0.5)) == 2


@over(
    ("settings", "message"),
    [
        ({"keep": "best"}, "keep must be 'first'"),
        ({"keep": "max:"}, "keep must be 'first'"),
        ({"keep": 3}, "keep must be 'first'"),
        ({"keep": "max:score"}, "no field 'score', because data is a list of texts"),
        ({"id": "name"}, "no field 'name', because data is a list of texts"),
        ({"verify": "maybe"}, "verify must be one of"),
        ({"policy": "strar"}, "policy must be one of"),
        ({"on_null": "skip"}, "on_null must be one of 'drop', 'keep', 'error'"),
        ({"max_share": 0}, "max_share must be above 0 and at most 1"),
        ({"max_share": "1"}, "max_share must be above 0 and at most 1"),
        ({"text": 3}, "text must be the name"),
        ({"distance": 3}, "verify='estimate'"),
        ({"sketch": simdb.Simhash.moz()}, "verify='estimate'"),
        ({"sketch": "simhash"}, "sketch must be a simdb.TextSketch"),
        ({"threads": 0}, "threads must be"),
        ({"progress": 3}, "progress must be"),
        ({"similarity": 3}, "similarity must be"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(simdb.OptionError, match=message):
        simdb.deduplicate(TEXTS[:3], **settings)


@over(
    ("data", "settings", "message"),
    [
        ("a text", {}, "there is no file or folder a text; a text goes into a list"),
        ({"a": ["a text"]}, {}, r"texts by their ids, but 'a' has \['a text'\] \(list\); give col"),
        ({"a": {"text": "b"}}, {}, r"and rows as list\(data.values\(\)\)"),
        (3, {}, "data must be texts or rows"),
        (None, {}, "data must be texts or rows"),
        ([["a"], ["b"]], {}, r"row 0 has \['a'\] \(list\)"),
        (["a text", 3.5], {}, r"row 1 has 3.5 \(float\)"),
        ([{"text": "a"}, "a text"], {}, "row 1 is str, but other rows are dicts"),
        (["a text", "b"], {"id": [1]}, "there are 2 rows but 1 ids"),
        ([None, "a text", "a \ud800 b"], {}, "row 2 of data"),
        ([b"a", b"\xff"], {"keep": "last"}, "row 1 of data"),
        ([{"text": "a", "n": 1}, {"text": "b", "n": b"x"}], {"keep": "min:n"}, "cannot be ordered"),
    ],
)
def test_data_that_cannot_be_read_is_named(data, settings, message):
    with pytest.raises(simdb.InputError, match=message):
        simdb.deduplicate(data, **settings)


def test_a_result_travels_between_processes_with_all_that_it_can_do(tmp_path):
    """What a worker of a pool returned ended with "Can't pickle local object"."""
    texts = families(10, seed=3000201)
    reference = [texts[0]]
    with simdb.open(tmp_path / "db") as database:
        database.insert("known", texts[5])
    given = [
        (texts, {}), (dict(enumerate(texts)), {}), ([{"text": text} for text in texts], {}),
        (texts, {"against": reference}), (texts, {"against": tmp_path / "db"}),
        (texts, {"db": tmp_path / "new"}), (texts, {"keep": len}), (texts, {"unit": "line"}),
    ]  # fmt: skip

    for data, asked in given:
        found = simdb.deduplicate(data, **asked)
        again = pickle.loads(pickle.dumps(found))
        for name, result in {"found": found, "again": again}.items():
            result.write(tmp_path / f"{name}.jsonl")
            result.report(tmp_path / f"{name}.html")

        assert (again.data, again.kept.tolist()) == (found.data, found.kept.tolist())
        assert list(map(list, again.groups)) == list(map(list, found.groups))
        lines, pages = [
            [(tmp_path / f"{name}.{end}").read_text() for name in ("found", "again")]
            for end in ("jsonl", "html")
        ]
        assert lines[0] == lines[1]
        assert pages[0].count("<mark>") == pages[1].count("<mark>")
    found = simdb.deduplicate(texts)
    again = pickle.loads(pickle.dumps(found))
    assert again.at(0.95).kept.tolist() == found.at(0.95).kept.tolist() != found.kept.tolist()


def test_a_result_that_reads_its_files_again_says_why_it_cannot_be_pickled(tmp_path):
    """The error was: cannot pickle 'module' object."""
    (tmp_path / "a.jsonl").write_text('{"text": "one two three"}\n' * 2)

    for data, asked in ((tmp_path / "a.jsonl", {}), (["x"], {"against": tmp_path / "a.jsonl"})):
        result = simdb.deduplicate(data, **asked)
        with pytest.raises(TypeError, match="it reads texts again in their files; take what you"):
            pickle.dumps(result)
