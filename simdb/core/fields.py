"""Fields: the notation for parts of a record, and distinct names for columns.

A field is written in one of these ways:

* a name, or a dotted path such as `meta.body` into objects;
* names with commas between them (in Python a tuple), whose texts are joined by an empty line;
* `text|body`: the first field that a record has.

A column whose name is exactly the written text takes precedence.

A table can have several columns of one name, and columns without a name.  Where names must be
distinct, as in a JSON object, such columns get new names.
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
    """A part of a field: its name, and the paths where it may be; the first present one counts."""

    name: str
    paths: tuple[Path, ...]

    def found(self, record: Any) -> Path | None:
        """Return its path in a record, preferably with a value; None if the record lacks it."""
        known = [path for path in self.paths if _at(record, path) is not ABSENT]
        return next((path for path in known if _at(record, path) is not None), (*known, None)[0])


@dataclass(frozen=True, slots=True)
class Field:
    """A field as users write it: alternatives, each of parts whose texts are joined.

    `plain`: the name if the field is a plain column name; otherwise None.
    """

    name: FieldName
    plain: str | None
    choices: tuple[tuple[Part, ...], ...]

    @property
    def label(self) -> str:
        """The name of the field in messages, and for a new column."""
        return self.name if isinstance(self.name, str) else ",".join(self.name)

    @property
    def is_joined(self) -> bool:
        """Whether the value can come from several parts."""
        return any(len(parts) > 1 for parts in self.choices)

    @property
    def tops(self) -> set[str]:
        """The names of the columns that can contain the field or a part of it."""
        return {path[0] for path in self.paths}

    @property
    def paths(self) -> list[Path]:
        """All paths at which a record can have the field or a part of it."""
        return [path for parts in self.choices for part in parts for path in part.paths]

    def used(self, record: Any) -> list[Path]:
        """Return the paths of the field in a record, one for each part; empty if it is absent."""
        first: list[Path] = []
        for parts in self.choices:
            places = [place for place in (part.found(record) for part in parts) if place]
            if any(_at(record, place) is not None for place in places):
                return places
            first = first or places
        return first

    def of(self, record: Any) -> Any:
        """Return the value of the field in a record; None if it is absent.

        Several values, and the elements of their lists, are joined into one text, with numbers as
        in JSON.  A nested list or an object among them is returned instead, since it is not text.
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
        """Return the names that a record lacks: of the whole field, or of some of its parts."""
        if self.plain is not None:
            return [] if self.plain in record else [self.plain]
        used = set(self.used(record))
        for parts in self.choices:
            missing = [part.name for part in parts if used.isdisjoint(part.paths)]
            if len(missing) < len(parts):
                return missing
        return [self.label]

    def replaced(self, record: Mapping[str, Any], value: Any) -> dict[str, Any]:
        """Return a record with a new value in the field, which is added if it is absent."""
        return _with(record, next(iter(self.used(record)), (self.label,)), value)

    def without(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a record without the field."""
        rest = dict(record)
        for place in self.used(record):
            rest = _with(rest, place, ABSENT)
        return rest


@lru_cache(maxsize=256)  # called for each record
def field_named(name: FieldName) -> Field:
    """Return the field that a user has written."""
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
    """Return an argument that names a field; raise OptionError for another object.

    `changed_by`: the option that changes texts of the field, which then may not join several.
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
    """Return a value as text: bytes decoded, other values as in JSON."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _part(name: str) -> Part:
    """Return the part of a field that a name means; it may have alternatives, as in `text|body`."""
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
    """Return a record with `value` at a path, or without the path if `value` is ABSENT."""
    found = dict(record)
    if len(path) > 1:
        found[path[0]] = _with(found[path[0]], path[1:], value)
    elif value is ABSENT:
        found.pop(path[0], None)
    else:
        found[path[0]] = value
    return found


def distinct(names: Sequence[Any]) -> list[Any]:
    """Return distinct names for columns, in order; a name that occurs once is kept.

    The second `note` becomes `note_2`.  A second column without a name becomes `column_N`, where N
    is its number from 1.  New names never equal a given one.
    """
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    found: dict[Any, None] = {}
    later: dict[Any, Iterator[int]] = {}  # the numbers for further columns of a name
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
    """The fields of a JSON object with repeated names, under distinct names.

    `repeated`: the names that occur several times.
    """

    repeated: frozenset[str] = frozenset()


def fields_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object by `distinct` names, so that no repeated name is lost."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    names = [name for name, _ in pairs]
    values = (value for _, value in pairs)
    found = RepeatedNames(zip(distinct(names), values, strict=True))
    found.repeated = frozenset(name for name, number in Counter(names).items() if number > 1)
    return found
