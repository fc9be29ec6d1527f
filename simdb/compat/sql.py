"""SQL: the distance, the similarity and the matches of a database as SQL functions.

`register` makes them on a connection of the standard library's sqlite3, of apsw or of DuckDB.
DuckDB calls them with columns of 2,048 rows as Arrow arrays, from several threads; SQLite calls
them for single rows.  Each call reads the last commit and keeps nothing open.
"""

import json
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from simdb.core import arrow
from simdb.core.arrays import offsets_of
from simdb.core.checks import one_of, shown
from simdb.core.decoding import all_texts
from simdb.core.dtypes import Array, Bools
from simdb.core.errors import InputError, OptionError
from simdb.database import Reading

DISTANCE, SIMILARITY, NEAR = NAMES = ("simdb_distance", "simdb_similarity", "simdb_near")
TABLE, COLUMNS = "near", ["id", "distance", "similarity"]
PARAMETERS = ("document", "similarity_min", "distance_max")
MACRO = "create or replace temp macro near(document, similarity_min := null, distance_max := null)"
KNOWN = f"select function_name from duckdb_functions() where function_name in {NAMES}"
EQUAL = 2  # SQLITE_INDEX_CONSTRAINT_EQ
# Types of ids in DuckDB and in Arrow.
ID_TYPES = {str: ("VARCHAR", "string"), int: ("BIGINT", "int64"), bytes: ("BLOB", "binary")}


def register(connection: Any, database: Reading[Any], *, ids: str = "auto") -> tuple[str, ...]:
    """Make the functions of a database on an SQL connection.

    * `simdb_distance(a, b)`: the number of bits in which the fingerprints or hashes of two
      documents differ.
    * `simdb_similarity(a, b)`: the exact similarity of two texts, see `simdb.similarity`.
    * `near(document, similarity_min, distance_max)`: a table of the matches that `Database.query`
      finds, with the columns id, distance and similarity.  The thresholds can be left out or NULL.
      The module sqlite3 cannot make tables, so its connections have only the next function.
    * `simdb_near(document, similarity_min, distance_max)`: the same matches as one value.  In
      SQLite it is a JSON array of objects, for `json_each`.  In DuckDB, which needs all three
      arguments, it is a list of structs.

    A document is a text, or a blob of it in UTF-8.  A whole number is a ready fingerprint, and a
    negative n means n + 2**64.  In a database of `Bits`, a document is hexadecimal text or a blob.
    NULL gives NULL or no matches.

    Parameters
    ----------
    connection : sqlite3.Connection, apsw.Connection or duckdb.DuckDBPyConnection
        The connection.  Registering again replaces the functions.
    database : Database, ShardedDatabase or Snapshot
        The database that the functions read; each call sees the last commit.
    ids : {"auto", "text"}
        "auto" returns ids as they are.  In DuckDB, a column of ids has the type of the id of the
        first document stored now.  SQLite has no whole numbers of 2**63 or more, so they become
        text there.  "text" returns all ids as text, bytes in hexadecimal digits.

    Returns
    -------
    tuple of str
        The names of the functions, and of the table if the connection can have it.

    Raises
    ------
    OptionError
        For another kind of connection or database, or without pyarrow, which DuckDB needs.

    Notes
    -----
    In DuckDB, register outside of a transaction, and once for a connection and its cursors.
    Cursors have the functions, but not the table.
    """
    one_of("ids", ids, arrow.IDS)
    functions = _Functions(database, ids)
    if hasattr(connection, "remove_function"):
        _register_columns(connection, functions)
    elif hasattr(connection, "create_module"):
        for name, count, function in functions.of_rows():
            connection.create_scalar_function(name, function, count)
        table = _Near(functions)
        connection.create_module(TABLE, table, use_bestindex_object=True, eponymous_only=True)
    elif hasattr(connection, "create_function"):
        for name, count, function in functions.of_rows():
            connection.create_function(name, count, partial(_telling, name, function))
        return NAMES
    else:
        raise OptionError(f"connection must be of sqlite3, apsw or duckdb, got {shown(connection)}")
    return (*NAMES, TABLE)


class _Functions:
    """The functions of one database, on columns and on rows."""

    def __init__(self, database: Reading[Any], ids: str) -> None:
        """`ids`: see `register`."""
        if not hasattr(database, "query_many"):
            raise OptionError(f"database must be an open simdb.Database, got {shown(database)}")
        self._database, self._ids = database, ids
        self.id_type, self._kind = ID_TYPES[type(next(iter(database), "") if ids == "auto" else "")]

    def of_rows(self) -> Iterable[tuple[str, int, Callable[..., Any]]]:
        """Return name, number of arguments and function for each function on rows."""
        made = (partial(_of_row, self.distances), partial(_of_row, self.similarities), self._json)
        return zip(NAMES, (2, 2, -1), made, strict=True)

    def distances(self, left: Any, right: Any) -> Array:
        """Return the number of differing bits in each pair of documents.

        Raises ClosedError if the database is closed.
        """
        options = self._database.options
        if options.is_minhash:
            raise OptionError(f"{DISTANCE} has no meaning for MinHash signatures; use {SIMILARITY}")
        len(self._database)
        both = (self._database._store.sketcher.sketch(side) for side in (left, right))
        first, second = (each.vectors if options.is_wide else each.bits[:, None] for each in both)
        return np.asarray(np.bitwise_count(first ^ second).sum(axis=1))

    def similarities(self, left: Any, right: Any) -> Array:
        """Return the exact similarity of each pair of texts; raise ClosedError if closed."""
        both, places = [all_texts(left), all_texts(right)], np.arange(len(left))
        are_columns = all(isinstance(side, arrow.TextColumn) for side in both)
        texts = arrow.joined(both) if are_columns else [*both[0], *both[1]]
        are_texts = are_columns or all(isinstance(each, str) for each in texts)
        if self._database.options.is_hashes or not are_texts:
            raise InputError(f"{SIMILARITY} compares texts; hashes have only a {DISTANCE}")
        len(self._database)
        return self._database._store.exact_similarity().of_pairs(texts, places, places + len(left))

    def paired(self, measure: Callable[..., Array], left: Any, right: Any) -> Any:
        """Return `measure` of two Arrow columns, with null where one side is null."""
        is_known = np.asarray(left.is_valid()) & np.asarray(right.is_valid())
        found = np.zeros(len(is_known))
        found[is_known] = measure(_of_column(left, is_known), _of_column(right, is_known))
        return arrow.load_arrow(DISTANCE).array(found, mask=~is_known)

    def near(self, document: Any, similarity: Any = None, distance: Any = None) -> list[Any]:
        """Return id, distance and similarity of the matches of a document, best first."""
        found = [] if document is None else self._database.query(
            _of_value(document), similarity=similarity, distance=distance
        )  # fmt: skip
        return [(self._of_id(each.id), each.distance, each.similarity) for each in found]

    def near_columns(self, documents: Any, similarity: Any, distance: Any) -> Any:
        """Return a list of matches for each document of an Arrow column, null for a null."""
        pyarrow, is_known = arrow.load_arrow(NEAR), np.asarray(documents.is_valid())
        limits = [each.unique().to_pylist() for each in (similarity, distance)]
        if any(len(each) > 1 for each in limits):
            raise InputError(f"{NEAR} takes the same thresholds in all rows, got {shown(limits)}")
        least, most = (next(iter(each), None) for each in limits)
        asked, least = _of_column(documents, is_known), least and float(least)
        found = self._database.query_many(asked, similarity=least, distance=most, threads=1)
        table = found.to_arrow(ids=self._ids)
        if len(table) and str(table["id"].type) != self._kind:
            raise InputError(f"the id {found.ids[0]!r} is not a {self.id_type}; use ids='text'")
        sizes = np.zeros(len(is_known), np.int64)
        sizes[is_known] = np.diff(found.offsets)
        offsets = pyarrow.array(offsets_of(sizes), pyarrow.int32())
        matches = table.select(COLUMNS).to_struct_array().combine_chunks()
        return pyarrow.ListArray.from_arrays(offsets, matches, mask=pyarrow.array(~is_known))

    def _json(self, *given: Any) -> str | None:
        """Return the matches of a document as a JSON array, with bytes as hexadecimal digits."""
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in self.near(*given)]
        return None if given[0] is None else json.dumps(rows, default=bytes.hex)

    def _of_id(self, id: Any) -> Any:
        """Return an id for SQLite; a whole number that is too large becomes text."""
        is_large = isinstance(id, int) and id > arrow.INT64_MAX
        return arrow.id_text(id) if is_large or self._ids == "text" else id


def _of_value(value: Any) -> Any:
    """Return a document from SQLite as simdb takes it; its whole numbers are signed."""
    return value + 2**64 if isinstance(value, int) and value < 0 else value


def _of_column(column: Any, is_chosen: Bools) -> Any:
    """Return documents of an Arrow column; whole numbers are ready fingerprints, uint64[n]."""
    values = arrow.filtered_array(column.combine_chunks(), arrow.load_arrow(NEAR).array(is_chosen))
    is_whole = str(values.type) in (*arrow.WHOLE, "uint64")
    return values.to_numpy(zero_copy_only=False).astype(np.uint64) if is_whole else values


def _of_row(measure: Callable[..., Array], *both: Any) -> Any:
    """Return the result of a function on columns for one row, in its shortest digits, or None."""
    columns = ([_of_value(each)] for each in both)
    return None if None in both else json.loads(str(measure(*columns)[0]))


def _telling(name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function; warn of its error, since the module sqlite3 drops the message."""
    try:
        return function(*given)
    except Exception as error:
        warnings.warn(f"{name}: {error}", RuntimeWarning, stacklevel=2)
        raise


class _Near:
    """The table `near` of SQLite; for apsw it is module, table and cursor in one."""

    def __init__(self, functions: _Functions) -> None:
        """`functions` finds the matches."""
        self._functions = functions

    def Connect(self, *_: Any) -> tuple[str, "_Near"]:
        """Return the declaration of the columns; hidden columns are the arguments."""
        return f"create table x({', '.join(COLUMNS)}, {' hidden, '.join(PARAMETERS)} hidden)", self

    def BestIndexObject(self, index: Any) -> bool:
        """Accept the arguments of a query; False if one is not known yet, or none is given."""
        places = [index.get_aConstraint_iColumn(at) for at in range(index.nConstraint)]
        given = [at for at, place in enumerate(places) if place > 2 and place not in places[:at]]
        for number, at in enumerate(given, 1):
            if not index.get_aConstraint_usable(at) or index.get_aConstraint_op(at) != EQUAL:
                return False
            index.set_aConstraintUsage_argvIndex(at, number)
            index.set_aConstraintUsage_omit(at, True)
        index.idxStr = " ".join(PARAMETERS[places[at] - len(COLUMNS)] for at in given)
        return len(COLUMNS) in places

    def Open(self) -> "_Near":
        """Return a cursor."""
        return _Near(self._functions)

    def Filter(self, number: int, names: str, values: tuple[Any, ...]) -> None:
        """Find the matches of a document; `names`: the arguments that have `values`."""
        given = dict(zip(names.split(), values, strict=True))
        self._given, self._at = [given.get(each) for each in PARAMETERS], 0
        self._rows = self._functions.near(*self._given)

    def Eof(self) -> bool:
        """Return whether no row is left."""
        return self._at == len(self._rows)

    def Next(self) -> None:
        """Move to the next row."""
        self._at += 1

    def Column(self, number: int) -> Any:
        """Return a value of the row, or an argument."""
        return [*self._rows[self._at], *self._given][number]

    def Rowid(self) -> int:
        """Return the number of the row."""
        return self._at

    def Close(self) -> None:
        """Do nothing."""


def _register_columns(connection: Any, functions: _Functions) -> None:
    """Make the functions on a DuckDB connection, outside of a transaction.

    If one is open, `begin` raises an error.
    """
    arrow.load_arrow("a function of DuckDB")
    matches = f"STRUCT(id {functions.id_type}, distance INTEGER, similarity FLOAT)[]"
    connection.begin().commit()
    for (name,) in connection.execute(KNOWN).fetchall():
        connection.remove_function(name)
    create = partial(connection.create_function, type="arrow", null_handling="special")
    create(DISTANCE, partial(functions.paired, functions.distances), None, "INTEGER")
    create(SIMILARITY, partial(functions.paired, functions.similarities), None, "FLOAT")
    create(NEAR, functions.near_columns, None, matches, side_effects=True)
    matches = f"unnest({NEAR}({', '.join(PARAMETERS)}), recursive := true)"
    connection.execute(f"{MACRO} as table select {matches}")
