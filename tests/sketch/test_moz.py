"""The fingerprint of simhash-cpp: its published figures, and the kernels against its definition."""

import random
import re

import numpy as np
import pytest

import simdb
from simdb.core import kernel

MASK = 2**64 - 1
WORD = 0xFFFFFFFF
# Rotations of lookup3: in the six steps that mix a block, and in the seven final steps.
MIX_TURNS = (4, 6, 8, 16, 19, 4)
END_TURNS = (14, 11, 25, 16, 4, 14, 24)

# Carroll's poem with its lines run together, as simhash-cpp's test has it.
JABBERWOCKY = (
    "Twas brillig, and the slithy toves  Did gyre and gimble in the wabe:"
    "All mimsy were the borogoves,  And the mome raths outgrabe."
    "Beware the Jabberwock, my son!  The jaws that bite, the claws that catch!"
    "Beware the Jubjub bird, and shun  The frumious Bandersnatch!"
    "He took his vorpal sword in hand:  Long time the manxome foe he sought --"
    "So rested he by the Tumtum tree,  And stood awhile in thought."
    "And, as in uffish thought he stood,  The Jabberwock, with eyes of flame,"
    "Came whiffling through the tulgey wood,  And burbled as it came!"
    "One, two! One, two! And through and through  The vorpal blade went snicker-snack!"
    "He left it dead, and with its head  He went galumphing back."
    "And, has thou slain the Jabberwock?  Come to my arms, my beamish boy!"
    "O frabjous day! Callooh! Callay!'  He chortled in his joy."
)


@pytest.fixture(params=kernel.variants())
def project(request):
    """Return `project_moz` of one variant of the kernel."""
    kernel.select(request.param)
    yield kernel.project_moz
    kernel.select(kernel.variants()[-1])


def bits_of(weights):
    return sum(1 << j for j in range(64) if weights[j] >= 0)


def features_of(text, window):
    """Compute the cyclic hash as a stream: push a hash, drop the hash that leaves the window."""
    held, cyclic, features = [0] * window, 0, []
    for at, token in enumerate(re.findall(b"[A-Za-z]+", text.encode().partition(b"\0")[0])):
        pushed = lookup3(token)
        cyclic = rotated(cyclic, 1) ^ rotated(held[at % window], window) ^ pushed
        held[at % window] = pushed
        features.append(cyclic)
    return features


def lookup3(content: bytes) -> int:
    """Return both words of hashlittle2 (Jenkins 2006) with seeds 0, the first in the high half.

    `content` is not empty.
    """
    state = [(0xDEADBEEF + len(content)) & WORD] * 3
    for place in range(0, len(content), 12):
        block = content[place : place + 12].ljust(12, b"\0")
        words = (int.from_bytes(block[at : at + 4], "little") for at in (0, 4, 8))
        state = [(old + word) & WORD for old, word in zip(state, words, strict=True)]
        if place + 12 < len(content):
            _mix(state)
    return _end(state)


def _mix(state: list[int]) -> None:
    """Mix a block: a -= c; a ^= rot(c, 4); c += b; and so on round the three words."""
    for step, turn in enumerate(MIX_TURNS):
        here, before, after = step % 3, (step + 2) % 3, (step + 1) % 3
        state[here] = (state[here] - state[before] & WORD) ^ _turned(state[before], turn)
        state[before] = state[before] + state[after] & WORD


def _end(state: list[int]) -> int:
    """Mix the end: c ^= b; c -= rot(b, 14); and so on round the three words; return the hash."""
    for step, turn in enumerate(END_TURNS):
        here, before = (step + 2) % 3, (step + 1) % 3
        state[here] = (state[here] ^ state[before]) - _turned(state[before], turn) & WORD
    return state[2] << 32 | state[1]


def _turned(word: int, turn: int) -> int:
    """Rotate a word of 32 bits to the left."""
    return (word << turn | word >> 32 - turn) & WORD


def rotated(word, turn):
    turn %= 64
    return (word << turn | word >> 64 - turn) & MASK


def majority(features):
    """Compute simhash-cpp's result: bits that more than half of the features have, reversed."""
    ones = [sum(feature >> j & 1 for feature in features) for j in range(64)]
    return sum(1 << 63 - j for j in range(64) if ones[j] > len(features) // 2)


def test_the_hash_is_that_of_lookup3():
    """The figure is from the comments of Jenkins' lookup3.c."""
    assert lookup3(b"Four score and seven years ago") == 0x17770551CE7226E6


def test_the_fingerprint_is_the_one_that_simhash_cpp_pins(project):
    weights, tokens = project([JABBERWOCKY], window=3, replace=False, start=0)

    assert bits_of(weights[0]) == 0x041379A587C66880
    assert tokens[0] == len(re.findall("[A-Za-z]+", JABBERWOCKY))


@pytest.mark.parametrize("window", [1, 2, 3, 5, 63, 64])
def test_every_kernel_follows_the_definition(project, window):
    random.seed(window)
    alphabets = ("abYZ ,", "aZ[`{@ \xe9\xc9", "aZ \u5317\u0130\u212a", "aZ \U0001f600", "a\0 b")
    texts = [
        "".join(random.choices(alphabet, k=random.randrange(120)))
        for alphabet in alphabets
        for _ in range(12)
    ]
    texts += [
        "",
        "a",
        "1234",
        "a" * 11,
        "a" * 12,
        "a" * 13,
        "b" * 24 + " ",
        "c" * 5000,
        "d e " * 900,
    ]

    weights, counts = project(texts, window=window, replace=False, start=0)

    for text, row, count in zip(texts, weights, counts, strict=True):
        features = features_of(text, window)
        assert count == len(features)
        assert bits_of(row) == (majority(features) if features else MASK)
        assert not row[64:].any()
        assert row.any() == bool(features)


def test_weights_tell_ties_from_zeros(project):
    """Two features have one bit in common, lack one, and differ in others, which are ties."""
    weights, _ = project(["ab cd"], window=3, replace=False, start=0)

    first, second = features_of("ab cd", 3)
    for j in range(64):
        total = (first >> 63 - j & 1) + (second >> 63 - j & 1)
        assert weights[0, j] == {0: -4, 1: -1, 2: 4}[total]


def test_bytes_and_text_are_the_same_and_bad_text_is_named(project):
    text = "caf\xe9 noir \u5317"
    weights, _ = project([text, text.encode()], window=3, replace=False, start=0)

    assert np.array_equal(weights[0], weights[1])
    for wrong in (b"a \xff b", "a \ud800 b", 5):
        with pytest.raises(simdb.InputError, match="document 8 "):
            project(["good", wrong], window=3, replace=False, start=7)
    for wrong in (b"a \xff b", "a \ud800 b"):
        replaced, _ = project([wrong, "a b"], window=3, replace=True, start=0)
        assert np.array_equal(replaced[0], replaced[1])
    with pytest.raises(ValueError, match="window is 65"):
        project(["text"], window=65, replace=False, start=0)


def test_token_lists_are_refused_and_so_are_options_without_meaning():
    with pytest.raises(simdb.InputError, match="document 0 is a list of tokens"):
        simdb.fingerprint(["a", "b"], simdb.Simhash.moz())
    for options in ({"lowercase": True}, {"seed": 1}, {"dimensions": 128}, {"weighting": "binary"}):
        with pytest.raises(simdb.OptionError, match="unit='moz'"):
            simdb.Simhash(**{"unit": "moz", "lowercase": False, "dimensions": 64, **options})


def test_a_text_without_features_has_no_bits_as_in_simhash_cpp():
    sketch = simdb.Simhash.moz()

    assert simdb.fingerprint("", sketch).bits == 0
    assert simdb.fingerprints(["12", "", "a"], sketch).bits[:2].tolist() == [0, 0]
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(["text", "ready"], ["", simdb.fingerprint("", sketch)])
        database.insert_many(["made"], simdb.fingerprints(["  "], sketch))

        assert [database[id].fingerprint.bits for id in database] == [0, 0, 0]
        assert database.stats().empty_count == 3
        assert list(database.query("")) == []
