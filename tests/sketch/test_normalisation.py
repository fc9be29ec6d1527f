"""Normalisation and lower case are equal on every Python; newer characters stay unchanged."""

import hashlib
import random
import unicodedata

import pytest

from simdb.core.cold import section
from simdb.sketch.normalisation import TABLES, lower_cased, normalised

SEED = 20_261_121
NEWER = [
    code
    for row in section(TABLES, "newer").split()
    for code in range(int(row.split("-")[0], 16), int(row.split("-")[1], 16) + 1)
]
# Of 4 000 texts of all characters, as Python 3.10 normalises them without our help.
GOLDEN = {
    "nfc": "cc52e555edbb1b672fc026f0cf89060f35f60afd308e508bb12f20eb2d7f25db",
    "nfkc": "a6152e81a9e67932c5f0859c1d6a26bd685ec555656176601a899e69838689da",
}


def texts():
    """Make texts of letters with marks, of any characters, and of newer characters."""
    randomness = random.Random(SEED)
    scripts = [range(0x80, 0x250), range(0x300, 0x370), range(0x900, 0xE00), range(0x1100, 0x1200)]
    everything = [range(0xD800), range(0xE000, 0x20000), range(0x2F800, 0x2FA20), NEWER]
    for _ in range(4_000):
        alphabets = [randomness.choice(scripts), randomness.choice(scripts + everything)]
        length = randomness.randrange(1, 12)
        yield "".join(chr(randomness.choice(randomness.choice(alphabets))) for _ in range(length))


def digest(normalisation):
    whole = hashlib.sha256()
    for text in texts():
        whole.update(normalised(text, normalisation).encode() + b"\n")
    return whole.hexdigest()


@pytest.mark.parametrize("normalisation", ["nfc", "nfkc"])
def test_normalisation_does_not_depend_on_the_running_python(normalisation):
    assert digest(normalisation) == GOLDEN[normalisation]


def test_a_character_that_came_later_stays_and_its_neighbours_do_not_join_over_it():
    later = "\U0001e030"  # a modifier letter of Unicode 15

    assert normalised(later, "nfkc") == later
    assert normalised(f"e\u0301{later}e\u0301", "nfkc") == f"\u00e9{later}\u00e9"
    assert normalised(f"e{later}\u0301", "nfc") == f"e{later}\u0301"


def test_the_table_knows_the_unicode_of_the_running_python():
    def release(version):
        return tuple(map(int, version.split(".")))

    known = release(section(TABLES, "newer version"))

    assert release(unicodedata.unidata_version) <= known
    assert release(section(TABLES, "version")) == known


def test_lower_case_keeps_the_number_of_characters_and_knows_no_context():
    assert lower_cased("\u0130") == "i"
    assert lower_cased("\u039f\u03a3") == "\u03bf\u03c3"
    assert lower_cased("ASCII") == "ascii"
