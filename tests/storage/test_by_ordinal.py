"""Features and texts by ordinal: blocks hold any documents, and damage is noticed."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over
from soundness import assert_sound
from stored_values import change_value, put_value

import simdb
from simdb.core.arrays import Ragged, offsets_of
from simdb.storage import by_ordinal, codec, layout
from simdb.storage.by_ordinal import COLUMNS, FEATURES, TEXTS

OPTIONS = simdb.Options(features=True, texts=True)
TINY = {
    "FEATURE_DOCUMENTS": 4, "FEATURE_BYTES": 60, "TEXT_DOCUMENTS": 4, "TEXT_BYTES": 60,
    "RENUMBERED_DOCUMENTS": 5, "RENUMBERED_BYTES": 90,
}  # fmt: skip
SIZES = st.lists(st.integers(0, 40), max_size=30)


def packed(sizes):
    content = np.arange(sum(sizes)).astype(np.uint8)
    return Ragged(offsets_of(np.array(sizes, np.int64)), content)


def contents(made):
    return [bytes(each) for each in np.split(made.values, made.offsets[1:-1])] if len(made) else []


@given(SIZES, st.integers(0, 9), st.sampled_from(COLUMNS), st.sampled_from([1, 2]), st.data())
def test_documents_kept_of_any_blocks_come_back_in_their_order(sizes, lost, column, threads, data):
    with pytest.MonkeyPatch.context() as patch:
        for name, size in TINY.items():
            patch.setattr(by_ordinal, name, size)
        stored = dict(column.encode(0, packed(sizes), threads))
        decoded = [column.decode(*block) for block in stored.items()]
        assert all(len(made) <= 4 for _, made in decoded)
        assert all(len(made.values) <= 60 or len(made) == 1 for _, made in decoded)
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

        again = list(column.renumbered(blocks, np.array(kept, np.uint32), threads))

    found = {}
    for first, made in (column.decode(*block) for block in again):
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
    assert list(by_ordinal.gaps(blocks, count)) == missing


@pytest.fixture
def database(tmp_path):
    """A database with two blocks of each column."""
    with simdb.open(tmp_path / "db", options=OPTIONS, durability="none") as database:
        database.insert_many({number: f"{number} same words here" for number in range(9)})
        database.insert(9, "5 same words here")
        yield database


CHANGES = {
    "lost": lambda _: None,
    "short": lambda value: value[:-4],
    "flipped": lambda value: value[:-1] + bytes([value[-1] ^ 1]),
}


@pytest.mark.parametrize("column", COLUMNS, ids=["features", "texts"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_check_finds_lost_and_damaged_columns_and_rebuild_can_drop_them(database, column, change):
    change_value(database, column.name, layout.number_key(9), change)

    assert [finding.place for finding in database.check()] == [column.what]
    with pytest.raises(simdb.CorruptError), database._store.state() as state:
        state.beside(column, np.array([0, 9], np.uint32))
    with pytest.raises(
        simdb.CorruptError, match=rf"documents of 9 \.\. \d+ lose their {column.what}"
    ):
        database.rebuild()
    assert database.rebuild(drop_damaged=True).document_count == 10
    assert list(database.check(deep=True)) == []
    assert (database.get(9).text is None) == (column is TEXTS)
    assert database.get(8).text == "8 same words here"
    database.close()
    assert_sound(database.path)


def test_where_texts_and_features_are_lost_the_estimate_decides(database):
    for column in COLUMNS:
        change_value(database, column.name, layout.number_key(9), lambda _: None)
    database.rebuild(drop_damaged=True)

    pairs = database.find_all(verify="exact", similarity=1.0)

    assert [(pair.left, pair.right) for pair in pairs] == [(5, 9)]
    assert pairs.verification.unknown == 1


def test_the_deep_check_finds_what_are_no_features(database):
    ((key, value),) = FEATURES.encode(9, packed([7]))
    put_value(database, layout.FEATURES, key, value)

    (finding,) = database.check(deep=True)

    assert "not hold a whole number of entries" in finding.message


def test_the_deep_check_finds_what_is_no_text(database):
    for content in (b"t", b"s\xff", b"s\xc3", b"\xc3\xa9"):
        ((key, value),) = TEXTS.encode(9, Ragged(np.array([0, len(content)]), bytes_of(content)))
        put_value(database, layout.TEXTS, key, value)

        (finding,) = database.check(deep=True)
        assert "the block of texts at ordinal 9 has no text of document 0" in finding.message
        with pytest.raises(simdb.CorruptError, match="no text of document 0"):
            database.texts_many([9])


def bytes_of(content):
    return np.frombuffer(content, np.uint8)


def test_a_character_cut_between_two_texts_is_damage():
    column = Ragged(np.array([0, 2, 4]), bytes_of(b"s\xc3\xa9s"))

    with pytest.raises(simdb.CorruptError, match="no text of document 0"):
        by_ordinal.text_column(column, "it")


@pytest.mark.parametrize("column", COLUMNS, ids=["features", "texts"])
def test_a_block_without_documents_is_damaged(column):
    ((key, value),) = column.encode(0, packed([3]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_ordinal, "pack", lambda *_: bytes(4))
        ((key, value),) = column.encode(0, packed([3]))

    with pytest.raises(simdb.CorruptError, match="has no documents"):
        column.decode(key, value)


def test_a_size_that_texts_cannot_have_takes_no_memory():
    ((key, value),) = TEXTS.encode(0, packed([3]))
    payload = codec.decode_array(layout.TEXTS_KIND, key, value, np.uint8).tobytes()
    for size, message in [
        (0, "says that 0 bytes"), (2**63, "says that"), (2**32, "says that"),
        (2**26, "says that"),
        (12, "cannot be decompressed|do not fit|too short"), (10**4, "cannot be decompressed"),
    ]:  # fmt: skip
        changed = size.to_bytes(8, "little") + payload[8:]
        stored = codec.encode_array(layout.TEXTS_KIND, key, bytes_of(changed))
        with pytest.raises(simdb.CorruptError, match=message):
            TEXTS.decode(key, stored)
    with pytest.raises(simdb.CorruptError, match="says that"):
        TEXTS.decode(key, codec.encode_array(layout.TEXTS_KIND, key, bytes_of(b"short")))
