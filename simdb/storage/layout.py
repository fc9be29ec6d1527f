"""Layout: every sub-database, the form of its keys, and the content of its values.

    meta        b"format", b"options", b"resources"     objects: version, options, data of packages
                b"calibration"                          object: statistics of similar documents
                b"note/" + name                         object: content of a note
                b"copy"                                 object: mark of a copy, see `following.py`
    manifest    b"manifest"                             object: counters and the live runs
                b"format", b"options", b"resources"     second copies of the values in meta
    table/NN    run u32 | column u8                     arrays: keys, ordinals, directory; a header
                                                        table has tags instead of keys
    polytope/NN run u32 | column u8                     the same for documents with weights; only
                                                        if the options have `polytopes`
    ids         run u32 | column u8                     the same, sorted by the hash of the id
    documents   run u32 | column u8 | segment u32       arrays by ordinal: see COLUMN_KINDS
    volatility  run u32 | column u8 | segment u32       vectors by ordinal
    delta       first ordinal u32                       documents of one commit, not yet sealed
    metadata    first ordinal u32                       metadata of documents of one commit
    deleted     chunk u32                               a bit for each of CHUNK_ORDINALS ordinals
    clusters    chunk u32                               clusters of MEMBER_ORDINALS ordinals; only
                                                        if the options maintain clusters
    times       chunk u32                               times of TIME_ORDINALS ordinals; only if
                                                        the options keep times
    passages    run u32 | column u8 | segment u32       arrays: keys and ordinals of a passage run,
                                                        by ranges of keys; only with passages
    features    first ordinal u32                       packed features of documents of one commit;
                                                        only if the options keep features
    texts       first ordinal u32                       compressed texts of documents of one commit;
                                                        only if the options keep texts
    fields      chunk u32                               codes of the fields of FIELD_ORDINALS
                                                        ordinals; only if the options name fields

Numbers in keys are big-endian, so that LMDB sorts them as numbers.  A run of table NN has three
values, each covering the whole run.  Columns by ordinal are cut into segments of SEGMENT_ORDINALS,
counted from the first ordinal of the run.  A run in which no document has weights has no values in
polytope/NN.
"""

import struct

from simdb.core.errors import CorruptError

META = b"meta"
MANIFEST = b"manifest"
IDS = b"ids"
DOCUMENTS = b"documents"
VOLATILITY = b"volatility"
DELTA = b"delta"
METADATA = b"metadata"
DELETED = b"deleted"
CLUSTERS = b"clusters"
TIMES = b"times"
PASSAGES = b"passages"
FEATURES = b"features"
TEXTS = b"texts"
FIELDS = b"fields"
TABLE_PREFIX = b"table/"
POLYTOPE_PREFIX = b"polytope/"
# Every database has these.
ALWAYS = (META, MANIFEST, IDS, DOCUMENTS, VOLATILITY, DELTA, METADATA, DELETED)

FORMAT_KEY = b"format"
OPTIONS_KEY = b"options"
RESOURCES_KEY = b"resources"
CALIBRATION_KEY = b"calibration"
COPY_KEY = b"copy"
MANIFEST_KEY = b"manifest"
NOTE_PREFIX = b"note/"
# These cannot be derived from other data, so a second copy is stored next to the manifest, in
# another page.
KEPT_TWICE = (FORMAT_KEY, OPTIONS_KEY, RESOURCES_KEY)
# A key of LMDB has at most 511 bytes.
NOTE_NAME_BYTES_MAX = 500

# Kinds of values: four bytes in their headers.
FORMAT_KIND = b"form"
OPTIONS_KIND = b"opti"
RESOURCES_KIND = b"reso"
CALIBRATION_KIND = b"cali"
NOTE_KIND = b"note"
COPY_KIND = b"copy"
MANIFEST_KIND = b"mani"
OBJECT_KINDS = {
    FORMAT_KEY: FORMAT_KIND, OPTIONS_KEY: OPTIONS_KIND, RESOURCES_KEY: RESOURCES_KIND,
    CALIBRATION_KEY: CALIBRATION_KIND, MANIFEST_KEY: MANIFEST_KIND, COPY_KEY: COPY_KIND,
}  # fmt: skip
DELTA_KIND = b"delt"
METADATA_KIND = b"meta"
DELETED_KIND = b"dead"
CLUSTERS_KIND = b"clus"
TIMES_KIND = b"time"
FEATURES_KIND = b"feat"
TEXTS_KIND = b"text"
FIELDS_KIND = b"fiel"

# Columns of a table.
KEYS, ORDINALS, DIRECTORY = 0, 1, 2
TABLE_KINDS = {KEYS: b"keys", ORDINALS: b"ords", DIRECTORY: b"dire"}
TABLE_TYPES = {KEYS: "<u8", ORDINALS: "<u4", DIRECTORY: "<u4"}

# Columns by ordinal.  ID holds the bytes of the ids of a segment, and OFFSET the start of each.
FINGERPRINT, STATE, OFFSET, ID, VECTOR = 0, 1, 2, 3, 4
ID_COLUMNS = (OFFSET, ID)
COLUMN_KINDS = {FINGERPRINT: b"fing", STATE: b"stat", OFFSET: b"offs", ID: b"iden", VECTOR: b"vect"}

# Columns that may be stored as evenly spaced numbers: equal states, and offsets of ids of one
# length.
EVEN_COLUMNS = (STATE, OFFSET)

COLUMN_TYPES = {FINGERPRINT: "<u8", STATE: "u1", OFFSET: "<u4", ID: "u1", VECTOR: "u1"}

# The fingerprint, which every document has in a run or in the delta.
DOCUMENT_BYTES_LEAST = 8
# A value has 64 MiB of vectors: LMDB reuses freed pages best at about this size (measured).  The id
# bytes of a segment remain far below the 4 GiB that LMDB and uint32 offsets allow.
SEGMENT_ORDINALS = 1 << 20
# Limit of a value and of the offsets inside it: LMDB and the format keep lengths in 32 bits.
VALUE_BYTES_MAX = 2**32 - 1
# Values of 2 KiB, which LMDB keeps inside a leaf page.
CHUNK_ORDINALS = 1 << 14
# 8 bytes for each ordinal: with headers, two values fill a leaf page of 4 KiB.
MEMBER_ORDINALS = 240
# 4 bytes for each ordinal: two values also fill a leaf page.
TIME_ORDINALS = 480
# 8 bytes for each ordinal and field: with one field, two values fill a leaf page.
FIELD_ORDINALS = 240

_RUN_COLUMN = struct.Struct(">IB")
_RUN_COLUMN_SEGMENT = struct.Struct(">IBI")
_NUMBER = struct.Struct(">I")
NUMBER_BYTES = _NUMBER.size


def table_name(table: int) -> bytes:
    """Return the name of the sub-database of a table of keys."""
    return TABLE_PREFIX + b"%02d" % table


def polytope_name(table: int) -> bytes:
    """Return the name of the sub-database of a cross-polytope table."""
    return POLYTOPE_PREFIX + b"%02d" % table


def is_polytope_name(name: bytes) -> bool:
    """Return whether a sub-database is a cross-polytope table."""
    return name.startswith(POLYTOPE_PREFIX)


def is_permuted_name(name: bytes) -> bool:
    """Return whether a sub-database is a table of block permutations or of bands."""
    return name.startswith(TABLE_PREFIX)


def column_name(column: int) -> bytes:
    """Return the name of the sub-database that holds a column by ordinal."""
    return VOLATILITY if column == VECTOR else DOCUMENTS


def table_key(run: int, column: int) -> bytes:
    """Return the key of one column of one run of a table."""
    return _RUN_COLUMN.pack(run, column)


def segment_key(run: int, column: int, segment: int) -> bytes:
    """Return the key of one segment of a column by ordinal."""
    return _RUN_COLUMN_SEGMENT.pack(run, column, segment)


def segment_key_parts(key: bytes) -> tuple[int, int, int]:
    """Split a `segment_key` into run, column and segment; raise CorruptError for other keys."""
    if len(key) != _RUN_COLUMN_SEGMENT.size:
        raise CorruptError(f"the key {key.hex()} is not the key of a segment")
    run, column, segment = _RUN_COLUMN_SEGMENT.unpack(key)
    return run, column, segment


def number_key(number: int) -> bytes:
    """Return the key for an ordinal or a chunk number."""
    return _NUMBER.pack(number)


def key_number(key: bytes) -> int:
    """Return the number at the start of a key, such as a run number.

    Raises CorruptError if the key is too short.
    """
    if len(key) < _NUMBER.size:
        raise CorruptError(f"the key {key.hex()} is too short for a number")
    return int(_NUMBER.unpack_from(key)[0])
