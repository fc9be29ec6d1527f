"""Field columns: the values of a field, as users name it, in the columns of Arrow."""

from collections.abc import Mapping, Sequence
from typing import Any

from simdb.core.arrow import STRINGS, listed, load_arrow, python_values
from simdb.core.fields import JOINT, Field, Part, Path

PURPOSE = "reading a field"


def field_values(table: Any, wanted: Field) -> list[Any]:
    """Return the field of each row of a table or a batch as Python objects."""
    names = [name for name in table.schema.names if name in wanted.tops]
    if not names:
        return [None] * int(table.num_rows)
    if wanted.plain is not None:
        return listed(table.column(wanted.plain)) or []
    return list(map(wanted.of, python_values(table.select(names))))


def field_column(table: Any, wanted: Field) -> Any:
    """Return the field of each row as an array; None if rows must be looked at one by one."""
    if wanted.plain is not None:
        return table.column(wanted.plain)
    compute = load_arrow(PURPOSE, "pyarrow.compute")
    choices = []
    for parts in wanted.choices:
        columns = [each for part in parts for each in _coalesced(table, part, compute)]
        if any(each is None for each in columns):
            return None
        if len(parts) > 1 and any(each.null_count for each in columns):
            return None
        if len(columns) > 1:
            columns = [joined_texts(columns)]
        choices += columns
    return compute.coalesce(*choices) if choices else None


def joined_texts(columns: Sequence[Any]) -> Any:
    """Return columns of large strings as one, their texts joined by an empty line."""
    joint = load_arrow(PURPOSE).scalar(JOINT, columns[0].type)
    return load_arrow(PURPOSE, "pyarrow.compute").binary_join_element_wise(*columns, joint)


def fields_at(kinds: Mapping[Path, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a schema with types at some paths; ArrowInvalid if they collide."""
    arrow = load_arrow(PURPOSE)
    inner: dict[str, dict[Path, Any]] = {}
    for path, kind in kinds.items():
        inner.setdefault(path[0], {})[path[1:]] = kind
    if any(() in below and len(below) > 1 for below in inner.values()):
        raise arrow.ArrowInvalid("a field is a text and an object")
    return [
        (name, below[()] if () in below else arrow.struct(fields_at(below)))
        for name, below in inner.items()
    ]


def shape_of(schema: Any) -> dict[str, Any]:
    """Return the names of the columns of a schema or a struct, and of the objects in them."""
    is_struct = load_arrow(PURPOSE).types.is_struct
    fields = (schema.field(at) for at in range(getattr(schema, "num_fields", len(schema.names))))
    return {each.name: shape_of(each.type) if is_struct(each.type) else True for each in fields}


def _coalesced(table: Any, part: Part, compute: Any) -> list[Any]:
    """Return the column of a part: none if there is none, None in it if it has no texts."""
    columns = [column for path in part.paths if (column := _at(table, path, compute)) is not None]
    if any(str(column.type) not in STRINGS for column in columns):
        return [None]
    columns = [column.cast(load_arrow(PURPOSE).large_string()) for column in columns]
    return [compute.coalesce(*columns)] if columns else []


def _at(table: Any, path: Path, compute: Any) -> Any:
    """Return the column at a path; None if there is none."""
    if path[0] not in table.schema.names:
        return None
    column = table.column(path[0])
    for name in path[1:]:
        is_struct = str(column.type).startswith("struct<")
        if not is_struct or column.type.get_field_index(name) < 0:
            return None
        column = compute.struct_field(column, name)
    return column
