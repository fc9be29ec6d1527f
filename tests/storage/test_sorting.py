"""Tables sorted by several threads, checked against numpy's stable sort."""

import numpy as np
import pytest
from over import over

from simdb.core import kernel, threads
from simdb.core.bits import ALL_BITS, leading_masks
from simdb.storage import table
from simdb.storage.table import Sorting

MASKS = [ALL_BITS, 1, *leading_masks(4, 2)[2:4]]
NOISE = np.random.default_rng(3).integers(0, 2**64, 3000, np.uint64)
# What each draws from crosses another way in which keys are unlike random ones.
WORDS = {
    "random": NOISE,
    "few": NOISE[:1],
    "none": NOISE[:0],
    "equal": NOISE * np.uint64(0) + np.uint64(5),
    "repeated": NOISE % np.uint64(7),
    "short": NOISE >> np.uint64(40),
    "crowded": np.where(NOISE % np.uint64(50) == 0, NOISE, NOISE & np.uint64(0xFFF)),
    "rising": np.arange(3000, dtype=np.uint64) << np.uint64(32),
}


@pytest.fixture
def tiny_bins(monkeypatch):
    """Cut even a few words into parts and bins, of which the sample misses some."""
    monkeypatch.setattr(threads, "LEAST", 3)
    monkeypatch.setattr(table, "BINNED_ENTRIES", 1)
    monkeypatch.setattr(table, "BIN_ENTRIES", 50)
    monkeypatch.setattr(table, "BIN_BITS_MIN", 1)
    monkeypatch.setattr(table, "SAMPLED_KEYS", 30)


@over("kind", WORDS)
@over("number", [1, 2, 5])
def test_tables_are_sorted_alike_by_any_number_of_threads(tiny_bins, kind, number):
    words = WORDS[kind]
    ordinals = np.random.default_rng(4).permutation(len(words)).astype(np.uint32)
    keys, sorted_ordinals = np.empty_like(words), np.empty_like(ordinals)
    made = Sorting(words, ordinals, MASKS, number)
    for at, mask in enumerate(MASKS):
        wanted = np.empty_like(words)
        kernel.permute(words, mask, wanted)
        order = np.argsort(wanted, kind="stable")

        made.write(at, keys, sorted_ordinals)

        assert np.array_equal(keys, wanted[order])
        assert np.array_equal(sorted_ordinals, ordinals[order])
