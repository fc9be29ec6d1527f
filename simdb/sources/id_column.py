"""Id columns: checks the ids of many records at once, and makes batches of the records.

The usual ids, all of one type and short, need no check one by one.
"""

from typing import Any

from simdb.ground.errors import InputError
from simdb.sources.batch import I64, Batch, Bools, Found, Texts
from simdb.sources.records import ID_BYTES_MAX, InputId, Problem, Reading, make_id, place

# Shorter ids are not too long, however many bytes a character takes.
PLAIN_CHARACTERS = ID_BYTES_MAX // 4
INT_MIN, INT_STOP = -(2**63), 2**64


def with_ids(
    given: list[Any],
    reading: Reading,
    *,
    name: str,
    positions: I64,
    texts: Texts,
    sizes: I64,
    lines: list[bytes] | None = None,
    origins: I64 | None = None,
    nulls: Bools | None = None,
) -> Found:
    """Yield records of the source `name`, at least one, with a problem for each bad id.

    `given`: what their id fields hold, None if a record has none.
    """
    ids = plain_ids(given, reading, name, positions)
    problems: list[tuple[int, str]] = []
    if ids is None:
        ids, problems = _checked_ids(given, reading, name, positions)
    batch = Batch(
        ids=ids,
        texts=texts,
        sources=[name] * len(ids),
        positions=positions,
        sizes=sizes,
        lines=lines,
        origins=origins,
        nulls=nulls,
    )
    start = 0
    for at, reason in problems:
        if start < at:
            yield batch.part(start, at)
        yield Problem(name, place(name, int(positions[at])), reason)
        start = at + 1
    if not start:
        yield batch
    elif start < len(batch):
        yield batch.part(start, len(batch))


def plain_ids(
    given: list[Any], reading: Reading, name: str, positions: I64
) -> list[InputId] | None:
    """Return what `make_id` returns for each id; None if they must be looked at one by one."""
    kinds = set(map(type, given))
    if kinds == {int}:
        if reading.has_int_ids:
            return given if min(given) >= INT_MIN and max(given) < INT_STOP else None
        texts = [str(id) for id in given]
        return [*texts] if max(map(len, texts)) <= PLAIN_CHARACTERS else None
    if reading.has_int_ids:
        return None
    if kinds == {str}:
        return given if "" not in given and max(map(len, given)) <= PLAIN_CHARACTERS else None
    if kinds == {type(None)} and len(place(name, int(positions[-1]))) <= PLAIN_CHARACTERS:
        return [place(name, position) for position in positions.tolist()]
    return None


def _checked_ids(
    given: list[Any], reading: Reading, name: str, positions: I64
) -> tuple[list[InputId], list[tuple[int, str]]]:
    """Return an id for each record, and the place of each bad one with the reason."""
    ids: list[InputId] = []
    problems = []
    for at, id in enumerate(given):
        try:
            ids.append(make_id(id, reading, place(name, int(positions[at]))))
        except InputError as error:
            ids.append("")
            problems.append((at, str(error)))
    return ids, problems
