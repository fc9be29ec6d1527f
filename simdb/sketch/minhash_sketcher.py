"""Signing: documents to `Sketches` of signatures, with the face of a `Sketcher`.

The vector of a document is its packed signature, and its fingerprint a hash of that: equal
fingerprints, equal signatures.
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from simdb import kernel
from simdb.errors import InputError
from simdb.minhash import Minhash
from simdb.resources import Resources
from simdb.signatures import Signatures
from simdb.sketch.minhash_signer import NO_RESOURCES, Signer
from simdb.values import EMPTY, WEIGHTED, NamedFeatures, Sketches, aligned, describe
from simdb.vector_form import pack_minima


class SignatureSketcher:
    """Makes sketches by the options of one database of signatures."""

    def __init__(
        self,
        options: Minhash,
        resources: Resources = NO_RESOURCES,
        allowed: Collection[str] = (),
    ) -> None:
        """As for `Signer`."""
        self._signer = Signer(options, resources, allowed)

    @property
    def options(self) -> Minhash:
        """How every document is treated."""
        return self._signer.options

    def prepare(self) -> None:
        """Load whatever texts need; OptionError for what is missing or not allowed."""
        self._signer.prepare()

    def sketch(
        self, documents: Any, *, errors: str = "strict", start: int = 0, is_query: bool = False
    ) -> Sketches:
        """Sketches of many documents; of queries the same.

        `documents`: a sequence of texts, lists of tokens, `Features` or `Signature`s, or a
        `Signatures`.  Messages count from `start`.  `errors`: "strict" raises InputError for text
        that is not valid Unicode, "replace" replaces what is not.
        """
        if not isinstance(documents, list | tuple | Signatures):
            raise InputError(
                f"documents are {describe(documents)}; a database of MinHash signatures takes"
                " texts, lists of tokens, simdb.Features and simdb.Signatures"
            )
        return as_sketches(self._signer.sign(documents, errors=errors, start=start))

    def signatures(self, documents: Iterable[Any], *, errors: str = "strict") -> Signatures:
        """Signatures of many documents; see `Signer.sign`."""
        return self._signer.sign(documents, errors=errors)

    def features(self, document: Any, *, errors: str = "strict") -> NamedFeatures | None:
        """The features of one document by name; None for a kind that has none."""
        return self._signer.features(document, errors=errors)


def as_sketches(signatures: Signatures) -> Sketches:
    """Signatures as they are stored; copies, since they may be the caller's own."""
    minima = aligned(signatures.minima, signatures.minima.dtype)
    hashes = kernel.band_keys(minima, bands=1, rows=minima.shape[1])[:, 0]
    states = np.where(signatures.is_empty, EMPTY, WEIGHTED).astype(np.uint8)
    return Sketches(np.ascontiguousarray(hashes), pack_minima(minima), states)
