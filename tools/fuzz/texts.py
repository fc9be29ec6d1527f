"""Texts: sketches texts of all scripts with random options by all variants of the kernel.

Texts have 0 to 65 characters or some hundreds, or are one huge token, and lie at odd addresses.
"""

import random
from dataclasses import replace

import numpy as np

import simdb
from drawn import some_minhash, some_simhash
from simdb.core import kernel

SCRIPTS = (
    (0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0x1E00, 0x2100),
    (0x2C00, 0x3100), (0x3100, 0xA000), (0xAC00, 0xD800), (0xE000, 0x10000), (0x10000, 0x10FFFF),
)  # fmt: skip
# Characters that are cleaned before texts are cut.
CLEANED = ("-\n", "\xad", "\u200b", "\xdf", "i\u0307")


def some_text(chance, length):
    """Draw characters of one script or of several, with white space between."""
    scripts = chance.sample(SCRIPTS, chance.randint(1, 3))
    made = [chr(chance.randrange(*chance.choice(scripts))) for _ in range(length)]
    for at in chance.sample(range(length), length // chance.choice([4, 8, 10**6])):
        made[at] = chance.choice([*" \t\n\u00a0\u3000\0-'_.", *CLEANED])
    return "".join(made)


def run(case):
    """Sketch texts of all lengths with random options: as str, as bytes, at an odd address."""
    chance = random.Random(case.seed)
    lengths = [*range(66), *(chance.randint(66, 500) for _ in range(20))]
    texts = [some_text(chance, length) for length in lengths]
    texts += [
        some_text(chance, 1).join("aa") * chance.choice([2000, 70_000]),
        " ".join("ab" * 9000),
    ]
    for make, sketch_all in ((some_simhash, simdb.fingerprints), (some_minhash, simdb.signatures)):
        sketch = make(chance)
        case.note(f"{sketch}")
        if sketch.uses_idf:
            sketch = replace(sketch, idf=simdb.fit_idf(texts, sketch))
        answers = []
        for variant in kernel.variants():
            kernel.select(variant)
            answers.append(as_array(sketch_all(texts, sketch)))
        assert all(np.array_equal(answers[0], each) for each in answers), f"{sketch}"
        odd = [memoryview(b"x" + text.encode())[1:] for text in texts]
        alike = as_array(sketch_all([bytes(each) for each in odd], sketch))
        assert np.array_equal(answers[0], alike), f"bytes: {sketch}"


def as_array(made):
    return made.bits if hasattr(made, "bits") else made.minima
