"""Text to features to weights to fingerprints and packed volatility vectors.

The contract is in `_sketch.pyi`.  This file checks arguments, collects where the texts are and
calls the C functions of `sketch/`, declared in `_sketch.pxd`, without the GIL.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

import numpy as np

# How much is collected with the GIL held before it is released for one call.
cdef enum:
    CHUNK_TEXTS = 1024
    CHUNK_CHARACTERS = 1 << 20
    CHUNK_TOKENS = 1 << 16

cdef list VARIANTS = ["scalar", "avx2", "avx512"][: cpu_best() + 1]
cdef str used = VARIANTS[cpu_best()]

unicode_unfold()
sketch_select(cpu_best())


def variants():
    """Names of the variants this processor can run, the slowest ("scalar") first."""
    return list(VARIANTS)


def select(str variant not None):
    """Use `variant` from now on; returns the name of the one in use before."""
    global used
    if variant not in VARIANTS:
        raise ValueError(f"no variant {variant!r}; there are: {', '.join(VARIANTS)}")
    before = used
    sketch_select(VARIANTS.index(variant))
    used = variant
    return before


def murmur(bytes content not None, seed):
    """Both words of MurmurHash3_x64_128, equal to mmh3's."""
    cdef sketch_murmur_hash hash
    sketch_murmur(
        &hash, <const uint8_t *>PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content),
        checked_seed(seed)
    )
    return hash.first, hash.second


def project_texts(texts, *, str unit not None, shingle, lowercase, seed, replace, start):
    """Weights int32[n, 128] and the number of features int64[n] of each text."""
    if unit not in ("words", "characters"):
        raise ValueError(f"unit is {unit!r}, not 'words' or 'characters'")
    cdef sketch_settings settings = sketch_settings(
        checked_shingle(shingle), checked_seed(seed), unit == "characters", bool(lowercase),
        bool(replace)
    )
    cdef tuple documents = tuple(texts)
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
                outcome = sketch_project_texts(
                    chunk.texts, chunk.count, &settings, chunk.scratch, &weights_out[first, 0],
                    &features_out[first], &done
                )
            if outcome == SKETCH_SURROGATE:
                raise_surrogate(documents[first + done], start + first + done)
            if outcome == SKETCH_TOO_MANY:
                raise_too_many(features[first + done], start + first + done)
        if chunk.error is not None:
            raise chunk.error
        first += chunk.count
    return weights, features


def project_tokens(documents, *, shingle, seed, replace, start):
    """The same for documents whose tokens are given; each token is hashed as it is."""
    cdef sketch_settings settings = sketch_settings(
        checked_shingle(shingle), checked_seed(seed), 0, 0, bool(replace)
    )
    cdef tuple lists = tuple(documents)
    cdef Tokens chunk = Tokens("replace" if replace else "strict", start)
    weights = np.empty((len(lists), SKETCH_DIMENSIONS), np.int32)
    features = np.zeros(len(lists), np.int64)
    cdef int32_t[:, ::1] weights_out = weights
    cdef int64_t[::1] features_out = features
    cdef Py_ssize_t first = 0
    cdef int64_t done
    cdef sketch_outcome outcome

    while first < len(lists):
        chunk.collect(lists, first)
        with nogil:
            outcome = sketch_project_tokens(
                chunk.tokens, chunk.offsets, chunk.count, &settings, chunk.scratch,
                &weights_out[first, 0], &features_out[first], &done
            )
        if outcome == SKETCH_TOO_MANY:
            raise_too_many(features[first + done], start + first + done)
        first += chunk.count
    return weights, features


def project_features(
    const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None, weights
):
    """Weights float32[n, 128] of documents given as features with weights (1 where None)."""
    cdef const float[::1] given = weights
    cdef const uint64_t *all_hashes = &hashes[0] if len(hashes) else NULL
    cdef const float *all_weights = NULL
    check_features(np.asarray(offsets), len(hashes), weights)
    if weights is not None and len(hashes):
        all_weights = &given[0]
    projected = np.zeros((len(offsets) - 1, SKETCH_DIMENSIONS), np.float32)
    cdef float[:, ::1] out = projected
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            if offsets[i] < offsets[i + 1]:
                sketch_weigh(
                    all_hashes + offsets[i],
                    all_weights + offsets[i] if all_weights != NULL else NULL,
                    offsets[i + 1] - offsets[i], &out[i, 0]
                )
    return projected


def quantise(weights):
    """Fingerprints uint64[n] and packed vectors uint8[n, d / 2] of weights [n, d], d 64 or 128."""
    if not isinstance(weights, np.ndarray) or weights.dtype not in (np.int32, np.float32):
        found = getattr(weights, "dtype", type(weights).__name__)
        raise TypeError(f"weights are {found}, not int32 or float32")
    if weights.ndim != 2 or weights.shape[1] not in (64, SKETCH_DIMENSIONS):
        raise ValueError(f"weights have shape {weights.shape}, not (n, 64) or (n, 128)")
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
            wrong = sketch_quantise(
                &content[0], is_float, count, dimensions, &fingerprints_out[0], &vectors_out[0, 0]
            )
    if wrong >= 0:
        raise ValueError(f"weights of row {wrong} are not finite")
    return fingerprints, vectors


cdef class Texts:
    """Where the characters of some texts are, and what keeps them there."""

    cdef sketch_text *texts
    cdef sketch_scratch *scratch
    cdef int64_t count
    cdef object error
    cdef list kept
    cdef str errors
    cdef object start

    def __cinit__(self, str errors, start):
        self.errors = errors
        self.start = start
        self.texts = <sketch_text *>malloc(CHUNK_TEXTS * sizeof(sketch_text))
        self.scratch = <sketch_scratch *>malloc(sizeof(sketch_scratch))
        if self.texts == NULL or self.scratch == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.texts)
        free(self.scratch)

    cdef int collect(self, tuple documents, Py_ssize_t first) except -1:
        """Take documents from `first` on: a chunk, or those before one with an error."""
        cdef int64_t characters = 0
        self.count = 0
        self.kept = []
        self.error = None
        try:
            while (
                first < len(documents)
                and self.count < CHUNK_TEXTS
                and characters < CHUNK_CHARACTERS
            ):
                self.take(documents[first], &self.texts[self.count], first)
                characters += self.texts[self.count].length
                self.count += 1
                first += 1
        except InputError as error:
            self.error = error
        return 0

    cdef int take(self, object text, sketch_text *taken, Py_ssize_t position) except -1:
        if isinstance(text, bytes):
            taken.characters = PyBytes_AS_STRING(text)
            taken.length = PyBytes_GET_SIZE(text)
            taken.width = 1
            taken.is_ascii = True
            if sketch_is_ascii(<const uint8_t *>taken.characters, taken.length):
                return 0
            try:
                text = text.decode("utf-8", self.errors)
            except UnicodeDecodeError as error:
                message = f"document {self.start + position} is not valid UTF-8: {error}"
                raise InputError(message) from error
            self.kept.append(text)
        if not isinstance(text, str):
            found = f"{type(text).__name__}, not str or bytes"
            raise InputError(f"document {self.start + position} is {found}")
        make_ready(text)
        taken.characters = PyUnicode_DATA(text)
        taken.length = PyUnicode_GET_LENGTH(text)
        taken.width = PyUnicode_KIND(text)
        taken.is_ascii = PyUnicode_IS_ASCII(text)
        return 0


cdef class Tokens:
    """Where the bytes of the tokens of some documents are, and what keeps them there."""

    cdef sketch_token *tokens
    cdef sketch_scratch *scratch
    cdef int64_t offsets[CHUNK_TEXTS + 1]
    cdef int64_t room
    cdef int64_t count
    cdef list kept
    cdef str errors
    cdef object start

    def __cinit__(self, str errors, start):
        self.errors = errors
        self.start = start
        self.scratch = <sketch_scratch *>malloc(sizeof(sketch_scratch))
        if self.scratch == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.tokens)
        free(self.scratch)

    cdef int collect(self, tuple documents, Py_ssize_t first) except -1:
        """Take documents from `first` on, a chunk."""
        self.count = 0
        self.offsets[0] = 0
        self.kept = []
        while (
            first < len(documents)
            and self.count < CHUNK_TEXTS
            and self.offsets[self.count] < CHUNK_TOKENS
        ):
            self.take_document(documents[first], first)
            first += 1
        return 0

    cdef int take_document(self, object document, Py_ssize_t position) except -1:
        cdef int64_t used = self.offsets[self.count]
        cdef tuple tokens
        if isinstance(document, (str, bytes)) or not hasattr(document, "__iter__"):
            found = f"{type(document).__name__}, not a list of tokens"
            raise InputError(f"document {self.start + position} is {found}")
        tokens = tuple(document)
        self.kept.append(tokens)
        self.make_room(used + len(tokens))
        for token in tokens:
            self.take(token, &self.tokens[used], position, used - self.offsets[self.count])
            used += 1
        self.count += 1
        self.offsets[self.count] = used
        return 0

    cdef int make_room(self, int64_t wanted) except -1:
        cdef int64_t room = max(wanted, 2 * self.room)
        if wanted <= self.room:
            return 0
        tokens = <sketch_token *>realloc(self.tokens, room * sizeof(sketch_token))
        if tokens == NULL:
            raise MemoryError()
        self.tokens = tokens
        self.room = room
        return 0

    cdef int take(
        self, object token, sketch_token *taken, Py_ssize_t position, int64_t number
    ) except -1:
        if isinstance(token, str):
            make_ready(token)
            if PyUnicode_IS_ASCII(token):
                taken.content = <const uint8_t *>PyUnicode_DATA(token)
                taken.length = PyUnicode_GET_LENGTH(token)
                return 0
            try:
                token = token.encode("utf-8", self.errors)
            except UnicodeEncodeError as error:
                where = f"a lone surrogate in token {number}: {error}"
                raise InputError(f"document {self.start + position} has {where}") from error
            self.kept.append(token)
        if not isinstance(token, bytes):
            what = f"a {type(token).__name__} as token {number}, not str or bytes"
            raise InputError(f"document {self.start + position} has {what}")
        taken.content = <const uint8_t *>PyBytes_AS_STRING(token)
        taken.length = PyBytes_GET_SIZE(token)
        return 0


cdef uint32_t checked_seed(seed) except? 0:
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed is {seed}, not from 0 to 2**32 - 1")
    return seed


cdef int checked_shingle(shingle) except -1:
    if not 1 <= shingle <= SKETCH_SHINGLE_MAX:
        raise ValueError(f"shingle is {shingle}, not from 1 to {SKETCH_SHINGLE_MAX}")
    return shingle


cdef int check_features(offsets, Py_ssize_t count, weights) except -1:
    """Raise unless the three arrays of `project_features` fit together."""
    if len(offsets) == 0 or offsets.min() < 0 or offsets.max() > count:
        raise ValueError(f"offsets do not lie within the {count} hashes")
    if (np.diff(offsets) < 0).any():
        raise ValueError("offsets descend")
    if weights is not None and len(weights) != count:
        raise ValueError(f"{len(weights)} weights for {count} hashes")
    if weights is not None and not np.isfinite(weights).all():
        raise ValueError(f"weight {np.argmin(np.isfinite(weights))} is not finite")
    return 0


cdef int raise_surrogate(str text, position) except -1:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"document {position} has a lone surrogate: {error}") from error
    return 0


cdef int raise_too_many(features, position) except -1:
    limit = SKETCH_FEATURES_MAX
    raise InputError(f"document {position} has {features} features, over {limit}")


# The last line, because `simdb` imports this module and may be imported by way of it.
from simdb.errors import InputError
