"""Document: one stored document, as users get it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from simdb.ground.ids import IdT_co
from simdb.values.arrays import Fingerprint

if TYPE_CHECKING:
    from simdb.values.signatures import Signature


@dataclass(frozen=True, slots=True)
class Document(Generic[IdT_co]):
    """A stored document: the user's id, its fingerprint and the metadata given with it.

    The weights of the fingerprint are as stored: odd whole numbers from -15 to 15.  `signature` is
    None unless the database stores MinHash signatures; then the bits of `fingerprint` are a hash of
    the signature, so equal signatures have equal fingerprints.
    """

    id: IdT_co
    fingerprint: Fingerprint
    metadata: Any = None
    signature: "Signature | None" = None
