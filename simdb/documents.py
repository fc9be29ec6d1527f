"""A stored document as users get it."""

from dataclasses import dataclass
from typing import Any

from simdb.signatures import Signature
from simdb.values import Fingerprint, Id


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document: the user's id, its fingerprint and the metadata given with it.

    The weights of the fingerprint are the stored ones: odd whole numbers from -15 to 15.
    `signature`: that of a document in a database of MinHash signatures, None in others; the bits of
    its fingerprint are a hash of the signature then, and equal where signatures are.
    """

    id: Id
    fingerprint: Fingerprint
    metadata: Any = None
    signature: Signature | None = None
