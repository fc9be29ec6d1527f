"""Digits: whether text holds a whole number with more digits than Python converts."""

import sys

DIGITS = b"0123456789"


def has_number(block: bytes, digits_max: int | None = None) -> bool:
    """Return whether more than `digits_max` digits follow each other; 0 is no limit.

    None means the limit of this process.  So many digits lie on a multiple of `digits_max`, so
    only those places are looked at.
    """
    if digits_max is None:
        digits_max = getattr(sys, "get_int_max_str_digits", int)()
    if not digits_max:
        return False
    for number, byte in enumerate(block[::digits_max]):
        if byte in DIGITS:
            place = number * digits_max
            before = block[max(0, place - digits_max) : place]
            after = block[place : place + digits_max + 1]
            rest = len(before.rstrip(DIGITS)) + len(after.lstrip(DIGITS))
            if len(before) + len(after) - rest > digits_max:
                return True
    return False
