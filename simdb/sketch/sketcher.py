"""The sketcher: documents of every kind turned into `Sketches` of fingerprints.

Texts and lists of tokens go through the pipeline.  Features with weights go to the kernel, vectors
are projected, and `ReadySketcher` takes ready fingerprints unchanged.  A list may mix kinds; the
documents of each kind are sketched in one call, and the order of the list is kept.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from simdb import sketch as modules
from simdb.core import arrays, kernel, vector_form
from simdb.core.arrow import TextColumn
from simdb.core.bits import ALL_BITS, FINGERPRINT_BITS
from simdb.core.checks import shown
from simdb.core.cold import MadeOnce
from simdb.core.decoding import all_texts, as_texts
from simdb.core.documents import Features, NamedFeatures, Signatures
from simdb.core.dtypes import F32, I64, U8, U64, Array
from simdb.core.errors import InputError
from simdb.core.options import AnySketch, Bits, Minhash, Simhash
from simdb.core.scales import TEXT_CONTENT
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import threads_for
from simdb.core.threads import parts_of, run_all
from simdb.sketch.cutting import numbers_in
from simdb.sketch.pipeline import (
    NO_RESOURCES,
    Counted,
    Pipeline,
    Projected,
    check_errors,
    check_not_null,
    stretches,
)
from simdb.sketch.vectors import (
    SparseRows,
    Vectors,
    as_vectors,
    check_vectors,
    is_vector,
    join_vectors,
    projection_of,
)

KINDS = (
    "str, bytes (UTF-8), a list of tokens, simdb.Features, a vector (a float array or a CSR row),"
    " simdb.Fingerprint or an int (a ready 64-bit fingerprint)"
)
CACHED_ROWS = 1024  # queries whose weights stay in the processor's cache for a second read
PART_DOCUMENTS = 4096  # documents fingerprinted at a time

if TYPE_CHECKING:
    from simdb.sketch.hashes import HashSketcher
    from simdb.sketch.minhash_sketcher import MinHashSketcher

AnySketcher: TypeAlias = "Sketcher | MinHashSketcher | HashSketcher"


class Sketcher:
    """A maker of sketches for one database of fingerprints."""

    def __init__(
        self, options: Simhash, resources: Resources = NO_RESOURCES, allowed: Collection[str] = ()
    ) -> None:
        """Sketch every document with `options`.

        `resources`: stop words and versions that a database has stored; without them, the installed
        packages give them.  `allowed`: names of tokenisers that may be imported.
        """
        self.options = options
        self._width = options.vector_bytes
        self._projected_count = vector_form.projected(options.dimensions)
        self._pipeline = Pipeline(options, resources, allowed)
        self._ready = ReadySketcher(options.dimensions, self._width)

    def prepare(self) -> None:
        """Load the packages that texts need; raise OptionError for a missing or forbidden one."""
        self._pipeline.prepare()

    def sketch(
        self, documents: Any, *, errors: str = "strict", start: int = 0, is_query: bool = False
    ) -> arrays.Sketches:
        """Return the sketches of many documents, with their levels if `is_query`.

        `documents`: a sequence of documents, a uint64 array (ready fingerprints), a
        `Fingerprints`, or vectors as float[n, d] or CSR.  Error messages number them from
        `start`.  `errors`: "strict" raises InputError for text that is not valid Unicode,
        "replace" puts U+FFFD in place of invalid characters.
        """
        check_errors(errors)
        if isinstance(documents, list | tuple):
            return self._by_kind(documents, errors == "replace", start, is_query)
        if isinstance(documents, arrays.Fingerprints):
            return self._ready.of_fingerprints(documents, is_query, start)
        if isinstance(documents, np.ndarray) and documents.dtype == np.uint64:
            return self._ready.of_bits(documents, is_query)
        vectors = as_vectors(documents)
        if vectors is not None:
            sketches = self._quantised(*self._project_vectors(vectors, start), is_query)
            sketches.content = TEXT_CONTENT + _length_of(vectors)
            return sketches
        column = as_texts(documents, errors=errors)
        if isinstance(column, TextColumn):
            return self._one_kind(column, "text", errors == "replace", start, is_query)
        return self._by_kind(documents, errors == "replace", start, is_query)

    def sketch_and_sign(
        self, texts: TextColumn, signer: "MinHashSketcher", *, errors: str, start: int
    ) -> tuple[arrays.Sketches, Signatures]:
        """Return the sketches of texts and the signatures that `signer` makes, in one pass.

        The signer must use the same features.  See `can_sign`.
        """
        texts.check_known(start)
        weights, counts, minima = self._pipeline.project_and_sign(
            texts, self._projected_count, signer.signing, replace=errors == "replace", start=start
        )
        return self._quantised(weights, counts, False), signer.of_minima(minima, counts == 0)

    @property
    def can_sign(self) -> bool:
        """Whether `sketch_and_sign` is possible."""
        return self.options.counting in ("tf", "binary") and self._one_text is not None

    def weights(self, documents: Any, *, errors: str = "strict") -> F32:
        """Return the weights float32[n, dimensions] of documents of one kind; see `weigh`."""
        return self.weigh(documents, errors=errors)[0]

    def weigh(self, documents: Any, *, errors: str = "strict") -> tuple[F32, I64]:
        """Return weights float32[n, dimensions] and numbers of features int64[n] of documents.

        All documents must be of one kind: texts, lists of tokens, `Features` or vectors.
        """
        vectors = as_vectors(documents)
        every: Any = as_texts(documents, errors=errors) if vectors is None else vectors
        return self._weighed(
            every, kind_of_all(every, vectors), slice(0, len(every)), errors == "replace"
        )

    def features(self, document: Any, *, errors: str = "strict") -> NamedFeatures | None:
        """Return the named features of one document; None for a fingerprint or a vector."""
        kind = kind_of(document, 0)
        if kind == "features":
            return modules.weighing.name_hashes(document)
        if kind not in ("text", "tokens"):
            return None
        return self._pipeline.name(document, kind, errors=errors)

    def fingerprints(
        self, documents: Iterable[Any], *, errors: str = "strict", threads: int = 1
    ) -> arrays.Fingerprints:
        """Return fingerprints with weights and vectors of documents of one kind; see `weigh`."""
        check_errors(errors)
        rows = as_vectors(documents)
        if rows is None:
            arrays.check_many(documents, "documents")
        listed: Any = all_texts(documents, errors=errors) if rows is None else rows
        kind = kind_of_all(listed, rows)
        bits = np.empty(len(listed), np.uint64)
        dimensions = self.options.dimensions
        weights = np.empty((len(listed), dimensions), np.float32)
        vectors = np.empty((len(listed), vector_form.width(dimensions)), np.uint8)

        def fill(part: slice) -> None:
            weights[part], counts = self._weighed(listed, kind, part, errors == "replace")
            bits[part], vectors[part] = kernel.quantise(arrays.checked_weights(weights[part], 2))
            self._settle_empty(bits[part], counts)

        threads = threads_for(self.options, threads)
        parts = parts_of(len(listed), threads, most=PART_DOCUMENTS)
        run_all(fill, parts, threads)
        scale = self.options.scale_of(TEXT_CONTENT + (kind in ("dense", "sparse", "rows")))
        return arrays.unchecked_fingerprints(bits, weights, vectors, scale.measure)

    def fingerprint(self, document: Any, *, errors: str = "strict") -> arrays.Fingerprint:
        """Return the fingerprint with weights of one document; see `weigh`."""
        if type(document) is not str or self._one_text is None:
            return self.fingerprints([document], errors=errors)[0]
        check_errors(errors)
        bits, weights = self._one_text.weigh(document, errors == "replace", 0)
        measure = self.options.scale_of(TEXT_CONTENT).measure
        return arrays.Fingerprint(bits, weights, not weights.any(), measure=measure)

    def count_features(
        self, documents: Sequence[Any], *, errors: str = "strict", start: int = 0
    ) -> Counted:
        """Return the distinct features of texts and lists of tokens, as `kernel.count_texts` does.

        The result is offsets int64[n + 1], hashes uint64[f] and numbers of occurrences uint32[f].
        Error messages number the documents from `start`.
        """
        check_errors(errors)
        parts = []
        for kind, some, place in stretches(
            as_texts(documents, errors=errors, start=start), start, kind_of
        ):
            if kind not in ("text", "tokens"):
                raise InputError(
                    f"document {place} is {arrays.describe(some[0])}; features can only be counted"
                    " in texts and lists of tokens"
                )
            parts.append(self._pipeline.count(some, kind, replace=errors == "replace", start=place))
        if len(parts) == 1:
            return parts[0]
        counts = [np.diff(offsets) for offsets, _, _ in parts]
        return (
            arrays.offsets_of(np.concatenate([np.empty(0, np.int64), *counts])),
            np.concatenate([np.empty(0, np.uint64), *(hashes for _, hashes, _ in parts)]),
            np.concatenate([np.empty(0, np.uint32), *(numbers for _, _, numbers in parts)]),
        )

    def numbers(self, documents: Sequence[Any]) -> U64:
        """Return a hash of the numbers in each text or list of tokens; see `numbers_in`.

        Characters that are not valid Unicode are not digits.
        """
        texts = [
            self._pipeline.visible(document, kind_of(document, position))
            for position, document in enumerate(as_texts(documents, errors="replace"))
        ]
        return numbers_in(texts)

    @MadeOnce
    def _one_text(self) -> kernel.TextFingerprinter | None:
        """The kernel's fingerprinter of one text at a time; None if a step is in Python."""
        return self._pipeline.fingerprinter(self.options.dimensions, self._width)

    def _by_kind(
        self, documents: Sequence[Any], replace: bool, start: int, is_query: bool
    ) -> arrays.Sketches:
        """Sketch documents that may be of several kinds, each kind in one call."""
        only: Any = documents[0] if len(documents) == 1 else None
        if type(only) is str and self._one_text is not None:
            found = self._one_text.sketch(only, replace, start, is_query)
            sketches = self._ready.of_one(*found, is_query)
            sketches.content = TEXT_CONTENT
            return sketches
        if type(only) is arrays.Fingerprint:
            return self._ready.of_list(documents, is_query, start)
        documents = as_texts(documents, errors="replace" if replace else "strict", start=start)
        if set(map(type, documents)) == {str}:
            return self._one_kind(documents, "text", replace, start, is_query)
        kinds = [kind_of(document, start + at) for at, document in enumerate(documents)]
        distinct = set(kinds)
        if not kinds:
            return self._ready.of_bits(np.empty(0, np.uint64), is_query)
        if len(distinct) == 1:
            return self._one_kind(documents, kinds[0], replace, start, is_query)
        whole = arrays.Sketches(
            np.empty(len(kinds), np.uint64),
            np.empty((len(kinds), self._width), np.uint8),
            np.empty(len(kinds), np.uint8),
            np.empty((len(kinds), FINGERPRINT_BITS), np.uint8) if is_query else None,
        )
        for kind in sorted(distinct):
            chosen = [at for at, each in enumerate(kinds) if each == kind]
            try:
                part = self._one_kind(
                    [documents[at] for at in chosen], kind, replace, start, is_query
                )
            except InputError:
                # Sketched one by one, so that the message has the position among all documents.
                for at in chosen:
                    self._one_kind([documents[at]], kind, replace, start + at, is_query)
                raise
            whole.put(chosen, part)
            check_content(whole.content, part)
            whole.content = whole.content or part.content
        return whole

    def _one_kind(
        self, documents: Sequence[Any], kind: str, replace: bool, start: int, is_query: bool
    ) -> arrays.Sketches:
        """Sketch documents of one kind."""
        if kind == "bits":
            return self._ready.of_bits(np.array(documents, np.uint64), is_query)
        if kind == "fingerprint":
            return self._ready.of_list(documents, is_query, start)
        weights, counts = self._projected(documents, kind, replace, start)
        sketches = self._quantised(weights, counts, is_query)
        if kind in ("text", "tokens"):
            sketches.content = TEXT_CONTENT
        elif kind in ("dense", "sparse"):
            sketches.content = TEXT_CONTENT + _length_of(documents[0])
        return sketches

    def _weighed(self, documents: Any, kind: str, part: slice, replace: bool) -> tuple[F32, I64]:
        """Return the result of `weigh` for a part of documents of one kind."""
        if kind == "rows":
            weights, counts = self._project_vectors(documents[part], part.start)
        else:
            weights, counts = self._projected(documents[part], kind, replace, part.start)
        return np.asarray(weights[:, : self.options.dimensions], np.float32), counts

    def _projected(
        self, documents: Sequence[Any], kind: str, replace: bool, start: int
    ) -> Projected:
        """Return the weights [n, 128 or 256] and numbers of features of documents of one kind."""
        if isinstance(documents, TextColumn):
            documents.check_known(start)
        if kind == "features":
            return _project_features(documents, self._projected_count, start)
        if kind in ("dense", "sparse"):
            return self._project_vectors(join_vectors(documents, start), start)
        hashed = self._pipeline.hashed(documents, kind, replace=replace, start=start)
        if hashed is not None:
            return _project_features(hashed, self._projected_count, start)
        return self._pipeline.project(
            documents, kind, dimensions=self._projected_count, replace=replace, start=start
        )

    def _project_vectors(self, vectors: Vectors, start: int) -> tuple[F32, I64]:
        """Return the weights of vectors, and 1 feature for each vector that is not all zeros."""
        check_vectors(vectors, length=self.options.vector_length, start=start)
        projection = projection_of(self.options.seed, self._projected_count)
        weights = projection.project(vectors)
        return weights, np.asarray(weights.any(axis=1), np.int64)

    def _quantised(self, weights: Array, counts: I64, is_query: bool) -> arrays.Sketches:
        """Make sketches of weights; documents with a count of 0 are empty."""
        chosen = np.ascontiguousarray(weights[:, : self.options.dimensions])
        bits, vectors, levels = columns_of(chosen, self._width, is_query)
        self._settle_empty(bits, counts)
        states = np.where(counts > 0, self._ready.known(is_query), arrays.EMPTY).astype(np.uint8)
        return arrays.Sketches(bits, vectors, states, levels)

    def _settle_empty(self, bits: U64, counts: I64) -> None:
        """Set the fingerprint of documents without features to 0 if the unit is "moz"."""
        if self.options.unit == "moz":
            bits[counts == 0] = 0


def sketcher_of(sketch: AnySketch, resources: Resources, allowed: Collection[str]) -> AnySketcher:
    """Return the sketcher for `sketch`; see `Sketcher` for the other arguments."""
    if isinstance(sketch, Minhash):
        return modules.minhash_sketcher.MinHashSketcher(sketch, resources, allowed)
    if isinstance(sketch, Bits):
        return modules.hashes.HashSketcher(sketch)
    return Sketcher(sketch, resources, allowed)


def _length_of(vectors: Any) -> int:
    """Return the number of coordinates of a vector, or of each of many vectors."""
    return int(vectors.length if isinstance(vectors, SparseRows) else vectors.shape[-1])


def _project_features(
    documents: Sequence[Features], dimensions: int, start: int
) -> tuple[F32, I64]:
    """Return the weights [n, dimensions] and the numbers of features of `Features`."""
    counts = np.array([len(document.hashes) for document in documents], np.int64)
    offsets = arrays.offsets_of(counts)
    hashes = np.concatenate([document.hashes for document in documents])
    weights = np.concatenate(
        [
            np.ones(len(document.hashes), np.float32)
            if document.weights is None
            else document.weights
            for document in documents
        ]
    )
    found = kernel.project_features(
        offsets, np.ascontiguousarray(hashes), weights, dimensions=dimensions
    )
    is_finite = np.isfinite(found).all(axis=1)
    if not is_finite.all():
        raise InputError(
            f"the weights of document {start + int(np.argmin(is_finite))} add up to more than"
            " float32 can hold; scale them"
        )
    return found, counts


def columns_of(weights: Array, width: int, is_query: bool) -> tuple[U64, U8, U8 | None]:
    """Return fingerprints, volatility vectors of `width` bytes and, for queries, levels."""
    if not is_query:
        bits, vectors = kernel.quantise(weights)
        return bits, vectors if width else np.empty((len(bits), 0), np.uint8), None
    bits = np.empty(len(weights), np.uint64)
    vectors = np.empty((len(weights), width), np.uint8)
    levels = np.empty((len(weights), FINGERPRINT_BITS), np.uint8)
    for start in range(0, len(weights), CACHED_ROWS):
        part = slice(start, start + CACHED_ROWS)
        levels[part] = kernel.levels(weights[part])
        if width:
            bits[part], vectors[part] = kernel.quantise(weights[part])
        else:
            bits[part] = vector_form.fingerprints_of(weights[part])
    return bits, vectors, levels


def widened(weights: F32, dimensions: int) -> F32:
    """Return weights with `dimensions` columns, cut off or repeated from the first column."""
    given = weights.shape[1]
    if given >= dimensions:
        return np.ascontiguousarray(weights[:, :dimensions])
    assert given >= FINGERPRINT_BITS
    repeated: F32 = np.concatenate([weights] * -(-dimensions // given), axis=1)[:, :dimensions]
    return np.ascontiguousarray(repeated)


class ReadySketcher:
    """A maker of sketches for documents of `dimensions` weights, stored in `stored_bytes` bytes."""

    def __init__(self, dimensions: int, stored_bytes: int) -> None:
        """Take the bytes of one vector as `stored_bytes`; 0 if no vectors are stored."""
        self._dimensions = dimensions
        self._width = stored_bytes

    def known(self, is_query: bool) -> int:
        """Return the state of documents with features; queries always have weights."""
        return arrays.WEIGHTED if self._width or is_query else arrays.BARE

    def of_bits(self, bits: U64, is_query: bool) -> arrays.Sketches:
        """Make sketches of fingerprints without weights."""
        if bits.ndim != 1:
            raise InputError(f"ready fingerprints must be uint64[n], not {arrays.describe(bits)}")
        return arrays.Sketches.bare(arrays.aligned(bits, np.uint64), self._width, is_query=is_query)

    def of_fingerprints(
        self, documents: arrays.Fingerprints, is_query: bool, start: int
    ) -> arrays.Sketches:
        """Make sketches of an array of fingerprints, numbered from `start` in messages.

        Vectors are stored unchanged if they have the right number of weights.  The levels of
        queries come from the weights if there are any, since weights are more exact.
        """
        bits, weights, vectors = documents.bits, documents.weights, documents.vectors
        if vectors is not None and vectors.shape[1] == vector_form.width(self._dimensions):
            sketches = self._of_vectors(bits, vectors, is_query)
            if is_query and weights is not None:
                levels = kernel.levels(widened(weights, self._dimensions))
                sketches = replace(sketches, levels=levels)
            return sketches
        if weights is not None:
            return self._of_weights(bits, weights, is_query, range(start, start + len(bits)))
        if vectors is not None:
            raise InputError(
                f"the vectors have {vectors.shape[1]} bytes, but documents here have"
                f" {vector_form.width(self._dimensions)}; make them with"
                f" dimensions={self._dimensions}, or give their weights"
            )
        return self.of_bits(bits, is_query)

    def of_one(
        self, bits: U64, vectors: U8, levels: U8 | None, features: int, is_query: bool
    ) -> arrays.Sketches:
        """Return the sketch of one document, from the kernel's result."""
        return arrays.Sketches(
            bits,
            vectors,
            arrays.ONE_STATE[self.known(is_query) if features else arrays.EMPTY],
            levels,
        )

    def of_list(
        self, documents: Sequence[arrays.Fingerprint], is_query: bool, start: int
    ) -> arrays.Sketches:
        """Make sketches of a list of fingerprints, with or without weights."""
        only = documents[0]
        if len(documents) == 1 and only.weights is not None:
            own, vectors, levels, features = kernel.quantise_one(
                only.weights, dimensions=self._dimensions, width=self._width,
                is_rounded=only.is_rounded, is_query=is_query,
            )  # fmt: skip
            if own[0] != only.bits:
                if features or only.bits:
                    _refuse(start, only.bits, own[0])
                own[0] = 0
            return self.of_one(own, vectors, levels, 0 if only.is_empty else features, is_query)
        for at, each in enumerate(documents, start):
            if each.size != FINGERPRINT_BITS:
                other = f"; hashes of {each.size} need Options(sketch=simdb.Bits({each.size}))"
                raise InputError(f"fingerprint {at} has {each.size} bits, not 64{other}")
        bits = np.array([document.bits for document in documents], np.uint64)
        sketches = self.of_bits(bits, is_query)
        by_form: dict[tuple[int, bool], list[int]] = {}
        for at, each in enumerate(documents):
            if each.weights is not None:
                by_form.setdefault((len(each.weights), each.is_rounded), []).append(at)
        for (_, is_rounded), places in by_form.items():
            weights = np.stack([documents[at].weights for at in places])  # type: ignore[misc]
            numbers = [start + at for at in places]
            part = self._of_rows(bits[places], weights, is_query, numbers, is_rounded)
            sketches.put(places, part)
        for at, each in enumerate(documents):
            if each.is_empty:
                sketches.states[at] = arrays.EMPTY
        return sketches

    def _of_vectors(self, bits: U64, vectors: U8, is_query: bool) -> arrays.Sketches:
        levels = kernel.levels_of_vectors(vectors) if is_query else None
        states = np.where(
            vector_form.has_features(vectors), self.known(is_query), arrays.EMPTY
        ).astype(np.uint8)
        stored = vectors if self._width else np.empty((len(bits), 0), np.uint8)
        return arrays.Sketches(bits, stored, states, levels)

    def _of_rows(
        self, bits: U64, weights: F32, is_query: bool, places: Sequence[int], is_rounded: bool
    ) -> arrays.Sketches:
        """Make sketches of fingerprints whose weights may be rounded; rounded weights are kept.

        Rounding them again would change some weights, since the scale is different.
        """
        if is_rounded and weights.shape[1] == self._dimensions and _are_halves(weights):
            vectors = vector_form.pack(weights.astype(np.int8))
            if (vector_form.signs_of(vectors) == bits).all():
                return self._of_vectors(bits, vectors, is_query)
        return self._of_weights(bits, weights, is_query, places)

    def _of_weights(
        self, bits: U64, weights: F32, is_query: bool, places: Sequence[int]
    ) -> arrays.Sketches:
        """Make sketches of fingerprints and weights.

        Raises InputError unless the weights fit the bits.  `places`: the positions of the
        documents, for messages.
        """
        wide = widened(weights, self._dimensions)
        found, vectors, levels = columns_of(wide, self._width, is_query)
        # Documents without features have no signs; simhash-cpp gives them the bits 0.
        suspect = np.flatnonzero(weights[:, 0] == 0)
        empty = suspect[~weights[suspect].any(axis=1)]
        is_other = found != bits
        is_other[empty[bits[empty] == 0]] = False
        differing = np.flatnonzero(is_other)
        if len(differing):
            at = int(differing[0])
            _refuse(places[at], bits[at], found[at])
        states = np.full(len(bits), self.known(is_query), np.uint8)
        states[empty] = arrays.EMPTY
        return arrays.Sketches(np.ascontiguousarray(bits), vectors, states, levels)


def _refuse(place: int, bits: Any, found: Any) -> NoReturn:
    """Raise InputError, since the fingerprint at this place does not fit its weights."""
    raise InputError(
        f"fingerprint {place} has bits {bits:016x}, but the signs of its weights make"
        f" {found:016x} (bit j is set where weight j >= 0)"
    )


def _are_halves(weights: F32) -> bool:
    """Return whether a packed vector can hold all weights exactly."""
    halves = (weights + vector_form.HALF_MAX) / 2
    return bool(
        ((halves == np.rint(halves)) & (halves >= 0) & (halves <= vector_form.HALF_MAX)).all()
    )


def kind_of_all(documents: Any, vectors: "Vectors | None") -> str:
    """Return the kind of documents that must be of one kind; "rows" if they are one array."""
    if vectors is not None:
        return "rows"
    is_text = isinstance(documents, TextColumn) or not len(documents)
    return "text" if is_text else kind_of(documents[0], 0)


def kind_of(document: Any, position: int) -> str:
    """Return the kind of a document, which decides the way of sketching it.

    Raises InputError for an object that is not a document.
    """
    if isinstance(document, str):
        return "text"
    if isinstance(document, arrays.Fingerprint):
        return "fingerprint"
    if isinstance(document, Features):
        return "features"
    if isinstance(document, bool | np.bool_):
        raise InputError(f"document {position} is a bool; a document is {KINDS}")
    if isinstance(document, int | np.integer):
        if not 0 <= document <= ALL_BITS:
            raise InputError(
                f"document {position} is {shown(document)}; a ready fingerprint is 0 .. 2**64 - 1"
            )
        return "bits"
    if isinstance(document, list | tuple):
        return "tokens"
    if is_vector(document, position):
        return "dense" if isinstance(document, np.ndarray) else "sparse"
    check_not_null(document, position)
    assert not isinstance(document, bytes), "whoever takes documents has decoded them"
    raise InputError(f"document {position} is {arrays.describe(document)}; a document is {KINDS}")


def check_content(known: int, sketches: arrays.Sketches) -> None:
    """Raise InputError for texts among vectors, vectors among texts, or vectors of other lengths.

    `known`: the `content` of the first document; 0 if unknown.
    """
    given = sketches.content
    if known and given and known != given:
        kinds = [
            "a text" if each == TEXT_CONTENT else f"a vector of {each - TEXT_CONTENT} coordinates"
            for each in (known, given)
        ]
        raise InputError(
            f"the first document was {kinds[0]}, and this is {kinds[1]}; they are never similar,"
            " so keep them in separate databases"
        )
