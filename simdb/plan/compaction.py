"""Compaction: decides which runs a new run is merged with: all neighbours that are not much larger.

From each run to the run before it, sizes then grow at least by the factor `growth`.  So there are
few runs, which helps queries, as they probe each run; and a document is rewritten only a few times.
"""

from collections.abc import Sequence


def merged_from(counts: Sequence[int], new: int, growth: int) -> int:
    """Return the position of the first run to merge; it and all later runs become one.

    `counts`: documents of each run, the oldest run first; the last `new` of them are new.
    """
    start = len(counts) - new
    total = sum(counts[start:])
    while start > 0 and counts[start - 1] < growth * total:
        start -= 1
        total += counts[start]
    return start
