"""Notes: small objects that a program stores beside the documents, in the same commit.

A note has a name and plain content, such as which documents one run of a program has stored.
"""

from typing import Any

from simdb.ground.checks import shown
from simdb.ground.errors import InputError
from simdb.storage import codec, layout
from simdb.storage.layout import NOTE_NAME_BYTES_MAX
from simdb.storage.records.metadata import METADATA_BYTES_MAX


def note_key(name: object) -> bytes:
    """Return the key under which a note is stored; raise InputError for an invalid name."""
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of a note must be text, got {shown(name)}")
    try:
        key = layout.NOTE_PREFIX + name.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the name of a note must be valid Unicode, got {shown(name)}") from error
    if len(key) > len(layout.NOTE_PREFIX) + NOTE_NAME_BYTES_MAX:
        raise InputError(f"the name of a note has at most {NOTE_NAME_BYTES_MAX} bytes; shorten it")
    return key


def packed_note(content: Any) -> bytes | None:
    """Return the stored form of the content of a note; None for None, which removes it."""
    if content is None:
        return None
    try:
        packed = codec.pack_exactly(content)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            "the content of a note must be of plain types (None, bool, int, float, str, bytes,"
            f" list, dict): {error}"
        ) from error
    if len(packed) > METADATA_BYTES_MAX:
        raise InputError(f"a note holds at most {METADATA_BYTES_MAX} bytes, got {len(packed)}")
    return packed
