"""Fields: what users call parts of a record, and names that differ, so that no column is lost.

A field is a name, or a dotted path such as `meta.body` into objects; several with commas between
them (in Python a tuple), whose texts are joined by an empty line; or `text|body`: the first that a
record has.  A field that is called exactly so comes first.

A table can have several columns of one name, and columns without one.  Where names must differ, as
in an object of JSON, these get names of their own.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

from simdb.core.errors import OptionError
from simdb.core.values import dataclass

JOINT = "\n\n"
ABSENT: Any = object()

FieldName: TypeAlias = str | tuple[str, ...]
Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a field, by one name: where it can be, the first that is there counts."""

    name: str
    paths: tuple[Path, ...]

    def found(self, record: Any) -> Path | None:
        """Return where a record has it, if possible with a value; None if it has not."""
        known = [path for path in self.paths if _at(record, path) is not ABSENT]
        return next((path for path in known if _at(record, path) is not None), (*known, None)[0])


@dataclass(frozen=True, slots=True)
class Field:
    """A field as users name it: choices, each of parts that are joined.

    `plain`: its name if it is no more than that; otherwise None.
    """

    name: FieldName
    plain: str | None
    choices: tuple[tuple[Part, ...], ...]

    @property
    def label(self) -> str:
        """The name in messages, and that of the field where texts have none."""
        return self.name if isinstance(self.name, str) else ",".join(self.name)

    @property
    def is_joined(self) -> bool:
        """Whether several parts can make the value."""
        return any(len(parts) > 1 for parts in self.choices)

    @property
    def tops(self) -> set[str]:
        """The names of the columns in which a record can have some of it."""
        return {path[0] for path in self.paths}

    @property
    def paths(self) -> list[Path]:
        """All places in which a record can have some of it."""
        return [path for parts in self.choices for part in parts for path in part.paths]

    def used(self, record: Any) -> list[Path]:
        """Return where a record has the field: a place for each part, none for nothing."""
        first: list[Path] = []
        for parts in self.choices:
            places = [place for place in (part.found(record) for part in parts) if place]
            if any(_at(record, place) is not None for place in places):
                return places
            first = first or places
        return first

    def of(self, record: Any) -> Any:
        """Return what a record has in the field; None if it has nothing.

        Several values make one text, numbers in it as in JSON, and those of a list one by one.  A
        list of lists or an object among them is returned as it is, since it is no text.
        """
        if self.plain is not None:
            return record.get(self.plain)
        values = [_at(record, place) for place in self.used(record)]
        if len(values) < 2:
            return values[0] if values else None
        lists = (each if isinstance(each, list) else [each] for each in values)
        found = [each for own in lists for each in own if each is not None]
        odd = (each for each in found if isinstance(each, list | dict))
        return next(odd, JOINT.join(map(value_text, found)) if found else None)

    def lacking(self, record: Any) -> list[str]:
        """Return what a record does not have: the field, or the names of some of its parts."""
        if self.plain is not None:
            return [] if self.plain in record else [self.plain]
        used = set(self.used(record))
        for parts in self.choices:
            missing = [part.name for part in parts if used.isdisjoint(part.paths)]
            if len(missing) < len(parts):
                return missing
        return [self.label]

    def replaced(self, record: Mapping[str, Any], value: Any) -> dict[str, Any]:
        """Return a record with another value in the field, or a new field of its name."""
        return _with(record, next(iter(self.used(record)), (self.label,)), value)

    def without(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record without the field."""
        rest = dict(record)
        for place in self.used(record):
            rest = _with(rest, place, ABSENT)
        return rest


@lru_cache(maxsize=256)  # asked for each record
def field_named(name: FieldName) -> Field:
    """Return the field that a name means."""
    if isinstance(name, tuple):
        return Field(name, None, (tuple(map(_part, name)),))
    choices: list[tuple[Part, ...]] = []
    for choice in dict.fromkeys([name, *name.split("|")]):
        if "," in choice or "|" in choice:
            choices.append((Part(choice, ((choice,),)),))
        if "|" not in choice:
            choices.append(tuple(map(_part, choice.split(","))))
    is_plain = len(choices) == 1 and len(choices[0][0].paths) == 1
    return Field(name, name if is_plain else None, tuple(choices))


def checked_field(argument: str, name: object, changed_by: str = "") -> FieldName:
    """Return an argument that names a field; OptionError for another object.

    `changed_by`: what changes its texts; then it may not join several fields.
    """
    names = name if isinstance(name, tuple | list) else (name,)
    if not names or not all(isinstance(each, str) for each in names):
        raise OptionError(
            f"{argument} must be the name of a field, or a tuple of names whose texts are joined,"
            f" got {name!r}"
        )
    made: FieldName = name if isinstance(name, str) else tuple(names)
    if changed_by and field_named(made).is_joined:
        raise OptionError(
            f"{changed_by} changes one field, and {argument} {field_named(made).label!r} joins"
            " several; name one"
        )
    return made


def value_text(value: Any) -> str:
    """Return a value as a text: bytes decoded, other values as in JSON."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _part(name: str) -> Part:
    """Return what a name, with alternatives in a tuple, means."""
    places: list[Path] = []
    for each in dict.fromkeys([name, *name.split("|")]):
        places += [(each,)] if "." not in each else [(each,), tuple(each.split("."))]
    return Part(name, tuple(places))


def _at(record: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(record, Mapping) or name not in record:
            return ABSENT
        record = record[name]
    return record


def _with(record: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a record with a value at a path, or without it if that is ABSENT."""
    found = dict(record)
    if len(path) > 1:
        found[path[0]] = _with(found[path[0]], path[1:], value)
    elif value is ABSENT:
        found.pop(path[0], None)
    else:
        found[path[0]] = value
    return found


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
