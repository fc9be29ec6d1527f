"""Resources: stop words and versions of other packages, stored when a database is created.

A new version of a package may change its stop words, its stems or the text that it finds in a page.
Then a document would get another fingerprint than the stored copy of the same document.  So a
database stores the stop words themselves, and of the other packages the version, to warn if another
version is installed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simdb.ground.decoding import a_map, a_text, expecting
from simdb.ground.errors import FormatError


@dataclass(frozen=True, slots=True)
class Resources:
    """The `stop_words` of the language in the options, and `versions` of packages by name."""

    stop_words: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def encode_resources(resources: Resources) -> dict[str, Any]:
    """Make a map of plain types that can be stored."""
    return {"stop_words": list(resources.stop_words), "versions": dict(resources.versions)}


def decode_resources(stored: Mapping[str, Any]) -> Resources:
    """Read what `encode_resources` made; raise FormatError for a field that is not known."""
    with expecting("the value 'resources'"):
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
