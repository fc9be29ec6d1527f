"""Stored features: blocks hold any documents, and lost or damaged blocks are noticed."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from soundness import assert_sound
from stored_values import change_value, put_value

import simdb
from simdb.core.arrays import Ragged, offsets_of
from simdb.storage import codec, layout, metadata

OPTIONS = simdb.Options(features=True)
SIZES = st.lists(st.integers(0, 40), max_size=30)


def packed(sizes):
    content = np.arange(sum(sizes)).astype(np.uint8)
    return Ragged(offsets_of(np.array(sizes, np.int64)), content)


def contents(made):
    return [bytes(each) for each in np.split(made.values, made.offsets[1:-1])] if len(made) else []


@given(SIZES, st.integers(0, 9), st.data())
def test_documents_kept_of_any_blocks_come_back_in_their_order(sizes, lost, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "FEATURE_DOCUMENTS", 4)
        patch.setattr(metadata, "FEATURE_BYTES", 60)
        patch.setattr(metadata, "RENUMBERED_DOCUMENTS", 5)
        stored = dict(metadata.encode_features(0, packed(sizes)))
        decoded = [metadata.decode_features(*block) for block in stored.items()]
        blocks = [
            (np.arange(first, first + len(made), dtype=np.uint32), made) for first, made in decoded
        ]
        if blocks:
            del blocks[lost % len(blocks) :: 7]
        known = {
            int(at): text
            for own, made in blocks
            for at, text in zip(own, contents(made), strict=True)
        }
        kept = sorted(data.draw(st.sets(st.integers(0, max(len(sizes) - 1, 0)))))
        kept = [each for each in kept if each < len(sizes)]

        again = list(metadata.renumbered_features(blocks, np.array(kept, np.uint32)))

    found = {}
    for first, made in (metadata.decode_features(*block) for block in again):
        found |= {first + at: text for at, text in enumerate(contents(made))}
    assert found == {at: known.get(ordinal, b"") for at, ordinal in enumerate(kept)}


@over(
    ("blocks", "count", "missing"),
    [
        ([], 0, []),
        ([(0, 3), (3, 5)], 5, []),
        ([], 4, [(0, 4)]),
        ([(2, 4)], 6, [(0, 2), (4, 6)]),
        ([(0, 3), (2, 5)], 5, [(2, 3)]),
        ([(0, 9)], 5, [(5, 9)]),
    ],
)
def test_ordinals_without_just_one_block_are_named(blocks, count, missing):
    assert list(metadata.gaps(blocks, count)) == missing


@pytest.fixture
def database(tmp_path):
    """A database with two blocks of features."""
    with simdb.open(tmp_path / "db", options=OPTIONS, durability="none") as database:
        database.insert_many({number: f"{number} same words here" for number in range(9)})
        database.insert(9, "5 same words here")
        yield database


@pytest.mark.parametrize(
    "change",
    [lambda _: None, lambda value: value[:-4], lambda value: value[:-1] + bytes([value[-1] ^ 1])],
    ids=["lost", "short", "flipped"],
)
def test_check_finds_lost_and_damaged_features_and_rebuild_can_drop_them(database, change):
    change_value(database, layout.FEATURES, layout.number_key(9), change)

    assert [finding.place for finding in database.check()] == ["features"]
    with pytest.raises(simdb.CorruptError):
        len(database.find_all(verify="exact"))
    with pytest.raises(simdb.CorruptError, match=r"documents of 9 \.\. \d+ lose their features"):
        database.rebuild()
    assert database.rebuild(drop_damaged=True).document_count == 10
    assert list(database.check(deep=True)) == []
    pairs = database.find_all(verify="exact", similarity=1.0)
    assert [(pair.left, pair.right) for pair in pairs] == [(5, 9)]  # by estimate
    assert pairs.verification.unknown == 1
    database.close()
    assert_sound(database.path)


def test_the_deep_check_finds_what_are_no_features(database):
    ((key, value),) = metadata.encode_features(9, packed([7]))
    put_value(database, layout.FEATURES, key, value)

    (finding,) = database.check(deep=True)

    assert "no whole number of entries" in finding.message


def test_a_block_without_documents_is_damaged():
    key = layout.number_key(0)
    value = codec.encode_array(layout.FEATURES_KIND, key, np.frombuffer(bytes(4), np.uint8))

    with pytest.raises(simdb.CorruptError, match="has no documents"):
        metadata.decode_features(key, value)
