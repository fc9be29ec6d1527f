"""Fields: the names of columns and of the parts of an object, of which none is lost.

A table can have several columns of one name, and columns without one.  Where names must differ, as
in an object of JSON, these get names of their own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any


def distinct(names: Sequence[Any]) -> list[Any]:
    """Return names that differ for columns, by position; a name that is alone stays as it is.

    The second `note` is `note_2`, and the second column without a name `column_N`, N counted from
    1.  Names that occur are passed over.
    """
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    found: dict[Any, None] = {}
    later: dict[Any, Iterator[int]] = {}  # what is behind the next names
    for number, name in enumerate(names, 1):
        made = name
        if name in found:
            numbers = later.setdefault(name, count(2)) if name != "" else count(number)
            forms = (f"{'column' if name == '' else name}_{at}" for at in numbers)
            made = next(form for form in forms if form not in taken)
            taken.add(made)
        found[made] = None
    return list(found)


class RepeatedNames(dict[str, Any]):
    """The fields of an object with several of one name, under names that differ.

    `repeated`: the names that it has several times.
    """

    repeated: frozenset[str] = frozenset()


def fields_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object by `distinct` names: none of several of one name is lost."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    names = [name for name, _ in pairs]
    values = (value for _, value in pairs)
    found = RepeatedNames(zip(distinct(names), values, strict=True))
    found.repeated = frozenset(name for name, number in Counter(names).items() if number > 1)
    return found
