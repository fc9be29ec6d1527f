"""Resources: what other packages gave a database when it was created, kept with it.

A package that brings out a new version may change its stop words, its stems or what it takes for
the text of a page, and with them the fingerprints of documents that are stored already.  So the
stop words themselves are kept, and the versions of the rest, to warn of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simdb.decoding import a_map, a_text, expecting
from simdb.errors import FormatError


@dataclass(frozen=True, slots=True)
class Resources:
    """`stop_words` of the language in the options; `versions` of packages by their names."""

    stop_words: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def encode_resources(resources: Resources) -> dict[str, Any]:
    """Plain types only, for storing."""
    return {"stop_words": list(resources.stop_words), "versions": dict(resources.versions)}


def decode_resources(stored: Mapping[str, Any]) -> Resources:
    """The opposite; what this version does not know is a FormatError."""
    with expecting("what packages gave the database"):
        return _decoded(a_map(stored))


def _decoded(stored: Mapping[str, Any]) -> Resources:
    unknown = set(stored) - {"stop_words", "versions"}
    if unknown:
        raise FormatError(
            f"the database keeps resources that this version does not know:"
            f" {', '.join(sorted(unknown))}; open it with a newer simdb"
        )
    versions = a_map(stored.get("versions", {}))
    return Resources(
        tuple(a_text(word) for word in stored.get("stop_words", ())),
        {name: a_text(version) for name, version in versions.items()},
    )
