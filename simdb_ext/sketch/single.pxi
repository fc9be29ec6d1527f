# Sketching one text at a time, with settings that are checked once, for `_sketch.pyx`.

cdef enum:
    # Shorter texts are sketched with the GIL held: releasing it would take about as long.
    SHORT_CHARACTERS = 1 << 14
    # Working memory for more features, after a long text, is freed instead of kept.
    KEPT_FEATURES = 1 << 16


cdef class SingleText:
    """The settings of a sketch, and idle working memory for one text at a time in each thread."""

    cdef dict settings
    cdef Family family
    cdef list idle

    cdef Working take(self, bint replace):
        """Return working memory that no other thread uses."""
        cdef Working call
        try:
            call = <Working>self.idle.pop()
        except IndexError:
            call = Working(replace=replace, **self.settings)
            if self.family is not None:
                call.settings.counting = SKETCH_MINHASH
                call.settings.family = &self.family.family
        call.settings.is_replaced = replace
        return call

    cdef int give_back(self, Working call) except -1:
        if call.scratch.bag.room <= KEPT_FEATURES and call.scratch.set.room <= KEPT_FEATURES:
            self.idle.append(call)
        return 0

    cdef int64_t project(self, Working call, object text, start, void *weights) except -1:
        """Write the weights or minima of a text, and return its number of features."""
        cdef Texts chunk
        cdef sketch_text taken
        cdef int64_t features = -1
        if type(text) is str:
            take_str(text, &taken)
        else:
            chunk = Texts("replace" if call.settings.is_replaced else "strict", start)
            chunk.collect((text,), 0)
            if chunk.error is not None:
                raise chunk.error
            taken = chunk.texts[0]
        call.enter()
        try:
            call.begin_chunk()
            project_texts_chunk(call, &taken, 1, weights, &features, (text,), start, 0)
        finally:
            call.leave()
        return features


cdef class TextFingerprinter(SingleText):
    """The settings and memory for fingerprints, vectors and levels of one text after another."""

    cdef int dimensions
    cdef int width
    cdef int is_float
    cdef tuple vector_shape

    def __cinit__(
        self, *, unit, shingle, lowercase, seed, counting, vocabulary, idf, dimensions, width,
        compose=None, cleaning=0
    ):
        check_counting(counting)
        if dimensions not in QUANTISED_DIMENSIONS:
            raise ValueError(f"dimensions is {dimensions}, not 64, 128 or 256")
        if width not in (0, dimensions // 2):
            raise ValueError(f"width is {width}, not 0 or {dimensions // 2}")
        self.settings = {
            "unit": unit, "shingle": shingle, "lowercase": lowercase, "seed": seed,
            "counting": counting, "vocabulary": vocabulary, "idf": idf, "compose": compose,
            "cleaning": cleaning,
            "dimensions": max(dimensions, SKETCH_DIMENSIONS),
        }
        self.dimensions = dimensions
        self.width = width
        self.vector_shape = (1, width)
        self.is_float = counting == "log-tf" or idf is not None
        self.idle = []
        self.give_back(self.take(False))

    def sketch(self, text, bint replace, start, bint is_query):
        """Return bits uint64[1], vectors uint8[1, width], levels or None, number of features."""
        cdef Working call = self.take(replace)
        cdef int32_t weights[SKETCH_DIMENSIONS_MAX]
        cdef int64_t features = self.project(call, text, start, weights)
        self.give_back(call)
        return sketch_of(weights, self.is_float, self.dimensions, NULL, self.vector_shape,
                         is_query, features)

    def weigh(self, text, bint replace, start):
        """Return bits, an int, and weights float32[dimensions] of one text."""
        cdef Working call = self.take(replace)
        cdef int32_t weights[SKETCH_DIMENSIONS_MAX]
        cdef float floats[SKETCH_DIMENSIONS_MAX]
        cdef uint8_t vector[SKETCH_DIMENSIONS_MAX]
        cdef uint64_t bits
        cdef int i
        self.project(call, text, start, weights)
        self.give_back(call)
        for i in range(self.dimensions):
            floats[i] = (<const float *>weights)[i] if self.is_float else <float>weights[i]
        if sketch_operations.quantise(floats, 1, 1, self.dimensions, &bits, vector) >= 0:
            raise ValueError("the weights are not finite")
        return bits, array_of(self.dimensions, FLOAT32_TYPE, floats, 4 * self.dimensions)


cdef class TextSigner(SingleText):
    """The settings and memory for packed MinHash signatures of one text after another."""

    cdef int stored_bits
    cdef tuple vector_shape

    def __cinit__(
        self, *, unit, shingle, lowercase, seed, vocabulary, family, feature_bits, stored_bits,
        compose=None, cleaning=0
    ):
        if stored_bits not in (1, 2, 8, 32):
            raise ValueError(f"stored_bits is {stored_bits}, not 1, 2, 8 or 32")
        self.settings = {
            "unit": unit, "shingle": shingle, "lowercase": lowercase, "seed": seed,
            "counting": "tf", "vocabulary": vocabulary, "idf": None, "compose": compose,
            "cleaning": cleaning,
        }
        self.family = Family(family, feature_bits)
        self.stored_bits = stored_bits
        self.vector_shape = (1, self.family.family.count * stored_bits // 8)
        self.idle = []
        self.give_back(self.take(False))

    def sign(self, text, bint replace, start):
        """Return bits uint64[1], packed signature uint8[1, width] and the number of features."""
        cdef Working call = self.take(replace)
        cdef uint32_t minima[MINIMA_MOST]
        cdef uint8_t packed[4 * MINIMA_MOST]
        cdef uint64_t bits
        cdef const minima_family *family = &self.family.family
        cdef int64_t features = self.project(call, text, start, minima)
        self.give_back(call)
        cdef int width = self.vector_shape[1]
        if self.stored_bits < 32:
            minima_narrow(minima, family, self.stored_bits, packed)
            bands_keys(packed, 8, 1, width, 1, width, &bits)
        else:
            minima_pack(minima, family, packed)
            bands_keys(minima, 32, 1, family.count, 1, family.count, &bits)
        return (
            array_of(1, UINT64_TYPE, &bits, sizeof(bits)),
            array_of(self.vector_shape, UINT8_TYPE, packed, self.vector_shape[1]),
            features,
        )


def keys_of_one(packed, *, stored_bits, bands, rows):
    """Return the keys uint64[bands] of one packed signature uint8[1, width]."""
    cdef Py_buffer view
    cdef uint64_t keys[MINIMA_MOST]
    cdef int bits = stored_bits
    cdef int width
    if bands < 1 or rows < 1:
        raise ValueError(f"there are no {bands} bands of {rows} rows")
    if stored_bits not in (1, 2, 8, 32):
        raise ValueError(f"stored_bits is {stored_bits}, not 1, 2, 8 or 32")
    PyObject_GetBuffer(packed, &view, PyBUF_SIMPLE)
    width = 8 * view.len // bits
    is_whole = view.itemsize == 1 and width <= MINIMA_MOST and bands * rows <= width
    if is_whole:
        bands_keys(view.buf, bits, 1, width, bands, rows, keys)
    PyBuffer_Release(&view)
    if not is_whole:
        raise ValueError(f"there are no {bands} bands of {rows} rows of {width} minima")
    return array_of(bands, UINT64_TYPE, keys, 8 * bands)


def quantise_one(weights, *, dimensions, width, bint is_rounded, bint is_query):
    """Return bits uint64[1], vectors uint8[1, width], levels or None, number of weights not 0."""
    cdef Py_buffer view
    cdef float wide[SKETCH_DIMENSIONS_MAX]
    cdef uint8_t rounded[SKETCH_DIMENSIONS_MAX]
    cdef int64_t features = -1
    cdef int wanted = dimensions
    if dimensions not in QUANTISED_DIMENSIONS or width not in (0, dimensions // 2):
        raise ValueError(f"dimensions is {dimensions}, and width is {width}")
    PyObject_GetBuffer(weights, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    if view.ndim == 1 and strcmp(view.format, b"f") == 0 and view.len > 0:
        features = widen_row(<const float *> view.buf, view.shape[0], wanted, wide)
        is_rounded = is_rounded and view.shape[0] == wanted
    PyBuffer_Release(&view)
    if features < 0:
        raise ValueError("weights must be a vector of float32")
    is_rounded = is_rounded and pack_row(wide, wanted, rounded, &features)
    return sketch_of(wide, 1, wanted, rounded if is_rounded else NULL, (1, width), is_query,
                     features)


cdef tuple sketch_of(const void *weights, int is_float, int dimensions, const uint8_t *rounded,
                     tuple shape, bint is_query, int64_t features):
    """Return bits, vectors, levels or None, and `features`, for one row of weights.

    The vector is `rounded`, unless that is NULL.
    """
    cdef uint8_t vector[SKETCH_DIMENSIONS_MAX]
    cdef uint8_t levels[64]
    cdef uint64_t bits
    if sketch_operations.quantise(weights, is_float, 1, dimensions, &bits, vector) >= 0:
        raise ValueError("the weights are not finite")
    if rounded != NULL:
        memcpy(vector, rounded, dimensions // 2)
    all_levels = None
    if is_query:
        if is_float:
            level_floats_scalar(<const float *> weights, 1, dimensions, levels)
        else:
            level_wholes_scalar(<const int32_t *> weights, 1, dimensions, levels)
        all_levels = array_of(LEVEL_SHAPE, UINT8_TYPE, levels, 64)
    return (
        array_of(1, UINT64_TYPE, &bits, sizeof(bits)),
        array_of(shape, UINT8_TYPE, vector, shape[1]),
        all_levels,
        features,
    )


cdef object UINT8_TYPE = np.dtype(np.uint8)
cdef object UINT64_TYPE = np.dtype(np.uint64)
cdef object FLOAT32_TYPE = np.dtype(np.float32)
cdef object LEVEL_SHAPE = (1, 64)
cdef object make_empty = np.empty


cdef object array_of(object shape, object dtype, const void *content, Py_ssize_t size):
    """Return a new array with this content."""
    cdef Py_buffer view
    array = make_empty(shape, dtype)
    if size == 0:
        return array
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    memcpy(view.buf, content, size)
    PyBuffer_Release(&view)
    return array
