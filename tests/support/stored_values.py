"""Stored values: changes values in the file of an open database, behind its back."""

from dataclasses import replace

import numpy as np

from simdb.storage import codec, layout
from simdb.storage.manifest import decode_manifest, encode_manifest

DTYPES = {layout.KEYS: "<u8", layout.ORDINALS: "<u4", layout.DIRECTORY: "<u4"}


def change_value(database, subdatabase, key, change):
    """Replace a stored value by what `change` makes of its bytes; None removes it."""
    environment = database._store.environment
    handle = environment.subdatabase(subdatabase)

    def write(writer):
        before = writer.get(key, db=handle)
        made = change(None if before is None else bytes(before))
        if made is None:
            writer.delete(key, db=handle)
        else:
            writer.put(key, made, db=handle)

    environment.write(write)


def put_value(database, subdatabase, key, value):
    change_value(database, subdatabase, key, lambda _: bytes(value))


def remove_value(database, subdatabase, key):
    change_value(database, subdatabase, key, lambda _: None)


def flip_byte(database, subdatabase, key, place, mask=1):
    """Change a byte of a stored value and leave its checksum as it was."""

    def flipped(value):
        changed = bytearray(value)
        changed[place] ^= mask
        return bytes(changed)

    change_value(database, subdatabase, key, flipped)


def change_array(database, subdatabase, kind, key, change, dtype):
    """Replace a stored array by what `change` makes of a copy of it, with a right checksum."""

    def changed(value):
        array = codec.decode_column(kind, key, value, dtype).copy()
        return bytes(codec.encode_array(kind, key, change(array)))

    change_value(database, subdatabase, key, changed)


def change_column(database, table, column, change, run=0):
    """Replace a column of a table of a run by what `change` makes of it."""
    key = layout.table_key(database.stats().runs[run].run, column)
    change_array(database, table, layout.TABLE_KINDS[column], key, change, DTYPES[column])


def change_tags(database, change, run=0):
    """Replace the tags of the header table of a run by what `change` makes of them."""
    key = layout.table_key(database.stats().runs[run].run, layout.KEYS)
    change_array(database, layout.table_name(0), codec.TAGS_KIND, key, change, "<u2")


def change_manifest(database, change=replace, **changes):
    """Store the manifest with other fields, or what `change` makes of it."""

    def changed(value):
        return bytes(encode_manifest(change(decode_manifest(value), **changes)))

    change_value(database, layout.MANIFEST, layout.MANIFEST_KEY, changed)


def swapped(array, left=2, right=5):
    """Return an array with two entries exchanged."""
    array[[left, right]] = array[[right, left]]
    return array


def zeros(array):
    return np.zeros_like(array)
