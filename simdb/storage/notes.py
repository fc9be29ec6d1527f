"""Notes: small objects beside the documents, each under a key of the sub-database `meta`."""

from collections.abc import Iterator
from typing import Any

from simdb.ground.checks import shown
from simdb.ground.errors import CorruptError, FormatError, InputError
from simdb.storage import codec, layout
from simdb.storage.environment.subdatabases import values_from
from simdb.storage.layout import NOTE_NAME_BYTES_MAX
from simdb.storage.records.metadata import METADATA_BYTES_MAX
from simdb.storage.runs.source import Source


def read_note(source: Source, key: bytes) -> Any:
    """Return the content of a note; None if there is none, CorruptError if it is damaged."""
    found = source.find(layout.META, key)
    return None if found is None else codec.decode_object(layout.NOTE_KIND, key, found)


def encode_note(key: bytes, packed: bytes) -> bytes:
    """Return the stored form of a note whose content is packed."""
    return codec.encode_bytes(layout.NOTE_KIND, key, 1, packed)


def unpacked_note(packed: bytes | None) -> Any:
    """Return the content that was packed; None for a note that is removed."""
    return None if packed is None else codec.unpack(packed, "a staged note")


def note_name(key: bytes) -> str:
    """Return the name of a note."""
    return key[len(layout.NOTE_PREFIX) :].decode("utf-8", "replace")


def note_keys(source: Source) -> list[bytes]:
    """Return the keys of all notes, in order."""
    handle = source.handle(layout.META)
    keys = (key for key, _ in values_from(source.transaction, handle, layout.NOTE_PREFIX))
    return [key for key in keys if key.startswith(layout.NOTE_PREFIX)]


def damaged_notes(source: Source) -> Iterator[tuple[bytes, str]]:
    """Yield the key of each note that cannot be read, and why."""
    for key in note_keys(source):
        try:
            read_note(source, key)
        except (CorruptError, FormatError) as error:
            yield key, str(error)


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
