"""Operations from text to features, weights, fingerprints, volatility vectors and signatures.

The contract is in `_sketch.pyi`.  This file checks arguments, collects the addresses of texts, and
calls the C functions of `sketch/`, declared in `_sketch.pxd`, without the GIL.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset, strcmp

from threading import RLock

import numpy as np

# Features for which a bag, and a sequence, has room at first.
cdef enum:
    BAG_FIRST = 1 << 12
    SEQUENCE_FIRST = 1 << 16

# Numbers of weights that a document may have.
cdef tuple QUANTISED_DIMENSIONS = (64, SKETCH_DIMENSIONS, SKETCH_DIMENSIONS_MAX)

TURKIC, STRAYS = <int>SKETCH_TURKIC, <int>SKETCH_STRAYS

unicode_unfold()
clean_unfold()
parts_unfold()
sketch_project_begin()

include "sketch/intake.pxi"
include "sketch/vocabulary.pxi"
include "sketch/working.pxi"
include "sketch/minhash.pxi"
include "sketch/ngrams.pxi"
include "sketch/parts.pxi"
include "sketch/single.pxi"


include "choice.pxi"


def project_texts(
    texts, *, unit, shingle, lowercase, seed, replace, start, counting="tf", vocabulary=None,
    idf=None, dimensions=SKETCH_DIMENSIONS, compose=None, cleaning=0
):
    """Return the weights [n, dimensions] and the number of features int64[n] of each text."""
    check_counting(counting)
    cdef Working call = Working(
        unit, shingle, lowercase, seed, replace, counting, vocabulary, idf, dimensions,
        compose, cleaning
    )
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    weights, features = room_for(call, len(all_texts))
    project_all_texts(call, all_texts, start, weights, features, None)
    return weights, features


def project_tokens(
    documents, *, shingle, seed, replace, start, counting="tf", vocabulary=None, idf=None,
    dimensions=SKETCH_DIMENSIONS
):
    """Return the results of `project_texts` for documents given as tokens."""
    check_counting(counting)
    cdef Working call = Working(
        "words", shingle, False, seed, replace, counting, vocabulary, idf, dimensions
    )
    cdef tuple lists = tuple(documents)
    weights, features = room_for(call, len(lists))
    project_all_tokens(call, lists, start, weights, features, None)
    return weights, features


def count_texts(
    texts, *, unit, shingle, lowercase, seed, replace, start, vocabulary=None, compose=None,
    cleaning=0
):
    """Return the distinct features of each text, in the order in which they first occur."""
    cdef Working call = Working(
        unit, shingle, lowercase, seed, replace, "", vocabulary, None, SKETCH_DIMENSIONS, compose,
        cleaning
    )
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    cdef Collected collected = Collected(len(all_texts))
    weights, features = room_for(call, len(all_texts))
    project_all_texts(call, all_texts, start, weights, features, collected)
    return collected.arrays()


def count_tokens(documents, *, shingle, seed, replace, start, vocabulary=None):
    """Return the results of `count_texts` for documents given as tokens."""
    cdef Working call = Working("words", shingle, False, seed, replace, "", vocabulary, None)
    cdef tuple lists = tuple(documents)
    cdef Collected collected = Collected(len(lists))
    weights, features = room_for(call, len(lists))
    project_all_tokens(call, lists, start, weights, features, collected)
    return collected.arrays()


cdef tuple room_for(Working call, Py_ssize_t count):
    """Return arrays for weights and for numbers of features, which are -1 until they are known."""
    is_collected = call.settings.counting == SKETCH_COLLECT
    is_whole = call.settings.counting in (SKETCH_TF, SKETCH_BINARY) and call.settings.idf == NULL
    weights = np.empty(
        (0 if is_collected else count, call.settings.dimensions),
        np.int32 if is_whole else np.float32
    )
    return weights, np.full(count, -1, np.int64)


cdef int project_all_texts(
    Working call, documents, start, weights, features, Collected collected, signatures=None
) except -1:
    """Fill all arrays, or collect the features in `collected`."""
    cdef Texts chunk = Texts("replace" if call.settings.is_replaced else "strict", start)
    cdef uint8_t[:, ::1] weights_out = weights.view(np.uint8)
    cdef int64_t[::1] features_out = features
    cdef uint32_t[:, ::1] signatures_out = signatures
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t i
    call.enter()
    try:
        while first < len(documents):
            chunk.collect(documents, first)
            if call.settings.is_marked:
                chunk.strip()
            if signatures is not None:
                call.scratch.signatures = &signatures_out[first, 0]
            call.begin_chunk()
            if collected is not None:
                i = 0
                while i < chunk.count:
                    i += collect_texts(
                        call, chunk.texts + i, chunk.count - i, &features_out[first + i], collected
                    )
                    if i < chunk.count:
                        project_texts_chunk(
                            call, chunk.texts + i, 1, NULL, &features_out[first + i], documents,
                            start, first + i
                        )
                        if collected.add(&call.scratch.bag) < 0:
                            raise MemoryError()
                        i += 1
            elif chunk.count > 0:
                project_texts_chunk(
                    call, chunk.texts, chunk.count, &weights_out[first, 0],
                    &features_out[first], documents, start, first
                )
            if chunk.error is not None:
                raise chunk.error
            first += chunk.count
    finally:
        call.leave()
    return 0


cdef int64_t collect_texts(
    Working call, sketch_text *texts, int64_t count, int64_t *features, Collected collected
) noexcept:
    """Collect the features of texts up to the first that needs more; return their number."""
    cdef int64_t at = 0, done = 0
    with nogil:
        while (
            at < count
            and sketch_project_texts(
                texts + at, 1, &call.settings, call.scratch, NULL, features + at, &done
            ) == SKETCH_DONE
            and not call.scratch.unknown.size
            and collected.add(&call.scratch.bag) == 0
        ):
            at += 1
            done = 0
    return at


cdef int project_texts_chunk(
    Working call, sketch_text *texts, int64_t count, void *weights, int64_t *features,
    documents, start, Py_ssize_t first
) except -1:
    """Project some texts; clean some, learn unknown tokens and make room as long as needed."""
    cdef sketch_outcome outcome
    cdef int64_t done = 0
    cdef list owners = []
    while True:
        if count == 1 and texts.length < SHORT_CHARACTERS:
            outcome = sketch_project_texts(
                texts, count, &call.settings, call.scratch, weights, features, &done
            )
        else:
            with nogil:
                outcome = sketch_project_texts(
                    texts, count, &call.settings, call.scratch, weights, features, &done
                )
        if outcome == SKETCH_SURROGATE:
            raise_surrogate(documents[first + done], start + first + done)
        if outcome == SKETCH_TOO_MANY:
            raise_too_many(features[done], start + first + done)
        if outcome == SKETCH_UNCLEAN:
            owners.append(clean_text(&texts[done], call.cleaning))
        elif outcome == SKETCH_FULL:
            call.widen()
        elif call.learn():
            done = 0
        else:
            return 0


cdef int project_all_tokens(
    Working call, tuple documents, start, weights, features, Collected collected
) except -1:
    """Fill both arrays, or collect the features in `collected`."""
    cdef Tokens chunk = Tokens("replace" if call.settings.is_replaced else "strict", start)
    cdef uint8_t[:, ::1] weights_out = weights.view(np.uint8)
    cdef int64_t[::1] features_out = features
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t i
    call.enter()
    try:
        while first < len(documents):
            chunk.collect(documents, first)
            call.begin_chunk()
            if collected is not None:
                for i in range(chunk.count):
                    project_tokens_chunk(
                        call, chunk.tokens, chunk.offsets + i, 1, NULL, &features_out[first + i],
                        start + first + i
                    )
                    if collected.add(&call.scratch.bag) < 0:
                        raise MemoryError()
            else:
                project_tokens_chunk(
                    call, chunk.tokens, chunk.offsets, chunk.count, &weights_out[first, 0],
                    &features_out[first], start + first
                )
            first += chunk.count
    finally:
        call.leave()
    return 0


cdef int project_tokens_chunk(
    Working call, const sketch_token *tokens, const int64_t *offsets, int64_t count,
    void *weights, int64_t *features, position
) except -1:
    """Project some documents; learn unknown tokens and make room as long as needed."""
    cdef sketch_outcome outcome
    cdef int64_t done
    while True:
        with nogil:
            outcome = sketch_project_tokens(
                tokens, offsets, count, &call.settings, call.scratch, weights, features, &done
            )
        if outcome == SKETCH_TOO_MANY:
            raise_too_many(features[done], position + done)
        if outcome == SKETCH_FULL:
            call.widen()
        elif not call.learn():
            return 0


def project_moz(texts, *, window, replace, start):
    """Return weights int32[n, 128], second half 0, and the number of tokens int64[n] of texts."""
    if not 1 <= window <= MOZ_WINDOW_MAX:
        raise ValueError(f"window is {window}, not from 1 to {MOZ_WINDOW_MAX}")
    cdef int width = window
    cdef bint is_replaced = replace
    documents = texts if isinstance(texts, TextColumn) else tuple(texts)
    cdef Texts chunk = Texts("replace" if replace else "strict", start)
    weights = np.empty((len(documents), SKETCH_DIMENSIONS), np.int32)
    features = np.zeros(len(documents), np.int64)
    cdef int32_t[:, ::1] weights_out = weights
    cdef int64_t[::1] features_out = features
    cdef Py_ssize_t first = 0
    cdef int64_t done
    cdef sketch_outcome outcome
    while first < len(documents):
        chunk.collect(documents, first)
        if chunk.count > 0:
            with nogil:
                outcome = sketch_moz_texts(
                    chunk.texts, chunk.count, width, is_replaced, &weights_out[first, 0],
                    &features_out[first], &done
                )
            if outcome == SKETCH_SURROGATE:
                raise_surrogate(documents[first + done], start + first + done)
            if outcome == SKETCH_TOO_MANY:
                raise_too_many(features[first + done], start + first + done, MOZ_TOKENS_MAX)
        if chunk.error is not None:
            raise chunk.error
        first += chunk.count
    return weights, features


def project_features(
    const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None, weights, *,
    dimensions=SKETCH_DIMENSIONS
):
    """Return weights float32[n, dimensions] of documents given as weighted features."""
    cdef int words = checked_dimensions(dimensions) // 64
    cdef const float[::1] given = weights
    cdef const uint64_t *all_hashes = &hashes[0] if len(hashes) else NULL
    cdef const float *all_weights = NULL
    check_features(np.asarray(offsets), len(hashes), weights)
    if weights is not None and len(hashes):
        all_weights = &given[0]
    projected = np.zeros((len(offsets) - 1, dimensions), np.float32)
    cdef float[:, ::1] out = projected
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            if offsets[i] < offsets[i + 1]:
                sketch_operations.weigh(
                    all_hashes + offsets[i],
                    all_weights + offsets[i] if all_weights != NULL else NULL,
                    offsets[i + 1] - offsets[i], words, &out[i, 0]
                )
    return projected


def quantise(weights):
    """Return fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d]."""
    if not isinstance(weights, np.ndarray) or weights.dtype not in (np.int32, np.float32):
        found = getattr(weights, "dtype", type(weights).__name__)
        raise TypeError(f"weights are {found}, not int32 or float32")
    if weights.ndim != 2 or weights.shape[1] not in QUANTISED_DIMENSIONS:
        raise ValueError(f"weights have shape {weights.shape}, not (n, 64), (n, 128) or (n, 256)")
    cdef int is_float = weights.dtype == np.float32
    cdef const uint8_t[::1] content = weights.reshape(-1).view(np.uint8)
    cdef int64_t count = weights.shape[0]
    cdef int dimensions = weights.shape[1]
    cdef int64_t wrong = -1
    fingerprints = np.empty(count, np.uint64)
    vectors = np.empty((count, dimensions // 2), np.uint8)
    cdef uint64_t[::1] fingerprints_out = fingerprints
    cdef uint8_t[:, ::1] vectors_out = vectors
    if count > 0:
        with nogil:
            wrong = sketch_operations.quantise(
                &content[0], is_float, count, dimensions, &fingerprints_out[0], &vectors_out[0, 0]
            )
    if wrong >= 0:
        raise ValueError(f"weights of row {wrong} are not finite")
    return fingerprints, vectors


def overlaps(offsets, hashes, weights, left, right, *, is_least=False, missing=None):
    """Return the sum over the common features of documents left[i] and right[i]: float64[k]."""
    check_overlap(offsets, hashes, weights, left, right)
    sums = np.empty(len(left), np.float64)
    if len(left) == 0 or len(hashes) == 0:
        sums[:] = 0
        return sums
    slots = np.empty(overlap_slots(np.diff(offsets)[left].max()), np.uint32)
    cdef const int64_t[::1] bounds = offsets
    cdef const uint64_t[::1] all_hashes = hashes
    cdef const float[::1] all_weights = weights
    cdef const int64_t[::1] lefts = left
    cdef const int64_t[::1] rights = right
    cdef uint32_t[::1] room = slots
    cdef double[::1] out = sums
    cdef overlap_documents documents
    cdef int least = is_least
    cdef int64_t most = len(hashes) if missing is None else missing
    documents.offsets = &bounds[0]
    documents.hashes = &all_hashes[0]
    documents.weights = NULL if weights is None else &all_weights[0]
    with nogil:
        overlap_sums(
            &documents, least, most, &lefts[0], &rights[0], lefts.shape[0], &room[0], &out[0]
        )
    return sums


cdef int check_overlap(offsets, hashes, weights, left, right) except -1:
    """Raise unless the arrays of `overlaps` fit together."""
    check_features(offsets, len(hashes), weights)
    if len(left) != len(right):
        raise ValueError(f"there are {len(left)} documents on the left and {len(right)} others")
    for side in (left, right):
        if len(side) and not 0 <= side.min() <= side.max() < len(offsets) - 1:
            raise ValueError(f"positions do not lie within the {len(offsets) - 1} documents")
    return 0


cdef int checked_dimensions(dimensions) except -1:
    if dimensions not in (SKETCH_DIMENSIONS, SKETCH_DIMENSIONS_MAX):
        raise ValueError(f"dimensions is {dimensions}, not 128 or 256")
    return dimensions


cdef uint32_t checked_seed(seed) except? 0:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}, not from 0 to 2**32 - 1")
    return seed


cdef int check_counting(counting) except -1:
    if counting not in ("tf", "binary", "log-tf"):
        raise ValueError(f"counting is {counting!r}, not one of 'tf', 'binary', 'log-tf'")
    return 0


cdef int checked_shingle(shingle) except -1:
    if not 1 <= shingle <= SKETCH_SHINGLE_MAX:
        raise ValueError(f"shingle is {shingle}, not from 1 to {SKETCH_SHINGLE_MAX}")
    return shingle


cdef int check_features(offsets, Py_ssize_t count, weights) except -1:
    """Raise unless the three arrays of `project_features` fit together."""
    if len(offsets) == 0 or offsets.min() < 0 or offsets.max() > count:
        raise ValueError(f"offsets do not lie within the {count} hashes")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets must ascend")
    if weights is not None and len(weights) != count:
        raise ValueError(f"there are {len(weights)} weights but {count} hashes")
    if weights is not None and not np.isfinite(weights).all():
        raise ValueError(f"weight {np.argmin(np.isfinite(weights))} is not finite")
    return 0


cdef int raise_surrogate(str text, position) except -1:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"document {position} has a lone surrogate: {error}") from error
    return 0


cdef int raise_too_many(features, position, limit=SKETCH_FEATURES_MAX) except -1:
    raise InputError(f"document {position} has {features} features, over {limit}")


# Last, because `simdb` imports this module, and this import may itself start to import `simdb`.
from simdb.core.arrow import TextColumn
from simdb.core.errors import InputError
