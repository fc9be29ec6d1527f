"""The MinHash sketcher: documents turned into MinHash signatures, by the options of a `Minhash`.

If only the set of features counts, the kernel signs texts or hashes directly.  If the number of
occurrences matters, features are counted first, batch by batch.  A bag then has one feature for
each occurrence; weights are signed by consistent weighted sampling.

In a sketch, the vector of a document is its packed signature, and its fingerprint is a hash of the
signature, so that equal signatures have equal fingerprints.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from simdb.core import arrays, kernel
from simdb.core.arrow import TextColumn
from simdb.core.bits import SECOND_WORD, fmix64
from simdb.core.cold import MadeOnce
from simdb.core.decoding import all_texts, as_texts
from simdb.core.documents import Features, NamedFeatures, Signature, Signatures, check_comparable
from simdb.core.dtypes import F32, F64, I64, U8, U32, U64, Array, Bools
from simdb.core.errors import InputError
from simdb.core.options import (
    BAG,
    MERSENNE as MERSENNE_FAMILY,
    PERMUTATIONS_STEP,
    SET,
    STRATIFIED,
    Minhash,
)
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import threads_for
from simdb.core.threads import parts_of, run_all
from simdb.core.vector_form import minimum_type, pack_minima
from simdb.sketch import weighing
from simdb.sketch.pipeline import (
    NO_RESOURCES,
    Family,
    Pipeline,
    Signing,
    check_errors,
    check_not_null,
    stretches,
)

COUNTED_DOCUMENTS = 1024  # documents counted at a time, to save memory for features
SIGNED_DOCUMENTS = 4096  # documents signed by one thread at a time
KINDS = "str, bytes (UTF-8), a list of tokens, simdb.Features or a simdb.Signature"

MERSENNE = (1 << 61) - 1
# It makes the permutations independent of the hash of features, which uses the same seed.
_BEGINNING = np.uint64(0x6D696E68617368)

Minima = tuple[U32, Bools]  # uint32[n, permutations], and which documents have no features


class MinHashSketcher:
    """A maker of signatures with the options of one sketch, and of sketches for its database."""

    def __init__(
        self, options: Minhash, resources: Resources = NO_RESOURCES, allowed: Collection[str] = ()
    ) -> None:
        """Sign every document with `options`.

        `resources`: stop words and versions that a database has stored; without them, the installed
        packages give them.  `allowed`: names of tokenisers that may be imported.
        """
        self.options = options
        self._family = permutations_of(options)
        self._pipeline = Pipeline(options, resources, allowed)

    def prepare(self) -> None:
        """Load the packages that texts need; raise OptionError for a missing or forbidden one."""
        self._pipeline.prepare()

    def sketch(
        self, documents: Any, *, errors: str = "strict", start: int = 0, is_query: bool = False
    ) -> arrays.Sketches:
        """Return the sketches of many documents; `is_query` has no effect here.

        `documents`: a list of texts, lists of tokens, `Features` or `Signature`s, or a
        `Signatures`.  Error messages number them from `start`.  `errors`: "strict" raises
        InputError for text that is not valid Unicode, "replace" puts U+FFFD in place of invalid
        characters.
        """
        if type(documents) is list and len(documents) == 1 and type(documents[0]) is str:
            check_errors(errors)
            if self._one_text is not None:
                found = self._one_text.sign(documents[0], errors == "replace", start)
                bits, vectors, features = found
                return arrays.Sketches(
                    bits, vectors, arrays.ONE_STATE[arrays.WEIGHTED if features else arrays.EMPTY]
                )
        documents = as_texts(documents, errors=errors, start=start)
        if not isinstance(documents, TextColumn | list | tuple | Signatures):
            raise InputError(
                f"documents are {arrays.describe(documents)}; a database of MinHash signatures"
                " takes texts, lists of tokens, simdb.Features and simdb.Signatures"
            )
        return _as_sketches(self.signatures(documents, errors=errors, start=start))

    def signatures(
        self,
        documents: Iterable[Any] | Signatures,
        *,
        errors: str = "strict",
        start: int = 0,
        threads: int = 1,
    ) -> Signatures:
        """Return the signatures of many documents, which may be of several kinds.

        Error messages number the documents from `start`.  `errors`: "strict" raises InputError
        for text that is not valid Unicode, "replace" puts U+FFFD in place of invalid characters.
        """
        check_errors(errors)
        arrays.check_many(documents, "documents")
        if isinstance(documents, Signatures):
            check_comparable(documents.sketch, self.options)
            return documents
        listed = all_texts(documents, errors=errors, start=start)

        shape = len(listed), self.options.permutations
        minima = np.empty(shape, minimum_type(self.options.stored_bits))
        is_empty = np.empty(len(listed), np.bool_)

        def sign(part: slice) -> None:
            for kind, group, position in stretches(listed[part], start + part.start, _kind):
                some = slice(position - start, position - start + len(group))
                minima[some], is_empty[some] = self._one_kind(
                    kind, group, errors == "replace", position
                )

        threads = threads_for(self.options, threads)
        run_all(sign, parts_of(len(listed), threads, most=SIGNED_DOCUMENTS), threads)
        return Signatures(minima, self.options, is_empty)

    @property
    def signing(self) -> Signing:
        """The kernel's parameters for minima of sets: the family, and the bits of a feature."""
        return self._family, self.options.feature_bits

    def of_minima(self, minima: U32, is_empty: Bools) -> Signatures:
        """Return the kernel's minima of some documents as signatures with 32 bits a minimum."""
        return Signatures(minima[:, : self.options.permutations], self.options, is_empty)

    def features(self, document: Any, *, errors: str = "strict") -> NamedFeatures | None:
        """Return the named features of one document; None for a ready signature."""
        kind = _kind(document, 0)
        if kind == "signature":
            return None
        self._check_can_sign(0)
        if kind == "features":
            return weighing.name_hashes(document)
        return self._pipeline.name(document, kind, errors=errors)

    @MadeOnce
    def _one_text(self) -> kernel.TextSigner | None:
        """The kernel's signer of one text at a time; None if texts need further steps."""
        options = self.options
        is_whole = len(self._family[1]) == options.permutations
        if options.is_ready or options.weighting != SET or not is_whole:
            return None
        return self._pipeline.signer(
            family=self._family, feature_bits=options.feature_bits, stored_bits=options.stored_bits
        )

    def _one_kind(
        self, kind: str, documents: Sequence[Any], replace: bool, start: int
    ) -> tuple[Array, Bools]:
        """Return minima in their stored form, and which documents are empty."""
        if kind == "signature":
            return self._ready(documents)
        self._check_can_sign(start)
        if kind == "features":
            minima, is_empty = self._of_features(documents, start)
        elif self.options.weighting == SET:
            minima, features = self._pipeline.sign(
                documents, kind, family=self._family, feature_bits=self.options.feature_bits,
                replace=replace, start=start,
            )  # fmt: skip
            is_empty = features == 0
        else:
            minima, is_empty = self._counted(documents, kind, replace, start)
        if minima.shape[1] > self.options.permutations:
            minima = np.ascontiguousarray(minima[:, : self.options.permutations])
        bits = self.options.stored_bits
        return narrowed(minima, self._family, bits) if bits < 32 else minima, is_empty

    def _check_can_sign(self, position: int) -> None:
        """Raise InputError if the family takes only ready signatures."""
        if self.options.is_ready:
            raise InputError(
                f"document {position} is not a simdb.Signature, but"
                f" family={self.options.family!r} takes only ready signatures; make them with"
                " simdb.compat.datasketch, for example MinHashLSH.signature"
            )

    def _ready(self, documents: Sequence[Signature]) -> tuple[Array, Bools]:
        """Return the minima of ready signatures, and which of them are empty."""
        for each in documents:
            check_comparable(each.sketch, self.options)
        return (
            np.stack([each.minima for each in documents]),
            np.array([each.is_empty for each in documents], np.bool_),
        )

    def _counted(self, documents: Sequence[Any], kind: str, replace: bool, start: int) -> Minima:
        """Sign texts or lists of tokens by the numbers of occurrences of their features."""
        parts = []
        for first in range(0, len(documents), COUNTED_DOCUMENTS):
            offsets, hashes, counts = self._pipeline.count(
                documents[first : first + COUNTED_DOCUMENTS], kind,
                replace=replace, start=start + first,
            )  # fmt: skip
            parts.append(self._of_counts(offsets, hashes, counts))
        minima, is_empty = zip(*parts, strict=True)
        return np.concatenate(minima), np.concatenate(is_empty)

    def _of_counts(self, offsets: I64, hashes: U64, counts: U32) -> Minima:
        """Sign documents given as distinct features and their numbers of occurrences."""
        if self.options.weighting == BAG:
            return self._of_sets(offsets, hashes, counts)
        units = weighing.weigh(hashes, counts.astype(np.int64), "tf", self._pipeline.idf)
        return self._of_weights(offsets, hashes, (units / weighing.UNITS).astype(np.float32))

    def _of_sets(self, offsets: I64, hashes: U64, counts: U32 | None) -> Minima:
        """Sign sets of features or, with `counts`, bags."""
        minima = kernel.sign_features(
            offsets, hashes, counts, family=self._family, feature_bits=self.options.feature_bits
        )
        return minima, np.diff(offsets) == 0

    def _of_weights(self, offsets: I64, hashes: U64, weights: F32) -> Minima:
        """Sign distinct features with weights."""
        if self.options.feature_bits == 32:
            hashes = fmix64(hashes) >> np.uint64(32)
        minima = kernel.sign_weighted(offsets, hashes, weights, self._family[1])
        return minima, np.diff(arrays.offsets_of(weights > 0)[offsets]) == 0

    def _of_features(self, documents: Sequence[Features], start: int) -> Minima:
        """Sign `Features`; their weights are used as given, without IDF."""
        weighting = self.options.weighting
        if weighting == SET:
            _check_weightless(documents, start, weighting)
            hashes = np.ascontiguousarray(np.concatenate([each.hashes for each in documents]))
            return self._of_sets(
                arrays.offsets_of([len(each.hashes) for each in documents]), hashes, None
            )
        if weighting == BAG:
            _check_weightless(documents, start, weighting)
        summed = [_summed(each, start + at) for at, each in enumerate(documents)]
        offsets = arrays.offsets_of([len(hashes) for hashes, _ in summed])
        hashes = np.concatenate([hashes for hashes, _ in summed])
        weights = np.concatenate([weights for _, weights in summed])
        if weighting == BAG:
            return self._of_sets(offsets, hashes, weights.astype(np.uint32))
        return self._of_weights(offsets, hashes, weights.astype(np.float32))


def permutations_of(options: Minhash) -> Family:
    """Return the family for the kernel: name, multipliers and increments uint64[n].

    Their number is rounded up to a multiple of the kernel's step.  Except for "stratified",
    permutation i does not depend on the number.
    """
    count = -(-options.permutations // PERMUTATIONS_STEP) * PERMUTATIONS_STEP
    start = fmix64(np.array([options.seed], np.uint64) ^ _BEGINNING)
    words = fmix64(start + SECOND_WORD * np.arange(1, 2 * count + 1, dtype=np.uint64))
    multipliers, increments = words[0::2], words[1::2]
    if options.family == STRATIFIED and options.is_of_sets:
        return options.family, _spaced(multipliers), np.ascontiguousarray(increments)
    if options.family == MERSENNE_FAMILY:
        prime = np.uint64(MERSENNE)
        return (
            options.family,
            multipliers % (prime - np.uint64(1)) + np.uint64(1),
            (increments % prime),
        )
    return options.family, multipliers | np.uint64(1), np.ascontiguousarray(increments)


def narrowed(minima: U32, family: Family, stored_bits: int = 8) -> U8:
    """Return minima of 8, 2 or 1 bits: the highest bits of each 32-bit minimum times an odd number.

    The minima are of the first permutations of the family, each of which has its own odd number.
    The lowest bits of a minimum would not do, since the lowest bits of a x + b depend only on the
    lowest bits of x.  Two documents of one feature each, whose hashes share these bits, would then
    agree in half of all minima.
    """
    multipliers = family[1][: minima.shape[1]]
    factors = (multipliers >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return (minima * factors >> np.uint32(32 - stored_bits)).astype(np.uint8)


def _as_sketches(signatures: Signatures) -> arrays.Sketches:
    """Return copies of signatures in their stored form; the caller may change the originals."""
    minima = arrays.aligned(signatures.minima, signatures.minima.dtype)
    packed = pack_minima(minima, signatures.sketch.stored_bits)
    words = minima if minima.dtype == np.uint32 else packed
    hashes = kernel.band_keys(words, bands=1, rows=words.shape[1])[:, 0]
    states = np.where(signatures.is_empty, arrays.EMPTY, arrays.WEIGHTED).astype(np.uint8)
    return arrays.Sketches(np.ascontiguousarray(hashes), packed, states)


def _kind(document: Any, position: int) -> str:
    """Return the kind of a document, which decides the way of signing it."""
    if isinstance(document, str):
        return "text"
    if isinstance(document, list | tuple):
        return "tokens"
    if isinstance(document, Features):
        return "features"
    if isinstance(document, Signature):
        return "signature"
    check_not_null(document, position)
    raise InputError(
        f"document {position} is {arrays.describe(document)}; a MinHash sketch takes {KINDS}"
    )


def _check_weightless(documents: Sequence[Features], start: int, weighting: str) -> None:
    """Raise InputError for features with weights, which this weighting would ignore."""
    for position, each in enumerate(documents, start):
        if each.weights is not None:
            raise InputError(
                f"document {position} is Features with weights, but weighting={weighting!r} uses"
                " no weights; leave them out, or use Minhash(weighting='tf')"
            )


def _summed(features: Features, position: int) -> tuple[U64, F64]:
    """Return the distinct hashes of one document, and the summed weight of each hash."""
    hashes, which = np.unique(features.hashes, return_inverse=True)
    if features.weights is not None and (features.weights < 0).any():
        raise InputError(
            f"document {position} has a feature of weight {features.weights.min():g};"
            " MinHash needs weights of 0 or more"
        )
    return hashes, np.bincount(which, features.weights, len(hashes)).astype(np.float64)


def _spaced(drawn: U64) -> U64:
    """Return multipliers whose lower halves are evenly spaced words of 32 bits, in random order.

    In ascending order, equally spaced values would be correlated, and so would be their bands.
    """
    bits = (len(drawn) - 1).bit_length()
    order = np.argsort(drawn, kind="stable").astype(np.uint64)
    return drawn >> np.uint64(32) << np.uint64(32) | order << np.uint64(32 - bits)
