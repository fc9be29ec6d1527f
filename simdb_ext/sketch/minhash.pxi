# MinHash signatures: making them, comparing them, and keys of their bands; for `_sketch.pyx`.

cdef dict FAMILIES = {
    "stratified": MINIMA_STRATIFIED,
    "multiply-shift": MINIMA_MULTIPLY_SHIFT,
    "mersenne": MINIMA_MERSENNE,
    "one-permutation": MINIMA_ONE_PERMUTATION,
}
cdef uint64_t MERSENNE = (1 << 61) - 1


cdef class Family:
    """A family of permutations in the form that C takes, and the arrays that own it."""

    cdef minima_family family
    cdef object owners

    def __cinit__(self, family, feature_bits):
        name, multipliers, increments = family
        self.family.kind = <minima_kind><int>checked_name("family", name, FAMILIES)
        check_permutations(multipliers, increments, name == "mersenne")
        if name == "stratified" and (multipliers & np.uint64(0xFFFF)).any():
            raise ValueError("a multiplier of family 'stratified' has lower 16 bits that are not 0")
        if feature_bits not in (32, 64):
            raise ValueError(f"feature_bits is {feature_bits}, not 32 or 64")
        cdef const uint64_t[::1] factors = multipliers
        cdef const uint64_t[::1] added = increments
        self.owners = (multipliers, increments)
        self.family.count = len(factors)
        self.family.is_narrow = feature_bits == 32
        self.family.multipliers = &factors[0]
        self.family.increments = &added[0]


def sign_texts(
    texts, *, unit, shingle, lowercase, seed, replace, start, family, feature_bits,
    vocabulary=None, compose=None, cleaning=0
):
    """Return MinHash signatures uint32[n, p] and the number of features int64[n] of each text."""
    cdef Family permutations = Family(family, feature_bits)
    cdef Working call = Working(
        unit, shingle, lowercase, seed, replace, "tf", vocabulary, None, SKETCH_DIMENSIONS,
        compose, cleaning
    )
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    call.settings.counting = SKETCH_MINHASH
    call.settings.family = &permutations.family
    rows = np.empty((len(all_texts), permutations.family.count), np.uint32)
    features = np.full(len(all_texts), -1, np.int64)
    project_all_texts(call, all_texts, start, rows, features, None)
    return rows, features


def project_and_sign_texts(
    texts, *, unit, shingle, lowercase, seed, replace, start, counting, family, feature_bits,
    vocabulary=None, idf=None, dimensions=SKETCH_DIMENSIONS, compose=None, cleaning=0
):
    """Return the results of `project_texts`, and the signatures of `sign_texts`."""
    if counting not in ("tf", "binary"):
        raise ValueError(f"counting is {counting!r}, not 'tf' or 'binary'")
    cdef Family permutations = Family(family, feature_bits)
    cdef Working call = Working(
        unit, shingle, lowercase, seed, replace, counting, vocabulary, idf, dimensions,
        compose, cleaning
    )
    call.settings.family = &permutations.family
    all_texts = texts if isinstance(texts, TextColumn) else tuple(texts)
    weights, features = room_for(call, len(all_texts))
    rows = np.empty((len(all_texts), permutations.family.count), np.uint32)
    project_all_texts(call, all_texts, start, weights, features, None, rows)
    return weights, features, rows


def sign_tokens(
    documents, *, shingle, seed, replace, start, family, feature_bits, vocabulary=None
):
    """Return the results of `sign_texts` for documents given as tokens."""
    cdef Family permutations = Family(family, feature_bits)
    cdef Working call = Working("words", shingle, False, seed, replace, "tf", vocabulary, None)
    cdef tuple lists = tuple(documents)
    call.settings.counting = SKETCH_MINHASH
    call.settings.family = &permutations.family
    rows = np.empty((len(lists), permutations.family.count), np.uint32)
    features = np.full(len(lists), -1, np.int64)
    project_all_tokens(call, lists, start, rows, features, None)
    return rows, features


def sign_features(
    const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None, counts, *, family,
    feature_bits
):
    """Return MinHash signatures uint32[n, p] of documents given as features."""
    cdef Family permutations = Family(family, feature_bits)
    cdef const uint32_t[::1] given = counts
    check_features(np.asarray(offsets), len(hashes), None)
    if counts is not None and len(counts) != len(hashes):
        raise ValueError(f"{len(counts)} counts for {len(hashes)} hashes")
    cdef const uint64_t *all_hashes = &hashes[0] if len(hashes) else NULL
    cdef const uint32_t *all_counts = NULL
    if counts is not None and len(hashes):
        all_counts = &given[0]
    rows = np.empty((len(offsets) - 1, permutations.family.count), np.uint32)
    cdef uint32_t[:, ::1] out = rows
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            minima_of_features(
                &sketch_operations.minima, &permutations.family, all_hashes + offsets[i],
                all_counts + offsets[i] if all_counts != NULL else NULL,
                offsets[i + 1] - offsets[i], &out[i, 0]
            )
    return rows


def sign_weighted(
    const int64_t[::1] offsets not None, const uint64_t[::1] hashes not None,
    const float[::1] weights not None, const uint64_t[::1] keys not None
):
    """Return signatures uint32[n, p] of documents given as distinct features with weights."""
    check_features(np.asarray(offsets), len(hashes), np.asarray(weights))
    check_permutations(np.asarray(keys), np.asarray(keys), False)
    cdef const uint64_t *all_hashes = &hashes[0] if len(hashes) else NULL
    cdef const float *all_weights = &weights[0] if len(hashes) else NULL
    rows = np.empty((len(offsets) - 1, len(keys)), np.uint32)
    cdef uint32_t[:, ::1] out = rows
    cdef int width = len(keys)
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            sketch_operations.consistent(
                &keys[0], width, all_hashes + offsets[i], all_weights + offsets[i],
                offsets[i + 1] - offsets[i], &out[i, 0]
            )
    return rows


def agreements(left, right, *, bits=8):
    """Return the number of equal minima of rows of `left` and `right`: uint16[n]."""
    check_minima(left, bits)
    check_minima(right, bits)
    if left.dtype != right.dtype or left.shape[1] != right.shape[1]:
        raise ValueError(f"{left.dtype}{left.shape} and {right.dtype}{right.shape} do not compare")
    if len(left) not in (1, len(right)):
        raise ValueError(f"there are {len(left)} signatures on the left, not 1 or {len(right)}")
    agreeing = np.empty(len(right), np.uint16)
    cdef const uint8_t[::1] first = np.ascontiguousarray(left).reshape(-1).view(np.uint8)
    cdef const uint8_t[::1] second = np.ascontiguousarray(right).reshape(-1).view(np.uint8)
    cdef uint16_t[::1] out = agreeing
    cdef agree_function *count = sketch_operations.agree_wide
    if right.dtype == np.uint8 and bits == 8:
        count = sketch_operations.agree_narrow
    elif right.dtype == np.uint8:
        count = sketch_operations.agree_one_bit if bits == 1 else sketch_operations.agree_two_bits
    cdef int is_one = len(left) == 1
    cdef int width = width_of(right, bits)
    if len(out) > 0:
        with nogil:
            count(&first[0], is_one, &second[0], out.shape[0], width, &out[0])
    return agreeing


def band_keys(minima, *, bands, rows, bits=8):
    """Return the keys uint64[n, bands] of the bands of signatures."""
    check_minima(minima, bits)
    cdef int width = width_of(minima, bits)
    if bands < 1 or rows < 1 or bands * rows > width:
        raise ValueError(f"there are no {bands} bands of {rows} rows of {width} minima")
    keys = np.empty((len(minima), bands), np.uint64)
    cdef const uint8_t[::1] content = np.ascontiguousarray(minima).reshape(-1).view(np.uint8)
    cdef uint64_t[:, ::1] out = keys
    cdef int stored = bits if minima.dtype == np.uint8 else 32
    cdef int height = rows
    if len(minima) > 0:
        with nogil:
            bands_keys(
                &content[0], stored, out.shape[0], width, <int>out.shape[1], height, &out[0, 0]
            )
    return keys


cdef int check_permutations(multipliers, increments, bint is_mersenne) except -1:
    """Raise unless the arrays of a family fit together."""
    for name, array in (("multipliers", multipliers), ("increments", increments)):
        if array.dtype != np.uint64 or array.ndim != 1:
            raise ValueError(f"{name} are {array.dtype}[{array.ndim} axes], not uint64[1 axis]")
    count = len(multipliers)
    if count != len(increments):
        raise ValueError(f"{count} multipliers and {len(increments)} increments")
    if not 0 < count <= MINIMA_MOST or count % MINIMA_STEP:
        raise ValueError(
            f"there are {count} permutations, not a multiple of {MINIMA_STEP} up to {MINIMA_MOST}"
        )
    if is_mersenne and max(multipliers.max(), increments.max()) >= MERSENNE:
        raise ValueError("a number of family 'mersenne' is not below 2**61 - 1")
    return 0


cdef int width_of(minima, bits):
    """Return the number of minima in a row."""
    return minima.shape[1] * (8 // bits if minima.dtype == np.uint8 else 1)


cdef int check_minima(minima, bits) except -1:
    if bits not in (1, 2, 8):
        raise ValueError(f"bits is {bits}, not 1, 2 or 8")
    if not isinstance(minima, np.ndarray) or minima.dtype not in (np.uint8, np.uint32):
        found = getattr(minima, "dtype", type(minima).__name__)
        raise TypeError(f"minima are {found}, not uint8 or uint32")
    if minima.ndim != 2 or not 0 < minima.shape[1] <= MINIMA_MOST:
        raise ValueError(f"minima have shape {minima.shape}, not (n, 1 .. {MINIMA_MOST})")
    return 0
