"""The MinHash sketcher: turns documents into `Sketches` of signatures, with a `Sketcher`'s methods.

The vector of a document is its packed signature.  Its fingerprint is a hash of the signature, so
that equal signatures have equal fingerprints.
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from simdb.columns.text_column import text_column
from simdb.columns.vector_form import pack_minima
from simdb.ground.errors import InputError
from simdb.running import kernel
from simdb.settings.minhash import Minhash
from simdb.settings.stored_options import Resources
from simdb.sketch.minhash_signer import NO_RESOURCES, MinHashSigner
from simdb.values.arrays import EMPTY, ONE_STATE, WEIGHTED, Sketches, aligned, describe
from simdb.values.documents import NamedFeatures
from simdb.values.signatures import Signatures

TEXTS = (str, bytes)


class MinHashSketcher:
    """A maker of sketches for one database of MinHash signatures."""

    def __init__(
        self,
        options: Minhash,
        resources: Resources = NO_RESOURCES,
        allowed: Collection[str] = (),
    ) -> None:
        """Sketch every document with `options`; see `MinHashSigner` for the other arguments."""
        self._signer = MinHashSigner(options, resources, allowed)

    @property
    def options(self) -> Minhash:
        """The options of every sketch."""
        return self._signer.options

    def prepare(self) -> None:
        """Load the packages that texts need; OptionError for a missing or forbidden one."""
        self._signer.prepare()

    def sketch(
        self, documents: Any, *, errors: str = "strict", start: int = 0, is_query: bool = False
    ) -> Sketches:
        """Return the sketches of many documents; `is_query` changes nothing here.

        `documents`: a list of texts, lists of tokens, `Features` or `Signature`s, or a
        `Signatures`.  Error messages number them from `start`.  `errors`: "strict" raises
        InputError for text that is not valid Unicode, "replace" puts U+FFFD in place of invalid
        characters.
        """
        if type(documents) is list and len(documents) == 1 and type(documents[0]) in TEXTS:
            packed = self._signer.pack_text(documents[0], errors=errors, start=start)
            if packed is not None:
                bits, vectors, features = packed
                return Sketches(bits, vectors, ONE_STATE[WEIGHTED if features else EMPTY])
        column = text_column(documents)
        if column is None and not isinstance(documents, list | tuple | Signatures):
            raise InputError(
                f"documents are {describe(documents)}; a database of MinHash signatures takes"
                " texts, lists of tokens, simdb.Features and simdb.Signatures"
            )
        return as_sketches(self._signer.sign(documents, errors=errors, start=start))

    def signatures(
        self, documents: Iterable[Any], *, errors: str = "strict", threads: int = 1
    ) -> Signatures:
        """Return the signatures of many documents; see `MinHashSigner.sign`."""
        return self._signer.sign(documents, errors=errors, threads=threads)

    def features(self, document: Any, *, errors: str = "strict") -> NamedFeatures | None:
        """Return the named features of one document; None for a ready signature."""
        return self._signer.features(document, errors=errors)


def as_sketches(signatures: Signatures) -> Sketches:
    """Return signatures in their stored form; copies, since the arrays may be the caller's."""
    minima = aligned(signatures.minima, signatures.minima.dtype)
    hashes = kernel.band_keys(minima, bands=1, rows=minima.shape[1])[:, 0]
    states = np.where(signatures.is_empty, EMPTY, WEIGHTED).astype(np.uint8)
    return Sketches(np.ascontiguousarray(hashes), pack_minima(minima), states)
