"""Compaction: the choice of the runs to merge, at once or step by step, and the pace of the steps.

A new run is merged with all neighbours that are not much larger.  Each run is then at least
`growth` times larger than the next.  So there are few runs, which helps queries, since they probe
each run.  Still, a document is rewritten only a few times.

A commit merges runs at once if that takes little time.  Larger merges are spread over commits, each
of which writes a part in proportion to the documents that it inserts, so that no commit takes long.
A merge of n documents ends after n / `PACE` insertions; until then, queries use the old runs.  If
commits insert very many documents each, merges make longer runs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

# A commit merges 32 full deltas, 131,072 documents, in about 20 milliseconds; it merges fewer if a
# document has more than `WIDE` bytes of vectors or signatures.
AT_ONCE_DELTAS = 32
AT_ONCE_DELTA_MOST = 4096
WIDE = 128
PACE = 8
# The longest run that a merge makes during small transactions.  It bounds the largest stored value,
# and so the longest step.
LENGTH_MOST = 1 << 23
BULK_MOST = 1 << 25  # the longest run during transactions that insert many documents each
BULK_COMMITS = 4  # such transactions that make runs of their own during one merge, at most
COMPACTED_MOST = 1 << 27  # the longest run that a compaction makes
# Measured memory for each document while a compaction writes a table: the merged entry, the key
# being written, and everything else.
COMPACTED_BYTES = 27
COMPACTED_PART = 4  # a compaction may take a quarter of the memory
STAGED_MOST = 1 << 20  # a transaction that inserts more documents holds several runs in memory
# Runs with at least this sum of documents are written ahead of the commit that makes them live.
AHEAD_LEAST = 1 << 19
# Readers would refuse a manifest with unfinished runs below the least number.
assert AHEAD_LEAST <= LENGTH_MOST <= BULK_MOST <= COMPACTED_MOST


def compacted_most(memory_bytes: int) -> int:
    """Return the largest number of documents that a compaction writes as one run.

    A query probes each run, so the fewest runs are best; the memory limits their length.
    """
    fitting = memory_bytes // (COMPACTED_PART * COMPACTED_BYTES)
    return min(max(fitting, LENGTH_MOST), COMPACTED_MOST)


def merged_most(inserted: int, memory_bytes: int) -> int:
    """Return the largest number of documents of a merge that begins after `inserted` at once.

    The fewest runs are best for queries.  But until a merge ends, new documents stay in runs of
    their own.  So a merge may be long only if each transaction inserts many documents.
    """
    bulk = min(BULK_COMMITS * PACE * inserted, BULK_MOST, compacted_most(memory_bytes))
    return max(LENGTH_MOST, bulk)


def merged_from(counts: Sequence[int], new: int, growth: int) -> int:
    """Return the position of the first run to merge; it and all later runs become one.

    `counts`: documents of each run, oldest run first; the last `new` runs are new.
    """
    start = len(counts) - new
    total = sum(counts[start:])
    while start > 0 and counts[start - 1] < growth * total:
        start -= 1
        total += counts[start]
    return start


def begun_from(counts: Sequence[int], growth: int) -> int:
    """Return the position of the first run of a merge that is due; the number of runs if none is.

    The merge makes sizes grow by the factor `growth` again.
    """
    for at in range(len(counts) - 1):
        if counts[at] < growth * counts[at + 1]:
            return merged_from(counts, len(counts) - at, growth)
    return len(counts)


def first_within(lengths: Sequence[int], most: int) -> int:
    """Return the first position from which all later runs have a sum of at most `most`."""
    start, total = len(lengths), 0
    while start > 0 and total + lengths[start - 1] <= most:
        start -= 1
        total += lengths[start]
    return start


def grouped(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Group the positions of neighbouring runs whose lengths have a sum of at most `most`.

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
    """Return the number of documents that a commit sealing `new` of them may merge at once.

    `width`: bytes of a vector or signature.
    """
    documents = AT_ONCE_DELTAS * min(delta_documents, AT_ONCE_DELTA_MOST)
    return max(documents // (1 + width // (WIDE + 1)), new, min(2 * new, LENGTH_MOST))


def steps_due(costs: Sequence[int], length: int, inserted: int) -> int:
    """Return the number of steps of a merge that are due once `inserted` documents followed it.

    `costs`: of each step, in any unit.  `length`: the number of documents that it merges.
    """
    spent = list(accumulate(costs, initial=0))
    return bisect_right(spent, spent[-1] * inserted // max(length // PACE, 1)) - 1


def are_put_off(steps: int, inserted: int, delta_documents: int) -> bool:
    """Return whether a commit that seals a run leaves the due `steps` of a merge to the next one.

    So no commit of few documents writes both a run and the value of a step.  The next commit of
    equal size seals no run.
    """
    return steps == 1 and 2 * inserted <= delta_documents
