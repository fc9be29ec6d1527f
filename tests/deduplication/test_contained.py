"""The rule "contained": a document goes only if what stays has all its word 3-grams but a few."""

import json
import re

import numpy as np
import pytest
from contained import expected, grams, jaccard
from hypothesis import given, settings, strategies as st
from over import over

import simdb
from simdb.sketch import exact_pairs

BASE = " ".join(f"w{at}" for at in range(40))
# Bands and minima miss a pair with a chance of about 1e-6: in all examples together, of .001.
RECALL = 0.999999


def found_in(result):
    rows = zip(
        result.removed_ids.tolist(), result.representatives.tolist(),
        result.similarities, result.lost.tolist(), strict=True,
    )  # fmt: skip
    return {row: (kept, similarity, lost) for row, kept, similarity, lost in rows}


@st.composite
def families(draw):
    """Draws texts that are parts of a few others, some with other words in between."""
    texts = []
    for _ in range(draw(st.integers(1, 12))):
        first = draw(st.sampled_from("ab"))
        start, stop = draw(st.integers(0, 8)), draw(st.integers(14, 30))
        words = [f"{first}{at % 25}" for at in range(start, stop)]
        for at in draw(st.lists(st.integers(0, 12), max_size=2)):
            words.insert(at, draw(st.sampled_from("xyz")))
        texts.append(" ".join(words))
    return texts


@given(
    texts=families(),
    similarity=st.sampled_from([0.3, 0.5, 0.8]),
    lose=st.sampled_from([0, 0, 1, 3]),
    keep=st.sampled_from(["first", "last", "longest", "shortest"]),
    shingle=st.sampled_from([3, 3, 2]),
    held=st.sampled_from([1 << 23, 40, 0]),
)
@settings(max_examples=2 * settings.default.max_examples, deadline=None)
def test_what_goes_is_what_a_double_loop_over_sets_says(
    texts, similarity, lose, keep, shingle, held
):
    order = range(len(texts))
    by_size = sorted(order, key=lambda at: len(texts[at]))
    longest = sorted(order, key=lambda at: -len(texts[at]))
    order = {"first": order, "last": order[::-1], "longest": longest, "shortest": by_size}[keep]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_pairs, "HELD_FEATURES", held)
        found = simdb.deduplicate(
            texts, rule="contained", lose=lose, similarity=similarity, keep=keep, recall=RECALL,
            sketch=simdb.Simhash(shingle=shingle),
        )  # fmt: skip

    wanted, gone = expected(texts, similarity, lose, order), found_in(found)
    assert gone.keys() == wanted.keys()
    for row, (kept, similarity, lost) in gone.items():
        assert kept not in gone
        assert lost == len(grams(texts[row]) - grams(texts[kept])) <= lose
        assert len(grams(texts[kept])) >= len(grams(texts[row]))
        assert similarity == jaccard(grams(texts[kept]), grams(texts[row]))


@given(
    texts=families(),
    leading=families(),
    lose=st.sampled_from([0, 2]),
)
def test_texts_of_a_reference_stay_and_only_shorter_documents_go_for_them(texts, leading, lose):
    found = simdb.deduplicate(
        texts, against=leading, rule="contained", lose=lose, similarity=0.5, recall=RECALL
    )

    for row, (kept, similarity, lost) in found_in(found).items():
        is_led = found.is_reference[found.removed_ids.tolist().index(row)]
        stays = leading[kept] if is_led else texts[kept]
        assert lost == len(grams(texts[row]) - grams(stays)) <= lose
        assert len(grams(stays)) >= len(grams(texts[row]))
        assert similarity == jaccard(grams(stays), grams(texts[row]))
        assert is_led or found.kept[kept]
    led = {
        row for row in range(len(texts))
        if expected([texts[row]], 0.5, lose, [0], leading)
    }  # fmt: skip
    assert led == set(found.removed_ids[found.is_reference].tolist())


@over(
    "sketch",
    [
        simdb.Simhash(unit="characters", shingle=5),
        simdb.Simhash(unit="whitespace", shingle=1),
        simdb.Minhash(shingle=4),
        simdb.Minhash(weighting="bag"),
        simdb.Simhash(weighting="tf"),
    ],
)
def test_word_3_grams_decide_whatever_the_sketch_takes(sketch):
    # All its characters, and all its words, are in the first; one run of three words is not.
    mixed = "w0 w2 " + BASE.replace("w0 ", "", 1)

    found = simdb.deduplicate(
        [BASE, mixed, BASE.replace("w39", "")], rule="contained", sketch=sketch
    )

    assert found.kept.tolist() == [True, True, False]
    assert found.removed.column("lost").to_pylist() == [0]


@over(
    "sketch",
    [
        simdb.Simhash(weighting="tf"),
        simdb.Simhash(shingle=1, weighting="log-tf"),
        simdb.Minhash(weighting="bag"),
    ],
)
def test_the_usual_threshold_is_that_of_sets_whatever_the_sketch_weighs(sketch):
    rows = [BASE, " ".join(BASE.split()[:34])]  # 38 and 32 3-grams, the share .842

    alone = simdb.deduplicate(rows, rule="contained", sketch=sketch)
    beside = simdb.deduplicate(rows[1:], rule="contained", sketch=sketch, against=rows[:1])

    assert [alone.kept.tolist(), beside.kept.tolist()] == [[True, False], [False]]
    assert [alone.measure, beside.measure] == ["jaccard", "jaccard"]
    assert alone.verification.least == 0.8


def test_the_longer_of_two_stays_though_the_shorter_comes_first():
    found = simdb.deduplicate([BASE, BASE + " more"], rule="contained", keep="first")

    assert found.kept.tolist() == [False, True]
    assert found.removed.to_pylist() == [
        {"id": 0, "kept": 1, "similarity": pytest.approx(38 / 39), "lost": 0}
    ]


def test_no_document_goes_for_one_that_goes_itself():
    # The second loses one for the first, and the third one for the second, but two for the first.
    texts = [f"{BASE} a b", f"{BASE} a c", f"{BASE} d"]

    found = simdb.deduplicate(texts, rule="contained", lose=1)

    assert found_in(found).keys() == {1, 2}
    assert set(found.representatives.tolist()) == {0}
    assert simdb.deduplicate(texts, rule="contained").kept.all()


def test_a_text_of_two_words_is_one_gram():
    assert simdb.deduplicate(["a b", "a b", "b a"], rule="contained").kept.tolist() == [
        True, False, True,
    ]  # fmt: skip


def test_texts_without_words_stay():
    assert simdb.deduplicate(["", "", BASE, BASE], rule="contained").kept.tolist() == [
        True, True, True, False,
    ]  # fmt: skip


def test_numbers_must_be_the_same_too_if_asked():
    texts = [f"{BASE} 7", f"{BASE} 7 8"]

    assert simdb.deduplicate(texts, rule="contained").kept.tolist() == [False, True]
    assert simdb.deduplicate(texts, rule="contained", verify="numbers").kept.all()


def test_files_lose_what_rows_do(tmp_path):
    texts = [BASE, f"{BASE} a", f"b {BASE} a", f"c {BASE}"]
    place = tmp_path / "texts.jsonl"
    place.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    found = simdb.deduplicate(str(place), rule="contained", lose=1)

    assert found.kept.tolist() == simdb.deduplicate(texts, rule="contained", lose=1).kept.tolist()
    assert found.lost.tolist() == [0, 0, 1]


def test_a_stricter_look_tells_what_is_lost():
    texts = [BASE, f"{BASE} a", f"b {BASE} a", f"c {BASE}"]

    found = simdb.deduplicate(texts, rule="contained", lose=1).at(0.96)

    assert found.lost.tolist() == [0]


def test_the_page_says_what_each_text_loses(tmp_path):
    pytest.importorskip("jinja2")
    place = tmp_path / "page.html"

    simdb.deduplicate([BASE, f"{BASE} a b", f"c {BASE}"], rule="contained", lose=1).report(place)

    page = place.read_text()
    assert re.findall(r"lost 3-grams: (\d+)", page) == ["1", "0"]


@over(
    "wrong",
    [
        {"rule": "same"},
        {"lose": 1},
        {"rule": "contained", "lose": -1},
        {"rule": "contained", "lose": 0.5},
        {"rule": "contained", "verify": "estimate"},
        {"rule": "contained", "distance": 3},
        {"rule": "contained", "policy": "connected"},
        {"rule": "contained", "unit": "line"},
        {"rule": "contained", "sketch": simdb.Bits(64)},
    ],
)
def test_what_does_not_go_with_the_rule_is_refused(wrong):
    with pytest.raises(simdb.OptionError, match=r"rule|lose"):
        simdb.deduplicate(["a b c d", "a b c d"], **wrong)


def test_what_may_be_lost_is_of_the_rule():
    with pytest.raises(
        simdb.OptionError, match=r"lose= works only with rule='contained'; give both"
    ):
        simdb.deduplicate(["a b c d", "a b c d"], lose=3)


def test_vectors_have_no_words():
    with pytest.raises(simdb.OptionError, match="vectors"):
        simdb.deduplicate(np.eye(3, dtype=np.float32), rule="contained")
