"""The check of passages: whether the stored grains are those that were written, and in order."""

from collections.abc import Iterator

import numpy as np

from simdb.ground.errors import CorruptError, FormatError
from simdb.results.reports import Finding
from simdb.running import kernel
from simdb.storage import layout
from simdb.storage.passages.passage_run import KEY_BITS, PassageRun, passage_keys
from simdb.storage.passages.rewriting import LOST, passage_differences
from simdb.storage.records.manifest import Manifest, PassageInfo
from simdb.storage.runs.source import Source

STRAY = "move all passages into a run of their own: rebuild(), simdb rebuild"
PASSAGES = layout.PASSAGES.decode()


def check_passages(manifest: Manifest, source: Source, *, deep: bool) -> Iterator[Finding]:
    """Yield findings if passages are missing or not as they were written.

    With `deep`, also if their order, their parts or their ordinals are wrong, or if values belong
    to no run.  They follow from the texts, which are not stored, so they are compared with nothing
    else.
    """
    for row in manifest.passages:
        problems = [problem for _, problem in passage_differences(row, source)]
        if deep and not problems:
            problems = list(_disorder(row, source))
        yield from (Finding(PASSAGES, problem, LOST) for problem in problems)
    if deep and manifest.next_passage:
        yield from _strays(manifest, source)


def _disorder(row: PassageInfo, source: Source) -> Iterator[str]:
    """Yield what is wrong with the entries of a run, whose checksums are right."""
    run, place = PassageRun(row), f"passage run {row.number}"
    try:
        for number in range(len(row.counts)):
            keys, ordinals, _ = run.part(number, source)
            if run.bits and (keys >> np.uint64(KEY_BITS - run.bits) != number).any():
                yield f"{place} has keys in part {number} that belong to another part"
            same = keys[1:] == keys[:-1]
            if kernel.first_descent(keys) >= 0 or (ordinals[1:][same] <= ordinals[:-1][same]).any():
                yield f"{place} is not sorted in part {number}"
            if ((ordinals < row.start) | (ordinals >= row.stop)).any():
                yield f"{place} has ordinals outside {row.start} .. {row.stop} in part {number}"
    except (CorruptError, FormatError) as error:
        yield str(error)


def _strays(manifest: Manifest, source: Source) -> Iterator[Finding]:
    """Yield a finding for each value of no run; those written ahead are removed by a commit."""
    expected = {key for row in manifest.passages for key in passage_keys(row)}
    for key, _ in source.every(layout.PASSAGES):
        is_ahead = 0 < manifest.passages_ahead <= layout.key_number(key) + 1
        if key not in expected and not is_ahead:
            yield Finding(PASSAGES, f"the value under key {key.hex()} belongs to no run", STRAY)
