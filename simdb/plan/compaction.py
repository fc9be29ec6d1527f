"""When runs are merged: a new run takes in every neighbour that is not much larger.

Run sizes then grow at least by the factor `growth` from each run to the one before it, so there
are few runs (queries ask each of them), and a document is rewritten a bounded number of times.
"""

from collections.abc import Sequence


def merged_from(counts: Sequence[int], new: int, growth: int) -> int:
    """The first run to be merged into the new ones, which are the last `new` of `counts`.

    `counts`: documents of each run, oldest first.  All from the returned position on become one.
    """
    start = len(counts) - new
    total = sum(counts[start:])
    while start > 0 and counts[start - 1] < growth * total:
        start -= 1
        total += counts[start]
    return start
