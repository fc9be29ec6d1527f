"""`tools/bench/blocks.py`: a sorted table in several forms, which must find the same."""

import numpy as np
import pytest

COUNT, QUERIES = 5000, 30  # so many keys that rare differences have long codes


@pytest.mark.parametrize("size", [32, 64, 1024])
def test_every_form_finds_what_comparing_all_keys_finds(tool, tmp_path, size):
    blocks = tool("blocks")
    made = blocks.library(tmp_path, [])
    table = blocks.table_of(made, np.random.default_rng(1).integers(0, 2**64, COUNT, np.uint64))
    keys, ordinals = table.arrays["keys"], table.arrays["ordinals"]
    code = blocks.code_of(keys)
    filled = blocks.blocks_of(made, keys, size, code)
    queries, flips = next(blocks.questions(keys, table.t, QUERIES, 1))
    rest = np.uint64(64 - table.t)
    matches, total = 0, 0
    for header in (queries[:, None] ^ flips >> rest << rest).ravel().tolist():
        differing = keys ^ np.uint64(header)
        is_match = (differing >> rest == 0) & (np.bitwise_count(differing) <= 3)
        matches += is_match.sum()
        total ^= np.bitwise_xor.reduce(ordinals[is_match], initial=0)

    found = {name: blocks.look_up(made, table, form, (queries, flips))
             for name, form in blocks.forms_of(table, [filled]).items()}  # fmt: skip

    assert max(code.lengths[symbol] for symbol in differences(keys)) > blocks.PEEKED
    assert matches >= QUERIES // 2
    assert set(found.values()) == {(matches, total)}


def differences(keys):
    """Return the highest bits in which neighbours differ, 0 is the first."""
    return {64 - int(each).bit_length() for each in keys[1:] ^ keys[:-1]}
