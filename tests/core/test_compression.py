"""Blocks are compressed by what is installed, and read by everything that can read them."""

import sys

import numpy as np
import pytest

import simdb
from simdb.core.compression import ZSTD_MAGIC, compressed, decompressed

CONTENT = b"one two three " * 200 + bytes(range(256))
LIBRARIES = {"pyarrow": ["pyarrow"], "zstandard": ["zstandard"], "none": []}


@pytest.fixture
def only(monkeypatch):
    """Let only some libraries be installed."""

    def hide(name):
        for module in ("pyarrow", "compression.zstd", "zstandard"):
            if module not in LIBRARIES[name]:
                monkeypatch.setitem(sys.modules, module, None)
            elif sys.modules.get(module, 1) is None:
                monkeypatch.delitem(sys.modules, module)

    return hide


@pytest.mark.parametrize("writer", LIBRARIES)
@pytest.mark.parametrize("reader", LIBRARIES)
def test_a_block_is_read_by_what_can_read_it(only, writer, reader):
    only(writer)
    packed = compressed(CONTENT)
    assert packed.startswith(ZSTD_MAGIC) == (writer != "none")
    assert len(packed) < len(CONTENT) / 3
    only(reader)

    if writer == "none" or reader != "none":
        assert decompressed(packed, len(CONTENT)) == CONTENT
    else:
        with pytest.raises(simdb.OptionError, match="needs the package zstandard"):
            decompressed(packed, len(CONTENT))


@pytest.mark.parametrize("name", LIBRARIES)
def test_damage_is_told_and_takes_no_memory(only, name):
    only(name)
    packed = compressed(CONTENT)
    generator = np.random.default_rng(5)
    damaged = [packed[:-5], packed[:4], packed[:20], b"", packed[:4] + b"\xff" * 30]
    for _ in range(200):
        changed = bytearray(packed)
        changed[generator.integers(len(packed))] ^= 1 << generator.integers(8)
        damaged.append(bytes(changed))
    for each in damaged:
        try:
            found = decompressed(each, len(CONTENT))
        except (ValueError, simdb.OptionError):
            continue
        assert len(found) == len(CONTENT)
    for size in (len(CONTENT) - 1, len(CONTENT) + 1):
        with pytest.raises(ValueError, match=r"."):
            decompressed(packed, size)
