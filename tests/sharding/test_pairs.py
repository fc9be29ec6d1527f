"""Pairs, clusters and other verbs over all shards answer as one database with all documents does.

The same documents lie in shards and in one database, in the order of the shards.
"""

import numpy as np
import pytest
import sharded

import simdb
from simdb.database.sharding import sharded_database
from simdb.storage import files

OPTIONS = {"simhash": sharded.SIMHASH, "bare": sharded.BARE, "minhash": sharded.MINHASH}
QUESTIONS = {
    "simhash": [
        {"distance": 3},
        {"distance": 12, "recall": 1.0},
        {"similarity": 0.8, "recall": 1.0},
        {"similarity": 0.5, "search": "exhaustive"},
        {"similarity": 0.6, "distance": 20, "recall": 1.0},
    ],
    "bare": [{}, {"distance": 0}, {"distance": 12, "recall": 1.0}],
    "minhash": [{"search": "exhaustive"}, {"similarity": 0.3, "search": "exhaustive"}],
}
SIMILAR = {"simhash": {"similarity": 0.7, "recall": 1.0}, "minhash": {"similarity": 0.5}}
KEEPS = ["first", "last", "max:text", "min:text", lambda metadata: -len(metadata["text"])]


@pytest.fixture(scope="module", params=[("simhash", 3), ("bare", 6), ("minhash", 2)], ids=str)
def both(request, tmp_path_factory):
    """Return the kind, the sharded database, the single one, and the texts by id."""
    kind, shards = request.param
    ids, texts = sharded.corpus()
    place = tmp_path_factory.mktemp("pairs")
    options = OPTIONS[kind]
    simdb.write_sharded(place / "many", sharded.batches(ids, texts, 8), shards, options=options)
    with (
        simdb.open_sharded(place / "many") as many,
        sharded.single(place / "one", ids, texts, shards, options) as one,
    ):
        yield kind, many, one, dict(zip(ids, texts, strict=True))


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    """Copy few documents at a time."""
    monkeypatch.setattr(sharded_database, "COPIED_DOCUMENTS", 3)


def pairs_of(found):
    """Return pairs as a sorted list; an unknown similarity is None."""
    return sorted(
        ((pair.left, pair.right, pair.distance, pair.similarity) for pair in found), key=repr
    )


def groups_of(found):
    return [each.ids for each in found]


def is_short(metadata):
    return len(metadata["text"]) < 150


@pytest.mark.few(1)
def test_all_pairs(both):
    kind, many, one, _ = both

    for given in QUESTIONS[kind]:
        for more in ({}, {"where": is_short}, {"threads": 1}):
            wanted = one.find_all(**given, **more)
            found = many.find_all(**given, **more)
            assert found.verification is None
            assert pairs_of(found) == pairs_of(wanted)


@pytest.mark.few(1)
def test_all_pairs_are_those_of_a_double_loop(both):
    _, many, _, texts = both
    if many.options.is_minhash:
        pytest.skip("signatures have no distance of bits")
    ids = [id for id in many if texts[id]]
    bits = many.bits_many(ids)[1].tolist()

    for distance in (0, 3, 12):
        wanted = [
            (ids[left], ids[right])
            for left in range(len(ids))
            for right in range(left + 1, len(ids))
            if (bits[left] ^ bits[right]).bit_count() <= distance
        ]
        found = many.find_all(distance=distance, recall=1.0)
        assert {*zip(found.left, found.right, strict=True)} == {*wanted}
        assert len(found) == len(wanted)


@pytest.mark.few(1)
def test_all_clusters(both):
    kind, many, one, _ = both

    for policy in ("connected", "star"):
        for given in QUESTIONS[kind]:
            wanted = groups_of(one.find_clusters(**given, policy=policy))
            assert groups_of(many.find_clusters(**given, policy=policy)) == wanted
        for keep in KEEPS:
            more = {"policy": policy, "keep": keep, "where": is_short}
            wanted = groups_of(one.find_clusters(**given, **more))
            assert groups_of(many.find_clusters(**given, **more)) == wanted


@pytest.mark.few(1)
def test_texts_decide_across_shards(both):
    kind, many, one, texts = both
    if kind == "bare":
        pytest.skip("texts decide by similarity")
    given = SIMILAR[kind] | {"recall": 1.0}

    for known in (texts, {id: text for id, text in texts.items() if len(text) < 190}):
        for verify in (None, "exact", "estimate"):
            more = {"texts": known, "verify": verify}
            found, wanted = many.find_all(**given, **more), one.find_all(**given, **more)
            assert pairs_of(found) == pairs_of(wanted)
            assert found.verification == wanted.verification
            for policy in ("connected", "star"):
                own = more | ({} if verify == "estimate" else {"keep": "longest"})
                found = many.find_clusters(**given, **own, policy=policy)
                wanted = one.find_clusters(**given, **own, policy=policy)
                assert groups_of(found) == groups_of(wanted)
                assert found.verification == wanted.verification


@pytest.mark.few(1)
def test_any_method_finds_pairs_and_says_how(both):
    kind, many, one, _ = both
    search = simdb.Search(method="rotation", rotations=20)
    if kind == "minhash":
        search = "banding"
    given = {"search": search} if kind == "minhash" else {"search": search, "distance": 3}

    found, wanted = many.find_all(**given), one.find_all(**given)

    assert found.plan.method == wanted.plan.method
    assert pairs_of(found) == pairs_of(wanted)


@pytest.mark.few(1)
def test_given_pairs_are_compared(both):
    kind, many, one, texts = both
    ids = list(texts)
    left, right = ids, [*ids[5:], *ids[:5]]

    for more in ({}, *([{"texts": texts}] if kind != "bare" else [])):
        found, wanted = many.compare(left, right, **more), one.compare(left, right, **more)
        assert found.left.tolist() == left
        assert found.right.tolist() == right
        assert found.distance.tolist() == wanted.distance.tolist()
        np.testing.assert_array_equal(found.similarity, wanted.similarity)
    assert len(many.compare([], [])) == 0


def test_two_documents_are_explained_wherever_they_are(both):
    _, many, one, texts = both
    ids = list(texts)
    text = texts[ids[3]]

    for given in [
        *({"id": ids[0], "other_id": other} for other in ids[:9]),
        {"id": ids[4], "document": text},
        {"document": text, "other_document": texts[ids[5]]},
    ]:
        found, wanted = many.explain(**given), one.explain(**given)
        for name in ("left", "right", "distance", "similarity", "is_match", "features", "tables"):
            assert getattr(found, name) == getattr(wanted, name)


def test_the_same_ids_are_drawn(both):
    _, many, one, texts = both

    for count in (0, 1, 5, len(texts), 100):
        for seed in (0, 7):
            for weighted in (False, True):
                given = {"seed": seed, "weighted": weighted}
                assert many.draw_ids(count, **given) == one.draw_ids(count, **given)


def test_all_documents_one_by_one_and_as_sketches(both):
    _, many, one, _ = both

    assert list(many.keys()) == list(one.keys())
    assert list(many.items()) == list(one.items())
    with_text_ids = [
        reader.read_all() for reader in (many.sketches(ids="text"), one.sketches(ids="text"))
    ]
    assert sorted(map(repr, with_text_ids[0].to_pylist())) == sorted(
        map(repr, with_text_ids[1].to_pylist())
    )


@pytest.mark.few(1)
def test_a_plan_is_that_of_every_shard(both):
    kind, many, one, _ = both

    for given in QUESTIONS[kind]:
        for n in (None, 1e6, 1e12):
            found = many.plan(n, **given)
            assert found.reason.startswith("in each of ") == (many.shard_count > 1)
            assert (
                many.plan(n, **given, pairs=True).method == one.plan(n, **given, pairs=True).method
            )


@pytest.mark.few(1)
def test_bad_arguments_are_refused_as_by_one_database(both):
    _, many, one, texts = both
    ids = list(texts)

    for verb, given in [
        ("find_all", {"similarity": 2.0}),
        ("find_all", {"search": "none"}),
        ("find_all", {"where": 3}),
        ("find_all", {"verify": "exact"}),
        ("find_all", {"verify": "never"}),
        ("find_all", {"threads": 0}),
        ("find_clusters", {"policy": "none"}),
        ("find_clusters", {"keep": "none"}),
        ("find_clusters", {"keep": "longest"}),
        ("find_clusters", {"keep": "max:unknown"}),
        ("find_clusters", {"recall": 0}),
        ("compare", {"left": ids[:2], "right": ids[:1]}),
        ("compare", {"left": ["unknown"], "right": ids[:1]}),
        ("compare", {"left": ids[:1], "right": ids[:1], "texts": 3}),
        ("explain", {"id": ids[0]}),
        ("explain", {"id": ids[0], "other_id": "unknown"}),
        ("explain", {"id": "unknown", "other_id": ids[0]}),
        ("draw_ids", {"count": -1}),
        ("draw_ids", {"count": 1, "weighted": 1}),
        ("sketches", {"ids": "none"}),
        ("plan", {"n": -1}),
        ("plan", {"search": "none"}),
    ]:
        with pytest.raises(simdb.Error) as wanted:
            getattr(one, verb)(**given)
        with pytest.raises(type(wanted.value)) as found:
            getattr(many, verb)(**given)
        assert str(found.value) == str(wanted.value)


def test_times_of_documents(tmp_path):
    options = simdb.Options(keep_times="inserted", delta_documents=4, growth=2)
    ids, texts = sharded.corpus()
    simdb.write_sharded(tmp_path / "many", sharded.batches(ids, texts, 8), 3, options=options)

    with simdb.open_sharded(tmp_path / "many") as many:
        found = many.times_many(ids[::-1])

        assert not np.isnat(found).any()
        for number in range(3):
            own = [id for id in ids if simdb.shard_of([id], 3)[0] == number]
            with simdb.open(tmp_path / "many" / f"shard-{number:05d}", "r") as shard:
                assert many.times_many(own).tolist() == shard.times_many(own).tolist()
        with pytest.raises(simdb.NotFoundError, match="no document has the id 'unknown'"):
            many.times_many([ids[0], "unknown"])


def test_times_that_are_not_kept_are_an_error(both):
    _, many, _, texts = both

    for ids in ([], list(texts)):
        with pytest.raises(simdb.OptionError, match="keeps no times of documents"):
            many.times_many(ids)


@pytest.mark.few(1)
def test_too_many_documents_for_one_database_are_refused(both, monkeypatch):
    _, many, one, _ = both
    monkeypatch.setattr(sharded_database, "ORDINALS_MAX", 20)

    with pytest.raises(simdb.FullError, match="at most 20 documents of all shards together"):
        many.find_all()
    assert pairs_of(many.find_all(where=is_short)) == pairs_of(one.find_all(where=is_short))


@pytest.mark.few(1)
def test_it_lies_in_memory_only_with_room_for_all_shards(both, monkeypatch):
    _, many, _, _ = both
    asked = []
    monkeypatch.setattr(files, "_place", lambda room_bytes: asked.append(room_bytes))
    monkeypatch.setattr(files, "ROOM_BYTES", 1)

    many.find_all()

    (limit,) = asked
    assert limit >= 2 * many.stats().live_bytes


def test_a_shard_that_fails_while_it_is_copied_is_named_or_left_out(tmp_path, monkeypatch):
    ids, texts = sharded.corpus()
    simdb.write_sharded(
        tmp_path / "many", sharded.batches(ids, texts, 8), 3, options=sharded.SIMHASH
    )
    documents = sharded_database._documents

    def failing(state, ordinals, has_metadata):
        found = documents(state, ordinals, has_metadata)
        yield next(found)
        if "shard-00001" in state.store.environment.path:
            raise simdb.CorruptError("the second part is damaged")
        yield from found

    monkeypatch.setattr(sharded_database, "_documents", failing)
    with (
        simdb.open_sharded(tmp_path / "many") as strict,
        pytest.raises(simdb.CorruptError, match=r"shard-00001 of .* is damaged"),
    ):
        strict.find_all(distance=3)
    with simdb.open_sharded(tmp_path / "many", missing="skip") as many:
        with pytest.warns(RuntimeWarning, match="left out: shard-00001"):
            found = many.find_all(distance=3)
        rest = [id for id in ids if simdb.shard_of([id], 3)[0] != 1]

        assert {*found.left, *found.right} <= {*rest}
        assert list(many.skipped) == ["shard-00001"]
        assert pairs_of(found) == pairs_of(many.find_all(distance=3))
