"""Covering: chooses a few cases of a test with parameters, or enough for every value."""

from zlib import crc32


def covering(cases):
    """Return the positions of cases that together have each value of each parameter.

    A case is a dict from parameters to values.  As few as possible are chosen, greedily: next is
    the case with the most values that no chosen case has, the first of several such cases.
    """
    wanted = {value for case in cases for value in case.items()}
    chosen = []
    while wanted:
        best = max(range(len(cases)), key=lambda at: len(wanted & cases[at].items()))
        chosen.append(best)
        wanted -= cases[best].items()
    return chosen


def drawn(names, count):
    """Return the positions of `count` cases, by the checksums of their names.

    Tests with the same values get different cases, and neither the order of the cases nor another
    test changes them.  A new case takes the place of at most one.
    """
    return sorted(range(len(names)), key=lambda at: crc32(names[at].encode()))[:count]
