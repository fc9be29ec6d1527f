"""The shards file: lists the databases in a directory that together form one, and their contents.

It is JSON, so that people can also read it, and is written last:

    {"format": "simdb-shards", "version": 1, "options": DIGEST, "documents": 12,
     "shards": [{"name": "shard-00000", "documents": 5, "content": DIGEST}, ...],
     "checksum": XXH3-64 of the file without this field}

Version 2 adds `"shard_by": "fingerprint"`: the leading bits of a fingerprint decide its shard.

Digests and the checksum are 16 hexadecimal digits.  The checksum is over the JSON with sorted keys
and without spaces, so that reformatting the file does not change it.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

import xxhash

from simdb.core.checks import a_map, a_text, a_whole, expecting
from simdb.core.choices import BY_FINGERPRINT, BY_ID, ShardByName
from simdb.core.errors import CorruptError, FormatError, NotFoundError
from simdb.core.values import dataclass
from simdb.storage.files import SHARDS_FILE, open_regular, translate, translated, write_whole

# The name of the unfinished file, which is moved into place when it is complete.
SHARDS_TEMPORARY = "shards.json.new"
FORMAT = "simdb-shards"
VERSION = 2
SHARDS_MAX = 10_000
# A file of SHARDS_MAX shards has about 1 MB.
BYTES_MAX = 1 << 22
DIGEST = re.compile("[0-9a-f]{16}")
# A shard is written in a directory with another name, which remains if the process is killed.
UNFINISHED = ".writing"
LEFT_OVER = re.compile(rf"shard-[0-9]{{5}}\..*{re.escape(UNFINISHED)}")


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of a sharded database, as the shards file lists it.

    Attributes
    ----------
    name : str
        Its directory.
    document_count : int
        Number of its documents.
    content : str
        A digest of its documents: equal for equal ids and fingerprints or signatures, in any order
        of insertion.
    """

    name: str
    document_count: int
    content: str


@dataclass(frozen=True, slots=True)
class ShardsFile:
    """The content of the file: the digest of the `options` of all shards, and the `shards`.

    `shard_by`: the value that decides the shard of a document, "id" or "fingerprint".
    """

    options: str
    shards: tuple[Shard, ...]
    shard_by: ShardByName = "id"

    @property
    def document_count(self) -> int:
        """Number of documents in all shards."""
        return sum(shard.document_count for shard in self.shards)


def shard_name(number: int) -> str:
    """Return the name of the directory of a shard."""
    return f"shard-{number:05d}"


def strange_directories(path: str, count: int) -> list[str]:
    """Return the directories in `path` that are not among its `count` shards; see `LEFT_OVER`."""
    known = {shard_name(number) for number in range(count)}
    return [
        name
        for name in sorted(os.listdir(path))
        if name not in known and os.path.isdir(os.path.join(path, name))
    ]


def digest_of(payload: bytes) -> str:
    """Return 16 hexadecimal digits that identify `payload`."""
    return f"{xxhash.xxh3_64_intdigest(payload):016x}"


def has_shards_file(path: str) -> bool:
    """Return whether the directory `path` has a shards file."""
    return os.path.lexists(os.path.join(path, SHARDS_FILE))


def write_shards_file(path: str, content: ShardsFile) -> None:
    """Write the file of the directory `path`, completely and synced or not at all."""
    # Version 1 has no such field, and every simdb reads it.
    by = {} if content.shard_by == BY_ID else {"shard_by": content.shard_by}
    plain = {
        "format": FORMAT,
        "version": VERSION if by else 1,
        **by,
        "options": content.options,
        "documents": content.document_count,
        "shards": [
            {"name": shard.name, "documents": shard.document_count, "content": shard.content}
            for shard in content.shards
        ],
    }
    text = json.dumps({**plain, "checksum": _checksum(plain)}, indent=1) + "\n"
    target, temporary = (os.path.join(path, name) for name in (SHARDS_FILE, SHARDS_TEMPORARY))
    with translated(target):
        write_whole(target, temporary, lambda file: file.write(text.encode()))


def read_shards_file(path: str) -> ShardsFile:
    """Return the content of the file of the directory `path`.

    Raises NotFoundError if it is missing, FormatError for another file or a newer version,
    CorruptError for a damaged file.
    """
    place = os.path.join(path, SHARDS_FILE)
    try:
        with open_regular(place, os.O_RDONLY, is_alone=False) as file:
            content = file.read(BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {place}") from error
    except OSError as error:
        translate(error, place)
    remedy = "write it again from the shards: simdb.finish_sharded"
    try:
        stored = json.loads(content) if len(content) <= BYTES_MAX else None
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{place} is damaged: {error}; {remedy}") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise FormatError(f"{place} is not the shards file of a sharded database")
    version = stored.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FormatError(
            f"{place} has version {version}, but this simdb reads up to {VERSION}; open it with a"
            " newer simdb"
        )
    if stored.pop("checksum", None) != _checksum(stored):
        raise CorruptError(f"{place} is not what was written: its checksum differs; {remedy}")
    with expecting(place):
        return _decoded(stored)


def _decoded(stored: Mapping[str, Any]) -> ShardsFile:
    listed = stored["shards"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= SHARDS_MAX:
        raise ValueError(f"there must be 1 to {SHARDS_MAX} shards")
    shards = []
    for number, given in enumerate(listed):
        each = a_map(given)
        if each["name"] != shard_name(number):
            raise ValueError(f"shard {number} must have the name {shard_name(number)!r}")
        count = a_whole(each["documents"], 1 << 32)
        shards.append(Shard(shard_name(number), count, _a_digest(each["content"])))
    shard_by = stored.get("shard_by", BY_ID)
    content = ShardsFile(_a_digest(stored["options"]), tuple(shards), shard_by)
    if shard_by != BY_ID and (shard_by != BY_FINGERPRINT or len(shards) & (len(shards) - 1)):
        raise ValueError("shard_by must be 'fingerprint', with a power of two as number of shards")
    if stored["documents"] != content.document_count:
        raise ValueError("the documents of the shards do not add up")
    return content


def _a_digest(value: Any) -> str:
    if not DIGEST.fullmatch(a_text(value)):
        raise ValueError("a digest must have 16 hexadecimal digits")
    return str(value)


def _checksum(plain: Mapping[str, Any]) -> str:
    return digest_of(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode())
