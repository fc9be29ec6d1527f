"""Mutating: gives any bytes, and changed valid bytes, to every decoder and parser.

The harnesses are in decoders/; atheris runs them too.
"""

import random

from targets import TARGETS

# Numbers and bytes that make a decoder branch.
TELLING = (b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\x80", b"\xc0", b"\xdd\xff\xff\xff\xff")


def run(case):
    """Call harnesses, which return or raise an error of simdb."""
    chance = random.Random(case.seed)
    for number in range(case.steps):
        target = TARGETS[chance.choice(list(TARGETS))]
        case.step(number, target.name)
        target(damaged(chance, target.seeds()))


def damaged(chance, seeds):
    """Draw a seed with some bytes overwritten, removed or inserted, or any bytes at all."""
    is_any = chance.random() < 0.3
    data = bytearray(chance.randbytes(chance.randrange(300)) if is_any else chance.choice(seeds))
    for _ in range(chance.randint(0, 4)):
        at = chance.randint(0, len(data))
        new = chance.choice([*TELLING, chance.randbytes(chance.randint(0, 9))])
        data[at : at + chance.choice([len(new), 0, 1, 40])] = new
    return bytes(data)
