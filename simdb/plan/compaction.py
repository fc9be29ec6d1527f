"""Compaction: decides which runs are merged, at once or step by step, and how fast the steps go.

A new run is merged with all neighbours that are not much larger.  From each run to the run before
it, sizes then grow at least by the factor `growth`.  So there are few runs, which helps queries, as
they probe each run; and a document is rewritten only a few times.

A commit merges runs at once as long as that takes little time.  Larger merges take many commits:
each writes a part in proportion to the documents that it inserts, so no commit takes long, and the
merge has ended when 1 / `PACE` as many documents were inserted as it rewrites.  Until then queries
use the old runs.  Where each commit inserts very many documents, merges make longer runs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

# Runs of this many full deltas together, 131,072 documents, are merged in some 20 milliseconds; if
# a document has more than `WIDE` bytes of vectors or signatures, fewer are.
AT_ONCE_DELTAS = 32
AT_ONCE_DELTA_MOST = 4096
WIDE = 128
PACE = 8
# No merge makes a longer run beside small transactions.  It bounds the largest value, hence the
# longest step.
LENGTH_MOST = 1 << 23
# Nor does a merge beside transactions that insert many documents each.
BULK_MOST = 1 << 25
# While such a merge goes on, at most about so many of them make a run of their own.
BULK_COMMITS = 4
# No compaction does.
COMPACTED_MOST = 1 << 27
# While a compaction writes a table, a document takes so much memory: its entry, which is merged,
# and the value of its key, as it is written.  Here measured, with what else is held.
COMPACTED_BYTES = 27
# All of that may take this part of the memory.
COMPACTED_PART = 4
# A transaction that inserts more has several runs in memory.
STAGED_MOST = 1 << 20
# Runs of so many documents together are written ahead of the commit that makes them live.
AHEAD_LEAST = 1 << 19
# A manifest with unfinished runs below the least number would be refused when it is read.
assert AHEAD_LEAST <= LENGTH_MOST <= BULK_MOST <= COMPACTED_MOST


def compacted_most(memory_bytes: int) -> int:
    """Return how many documents a compaction writes as one run at most.

    A query probes each run, so the fewest runs are best; so much memory decides how few they are.
    """
    fitting = memory_bytes // (COMPACTED_PART * COMPACTED_BYTES)
    return min(max(fitting, LENGTH_MOST), COMPACTED_MOST)


def merged_most(inserted: int, memory_bytes: int) -> int:
    """Return how many documents a merge may merge that begins when so many are inserted at once.

    The fewest runs are best for queries.  But until a merge ends, what is inserted stays in runs of
    its own; so only where each transaction inserts many may it be long.
    """
    bulk = min(BULK_COMMITS * PACE * inserted, BULK_MOST, compacted_most(memory_bytes))
    return max(LENGTH_MOST, bulk)


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


def begun_from(counts: Sequence[int], growth: int) -> int:
    """Return the position of the first run of a merge to begin; the number of runs if of none.

    It is the merge that makes sizes grow by the factor `growth` again.
    """
    for at in range(len(counts) - 1):
        if counts[at] < growth * counts[at + 1]:
            return merged_from(counts, len(counts) - at, growth)
    return len(counts)


def first_within(lengths: Sequence[int], most: int) -> int:
    """Return the first position from which on all runs together are at most `most` long."""
    start, total = len(lengths), 0
    while start > 0 and total + lengths[start - 1] <= most:
        start -= 1
        total += lengths[start]
    return start


def grouped(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Cut the positions of runs into groups of neighbours that are at most `most` long together.

    A longer run is a group of its own.
    """
    groups: list[list[int]] = []
    total = 0
    for at, length in enumerate(lengths):
        if not groups or total + length > most:
            groups.append([])
            total = 0
        groups[-1].append(at)
        total += length
    return groups


def merged_at_once(delta_documents: int, new: int, width: int) -> int:
    """Return how many documents a commit that seals `new` of them may merge at once.

    `width`: bytes of a vector or signature.
    """
    documents = AT_ONCE_DELTAS * min(delta_documents, AT_ONCE_DELTA_MOST)
    return max(documents // (1 + width // (WIDE + 1)), new, min(2 * new, LENGTH_MOST))


def steps_due(costs: Sequence[int], length: int, inserted: int) -> int:
    """Return how many steps of a merge must be done when `inserted` documents followed its begin.

    `costs` of each step, in any unit; `length`: the documents that it merges.
    """
    spent = list(accumulate(costs, initial=0))
    return bisect_right(spent, spent[-1] * inserted // max(length // PACE, 1)) - 1


def are_put_off(steps: int, inserted: int, delta_documents: int) -> bool:
    """Return whether a commit that seals a run leaves the due `steps` of a merge to the next one.

    So no commit of few documents writes a run and the value of a step.  The next commit, if it
    inserts as many, seals none.
    """
    return steps == 1 and 2 * inserted <= delta_documents
