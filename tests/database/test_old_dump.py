"""A dump of version 1 is loaded whole, or nothing of it."""

import io
import os
import random
from pathlib import Path

import hypothesis.strategies as st
import pytest
from dumps import framed, frames_of
from hypothesis import given

import simdb
from simdb.storage import codec

DUMP = (Path(__file__).parents[1] / "format" / "dump-v1" / "data.dump").read_bytes()
FRAMES = frames_of(DUMP)


def test_the_frames_of_a_dump_make_the_same_dump():
    assert framed(FRAMES) == DUMP
    assert {kind for kind, _ in FRAMES} == {
        b"head", b"idft", b"cali", b"note", b"docs", b"clus", b"time", b"pass", b"feat", b"meta",
        b"end ",
    }  # fmt: skip


def test_every_cut_of_an_old_dump_is_refused_and_leaves_nothing(tmp_path):
    for size in [*range(100), *range(100, len(DUMP), 631), len(DUMP) - 1]:
        with pytest.raises((simdb.CorruptError, simdb.FormatError), match=r"byte \d+|not a dump"):
            simdb.load(io.BytesIO(DUMP[:size]), tmp_path / "new")

    assert os.listdir(tmp_path) == []


def test_every_flipped_byte_of_an_old_dump_is_refused_and_leaves_nothing(tmp_path):
    chance = random.Random(5)
    for at in [*range(12), *range(16, 60), *chance.sample(range(60, len(DUMP)), 40)]:
        flipped = bytearray(DUMP)
        flipped[at] ^= 1 << chance.randrange(8)

        with pytest.raises((simdb.CorruptError, simdb.FormatError)):
            simdb.load(io.BytesIO(flipped), tmp_path / "new")

    assert os.listdir(tmp_path) == []


def test_what_follows_the_end_of_an_old_dump_is_refused(tmp_path):
    with pytest.raises(simdb.CorruptError, match="goes on after its end"):
        simdb.load(io.BytesIO(DUMP + b"x"), tmp_path / "new")


def with_head(**changes):
    """Return the frames with another head."""
    return [(b"head", codec.pack({**codec.unpack(FRAMES[0][1], "head"), **changes})), *FRAMES[1:]]


def twice(kind):
    """Return the frames with the first one of a kind a second time."""
    at = next(place for place, (found, _) in enumerate(FRAMES) if found == kind)
    return [*FRAMES[: at + 1], FRAMES[at], *FRAMES[at + 1 :]]


@pytest.mark.parametrize(
    "frames",
    [
        FRAMES[1:],
        FRAMES[:-1],
        [FRAMES[0], *FRAMES],
        [FRAMES[0], (b"meta", b"\1\0\0\0"), *FRAMES[1:]],
        [FRAMES[0], (b"docs", b"\xff" * 8), *FRAMES[1:]],
        [FRAMES[0], (b"docs", b""), *FRAMES[1:]],
        [FRAMES[0], (b"what", b""), *FRAMES[1:]],
        [(b"head", b"\x81\x90\x01"), *FRAMES[1:]],
        twice(b"docs"),
        twice(b"meta"),
        with_head(options=[]),
        with_head(documents=7),
    ],
)
def test_a_well_formed_old_dump_of_nonsense_is_refused_and_leaves_nothing(tmp_path, frames):
    with pytest.raises((simdb.CorruptError, simdb.FormatError)):
        simdb.load(io.BytesIO(framed(frames)), tmp_path / "new")

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("change", [1, 3, -1])
def test_an_old_frame_of_another_length_is_refused(tmp_path, change):
    for at, (kind, payload) in enumerate(FRAMES[:-1]):
        longer = (payload + b"\1" * max(change, 0))[: len(payload) + change]
        content = framed([*FRAMES[:at], (kind, longer), *FRAMES[at + 1 :]])

        with pytest.raises((simdb.CorruptError, simdb.FormatError)):
            simdb.load(io.BytesIO(content), tmp_path / "new")

        assert os.listdir(tmp_path) == []


@given(data=st.data())
def test_old_frames_of_any_bytes_give_only_errors_of_simdb(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any")
    at = data.draw(st.integers(0, len(FRAMES) - 1))
    kind, payload = FRAMES[at]
    start = data.draw(st.integers(0, len(payload)))
    stop = data.draw(st.integers(start, min(start + 4, len(payload))))
    middle = data.draw(st.binary(max_size=6))
    changed = (kind, payload[:start] + middle + payload[stop:])

    try:
        simdb.load(io.BytesIO(framed([*FRAMES[:at], changed, *FRAMES[at + 1 :]])), path / "new")
    except simdb.Error:
        assert os.listdir(path) == []
    else:
        with simdb.open(path / "new", "r") as loaded:
            assert list(loaded.check(deep=False)) == []
